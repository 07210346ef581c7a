"""Pure analyses: tables in, frozen results out. No I/O, no clock, no torch."""

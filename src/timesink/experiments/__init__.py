"""Changes tried on unmodified scripts, measured against themselves, with a record."""

"""One rule per file, each with its own examples; see ``timesink.diagnoses.catalogue``."""

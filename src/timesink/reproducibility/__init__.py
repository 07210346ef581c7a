"""The environment record of a run (seeds and proof of reproducibility grow here)."""

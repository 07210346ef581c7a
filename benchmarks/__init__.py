"""Speed as ratios, side by side in one run. Tests never assert on wall time; this does not fail."""

"""One rule per file: evidence in, finding with advice out. Reads results, never tables."""

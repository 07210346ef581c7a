"""Only an aggregate, streaming: kernel and operator time by name; memory must stay flat."""

import sys

import polars as pl

from timesink.api import read_trace

trace = read_trace(sys.argv[1])
table = trace.scan_events().group_by("kind", "name").agg(pl.len(), pl.col("dur").sum())
print(table.collect(engine="streaming").height)

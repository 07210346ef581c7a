"""Our side: load, then all analyses (breakdown, kernels, idle, launches and the rest)."""

import sys

from timesink.api import analyze

result = analyze(sys.argv[1], cache="--cache" in sys.argv)
print(result.info.event_count)

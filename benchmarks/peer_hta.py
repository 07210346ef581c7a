"""The peer's side of the comparison: run by a Python that has HolisticTraceAnalysis 0.5.0."""

import sys

from hta.trace_analysis import TraceAnalysis

analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, include_last_profiler_step=True)
analysis.get_temporal_breakdown(visualize=False)
analysis.get_gpu_kernel_breakdown(visualize=False)
analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)

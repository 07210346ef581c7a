"""The only room that runs user code: script runner, step detection, profiler window."""

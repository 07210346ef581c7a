"""One file per memory rule; each has ``check(answer) -> MemoryFinding | None``."""

"""Errors that a person can act on: one sentence of what is wrong and one of what to do.

Everything a user can cause (a bad path, a file that is no trace, an unknown column) is raised
as a :class:`TimesinkError`. The command line prints ``message`` and ``remedy`` and exits with
code 2; anything else that escapes is a bug of ours and exits with code 1.
"""

from __future__ import annotations


class TimesinkError(Exception):
    """Bad input or bad usage.

    ``message`` is one sentence that says what is wrong; ``remedy`` one sentence that says what
    to do about it (may be empty). ``slug`` names the paragraph in ``docs/messages.md``.
    """

    slug = "error"

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(f"{message} {remedy}".strip())
        self.message = message
        self.remedy = remedy

    def __reduce__(self) -> tuple[type[TimesinkError], tuple[str, str]]:
        """Rebuild from both sentences, so that the error survives a process boundary."""
        return (type(self), (self.message, self.remedy))


class NotATrace(TimesinkError):
    """The file is readable but is not a torch.profiler trace; the message says what it is."""

    slug = "not-a-trace"


class NotASnapshot(TimesinkError):
    """The file is no snapshot of the caching allocator; the message says why."""

    slug = "not-a-snapshot"


class EmptyTrace(TimesinkError):
    """A torch.profiler trace (or an empty file under such a name) without a single timed event."""

    slug = "empty-trace"


class UnreadableFile(TimesinkError):
    """The file is missing, not permitted, or its compression is broken from the first byte."""

    slug = "unreadable-file"


class MixedSessions(TimesinkError):
    """A folder holds traces of more than one run, which must not be added up."""

    slug = "mixed-sessions"


class BadUsage(TimesinkError):
    """An argument has a value that cannot be used."""

    slug = "bad-usage"


class MissingDependency(TimesinkError):
    """An optional package is needed for what was asked."""

    slug = "missing-dependency"

"""What the commands share: progress on a terminal, output to a file, picking a rank."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from timesink.errors import BadUsage

PathArgument = Annotated[
    Path,
    typer.Argument(
        metavar="PATH",
        help="A trace (.json, .json.gz), a folder of traces, or a run of timesink.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON with a schema_version.")]
RankOption = Annotated[
    int | None, typer.Option("--rank", help="The rank to show.", show_default="lowest")
]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Neither read nor write the cache of decoded traces.")
]


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on stderr while a long file is read; None where nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def update(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield update


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """A reader of our output that has gone (head, less) has had what it wanted: no error."""
    try:
        yield
    except BrokenPipeError:
        pass
    except SystemExit as leaving:
        if not isinstance(leaving.__context__, BrokenPipeError):  # rich makes it an exit with 1
            raise


def flush() -> None:
    """Hand on what is on its way to stdout; a reader that has gone is no error.

    Raises ``BadUsage`` where the output cannot be written, on a full disk for example.
    """
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        # Python would try again at its end, and fail there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise no_output(error) from error


def no_output(error: OSError) -> BadUsage:
    """The error of a stdout that takes nothing."""
    return BadUsage(f"The output cannot be written: {error.strerror}.", "Make room for it.")


def write_bytes(data: bytes) -> None:
    """UTF-8 on stdout, whatever the terminal's encoding: JSON and CSV are for programs."""
    if sys.stdout is not None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)


def write_text(path: Path, text: str) -> None:
    """Write a file a user asked for, with a sentence instead of a traceback when that fails."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadUsage(
            f"{path} cannot be written: {error.strerror}.", "Name another file."
        ) from error

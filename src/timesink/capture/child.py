"""The measured process: installs the hooks, runs the script as ``__main__``, ends as it ends."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib
import os
import signal
import sys
import threading
from pathlib import Path
from types import TracebackType

from timesink.capture.importhook import after_import
from timesink.capture.main_module import run_module, run_script
from timesink.capture.options import VARIABLE, RunOptions
from timesink.capture.quick_session import QuickSession
from timesink.capture.session import Session
from timesink.errors import TimesinkError
from timesink.reproducibility.seeding import seed_everything

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Entry of the child that ``supervise`` starts."""
    options = RunOptions.load(os.environ.pop(VARIABLE))
    _die_with_parent()
    session = QuickSession(options) if options.quick else Session(options)
    if options.extension and isinstance(session, Session):
        module, _, function = options.extension.partition(":")
        getattr(importlib.import_module(module), function)(session, options.extension_data)
    if options.seed is not None and isinstance(session, Session):
        session.seeds = seed_everything(options.seed, options.deterministic)
    after_import("torch", session.torch_imported)
    session.start()
    pid = os.getpid()
    try:
        code = run(options)
    finally:  # also when the script's own excepthook raises or exits
        session.finish()
    if os.getpid() != pid and session.window is not None and session.window.open:
        _leave_fork(code)
    _leave(code)


def _die_with_parent() -> None:
    """A parent that is killed outright takes the script with it, as if it had been one process."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def run(options: RunOptions) -> BaseException | None:
    """Run the script; its exception is printed here, before anything of ours is stopped."""
    try:
        if options.module:
            run_module(options.script, options.argv)
        else:
            run_script(options.script, options.argv)
    except SystemExit as leaving:
        return leaving
    except TimesinkError as error:
        print(f"timesink: {error}", file=sys.stderr)
        return SystemExit(2)
    except BaseException as error:
        _print(error)
        return error
    return None


def _print(error: BaseException) -> None:
    """Print the traceback as Python would, without our own frames in it."""
    error.__traceback__ = _users(error.__traceback__)
    sys.last_type, sys.last_value = type(error), error
    sys.last_traceback = error.__traceback__
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    sys.excepthook(type(error), error, error.__traceback__)
    with contextlib.suppress(Exception):
        sys.stderr.flush()


def _users(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the script's first frame on."""
    here = str(Path(__file__).resolve().parent)
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(here):
        trace = trace.tb_next
    return trace


def _leave(error: BaseException | None) -> None:
    """Exit with the script's code; the interpreter's own exit (threads, atexit) still runs."""
    if error is None:
        return
    if isinstance(error, SystemExit):
        raise error
    if isinstance(error, KeyboardInterrupt):
        _run_exit()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    sys.exit(1)


def _leave_fork(error: BaseException | None) -> None:
    """Exit from a process that the script forked while the profiler was on.

    It has inherited the profiler without its threads: taking torch down would hang or crash. So
    all of Python's exit runs but the end of the interpreter itself.
    """
    code = error.code if isinstance(error, SystemExit) else 0 if error is None else 1
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    _run_exit()
    os._exit((code or 0) & 0xFF)


def _run_exit() -> None:
    """Python's own exit up to the end of the interpreter: threads, atexit, output."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()

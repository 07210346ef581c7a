"""The command line: one file per command, each parses, calls the api, prints and exits.

Exit codes: 0 fine, 1 our own error, 2 bad usage or bad input; ``run`` passes the script's through.
"""

from __future__ import annotations

import os
import signal
import sys

from timesink.errors import TimesinkError
from timesink.reports.units import clean


def main() -> None:
    """Run the command named on the command line and exit with its code."""
    from timesink.cli.app import build

    try:
        build()(prog_name="timesink")
    except TimesinkError as error:
        print(f"timesink: {clean(error.message)}", file=sys.stderr)
        if error.remedy:
            print(f"          {clean(error.remedy)}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("timesink: interrupted", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    except Exception as error:
        if os.environ.get("TIMESINK_DEBUG"):
            raise
        print(
            f"timesink: a defect of timesink itself: {type(error).__name__}: {clean(str(error))}\n"
            "          Set TIMESINK_DEBUG=1 for the traceback, and please report it.",
            file=sys.stderr,
        )
        sys.exit(1)

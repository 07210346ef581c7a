"""``timesink fit``: will it fit on a device that is not here?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from timesink.cli.common import JsonOption, write_bytes
from timesink.cli.measuring import TimeoutOption, duration
from timesink.cli.run import ModuleFlag, NameOption, OutOption, Script


def command(
    script: Script,
    device_memory: Annotated[
        str, typer.Option("--device-memory", help="Of the device: 24GiB, 80GB.")
    ],
    module: ModuleFlag = False,
    batch_size: Annotated[
        list[int] | None,
        typer.Option("--batch-size", min=1, help="Also predict this one; can be given again."),
    ] = None,
    timeout: TimeoutOption = "10m",
    out: OutOption = Path("timesink_runs"),
    name: NameOption = None,
    json: JsonOption = False,
) -> None:
    """Predict the peak memory on a device, and the largest batch that fits, without the device.

    The unmodified script takes a few steps on the CPU, as it is and with twice the batch.

    Examples:

      timesink fit --device-memory 24GiB train.py

      timesink fit --device-memory 80GB --batch-size 512 -m package.train
    """
    from timesink import api
    from timesink.model.experiments import Command

    found = api.fit(
        Command(tuple(script), module), device_memory, out, name=name,
        timeout_s=duration(timeout, "--timeout"),
    )  # fmt: skip
    if json:
        write_bytes(api.fit_json(found) + b"\n")
    else:
        api.print_document(api.fit_page(found, Path(script[0]).name, tuple(batch_size or ())))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("fit", context_settings={"allow_interspersed_args": False})(command)

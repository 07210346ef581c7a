"""``timesink fit``: will it fit on a device that is not here?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.errors import BadUsage
from timesink.model.experiments import Command
from timesink.model.memory import Category, Fit, FitRun

if TYPE_CHECKING:
    from timesink.experiments.fit import Measured
    from timesink.reports.document import Document

_UNSEEN = (
    "Not in it: the CUDA context and libraries (0.3 to 1 GiB a process), workspaces of cuDNN and "
    "cuBLAS, NCCL's buffers, rounding and fragmentation by the allocator, kernels that need other "
    "temporaries on a GPU than on the CPU, and what autocast would change there. Leave 10 to 20 % "
    "of the device free."
)


def fit(
    command: Command, capacity: str, out: Path, *, name: str | None = None, timeout_s: float = 600.0
) -> Fit:
    """Run the script for a few steps on the CPU, as it is and with twice the batch, and predict.

    Raises ``BadUsage`` when the script fails as it is or no training step was seen.
    """
    from timesink.api.experiments import checked
    from timesink.capture.folder import create_run_folder, default_name
    from timesink.experiments.fit import bytes_of, measure
    from timesink.experiments.fit import fit as drawn

    room = bytes_of(capacity)
    words = checked(command)
    folder = create_run_folder(out, name or f"fit-{default_name(words.words[0])}")
    once = measure(words, folder, False, timeout_s)
    twice = measure(words, folder, True, timeout_s)
    first = _run(once)
    if first is None:
        raise BadUsage(
            "No training step with allocations was seen.",
            f"What the script printed is in {once.folder}.",
        )
    notes = []
    second = None
    if twice.error:
        notes.append(f"With twice the batch the script fails ({twice.error}): one size only.")
    elif not twice.applied:
        notes.append("The batch could not be doubled (no DataLoader of its own): one size only.")
    else:
        second = _run(twice)
    found = drawn(room, _batch(once.folder), first, second)
    return replace(found, notes=(*notes, _UNSEEN))


def _run(measured: Measured) -> FitRun | None:
    """The peak by category; parameters, made before the window, as the process counted them."""
    from timesink.api.memory import memory_report
    from timesink.errors import TimesinkError

    try:
        report = memory_report(measured.folder, cache=False)
    except TimesinkError:
        return None
    answer = next((a for a in report.answers if a.device == "cpu"), None)
    if answer is None or not answer.steps:
        return None
    sizes = {c: size for c, size, _ in answer.categories}
    sizes[Category.PARAMETERS] = sizes.get(Category.PARAMETERS, 0) + measured.parameters
    return FitRun(tuple(sorted(sizes.items(), key=lambda pair: -pair[1])))


def _batch(folder: Path) -> int:
    """Samples in a batch of the loader that was iterated most, 0 unknown."""
    from timesink.capture.folder import read_record
    from timesink.errors import UnreadableFile

    try:
        loaders = read_record(folder).loaders
    except UnreadableFile:
        return 0
    most = max(loaders, key=lambda entry: entry.epochs, default=None)
    return (most.batch_size or 0) if most is not None else 0


def fit_page(found: Fit, title: str, batches: tuple[int, ...] = ()) -> Document:
    """The prediction as a document, with more batch sizes if asked for."""
    from timesink.reports.fit import build

    return build(found, title, batches)


def fit_json(found: Fit) -> bytes:
    """The prediction as JSON with a ``schema_version``."""
    from timesink.reports.json_ import dump_result

    return dump_result(found)

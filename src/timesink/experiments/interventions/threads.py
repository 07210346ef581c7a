"""``threads=N``: N threads inside each operator on the CPU."""

from __future__ import annotations

from typing import Any

from timesink.experiments.interventions.base import Kind, Recorder, plural, whole_number


def install(value: str, recorder: Recorder) -> None:
    """Set it, and say so if the script sets it again."""
    import torch

    wanted = int(value)
    if torch.get_num_threads() == wanted:
        recorder.left(f"torch uses {plural(wanted, 'thread')} already")
        return
    set_threads = torch.set_num_threads
    set_threads(wanted)
    recorder.changed("thread count")

    def set_again(count: Any) -> None:
        set_threads(count)
        if torch.get_num_threads() != wanted:
            recorder.undone(f"the script itself sets {plural(count, 'thread')}")

    torch.set_num_threads = set_again


KIND = Kind(
    name="threads",
    takes="N",
    summary="N threads inside each operator on the CPU",
    nothing="there was nothing to change",
    may_change="Rounding: sums are split among threads in another way.",
    numerics="rounding",
    code="torch.set_num_threads({value})  # or OMP_NUM_THREADS={value}",
    install=install,
    check=whole_number(1),
)

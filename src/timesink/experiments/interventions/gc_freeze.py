"""``gc-freeze``: what exists after the first step is never looked at by the collector again."""

from __future__ import annotations

import gc
from typing import Any

from timesink.experiments.interventions.base import Kind, Recorder


def install(value: str, recorder: Recorder) -> None:
    """Collect and freeze after the first optimizer step."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    done: list[bool] = []  # a hook that removes itself changes the dict that torch walks through

    def freeze(optimizer: Any, args: Any, kwargs: Any) -> None:
        if done:
            return
        done.append(True)
        if not gc.isenabled():
            recorder.left("the script has switched the collector off")
            return
        gc.collect()
        gc.freeze()
        recorder.changed("collector")

    register_optimizer_step_post_hook(freeze)


KIND = Kind(
    name="gc-freeze",
    takes="",
    summary="the collector ignores what exists after the first step",
    nothing="no optimizer of torch.optim stepped",
    may_change="Cycles among the frozen objects keep their memory.",
    numerics="exact",
    code="gc.collect(); gc.freeze()  # after the first step",
    install=install,
)

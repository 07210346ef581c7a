"""Finds the steps of a training loop from what happens in it; knows nothing of torch.

It is told when data is fetched, a forward, a backward or an optimizer step begins and ends, and
decides online where one step ends and the next begins, as a person would count them:

- With a DataLoader a step begins where its batch is fetched. A fetch ends the step before it if an
  optimizer stepped in that step; if only a backward ran, the fetch is a further micro-batch
  (gradient accumulation); if only a forward ran, the step was one of evaluation.
- Without one, the step ends where the *leader* (the first optimizer that ever stepped) has
  stepped; an optimizer that steps twice on one batch (PPO) is treated so as well, from then on.
- A loop that never goes backward and has no loader (inference) ends a step with each outermost
  module call.

Every nanosecond of a step belongs to the innermost thing that is going on, so the parts and the
rest add up to the wall time exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from timesink.capture.steplog import StepRow
from timesink.model.run import StepKind


class Part(IntEnum):
    """What can go on in a step."""

    REST = 0
    DATA = 1
    FORWARD = 2
    BACKWARD = 3
    OPTIMIZER = 4


#: After so many forwards without any backward or loader, each is taken as a step of inference.
_INFERENCE_AFTER = 8
#: After so many steps of another optimizer, the leader is taken to be gone (the next fold began).
_LEADER_GONE = 10
#: After so many batches that went backward without any optimizer step, each is taken as a step.
_BY_HAND_AFTER = 16


@dataclass(slots=True)
class _Segment:
    """The step that is going on."""

    start: int
    parts: list[int] = field(default_factory=lambda: [0] * len(Part))
    fetched: bool = False
    forwards: int = 0
    backward: bool = False
    stepped: bool = False
    led: bool = False
    boundary: bool = False
    gc_ns: int = 0


class StepMachine:
    """Call :meth:`enter` and :meth:`leave` with times in ns; both may return closed steps."""

    def __init__(self) -> None:
        self._segment: _Segment | None = None
        self._mark = 0
        self._stack: list[Part] = []
        self._leader: int | None = None
        self._follower: tuple[int, int] = (0, 0)  # who stepped since the leader, how often
        self._led_at: tuple[int, list[int]] | None = None
        self._ever_stepped = False
        self._lonely_forwards = 0
        self._unstepped = 0
        self.loaderless = False

    def enter(self, part: Part, now: int, ident: int = 0) -> list[StepRow]:
        """Something begins. ``ident``: which optimizer."""
        if part is Part.DATA and Part.OPTIMIZER in self._stack:
            self._account(now)
            self._stack.clear()  # its end was never told: the optimizer raised
        closed = self._before(part, now) if not self._stack else []
        self._account(now)
        self._stack.append(part)
        return closed

    def leave(self, part: Part, now: int, ident: int = 0) -> list[StepRow]:
        """Something ends; unbalanced ends (an exception in between) unwind the stack."""
        self._account(now)
        if part in self._stack:
            while self._stack.pop() is not part:
                pass
        segment = self._segment
        if segment is None:
            return []
        if part is Part.DATA:
            segment.fetched = True
        elif part is Part.FORWARD and not self._stack:
            segment.forwards += 1
            return self._after_forward(now)
        elif part is Part.BACKWARD:
            segment.backward = True
            self._lonely_forwards = 0
        elif part is Part.OPTIMIZER and not self._stack:
            return self._after_optimizer(now, ident)
        return []

    def epoch(self) -> None:
        """A loader began to be iterated: the step holds an epoch boundary."""
        if self._segment is not None:
            self._segment.boundary = True

    def resume(self, now: int) -> None:
        """Time that we ourselves took at a boundary (starting or exporting the profiler) belongs
        to no step: the one that has just begun begins now."""
        if self._segment is not None:
            self._segment.start = self._mark = max(self._mark, now)

    def collected(self, duration: int) -> None:
        """A Python garbage collection ran (its time is part of whatever was going on)."""
        if self._segment is not None:
            self._segment.gc_ns += duration

    def finish(self, now: int) -> list[StepRow]:
        """The script ended: the step that was going on, if it holds anything that counts."""
        segment = self._segment
        if segment is None or not (segment.stepped or segment.forwards):
            return []
        self._account(now)
        kind: StepKind = "eval"
        if segment.stepped:  # what follows the leader's last step is the rest of that step
            kind = "train" if segment.led else "other"
        return [self._close(kind, now)]

    def _before(self, part: Part, now: int) -> list[StepRow]:
        """Decide, at the outermost level, whether what begins now belongs to a new step."""
        segment = self._segment
        if segment is None:
            self._segment, self._mark = _Segment(now), now
            return []
        if part is not Part.DATA:
            return []
        if segment.stepped:
            return [self._close("train", now)]
        if segment.forwards and not segment.backward:
            return [self._close("eval", now)]
        return self._by_hand(now)

    def _by_hand(self, now: int) -> list[StepRow]:
        """Parameters that no optimizer of torch is seen to update (by hand, or in a compiled
        step): after a while every batch that went backward is taken as a step."""
        segment = self._segment
        assert segment is not None
        if self._ever_stepped or not segment.backward:
            return []
        self._unstepped += 1
        return [self._close("train", now)] if self._unstepped > _BY_HAND_AFTER else []

    def _after_forward(self, now: int) -> list[StepRow]:
        segment = self._segment
        assert segment is not None
        if self._ever_stepped or segment.fetched or segment.backward:
            return []
        self._lonely_forwards += 1
        if self._lonely_forwards > _INFERENCE_AFTER:
            return [self._close("eval", now)]
        return []

    def _after_optimizer(self, now: int, ident: int) -> list[StepRow]:
        segment = self._segment
        assert segment is not None
        self._ever_stepped = True
        if self._leader is None:
            self._leader = ident
        if ident != self._leader and not self._succeeds(ident):
            segment.stepped = True
            return []
        self._follower = (0, 0)
        if segment.stepped and self._led_at is not None:
            closed = self._split()
            self.loaderless = True
            return [*closed, self._close("train", now)]
        segment.stepped = segment.led = True
        if not segment.fetched:
            return [self._close("train", now)]
        self._led_at = (now, list(segment.parts))
        return []

    def _succeeds(self, ident: int) -> bool:
        """Whether an optimizer has stepped so often on its own that it leads from now on."""
        known, times = self._follower
        self._follower = (ident, times + 1 if known == ident else 1)
        if self._follower[1] < _LEADER_GONE:
            return False
        self._leader = ident
        return True

    def _split(self) -> list[StepRow]:
        """The leader stepped twice on one batch: the step ended where it stepped first."""
        segment = self._segment
        assert segment is not None
        assert self._led_at is not None
        at, parts = self._led_at
        first = _row("train", segment, at, parts)
        rest = [a - b for a, b in zip(segment.parts, parts, strict=True)]
        self._segment = _Segment(at, rest, stepped=True, led=True)
        self._led_at = None
        return [first]

    def _account(self, now: int) -> None:
        """Give the time since the last event to what was going on."""
        passed = now - self._mark
        if self._segment is None or passed <= 0:
            return
        stack = self._stack
        part = stack[-1] if stack else Part.REST
        if len(stack) > 1 and Part.BACKWARD in stack:
            part = Part.BACKWARD  # checkpointing runs modules again in the backward
        self._segment.parts[part] += passed
        self._mark = now

    def _close(self, kind: StepKind, now: int) -> StepRow:
        self._account(now)
        segment = self._segment
        assert segment is not None
        self._segment, self._led_at = _Segment(self._mark), None
        return _row(kind, segment, self._mark, segment.parts)


def _row(kind: StepKind, segment: _Segment, end: int, parts: list[int]) -> StepRow:
    return StepRow(
        kind=kind,
        start_ns=segment.start,
        wall_ns=end - segment.start,
        data_ns=parts[Part.DATA],
        forward_ns=parts[Part.FORWARD],
        backward_ns=parts[Part.BACKWARD],
        optimizer_ns=parts[Part.OPTIMIZER],
        gc_ns=segment.gc_ns,
        boundary=segment.boundary,
    )

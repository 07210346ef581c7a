"""What ``timesink run`` writes about a run: the record (run.json) and the light steps.

These are plain values; ``capture`` fills them, ``api`` reads them back, ``reports`` prints them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StepKind = Literal["train", "eval", "other"]


@dataclass(frozen=True, slots=True)
class Environment:
    """The machine and software of a run, as flat text fields so that two can be diffed.

    ``fields`` keys are dotted and stable: "python.version", "torch.version", "torch.cuda",
    "cpu.model", "cpu.cores", "cpu.threads.torch", "gpu.0.name", "env.OMP_NUM_THREADS", "os",
    "git.commit", "git.dirty", ... A field that could not be read is absent.
    """

    fields: tuple[tuple[str, str], ...] = ()

    def get(self, key: str, default: str = "") -> str:
        """The value of one field."""
        return dict(self.fields).get(key, default)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The profiler window asked for, in steps, and the switches whose cost is named in --help."""

    wait: int
    warmup: int
    active: int
    record_shapes: bool = True
    with_stack: bool = False
    profile_memory: bool = False
    max_seconds: float = 120.0
    max_bytes: int = 256 * 1024**2  #: growth of the process: about 90,000 operators


@dataclass(frozen=True, slots=True)
class RunRecord:
    """run.json. Written when the run starts and rewritten atomically as it goes on.

    ``exit_code``: the script's own (negative: killed by that signal), None while it runs or if it
    was never seen to end. ``recorded_steps`` of the window really recorded; ``total_steps`` that
    the light recorder saw. ``notes`` are sentences for the data-quality section.
    """

    name: str
    command: tuple[str, ...]
    started: str  #: ISO 8601 with offset
    environment: Environment = Environment()
    schedule: Schedule | None = None
    rank: int = 0
    world_size: int = 1
    ended: str = ""
    exit_code: int | None = None
    total_steps: int = 0
    recorded_steps: int = 0
    trace_file: str = ""
    steps_file: str = ""
    notes: tuple[str, ...] = ()
    loaders: tuple[LoaderInfo, ...] = ()
    optimizers: tuple[str, ...] = ()
    schema_version: int = 1


@dataclass(frozen=True, slots=True)
class LoaderInfo:
    """One DataLoader the script iterated, as configured."""

    num_workers: int
    batch_size: int | None
    pin_memory: bool
    persistent_workers: bool
    prefetch_factor: int | None
    dataset: str = ""
    epochs: int = 0


@dataclass(frozen=True, slots=True)
class LightSteps:
    """The light recorder's table over *all* steps; every tuple has one entry per step.

    Host wall clock (``time.perf_counter_ns``): ``wall_ns`` = data + forward + backward + optimizer
    + rest, exactly. ``profiled``: inside the profiler window (warm-up included), so slower.
    ``compiled``: a compiler ran in it. ``boundary``: holds an epoch start, validation or the like.
    ``rss``: process resident bytes at the end of the step (0: not sampled, keep the last);
    ``device_bytes`` allocated on the accelerator (0: none). ``gc_ns``: Python collections in it.
    """

    kind: tuple[StepKind, ...] = ()
    start_ns: tuple[int, ...] = ()
    wall_ns: tuple[int, ...] = ()
    data_ns: tuple[int, ...] = ()
    forward_ns: tuple[int, ...] = ()
    backward_ns: tuple[int, ...] = ()
    optimizer_ns: tuple[int, ...] = ()
    gc_ns: tuple[int, ...] = ()
    rss: tuple[int, ...] = ()
    device_bytes: tuple[int, ...] = ()
    profiled: tuple[bool, ...] = ()
    compiled: tuple[bool, ...] = ()
    boundary: tuple[bool, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.wall_ns)

    def rest_ns(self, i: int) -> int:
        """Wall time of step ``i`` that is none of the four named parts."""
        named = self.data_ns[i] + self.forward_ns[i] + self.backward_ns[i] + self.optimizer_ns[i]
        return self.wall_ns[i] - named

    def steady(self) -> tuple[int, ...]:
        """Indices of train steps that are neither first, profiled, compiled nor a boundary.

        Falls back to all train steps but the first, then to every step, so it is only empty when
        there are no steps.
        """
        train = [i for i, k in enumerate(self.kind) if k == "train"]
        good = [
            i for i in train[1:] if not (self.profiled[i] or self.compiled[i] or self.boundary[i])
        ]
        return tuple(good or train[1:] or train or range(len(self)))

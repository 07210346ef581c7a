"""Every dial that decides whether two runs compute the same numbers, in one call.

:func:`seed_everything` turns the dials that a running process can turn and records all of them;
:func:`environment_for` gives the variables that only a new process can be started with. Each dial,
its cost and its pitfall: ``docs/reproducibility.md``. Works without NumPy and without torch, and
imports neither: what is not imported yet is seeded at the moment it is.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import operator
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from timesink.errors import BadUsage
from timesink.model.reproducibility import Dial, SeedRecord
from timesink.reproducibility.later import when_imported
from timesink.reproducibility.torch_dials import CUBLAS, cublas_is_deterministic, torch_dials

#: What was done when a library was imported, after it had been asked for.
_since: dict[str, tuple[Dial, ...]] = {}
_LARGEST = 2**32 - 1  # of NumPy's legacy generator and of PYTHONHASHSEED
_REMAINS = (
    "generators that the program makes without a seed (numpy.random.default_rng(), "
    "numpy.random.RandomState(), random.Random(), random.SystemRandom()) keep their own entropy",
    "clocks, process ids, uuid4, secrets, file order (os.listdir, glob) and the network",
)
_REMAINS_PLAIN = (
    "operators whose kernels add in no fixed order, mostly on GPUs, and the choice of kernels by "
    "timing (cudnn.benchmark, autotuning): deterministic=True fixes these",
)
_REMAINS_DETERMINISTIC = (
    "other hardware, other versions of torch and its libraries, another number of threads, "
    "processes or ranks: bits are promised for the same of all of these only",
    "kernels that are not torch's own (custom CUDA or Triton, other packages)",
)


def seed_everything(
    seed: int, deterministic: bool = False, *, warn_only: bool = False, per_rank: bool = False
) -> SeedRecord:
    """Seed Python, NumPy's global generator and torch on every device; record every other dial.

    ``seed``: 0 to 2**32 - 1, else :class:`BadUsage`. ``deterministic`` also makes torch use
    deterministic algorithms only, which costs time; an operator that has none then raises, or with
    ``warn_only`` warns and stays nondeterministic (flash attention's backward pass among them,
    although it has a deterministic form). ``per_rank`` adds the ``RANK`` variable to the seed:
    leave it off where ranks must start from equal parameters, turn it on for data augmentation.
    """
    base = _checked(seed)
    rank = _rank() if per_rank else 0
    used = (base + rank) & _LARGEST
    random.seed(used)
    dials = [Dial("python random", "set", str(used)), *_rank_dial(per_rank, rank), _hash_dial()]
    dials += _numpy_dial(used)
    dials += _torch_dials(used, deterministic, warn_only)
    remains = (*_REMAINS, *(_REMAINS_DETERMINISTIC if deterministic else _REMAINS_PLAIN))
    if deterministic and warn_only:
        remains += ("operators without a deterministic form: torch warns of each and goes on",)
    return SeedRecord(used, deterministic, tuple(dials), remains)


def completed(record: SeedRecord) -> SeedRecord:
    """The record with what has been done since, when NumPy and torch were imported."""
    dials: list[Dial] = []
    for dial in record.dials:
        done = _since.get(dial.name.split()[0]) if dial.state == "later" else None
        dials += done or (dial,)
    return dataclasses.replace(record, dials=tuple(dials))


def fields(record: SeedRecord) -> tuple[tuple[str, str], ...]:
    """A record as fields of the environment, "seed.…", so that two runs can be compared."""
    switches = "yes" if record.deterministic else "no"
    dials = ((f"seed.{d.name}", f"{d.value} ({d.state})".strip()) for d in record.dials)
    return (("seed", str(record.seed)), ("seed.deterministic", switches), *dials)


def environment_for(seed: int, deterministic: bool = False) -> dict[str, str]:
    """The variables that a process must be started with so that ``seed`` covers all of it.

    ``PYTHONHASHSEED`` fixes the order of sets of text; ``CUBLAS_WORKSPACE_CONFIG`` must stand
    before the first matrix product on a GPU. A value that is already set and does the same is kept.
    """
    variables = {"PYTHONHASHSEED": str(_checked(seed))}
    if deterministic:
        before = os.environ.get(CUBLAS, "")
        variables[CUBLAS] = before if cublas_is_deterministic(before) else ":4096:8"
        variables["TORCHINDUCTOR_DETERMINISTIC"] = "1"
    return variables


def _checked(seed: int) -> int:
    try:
        value = operator.index(seed)
    except TypeError:
        raise BadUsage(f"A seed is a whole number, not {seed!r}.") from None
    if not 0 <= value <= _LARGEST:
        raise BadUsage(
            f"The seed {value} is out of range.",
            f"NumPy and PYTHONHASHSEED take 0 to {_LARGEST}.",
        )
    return value


def _rank() -> int:
    text = os.environ.get("RANK", "")
    return int(text) if text.isdigit() else 0


def _rank_dial(per_rank: bool, rank: int) -> Iterator[Dial]:
    if per_rank:
        yield Dial("rank", "set", str(rank), "added to the seed")
    elif "RANK" in os.environ:
        yield Dial("rank", "as it was", str(_rank()), "every rank has the same seed")


def hash_seed() -> str:
    """What the hash of text was fixed to when this interpreter started; "" if it is random."""
    if not sys.flags.hash_randomization:
        return "0"
    value = _started_with("PYTHONHASHSEED")
    return value if value.isdigit() else ""


def _hash_dial() -> Dial:
    """The hash of text is fixed when the interpreter starts and cannot be changed after."""
    value = hash_seed()
    if value:
        return Dial("PYTHONHASHSEED", "as it was", value, "the interpreter was started with it")
    why = "the order of sets of text differs between runs; only a new interpreter can fix it"
    if os.environ.get("PYTHONHASHSEED", "").isdigit():
        why += "; setting the variable inside the program came too late"
    return Dial("PYTHONHASHSEED", "not set", "random", why)


def _started_with(name: str) -> str:
    """A variable as it was when this process began (where that cannot be read: as it is)."""
    try:
        block = Path("/proc/self/environ").read_bytes()
    except OSError:
        return os.environ.get(name, "")
    pairs = (entry.partition(b"=") for entry in block.split(b"\0"))
    return next((os.fsdecode(v) for k, _, v in pairs if k == name.encode()), "")


def _numpy_dial(seed: int) -> Iterator[Dial]:
    name = "numpy random (legacy, global)"

    def now() -> None:
        sys.modules["numpy"].random.seed(seed)
        _since["numpy"] = (done,)

    done = Dial(name, "set", str(seed), "default_rng() generators stay the program's own")
    if hasattr(sys.modules.get("numpy"), "random"):
        now()
        yield done
    elif importlib.util.find_spec("numpy") is None:
        yield Dial(name, "not there")
    else:
        _since.pop("numpy", None)
        when_imported("numpy", now)
        yield Dial(name, "later", str(seed), "when numpy is imported")


def _torch_dials(seed: int, deterministic: bool, warn_only: bool) -> Iterator[Dial]:
    if hasattr(sys.modules.get("torch"), "manual_seed"):
        yield from torch_dials(seed, deterministic, warn_only)
    elif importlib.util.find_spec("torch") is None:
        yield Dial("torch", "not there")
    else:
        _since.pop("torch", None)
        when_imported("torch", lambda: _now(seed, deterministic, warn_only))
        yield Dial("torch", "later", str(seed), "when torch is imported")


def _now(seed: int, deterministic: bool, warn_only: bool) -> None:
    _since["torch"] = tuple(torch_dials(seed, deterministic, warn_only))

"""Seeds and dials: the same numbers again, an honest record, nothing imported on the way."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from timesink.errors import BadUsage
from timesink.reproducibility import seeding
from timesink.reproducibility.seeding import environment_for, seed_everything

DRAW = """
import random
out = [random.random()]
import numpy
out.append(numpy.random.rand())
import torch
out.append(torch.rand(1).item())
print(out)
"""


def python(code: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        check=True, capture_output=True, text=True, env={**os.environ, **variables},
    )  # fmt: skip
    return done.stdout


def test_seeds_what_is_there_and_what_is_imported_later() -> None:
    pytest.importorskip("torch")
    before = "import timesink; r = timesink.seed_everything(7)\n" + DRAW
    after = (
        "import random, numpy, torch, timesink; timesink.seed_everything(7)\n" + DRAW
    )  # importing again does nothing
    assert python(before) == python(before) == python(after)
    assert python(before) != python(before.replace("(7)", "(8)"))


def test_imports_neither_numpy_nor_torch() -> None:
    states = python(
        "import sys; from timesink.reproducibility.seeding import seed_everything\n"
        "r = seed_everything(1, True); assert not {'torch', 'numpy'} & set(sys.modules)\n"
        "print([d.state for d in r.dials])"
    )
    assert "later" in states


def test_works_where_neither_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(seeding.importlib.util, "find_spec", lambda name: None)
    record = seed_everything(5)
    assert {d.name for d in record.of("not there")} == {"numpy random (legacy, global)", "torch"}
    value = random.random()
    random.seed(5)
    assert random.random() == value


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, "1", None])
def test_refuses_what_is_no_seed(seed: object) -> None:
    with pytest.raises(BadUsage):
        seed_everything(seed)  # type: ignore[arg-type]
    with pytest.raises(BadUsage):
        environment_for(seed)  # type: ignore[arg-type]


def test_numpy_generators_of_the_program_are_left_alone() -> None:
    np = pytest.importorskip("numpy")
    own = np.random.default_rng(3)
    state = own.bit_generator.state
    record = seed_everything(1)
    assert own.bit_generator.state == state
    dial = record.get("numpy random (legacy, global)")
    assert dial is not None
    assert "default_rng" in dial.why
    assert any("default_rng" in sentence for sentence in record.remains)


def test_hash_seed_is_told_as_the_interpreter_was_started() -> None:
    code = (
        "import os; from timesink.reproducibility.seeding import seed_everything\n"
        "os.environ['PYTHONHASHSEED'] = '3'\n"
        "print(seed_everything(3).get('PYTHONHASHSEED'))"
    )
    assert "not set" in python(code, PYTHONHASHSEED="random")
    assert "= 5: as it was" in python(code, PYTHONHASHSEED="5")
    assert "= 0: as it was" in python(code, PYTHONHASHSEED="0")


def test_a_child_with_our_variables_orders_sets_alike() -> None:
    code = "print(list({str(i) for i in range(50)}))"
    assert python(code, **environment_for(1)) == python(code, **environment_for(1))
    assert python(code, **environment_for(1)) != python(code, **environment_for(2))


def test_keeps_a_cublas_setting_that_does_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "CUBLAS_WORKSPACE_CONFIG"
    monkeypatch.setenv(name, ":16:8")
    assert environment_for(0, True)[name] == ":16:8"
    monkeypatch.setenv(name, ":4096:2")
    assert environment_for(0, True)[name] == ":4096:8"
    assert name not in environment_for(0)


def test_rank_is_added_only_where_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    assert seed_everything(10).seed == 10
    assert seed_everything(10, per_rank=True).seed == 13


DETERMINISTIC = """
import torch, timesink
r = timesink.seed_everything(0, True)
assert torch.are_deterministic_algorithms_enabled() and not torch.is_deterministic_algorithms_warn_only_enabled()
assert torch.backends.cudnn.deterministic and not torch.backends.cudnn.benchmark
assert torch.empty(3).isnan().all()
import torch._inductor.config as config
assert getattr(config, "deterministic", True)
assert not r.of("not set") or [d.name for d in r.of("not set")] == ["PYTHONHASHSEED"], r
r = timesink.seed_everything(0, True, warn_only=True)
assert torch.is_deterministic_algorithms_warn_only_enabled()
print(r)
"""  # noqa: E501


def test_deterministic_turns_every_dial_and_prints_them() -> None:
    pytest.importorskip("torch")
    text = python(DETERMINISTIC)
    for dial in ("cudnn.benchmark = False: set", "warn_only: set", "torch threads", "remains:"):
        assert dial in text


def test_a_dial_that_fails_is_told_and_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")

    def broken(*a: object, **k: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(torch, "use_deterministic_algorithms", broken)
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", False)
    try:
        record = seed_everything(0, True)
        assert [d.why for d in record.of("not set") if d.name == "algorithms"] == [
            "RuntimeError: no"
        ]
        assert torch.backends.cudnn.deterministic
    finally:
        torch.backends.cudnn.deterministic = False
        sys.modules["torch._inductor.config"].deterministic = False  # type: ignore[attr-defined]


def test_cublas_is_not_claimed_once_cuda_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from timesink.reproducibility import torch_dials

    monkeypatch.setattr(torch.version, "cuda", "12.6")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    (late,) = torch_dials._cublas(torch)
    assert late.state == "not set"
    assert "CUBLAS_WORKSPACE_CONFIG" not in os.environ
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    (early,) = torch_dials._cublas(torch)
    assert early.state == "set"
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")


WORKERS = """
import random, numpy, torch
from torch.utils.data import DataLoader, Dataset
SEED
class D(Dataset):
    def __len__(self): return 8
    def __getitem__(self, i):
        return torch.tensor([i, random.random(), numpy.random.rand(), torch.rand(1).item()],
                            dtype=torch.float64)
if __name__ == "__main__":
    for batch in DataLoader(D(), batch_size=2, shuffle=True, num_workers=2):
        print(batch.tolist())
"""


def test_workers_draw_the_same_and_in_torch_s_usual_order(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    ours = WORKERS.replace("SEED", "import timesink; timesink.seed_everything(4)")
    plain = WORKERS.replace("SEED", "torch.manual_seed(4)")
    first = python(ours)
    assert first == python(ours)
    assert first == python(plain)  # torch's own seeding of workers covers all three generators
    assert len(set(first.splitlines())) == 4

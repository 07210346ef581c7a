"""The operator hasher: each hidden cause at its first operator with its line, none where there is
none, and a run that does not notice."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from timesink.model.reproducibility import OperatorDifference, OperatorRecord  # noqa: E402
from timesink.reproducibility.fingerprint import fingerprint  # noqa: E402
from timesink.reproducibility.first_operator import first_operator  # noqa: E402
from timesink.reproducibility.operators import OperatorHasher  # noqa: E402
from timesink.reproducibility.seeding import seed_everything  # noqa: E402

Body = Callable[[Any, int], Any]
run_number = itertools.count()


class Net(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.drop = torch.nn.Dropout(0.5)
        self.last = torch.nn.Linear(8, 2)

    def forward(self, x: Any) -> Any:
        return self.last(self.drop(self.first(x).relu()))


def run(
    body: Body, window: tuple[int, int] | None = (0, 3), steps: int = 3
) -> tuple[OperatorRecord, list[float]]:
    """A small training run; ``body`` may change the input of each step."""
    seed_everything(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    losses = []
    with OperatorHasher(*(window or (-1, -1))) as hasher:
        for step in range(steps):
            x = body(torch.randn(3, 4), step)
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            hasher.step()
    return hasher.record(), losses


def compare(body: Body) -> OperatorDifference | None:
    (a, _), (b, _) = run(body), run(body)
    return first_operator(a, b)


wobbles = torch.library.Library("timesink_tests", "DEF")
wobbles.define("wobble(Tensor x) -> Tensor")
wobbles.impl("wobble", lambda x: x + next(run_number) * 1e-3, "CPU")


def wobble(x: Any, step: int) -> Any:
    return torch.ops.timesink_tests.wobble(x)  # cause: kernel


def number(x: Any, step: int) -> Any:
    return x + np.random.default_rng().random()  # cause: number


def array(x: Any, step: int) -> Any:
    noise = np.random.default_rng().random((3, 4)).astype("f4")
    return x + torch.from_numpy(noise)  # cause: data


def clock(x: Any, step: int) -> Any:
    return x + torch.tensor([time.time()], dtype=torch.float64).float()  # cause: clock


def own_generator(x: Any, step: int) -> Any:
    own = torch.Generator()
    own.seed()
    return x + torch.rand(4, generator=own)  # cause: generator


def seeded_too_late(x: Any, step: int) -> Any:
    torch.manual_seed(next(run_number))
    return x * torch.rand(4)  # cause: generator


def more_draws(x: Any, step: int) -> Any:
    with torch.utils._python_dispatch._disable_current_modes():
        torch.rand(next(run_number) + 1)
    return torch.nn.functional.dropout(x, 0.5)  # cause: generator


def unwritten(x: Any, step: int) -> Any:
    memory = torch.empty(4)
    memory.numpy()[:] = next(run_number)  # stands for what happens to lie there
    return x + memory  # cause: uninitialised


def partly_written(x: Any, step: int) -> Any:
    memory = torch.empty(5, 4)
    memory.numpy()[:] = next(run_number)
    memory[:3] = x
    return x + memory.sum(0)  # cause: uninitialised


def order(x: Any, step: int) -> Any:
    first, second = (torch.cos, torch.sin) if next(run_number) % 2 else (torch.sin, torch.cos)
    return second(first(x))  # cause: order


CAUSES = [
    wobble, number, array, clock, own_generator, seeded_too_late, more_draws, unwritten,
    partly_written, order,
]  # fmt: skip


@pytest.mark.parametrize("body", CAUSES, ids=lambda f: f.__name__)
def test_finds_the_first_operator_its_line_and_cause(body: Body) -> None:
    if body is order:
        while next(run_number) % 2:  # two runs of three steps: an odd shift between them
            pass
    found = compare(body)
    assert found is not None
    assert found.a is not None
    file, _, rest = found.a.line.rpartition(":")
    lines = open(file).read().splitlines()  # noqa: PTH123, SIM115
    marked = lines[int(rest.split()[0]) - 1]
    assert f"# cause: {found.cause}" in marked
    assert rest.endswith(f"({body.__name__})")
    assert found.a.step == 0


def copied_over(x: Any, step: int) -> Any:
    memory = torch.empty(3, 4)
    memory.numpy()[:] = next(run_number)
    return memory.copy_(x)


def filled_in_parts(x: Any, step: int) -> Any:
    memory = torch.empty(6, 4)
    memory.numpy()[:] = next(run_number)
    memory[:3] = x
    memory[3:].copy_(x)
    return memory[1:4]


def drawn_into_memory(x: Any, step: int) -> Any:
    memory = torch.empty_like(x)
    memory.numpy()[:] = next(run_number)
    return x + memory.normal_()


def written_by_out(x: Any, step: int) -> Any:
    memory = torch.empty(3, 4)
    memory.numpy()[:] = next(run_number)
    return torch.add(x, 1, out=memory)


def never_read(x: Any, step: int) -> Any:
    memory = torch.empty(7)
    memory.numpy()[:] = next(run_number)
    return x


def number_without_effect(x: Any, step: int) -> Any:
    return x.clamp(max=100.0 + next(run_number))


def views(x: Any, step: int) -> Any:
    x[0].add_(1)
    x.t()[1:].mul_(2)
    return x.t().reshape(3, 4)


def own_seeded(x: Any, step: int) -> Any:
    return x + torch.rand(4, generator=torch.Generator().manual_seed(step))


def lists(x: Any, step: int) -> Any:
    torch._foreach_add_([x, x], 1.0)
    return torch.cat([x, x])[:3]


def plain(x: Any, step: int) -> Any:
    return x


SOUND = [
    plain, copied_over, filled_in_parts, drawn_into_memory, written_by_out, never_read,
    number_without_effect, views, own_seeded, lists,
]  # fmt: skip


@pytest.mark.parametrize("body", SOUND, ids=lambda f: f.__name__)
def test_no_false_alarm_and_no_effect_on_the_run(body: Body) -> None:
    (a, with_hasher), (b, _) = run(body), run(body)
    assert first_operator(a, b) is None
    _, without = run(body, window=None)
    assert with_hasher == without
    assert len(a.calls) > 100
    assert not a.truncated


def test_a_process_id_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def pid(x: Any, step: int) -> Any:
        return x + os.getpid() / 1

    pids = iter([70001] * 4 + [70002] * 4)
    monkeypatch.setattr(os, "getpid", lambda: next(pids))
    found = compare(pid)
    assert found is not None
    assert (found.cause, found.names) == ("process id", ("other",))


def test_only_in_its_window() -> None:
    record, _ = run(plain, window=(1, 1))
    assert {c.step for c in record.calls} == {1}
    assert [c.index for c in record.calls] == list(range(len(record.calls)))
    assert not torch.utils._python_dispatch._get_current_dispatch_mode()
    assert not torch.nn.modules.module._global_forward_pre_hooks


def test_a_full_record_says_so() -> None:
    with OperatorHasher(limit=3) as hasher:
        x = torch.ones(2)
        for _ in range(5):
            x = x + 1
    record = hasher.record()
    assert (len(record.calls), record.truncated) == (3, True)


def test_modules_and_the_way_back() -> None:
    record, _ = run(plain, steps=1)
    forward = [c for c in record.calls if not c.backward and c.module]
    assert {c.module for c in forward} == {"Net", "first", "drop", "last"}
    back = [c for c in record.calls if c.backward and c.name == "aten.mm.default"]
    assert {c.module for c in back} == {"first", "last"}
    assert all("(forward)" in c.line or "(run)" in c.line for c in back)
    step = [c for c in record.calls if "addcdiv" in c.name]
    assert step
    assert all("(run)" in c.line and not c.backward for c in step)


def test_in_place_operators_are_read_before_and_after() -> None:
    x = torch.ones(100)
    before = fingerprint(x)
    with OperatorHasher() as hasher:
        x.mul_(3)
    (call,) = hasher.record().calls
    assert dict(call.inputs)["self"] == before
    assert dict(call.outputs)["self"] == fingerprint(x)


def test_an_error_of_the_program_passes_through() -> None:
    with pytest.raises(RuntimeError, match="size"), OperatorHasher():
        torch.ones(2) + torch.ones(3)
    assert not torch.utils._python_dispatch._get_current_dispatch_mode()


def test_program_modes_and_kinds_of_tensors_survive() -> None:
    from torch.utils.flop_counter import FlopCounterMode

    with OperatorHasher() as hasher, FlopCounterMode(display=False) as flops:
        torch.ones(4, 4) @ torch.ones(4, 4)
        torch.ones(4, 4).to_sparse().sum()
        torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8).dequantize()
        torch.func.grad(lambda t: (t * t).sum())(torch.ones(3))
        torch.vmap(torch.sin)(torch.ones(3, 2))
        torch.empty(2, device="meta") + 1
    assert flops.get_total_flops() == 128
    assert len(hasher.record().calls) > 10


def test_compiled_regions_stay_compiled_and_compiling_is_not_recorded() -> None:
    torch._dynamo.reset()
    graphs = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        torch.ones(2) + 1  # what a compiler computes on the way
        return graph.forward

    compiled = torch.compile(lambda t: (t * 2).sum(), backend=backend)
    with OperatorHasher() as hasher:
        assert compiled(torch.ones(3)).item() == 6
    with OperatorHasher() as again:
        assert compiled(torch.ones(3)).item() == 6
    assert len(graphs) == 1
    assert [c.name for c in hasher.record().calls] == [c.name for c in again.record().calls]
    assert first_operator(hasher.record(), again.record()) is None
    assert hasher.record().compiled

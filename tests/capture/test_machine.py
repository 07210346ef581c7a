"""The step machine on scripted loops, and its exactness on random ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from timesink.capture.machine import Part, StepMachine
from timesink.capture.steplog import StepRow

D, F, B, O = Part.DATA, Part.FORWARD, Part.BACKWARD, Part.OPTIMIZER  # noqa: E741


def play(script: list[tuple[Part, int] | Part], gap: int = 1) -> list[StepRow]:
    """Each entry takes 10 ns, then a pause of ``gap``; (part, ident) names an optimizer."""
    machine, now, rows = StepMachine(), 0, []
    for entry in script:
        part, ident = entry if isinstance(entry, tuple) else (entry, 1)
        rows += machine.enter(part, now, ident)
        now += 10
        rows += machine.leave(part, now, ident)
        now += gap
    return rows + machine.finish(now)


def kinds(rows: list[StepRow]) -> str:
    return "".join(r.kind[0] for r in rows)


def test_plain_loop() -> None:
    rows = play([D, F, B, O] * 4)
    assert kinds(rows) == "tttt"
    assert {(r.wall_ns, r.data_ns, r.forward_ns, r.backward_ns, r.optimizer_ns) for r in rows} == {
        (44, 10, 10, 10, 10)
    }


def test_gradient_accumulation() -> None:
    assert kinds(play([*[D, F, B] * 3, D, F, B, O] * 2)) == "tt"


def test_evaluation_between_epochs() -> None:
    assert kinds(play([*[D, F, B, O] * 3, *[D, F] * 4, *[D, F, B, O] * 2])) == "ttteeeett"


def test_two_optimizers_with_loader() -> None:
    assert kinds(play([D, F, B, (O, 1), F, B, (O, 2)] * 4)) == "tttt"


def test_two_optimizers_without_loader() -> None:
    assert kinds(play([F, B, (O, 1), F, B, (O, 2)] * 4)) == "tttto"


def test_no_loader() -> None:
    assert kinds(play([F, B, O] * 5)) == "ttttt"


def test_the_optimizer_of_a_next_fold_leads_in_its_turn() -> None:
    rows = play([F, B, (O, 1)] * 30 + [F, B, (O, 2)] * 60)
    assert kinds(rows) == "t" * (30 + 1 + 50)


def test_an_optimizer_that_raised_costs_its_own_step_only() -> None:
    machine, rows = StepMachine(), []
    for i in range(6):
        for k, part in enumerate((D, F, B, O)):
            now = 100 * i + 20 * k
            rows += machine.enter(part, now, 1)
            if (i, part) != (2, O):
                rows += machine.leave(part, now + 10, 1)
    rows += machine.finish(600)
    assert len(rows) == 5  # the batch of the failed step goes on into the next
    assert sum(r.wall_ns for r in rows) == 600


def test_several_updates_on_one_batch() -> None:
    """PPO: each update is a step, the first one holds the batch's fetch."""
    rows = play([D, *[F, B, O] * 4] * 3)
    assert kinds(rows) == "t" * 12
    assert sum(r.data_ns for r in rows) == 30


def test_next_batch_fetched_ahead() -> None:
    assert kinds(play([D, *[D, F, B, O] * 5])) == "ttttt"


def test_parameters_updated_by_hand() -> None:
    assert kinds(play([D, F, B] * 40)).count("t") > 20


def test_two_loaders_side_by_side() -> None:
    assert kinds(play([D, D, F, B, O] * 4)) == "tttt"


def test_inference_calls() -> None:
    rows = play([F] * 30)
    assert set(kinds(rows)) == {"e"}
    assert len(rows) >= 20


def test_inference_with_loader() -> None:
    assert kinds(play([D, F] * 6)) == "eeeeee"


def test_nested_parts_count_once() -> None:
    """A closure: forward and backward happen inside of the optimizer's step."""
    machine = StepMachine()
    machine.enter(O, 0, 1)
    machine.enter(F, 10)
    machine.leave(F, 30)
    machine.enter(B, 30)
    machine.leave(B, 60)
    (row,) = machine.leave(O, 65, 1)
    assert (row.forward_ns, row.backward_ns, row.optimizer_ns, row.wall_ns) == (20, 30, 15, 65)


def test_modules_that_run_again_in_the_backward_are_backward() -> None:
    machine = StepMachine()
    machine.enter(B, 0)
    machine.enter(F, 10)
    machine.leave(F, 30)
    machine.leave(B, 40)
    machine.enter(O, 40, 1)
    (row,) = machine.leave(O, 50, 1)
    assert (row.forward_ns, row.backward_ns) == (0, 40)


def test_an_exception_inside_leaves_a_usable_machine() -> None:
    machine = StepMachine()
    machine.enter(D, 0)
    machine.leave(D, 5)
    machine.enter(F, 5)  # never left: it raised
    machine.enter(B, 8)
    machine.leave(B, 9)
    machine.leave(F, 10)
    assert machine.finish(12)[0].wall_ns == 12


def test_epoch_starts_are_marked() -> None:
    machine = StepMachine()
    machine.enter(D, 0)
    machine.epoch()
    machine.leave(D, 1)
    machine.enter(O, 1, 1)
    machine.leave(O, 2, 1)
    assert machine.enter(D, 3)[0].boundary


marks = st.lists(
    st.tuples(st.booleans(), st.sampled_from([D, F, B, O]), st.integers(0, 50), st.integers(1, 2)),
    max_size=120,
)


@given(marks)
def test_any_order_of_marks_gives_contiguous_exact_steps(
    sequence: list[tuple[bool, Part, int, int]],
) -> None:
    machine, now, rows = StepMachine(), 0, []
    first = None
    for enters, part, pause, ident in sequence:
        now += pause
        if enters:
            first = now if first is None else first
            rows += machine.enter(part, now, ident)
        else:
            rows += machine.leave(part, now, ident)
    rows += machine.finish(now)
    position = first
    for row in rows:
        parts = (row.data_ns, row.forward_ns, row.backward_ns, row.optimizer_ns)
        assert min(parts) >= 0
        assert sum(parts) <= row.wall_ns
        assert row.start_ns == position
        position = row.start_ns + row.wall_ns
    assert position is None or position <= now

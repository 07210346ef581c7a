"""Two reports side by side: exact sums, naive matching, honest unknowns, gates."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.diagnoses import examples
from timesink.diagnoses.engine import diagnose
from timesink.errors import BadUsage
from timesink.experiments.compare import compare
from timesink.experiments.gates import check, parse
from timesink.model.comparison import Comparison
from timesink.model.findings import Case
from timesink.model.owners import Owner, Phase
from timesink.model.report import Report
from timesink.model.results import Analysis, OpRow
from timesink.model.steps import Breakdown, Step, StepBreakdown
from timesink.model.trace import TraceInfo

NAMES = ("aten::mm", "aten::add", "\x1b[31m<script>", "")


def report(analysis: Analysis | None, title: str = "a", **rest: Any) -> Report:
    return Report(title, diagnose(Case()), analysis, **rest)


def of(case: Case, title: str = "a") -> Report:
    return report(case.analysis, title, run=case.run, light=case.light)


@st.composite
def analyses(draw: st.DrawFn) -> Analysis:
    """Steps with any owners, operators with repeated names; some steps out of verdicts."""
    steps, at = [], 0
    for number in range(draw(st.integers(1, 4))):
        parts = draw(st.lists(st.integers(0, 9), min_size=len(Owner), max_size=len(Owner)))
        step = Step(number, at, at + sum(parts), in_verdict=draw(st.booleans()))
        steps.append(StepBreakdown(step, tuple(parts)))
        at += sum(parts)
    row = st.builds(
        lambda name, phase, calls, ns, shape: OpRow(name, phase, calls, ns, ns, 0, 0, shape=shape),
        st.sampled_from(NAMES), st.sampled_from(Phase), st.integers(1, 5), st.integers(0, 99),
        st.sampled_from(["", "[[2]]"]),
    )  # fmt: skip
    breakdown = Breakdown(tuple(steps), "ProfilerStep")
    info = TraceInfo("t.json", "K3b", "cpu", record_shapes=draw(st.sampled_from([True, False])))
    counted = len(breakdown.verdict_steps)
    return Analysis(info, (), breakdown, counted, ops=tuple(draw(st.lists(row, max_size=8))))


@given(analyses(), analyses())
def test_the_owners_changes_add_up_to_the_steps_change_exactly(a: Analysis, b: Analysis) -> None:
    c = compare(report(a), report(b))
    steps = [Fraction(x.breakdown.wall_ns, len(x.breakdown.verdict_steps)) for x in (a, b)]
    assert sum(o.delta for o in c.owners) == steps[1] - steps[0]
    assert c.step.delta == pytest.approx(float(steps[1] - steps[0]))


@given(analyses(), analyses())
def test_rows_match_as_a_naive_count_does(a: Analysis, b: Analysis) -> None:
    c = compare(report(a), report(b))
    detailed = a.info.record_shapes == b.info.record_shapes

    def naive(x: Analysis) -> tuple[Counter[Any], Counter[Any]]:
        calls, ns = Counter[Any](), Counter[Any]()
        for r in x.ops:
            key = (r.name, r.phase, r.shape if detailed else "")
            calls[key] += r.calls
            ns[key] += r.cpu_self_ns
        return calls, ns

    (calls_a, _ns_a), (calls_b, ns_b) = naive(a), naive(b)
    assert len(c.ops) == len(set(calls_a) | set(calls_b))
    for r in c.ops:
        phase, _, shape = r.detail.partition(" ")
        key = (r.name, Phase(phase), shape)
        assert r.calls_before == pytest.approx(calls_a[key] / a.steps_counted)
        assert r.ns_after == pytest.approx(ns_b[key] / b.steps_counted)
        assert (r.status == "appeared") == (key not in calls_a)
        assert (r.status == "vanished") == (key not in calls_b)
    assert [abs(r.delta) for r in c.ops] == sorted((abs(r.delta) for r in c.ops), reverse=True)


@given(analyses())
def test_a_thing_against_itself_has_no_change(a: Analysis) -> None:
    c = compare(report(a), report(a))
    assert c.step.delta == 0
    assert not any(o.delta for o in c.owners)
    assert {r.status for r in c.ops} <= {"same"}
    assert {p.delta for p in c.numbers} <= {0, None}
    assert c.environment == ()


def test_a_single_pair_is_never_called_significant() -> None:
    c = compare(of(examples.healthy_cpu()), of(examples.case(step_ms=200)))
    assert "more than noise cannot be said" in c.notes[0]


def test_unknown_is_not_zero() -> None:
    with_rows, without = examples.case(device=True), examples.case(device=True, known=False)
    c = compare(of(with_rows), of(without))
    assert c.owners == ()
    for name in ("device_compute", "device_busy", "kernels", "forward_operators"):
        pair = c.find(name)
        assert pair is not None
        assert pair.before is not None
        assert pair.after is None
        assert pair.delta is None
        assert pair.change is None
    assert any("device time is unknown" in n for n in c.notes)


def test_light_steps_are_preferred_and_their_spread_is_said() -> None:
    before, after = examples.light(50, wall_ms=10), examples.light(50, wall_ms=8)
    c = compare(report(None, light=before), report(None, light=after))
    assert (c.step.before, c.step.after) == (10e6, 8e6)
    assert c.step.change == pytest.approx(-0.2)
    assert c.spread == ((10e6, 10e6), (8e6, 8e6))
    assert c.step_source == "median of 49 and 49 steps"


def test_nothing_to_compare_is_one_sentence() -> None:
    with pytest.raises(BadUsage, match=r"b has no step that could be compared"):
        compare(of(examples.healthy_cpu()), report(None, "b"))


def test_ranks_are_matched_by_number_and_a_missing_one_is_unknown() -> None:
    def ranked(count: int, ms: float) -> Report:
        one = examples.case(step_ms=ms).analysis
        assert one is not None
        ranks = [replace(one, info=replace(one.info, rank=r)) for r in range(count)]
        return report(ranks[0], other_ranks=tuple(ranks[1:]))

    c = compare(ranked(3, 100), ranked(2, 50))
    assert [(p.name, p.before, p.after) for p in c.ranks] == [
        ("rank 0", 100e6, 50e6), ("rank 1", 100e6, 50e6), ("rank 2", 100e6, None),
    ]  # fmt: skip


def both(before_ms: float, after_ms: float) -> Comparison:
    return compare(of(examples.case(step_ms=before_ms)), of(examples.case(step_ms=after_ms)))


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("step_time > 5%", True),
        ("step_time>5 %", True),
        ("step_time > 10%", False),
        ("step_time >= 10%", True),
        ("step_time < 0%", False),
        ("step_time > 9.9ms", True),
        ("step_time > 10000us", False),
        ("step_time > 0.0099 s", True),
        ("forward_operators > 5%", True),
        ("data_loading > 5%", False),
        ("operators > 0", False),
    ],
)
def test_conditions(condition: str, holds: bool) -> None:
    assert check(parse(condition), both(100, 110)).holds is holds


def test_from_nothing_to_something_exceeds_every_percentage() -> None:
    before = examples.case()
    after = examples.case({Owner.DATA_LOADING: 0.1})
    c = compare(of(before), of(after))
    assert check(parse("data_loading > 1000%"), c).holds


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("step_time", "not a condition"),
        ("step_time > five", "not a condition"),
        ("step_time == 5", "not a condition"),
        ("; rm -rf / > 5", "not a condition"),
        ("step_time > 5 parsecs", "no known unit"),
        ("step_tme > 5%", "no metric step_tme"),
        ("step_time > 5MiB", "not measured in the unit"),
        ("peak_rss > 5%", "unknown on one side"),
    ],
)
def test_bad_conditions_never_pass_by_accident(condition: str, said: str) -> None:
    with pytest.raises(BadUsage, match=said):
        check(parse(condition), both(100, 110))


@given(st.floats(-2, 2), st.floats(1, 1e3), st.floats(1, 1e3))
def test_a_condition_is_the_arithmetic_it_says(limit: float, a: float, b: float) -> None:
    limit = round(limit, 4)
    c = both(a, b)
    assert c.step.before
    assert c.step.after
    change = c.step.after / c.step.before - 1
    if abs(change - limit) > 1e-9:
        assert check(parse(f"step_time > {100 * limit:.2f}%"), c).holds == (change > limit)

"""Tests generated from each rule's own examples, and properties of the engine."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.diagnoses import examples as ex
from timesink.diagnoses.catalogue import rules
from timesink.diagnoses.docs import page
from timesink.diagnoses.engine import diagnose
from timesink.diagnoses.rule import MINIMUM, Example, Rule
from timesink.diagnoses.verdict import verdict
from timesink.model.findings import Case
from timesink.model.owners import Owner, Phase
from timesink.model.results import IdleCause

FIRING = [(r, e) for r in rules() for e in r.fires]
SILENT = [(r, e) for r in rules() for e in r.silent]


def name(value: Rule | Example) -> str:
    return value.slug if isinstance(value, Rule) else value.label


@pytest.mark.parametrize(("rule", "example"), FIRING, ids=name)
def test_fires(rule: Rule, example: Example) -> None:
    found = rule.check(example.case)
    assert found is not None
    assert found.rule == rule.slug
    assert found.number == rule.number
    assert MINIMUM <= found.share <= 1
    assert found.cost_ns > 0
    assert any(e.text for e in found.evidence)
    assert found.advice


@pytest.mark.parametrize(("rule", "example"), SILENT, ids=name)
def test_stays_silent(rule: Rule, example: Example) -> None:
    assert rule.check(example.case) is None


@pytest.mark.parametrize("rule", rules(), ids=name)
def test_has_enough_examples(rule: Rule) -> None:
    assert len(rule.fires) >= 2
    assert len(rule.silent) >= 3


@pytest.mark.parametrize("rule", rules(), ids=name)
def test_says_nothing_about_nothing(rule: Rule) -> None:
    assert rule.check(Case()) is None


def test_slugs_and_numbers_are_unique() -> None:
    assert len({r.slug for r in rules()}) == len({r.number for r in rules()}) == len(rules())
    known = {r.slug for r in rules()}
    assert all(set(r.specialises) <= known for r in rules())


@pytest.mark.parametrize("case", [ex.healthy_cpu(), ex.healthy_gpu()], ids=["cpu", "gpu"])
def test_a_healthy_run_is_called_healthy(case: Case) -> None:
    diagnosis = diagnose(case)
    assert diagnosis.findings == ()
    assert diagnosis.verdict.healthy
    assert "Nothing stands out" in diagnosis.verdict.text


def test_the_page_is_up_to_date() -> None:
    committed = Path(__file__).parents[2] / "docs" / "rules.md"
    assert committed.read_text() == page(), "run `make docs`"


def test_unknown_is_not_zero() -> None:
    answer = diagnose(ex.case(device=True, known=False)).verdict
    assert answer.bound == "unknown"
    assert "unknown" in answer.text
    assert "0 %" not in answer.text


def test_input_bound_says_how_much_can_be_gained() -> None:
    diagnosis = diagnose(rules()[0].fires[0].case)
    assert diagnosis.verdict.bound == "input"
    assert "60 %" in diagnosis.verdict.headline
    assert "2.5 times faster" in diagnosis.verdict.text


def test_a_rule_that_fails_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    from timesink.diagnoses import engine

    def broken(case: Case) -> None:
        raise ZeroDivisionError

    bad = dataclasses.replace(rules()[0], check=broken)
    monkeypatch.setattr(engine, "rules", lambda: (bad, *rules()[1:]))
    diagnosis = diagnose(ex.healthy_cpu())
    assert any("failed" in m for m in diagnosis.missing)
    assert diagnosis.verdict.headline


shares = st.floats(0, 1, allow_nan=False)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    weights = draw(st.lists(shares, min_size=len(Owner), max_size=len(Owner)))
    total = sum(weights) or 1.0
    owners = dict(zip(Owner, (w / total for w in weights), strict=True))
    device = draw(st.booleans())
    ms = st.floats(0, 200)
    calls = st.floats(0, 5000)
    names = st.sampled_from(["aten::add", "aten::item", "aten::_softmax", "aten::bmm", "Gather"])
    return ex.case(
        owners,
        steps=draw(st.integers(1, 6)),
        step_ms=draw(st.floats(0.001, 1000)),
        device=device,
        known=draw(st.booleans()),
        gpu="GPU",
        capability=draw(st.sampled_from([(), (7, 0), (9, 0)])),
        ops=[
            ex.op(draw(names), draw(calls), draw(ms), phase=draw(st.sampled_from(Phase)))
            for _ in range(draw(st.integers(0, 4)))
        ],
        runtime=[ex.call("cudaMalloc", "alloc", draw(calls), draw(ms), idle_ms=draw(ms))],
        copies=[ex.copy("HtoD", "Pageable", "Device", draw(ms), exposed_ms=draw(ms))],
        kernels=[ex.kernel("nchwToNhwc_sgemm", draw(calls), draw(ms))],
        idle=ex.idle({draw(st.sampled_from(IdleCause)): draw(ms)}),
        launches=draw(st.none() | st.just(ex.launches())),
        light=draw(st.none() | st.builds(ex.light, st.integers(0, 60), data=shares, gc=shares)),
        run=draw(st.none() | st.just(ex.run(workers=4, cpu_usable="2", gpu_count="1"))),
    )


@given(cases())
def test_costs_stay_within_the_step(case: Case) -> None:
    diagnosis = diagnose(case)
    assert not [m for m in diagnosis.missing if "failed" in m]
    for found in diagnosis.findings:
        assert 0 < found.share <= 1
        assert found.cost_ns >= 0
    shares_ = [f.share for f in diagnosis.findings]
    assert shares_ == sorted(shares_, reverse=True)
    assert diagnosis.verdict.healthy == (not diagnosis.findings)


def test_a_device_busy_with_communication_is_not_called_well_fed() -> None:
    busy = ex.case({Owner.EXPOSED_COMMUNICATION: 0.7}, device=True)
    assert "busy 100 %" in verdict(busy, ()).text
    assert "well fed" not in verdict(busy, ()).text
    assert "well fed" in verdict(ex.healthy_gpu(), ()).text


def test_a_host_that_runs_ahead_of_the_device_is_told() -> None:
    case = ex.case(device=True)
    assert case.analysis is not None
    late = dataclasses.replace(case.analysis.breakdown, tail_ns=250 * ex.MS)
    behind = Case(dataclasses.replace(case.analysis, breakdown=late))
    assert "still had 250 ms of work queued" in verdict(behind, ()).text
    assert "queued" not in verdict(case, ()).text

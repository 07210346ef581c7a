"""``timesink tune``: measure, try what the findings name, keep what helps, prove the whole."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.api.experiments import (
    Watcher,
    begin,
    change,
    document_html,
    document_markdown,
    explained_page,
    run_experiment,
)
from timesink.errors import BadUsage, TimesinkError
from timesink.model.experiments import Change, Design, Experiment, Tuning

if TYPE_CHECKING:
    from timesink.model.report import Report
    from timesink.reports.document import Document

#: Time kept for the final proof, in shares of the whole budget.
_FINAL = 0.25


def tune(
    design: Design,
    out: Path,
    *,
    extra: tuple[str, ...] = (),
    name: str | None = None,
    watch: Watcher | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Tuning:
    """Tune the script of ``design.before`` within ``design.budget_s``; what was found is recorded
    in ``out/NAME/tune.json`` after every experiment."""
    from timesink.experiments.tune import by_hand, candidates, keeps

    deadline = time.monotonic() + design.budget_s
    first, folder = begin(replace(design, change=Change("measured")), out, name or _name(design))
    report, longest = _measured(first, folder)
    design = replace(first.design, budget_s=design.budget_s)
    tuning = Tuning(
        folder.name, first.started, design.before, report.diagnosis.verdict.headline,
        by_hand=by_hand(report.diagnosis.findings),
    )  # fmt: skip
    say(tuning.headline)
    findings, seen = report.diagnosis.findings, list[str]()
    while todo := candidates(findings, extra, seen, tuning.kept):
        proof = max(_FINAL * design.budget_s, proof_s(design, longest))
        left = deadline - time.monotonic() - proof
        least = try_s(design, longest)
        if left < least:
            spent = tuple(f"{text} (the budget was spent)" for text in todo)
            tuning = replace(tuning, untried=(*tuning.untried, *spent))
            break
        seen.append(todo[0])
        try:
            e = _tried(design, todo[0], tuning.kept, max(least, left / len(todo)), folder, watch)
        except BadUsage as error:  # the script fails with what was kept: what is known stays known
            tuning = replace(tuning, untried=(*tuning.untried, f"{todo[0]} ({error.message})"))
            continue
        tuning = replace(tuning, tries=(*tuning.tries, e))
        longest = max(longest, *(o.seconds for o in e.observations))
        if keeps(e):
            tuning = replace(tuning, kept=(*tuning.kept, todo[0]))
            after = _profiled(e, folder)
            findings = after.diagnosis.findings if after is not None else findings
        _save(tuning, folder)
    else:
        rest = tuple(f"{t} (something of its kind is kept)" for t in extra if t not in seen)
        tuning = replace(tuning, untried=(*tuning.untried, *rest))
    if tuning.kept:
        say("The proof: everything that was kept against the unchanged script.")
    least = proof_s(design, longest)
    budget = max(least, deadline - time.monotonic())
    return _proved(tuning, replace(design, budget_s=budget), folder, watch)


def _name(design: Design) -> str:
    from timesink.capture.folder import default_name

    script = design.before.words[0]
    stem = script.rsplit(".", 1)[-1] if design.before.module else script
    return f"tune-{default_name(stem)}"


def try_s(design: Design, longest: float) -> float:
    """Seconds that trying a change takes at least: a check and the fewest timed runs of each arm.
    With less it cannot be answered, and is not begun."""
    return 2 * (1 + design.min_pairs) * longest


def proof_s(design: Design, longest: float) -> float:
    """Seconds that the final experiment takes at least: a check, a profiled run and the fewest
    timed runs of each arm, of ``longest`` seconds each. That much is kept for it."""
    return try_s(design, longest) + 2 * longest


def _measured(e: Experiment, folder: Path) -> tuple[Report, float]:
    """One check run and one profiled run of the unchanged script; how long the longer took."""
    from timesink.experiments.plan import Job
    from timesink.experiments.process import OUTPUT, run_process, script_fails

    check = run_process(e, Job("A", "check"), folder)
    if check.error:
        raise script_fails(check.error, folder / check.name / OUTPUT)
    e = replace(e, observations=(check,))
    profiled = run_process(e, Job("A", "profile"), folder)
    return _report(folder, profiled.name), max(check.seconds, profiled.seconds)


def _report(folder: Path, name: str) -> Report:
    from timesink.api.load import report

    return report(folder / name, cache=False)


def _profiled(e: Experiment, folder: Path) -> Report | None:
    """A profiled run of a candidate that helped: what holds it up now?"""
    from timesink.experiments.plan import Job
    from timesink.experiments.process import run_process

    try:
        return _report(folder / e.name, run_process(e, Job("B", "profile"), folder / e.name).name)
    except TimesinkError:
        return None


def _tried(
    design: Design, text: str, kept: tuple[str, ...], budget: float, folder: Path,
    watch: Watcher | None,
) -> Experiment:  # fmt: skip
    own = replace(
        design, change=change([text]), base=change(kept).interventions, budget_s=budget,
        profile=False,
    )  # fmt: skip
    e, place = begin(
        own, folder, text.replace(" + ", "+").replace("/", "-").replace(":", "-").replace("×", "x")
    )
    e = run_experiment(e, place, watch, folder.parent)
    explained_page(e, place)
    return e


def _proved(tuning: Tuning, design: Design, folder: Path, watch: Watcher | None) -> Tuning:
    """Everything kept against the unchanged script, with both profiles, from fresh processes: what
    was chosen for being fast in its own experiment is not proved by that experiment."""
    if tuning.kept:
        whole = change(tuning.kept)
        e, place = begin(replace(design, change=whole, base=()), folder, "final")
        e = run_experiment(e, place, watch, folder.parent)
        explained_page(e, place)
        tuning = replace(tuning, final=e, code=whole.code)
    _save(tuning, folder)
    return tuning


def _save(tuning: Tuning, folder: Path) -> None:
    import json

    from timesink.capture.folder import write_atomic

    text = json.dumps(dataclasses.asdict(tuning), ensure_ascii=False)
    write_atomic(folder / "tune.json", text.encode("utf-8", "backslashreplace"))


def tuning_page(tuning: Tuning, folder: Path) -> Document:
    """Write tune.html and tune.md; returns the page."""
    from timesink.capture.folder import write_atomic
    from timesink.reports.tune import build

    page = build(tuning)
    write_atomic(folder / "tune.html", document_html(page).encode("utf-8", "replace"))
    write_atomic(folder / "tune.md", document_markdown(page).encode("utf-8", "replace"))
    return page


def tuning_json(tuning: Tuning) -> bytes:
    """The whole record as JSON with a ``schema_version``."""
    from timesink.reports.json_ import dump_result

    return dump_result(tuning)

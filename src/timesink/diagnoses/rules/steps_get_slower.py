"""Rule 26: each step does more than the one before."""

from __future__ import annotations

from statistics import median

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, healthy_cpu, healthy_gpu, light, trend
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding

_SLUG, _NUMBER = "steps-get-slower", 26
_TITLE = "Steps get slower and slower"
_ADVICE = (
    "Look for what grows: a loss or output kept with its graph (use .item() or .detach()), "
    "retain_graph=True, a list or hook that is added in the loop."
)


#: Steps needed to tell a trend from chance.
_ENOUGH = 30
#: The last third of the run must be slower than the first by this factor,
_GROWTH = 1.3
#: nearly every step must be slower than those before it (rank correlation),
_ORDER = 0.9
#: and the middle third must lie between the outer two: what is kept adds the same every step, while
#: another program on the machine comes and goes.
_MIDDLE = (0.25, 0.75)


def check(case: Case) -> Finding | None:
    """Median step of the first, second and last third of the run; or a growing backward graph."""
    return _by_time(case) or _by_graph(case)


def _by_time(case: Case) -> Finding | None:
    light = case.light
    if light is None or len(light.steady()) < _ENOUGH:
        return None
    walls = [light.wall_ns[i] for i in light.steady()]
    n = len(walls) // 3
    first, middle, last = (median(part) for part in (walls[:n], walls[n : 2 * n], walls[2 * n :]))
    if last < _GROWTH * first or _rank_correlation(walls) < _ORDER:
        return None
    if not _MIDDLE[0] <= (middle - first) / (last - first) <= _MIDDLE[1]:
        return None
    memory = [light.rss[i] for i in light.steady() if light.rss[i]]
    more = (
        f"; memory from {memory[0] / 2**20:.0f} to {memory[-1] / 2**20:.0f} MiB" if memory else ""
    )
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=last - first, step_ns=last,
        evidence=(Evidence(f"median step {facts.ms(first)}, then {facts.ms(middle)}, then "
                           f"{facts.ms(last)} (thirds of {len(walls)} steps){more}",
                           count=len(walls)),),
        advice=_ADVICE,
        caveat="Longer inputs or a hotter processor look the same: compare shapes and clocks.",
    )  # fmt: skip


def _rank_correlation(values: list[int]) -> float:
    """Spearman's rank correlation of values with their order, -1..1."""
    n = len(values)
    ranks = {i: r for r, i in enumerate(sorted(range(n), key=lambda i: (values[i], i)))}
    return 1 - 6 * sum((ranks[i] - i) ** 2 for i in range(n)) / (n * (n * n - 1))


def _by_graph(case: Case) -> Finding | None:
    a = case.analysis
    if a is None:
        return None
    for row in a.trends:
        if row.name.startswith("autograd::engine::evaluate_function") and len(row.calls) >= 4:
            pairs = list(zip(row.calls, row.calls[1:], strict=False))
            if all(b > a_ for a_, b in pairs) and row.calls[-1] >= 1.2 * row.calls[0]:
                return finding(
                    _SLUG, _NUMBER, _TITLE,
                    cost_ns=row.total_ns[-1] - row.total_ns[0], step_ns=facts.step_ns(case),
                    evidence=(Evidence(
                        f"backward functions per step: {', '.join(map(str, row.calls))}",
                        row.name, sum(row.calls), sum(row.total_ns)),),
                    advice=_ADVICE,
                )  # fmt: skip
    return None


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="The last steps of a run take longer than the first, with the same shapes.",
    evidence="The light recorder's step times over the run; more "
    "`autograd::engine::evaluate_function` rows each step.",
    advice=_ADVICE,
    needs="`timesink run` over 30 steps or more.",
    check=check,
    fires=(
        Example("graph kept alive", case(light=light(wall_ms=[100 + 2 * i for i in range(90)]))),
        Example(
            "in a window",
            case(
                trends=[
                    trend(
                        "autograd::engine::evaluate_function",
                        (10, 20, 30, 40, 50),
                        (5, 10, 15, 20, 25),
                    )
                ]
            ),
        ),
    ),
    silent=(
        Example("steady", case(light=light(90))),
        Example("noise", case(light=light(wall_ms=[100 + 30 * (i % 3) for i in range(90)]))),
        Example("slow only at the end", case(light=light(wall_ms=[*[100] * 85, *[300] * 5]))),
        Example(
            "another program begins to run",
            case(
                light=light(
                    wall_ms=[*[100 + i % 7 for i in range(30)], *[140 + i % 9 for i in range(60)]]
                )
            ),
        ),
        Example(
            "load that drifts",
            case(light=light(wall_ms=[100 + i / 2 + 30 * (i % 4) for i in range(90)])),
        ),
        Example("too few steps", case(light=light(wall_ms=[100 + 5 * i for i in range(12)]))),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)

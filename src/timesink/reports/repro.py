"""A check of reproducibility as a document: the answer, each cause with its line, what fixes it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from timesink.model.reproducibility import StepDifference
from timesink.model.reproduction import Against, Located, Reproduction, Round, SwitchName
from timesink.reports import units
from timesink.reports.document import (
    Block,
    Code,
    Column,
    Document,
    Items,
    Paragraph,
    Section,
    Table,
)
from timesink.reports.experiment import command

_SWITCHES: dict[SwitchName, str] = {
    "seed": "all global generators seeded",
    "PYTHONHASHSEED": "PYTHONHASHSEED fixed",
    "deterministic": "deterministic algorithms",
    "threads": "one thread",
}
_COMPARED = (
    "Compared, bit for bit, in each step: the inputs of the outermost modules, the tensors that "
    "backward is called on, gradients, parameters and buffers, optimizer state. Files, logs and "
    "whatever the script does after its last compared step are not."
)
#: Operators that nobody calls by their name.
_PLAIN = {
    "aten.lift_fresh": "data that enters torch",
    "aten.set_.source": "a batch from a worker process",
}
_PATHS = 6  #: of what differs, in a short report


def build(r: Reproduction, kept: Sequence[Round], root: str = "") -> Document:
    """The whole document. ``kept``: the first round and those whose switch fixed a cause; ``root``:
    the folder that file names are relative to."""
    place = _Places(root)
    made = [
        _verdict(r, place),
        *(_cause(r, kept, i, place) for i in range(len(kept))),
        _fix(r),
        _against(r.against) if r.against is not None else None,
        _tried(r),
        _sources(kept, place),
        _processes(r),
        _environment(r),
    ]
    took = f"{len(r.processes)} processes in {units.time(r.spent_s * 1e9)}"
    subtitle = f"{command(r.command)} · {r.started} · {took}"
    return Document(f"Reproducibility: {r.name}", subtitle, tuple(s for s in made if s is not None))


class _Places:
    """Lines of the program as a person writes them."""

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/") + "/"

    def text(self, text: str) -> str:
        """A sentence with its file names shortened."""
        return (
            text.replace(self._root, "").replace(" (<module>)", "") if self._root != "/" else text
        )


def headline(r: Reproduction) -> str:
    """The one sentence to read."""
    first = r.rounds[0]
    if first.same:
        return f"Reproducible: {_runs(r, first)} agree bit for bit{_fixed(first.switches)}."
    assert first.difference is not None
    where = f"step {first.difference.step}{_operator(first)}"
    return f"Not reproducible{_fixed(first.switches)}: {r.runs} runs part in {where}."


def _operator(found: Round) -> str:
    assert found.difference is not None
    operator = found.located.operator if found.located is not None else None
    call = (operator.a or operator.b) if operator is not None else None
    if call is None:
        section = found.difference.section
        return f", in its {section}" if section else ""
    name = next((words for part, words in _PLAIN.items() if part in call.name), call.name)
    module = f" in module {call.module}" if call.module else ""
    back = ", in the backward pass" if call.backward else ""
    earlier = f" in step {call.step}" if call.step != found.difference.step else ""
    return f", at {name}{module}{back}{earlier}"


def _runs(r: Reproduction, found: Round) -> str:
    return f"{r.runs} runs of {found.steps:,} step{'s' * (found.steps != 1)}"


def _fixed(switches: Sequence[SwitchName]) -> str:
    return f" with {' and '.join(_SWITCHES[s] for s in switches)}" if switches else ""


def _verdict(r: Reproduction, place: _Places) -> Section:
    blocks: list[Block] = [Paragraph(headline(r), strong=True)]
    if r.against is not None:
        blocks.append(Paragraph(_about_saved(r.against)))
    items = [place.text(n) for n in r.notes]
    if r.saved:
        items.append(f"The fingerprint was saved in {r.saved}.")
    blocks.append(Items((*items, _COMPARED)) if items else Paragraph(_COMPARED))
    return Section("Verdict", tuple(blocks))


def _cause(r: Reproduction, kept: Sequence[Round], i: int, place: _Places) -> Section | None:
    """One cause: the sentence, the line, what to do, what was checked."""
    found = kept[i]
    if found.same or found.difference is None:
        return None
    blocks: list[Block] = []
    operator = found.located.operator if found.located is not None else None
    if operator is not None:
        call = operator.a or operator.b
        blocks.append(Paragraph(place.text(operator.text)))
        if call is not None and call.line:
            code = found.located.code if found.located is not None else ""
            blocks.append(Code("\n".join([place.text(call.line), *_indented(code)])))
    elif found.located is not None and found.located.note:
        blocks.append(Paragraph(found.located.note))
    items = [_what_differs(found.difference)]
    if operator is not None and operator.advice:
        items.append(f"Remedy: {operator.advice}")
    items += _checks(r, kept, i)
    blocks.append(Items(tuple(items)))
    titles = ("Where they part", "Where they part after that")
    return Section(titles[min(i, 1)], tuple(blocks))


def _indented(code: str) -> list[str]:
    return [f"    {line}" for line in code.splitlines()]


def _what_differs(d: StepDifference) -> str:
    if d.ended:
        return f"One run has no step {d.step}: it took fewer steps."
    sections: dict[str, list[str]] = {}
    for section, path in d.where:
        sections.setdefault(section, []).append(path)
    words = [f"{s} ({_few(paths)})" for s, paths in sections.items()]
    return f"Different in step {d.step}: {', '.join(words)}."


def _few(paths: Sequence[str]) -> str:
    shown = [p for p in paths if p][: _PATHS if len(paths) <= _PATHS else 2]
    more = f" and {len(paths) - len(shown):,} more" if len(paths) > len(shown) else ""
    return ", ".join(shown) + more


def _checks(r: Reproduction, kept: Sequence[Round], i: int) -> list[str]:
    """What turning switches after this cause was found has shown."""
    out = []
    found = kept[i]
    for later in r.rounds[r.rounds.index(found) + 1 :]:
        if later.switches[: len(found.switches)] != found.switches:
            break
        words = _SWITCHES[later.switches[-1]]
        if later.same:
            out.append(f"Checked: with {words}, {_runs(r, later)} agree bit for bit.")
        elif later.error:
            out.append(f"Tried: with {words} the script fails: {later.error}.")
        elif later in kept:
            out.append(f"Checked: with {words} this is gone; the runs part elsewhere then.")
        else:
            out.append(f"Tried: with {words} they still part there.")
        if later in kept:
            return out
    if not out and not (found.located and found.located.candidates):
        out.append("No switch from outside fixes this: the program has to change.")
    return out


def _fix(r: Reproduction) -> Section | None:
    """The command and the lines that make it reproducible, where a switch does."""
    fixed = r.fixed_by
    if fixed is None:
        return None
    switches = fixed.switches
    words = ["timesink", "run", "--seed", str(r.seed)]
    words += ["--deterministic"] if "deterministic" in switches else []
    words += ["-m"] if r.command.module else []
    lines = [shlex.join([*words, *r.command.words])]
    if "PYTHONHASHSEED" in switches:
        lines.append(f"PYTHONHASHSEED={r.seed} {command(r.command)}")
    if "seed" in switches:
        more = ", deterministic=True" if "deterministic" in switches else ""
        lines.append(f"timesink.seed_everything({r.seed}{more})  # before anything is drawn")
    elif "deterministic" in switches:
        lines.append("torch.use_deterministic_algorithms(True)")
    if "threads" in switches:
        lines = [f"OMP_NUM_THREADS=1 {lines[0]}"]
    blocks: list[Block] = []
    for n, line in enumerate(lines):
        blocks += [Paragraph("or" if n else "From outside:"), Code(line)]
    return Section("To make it reproducible", tuple(blocks))


def _about_saved(a: Against) -> str:
    if a.difference is None:
        same = "Nothing recorded of the environment differs." if not a.environment else (
            "That holds although the environment differs, see below."
        )  # fmt: skip
        return f"The same as saved in {a.file}: {a.steps:,} steps agree bit for bit. {same}"
    first = a.difference
    where = f"in its {first.section}" if first.section else "one has no such step"
    return (
        f"Not the same as saved in {a.file}: the first difference is in step {first.step}, {where}."
    )


def _against(a: Against) -> Section:
    """The saved fingerprint: what differs, and what may be the reason."""
    blocks: list[Block] = []
    if a.difference is not None:
        blocks.append(Items((_what_differs(a.difference),)))
    if a.environment:
        columns = (Column("environment"), Column("then"), Column("now"))
        blocks.append(Table("environment differences", columns, a.environment, brief=20))
    elif a.difference is not None:
        blocks.append(Paragraph("Nothing recorded of the environment differs."))
    return Section(f"Against {a.file}, saved {a.started}", tuple(blocks))


def _tried(r: Reproduction) -> Section | None:
    if len(r.rounds) < 2:
        return None
    rows = tuple(
        (
            ", ".join(_SWITCHES[s] for s in x.switches) or "as it is",
            x.steps,
            x.error or ("agree" if x.same else _place(x)),
        )
        for x in r.rounds
    )
    columns = (Column("fixed"), Column("steps", "count"), Column("result"))
    return Section("What was tried", (Table("rounds", columns, rows, brief=20),), detail=True)


def _place(found: Round) -> str:
    assert found.difference is not None
    return f"part in step {found.difference.step}: {found.difference.section or 'ended'}"


def _sources(kept: Sequence[Round], place: _Places) -> Section | None:
    """Where the program takes something from outside: for a cause that is not certain."""
    found = next((x.located for x in kept if _open(x.located)), None)
    if found is None or not found.sources:
        return None
    rows = tuple(
        (u.kind, u.name, place.text(u.line) + (" (worker)" if u.in_worker else ""))
        for u in found.sources
    )
    columns = (Column("takes"), Column("by"), Column("at"))
    text = "The program takes these from outside; the likeliest first:"
    return Section("Look here", (Paragraph(text), Table("sources", columns, rows, brief=5)))


def _open(found: Located | None) -> bool:
    operator = found.operator if found is not None else None
    return found is not None and (operator is None or operator.cause in ("data", "number", "order"))


def _processes(r: Reproduction) -> Section:
    columns = (
        Column("process"), Column("steps", "count"), Column("took", "time"), Column("fixed"),
        Column("ended"),
    )  # fmt: skip
    rows = tuple(
        (p.name, p.steps, p.seconds * 1e9, ", ".join(p.switches) or "nothing", p.error or "well")
        for p in r.processes
    )
    return Section("Processes", (Table("processes", columns, rows, brief=40),), detail=True)


def _environment(r: Reproduction) -> Section | None:
    if not r.environment:
        return None
    table = Table("environment", (Column("field"), Column("value")), r.environment, brief=0)
    return Section("Environment", (table,), detail=True)

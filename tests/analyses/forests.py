"""Random traces whose truth is known: nested calls with launches, and the device rows of them.

A strategy draws a forest of nodes; ``rows`` lays it out in time. The naive reference of a test
walks the same nodes, so that it shares no code with what it checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import strategies as st

from tests.analyses import tables as t

OP_NAMES = ("aten::mm", "aten::add", "aten::linear")
KERNEL_NAMES = ("gemm", "ncclDevKernel_AllReduce", "cross_device_reduce_2stage", "Memcpy HtoD", "")


@dataclass
class Work:
    """One device row: starts ``delay`` ns after its launch (maybe before it)."""

    name: str
    delay: int
    dur: int
    stream: int


@dataclass
class Node:
    """One host row: ``lead`` ns, its children, ``tail`` ns. A launch has work and no children."""

    kind: str  # "op", "range", "launch"
    name: str
    lead: int
    tail: int
    children: list[Node] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)
    ts: int = 0

    @property
    def dur(self) -> int:
        return self.lead + sum(c.dur for c in self.children) + self.tail

    def walk(self, above: tuple[Node, ...] = ()) -> Iterator[tuple[Node, tuple[Node, ...]]]:
        """Every node with its ancestors, outermost first."""
        yield self, above
        for child in self.children:
            yield from child.walk((*above, self))


_short = st.integers(0, 4)
_work = st.builds(
    Work,
    st.sampled_from(KERNEL_NAMES),
    st.integers(-3, 9),
    st.integers(0, 9),
    st.sampled_from([0, 7]),
)
_launch = st.builds(
    Node, st.just("launch"), st.just("cudaLaunchKernel"), _short, st.integers(1, 4),
    work=st.lists(_work, max_size=2),
)  # fmt: skip


def _inner(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.builds(
        Node, st.sampled_from(["op", "op", "range"]), st.sampled_from(OP_NAMES), _short,
        st.integers(1, 4), st.lists(children, max_size=3),
    )  # fmt: skip


_leaf = st.builds(Node, st.just("op"), st.sampled_from(OP_NAMES), _short, st.integers(1, 4))
forests = st.lists(st.recursive(_launch | _leaf, _inner, max_leaves=8), max_size=4)


def rows(forest: list[Node]) -> list[t.Row]:
    """The trace of a forest, all on one thread; correlations count the launches."""
    found: list[t.Row] = []
    now = 100
    for root in forest:
        _place(root, now, found)
        now += root.dur + 1
    return found


def _place(node: Node, ts: int, found: list[t.Row]) -> None:
    node.ts = ts
    corr = len(found) + 1
    if node.kind == "op":
        found.append(t.op(node.name, ts, node.dur))
    elif node.kind == "range":
        found.append(t.annotation(f"my {node.name}", ts, node.dur))
    else:
        found.append(t.launch(ts, node.dur, corr))
    for w in node.work:
        make = t.memcpy if w.name.startswith("Memcpy") else t.kernel
        found.append(make(w.name, ts + w.delay, w.dur, corr=corr, stream=w.stream))
    now = ts + node.lead
    for child in node.children:
        _place(child, now, found)
        now += child.dur


def everyone(forest: list[Node]) -> list[tuple[Node, tuple[Node, ...]]]:
    """All nodes with their ancestors."""
    return [pair for root in forest for pair in root.walk()]


def all_work(forest: list[Node]) -> list[Work]:
    """All device rows."""
    return [w for node, _ in everyone(forest) for w in node.work]

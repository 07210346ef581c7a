"""The page as text: what a browser would be given. Behaviour is in test_browser.py."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from tests import fakes
from timesink.model.report import Report
from timesink.model.timeline import Timeline
from timesink.reports import charts, pack, svg
from timesink.reports.document import Code, Document, Section
from timesink.reports.html import document_to_html, to_html, to_html_fragment
from timesink.reports.palette import COLOURS, TERMINAL, slug

EVERY = pytest.mark.parametrize("text", fakes.HOSTILE, ids=range(len(fakes.HOSTILE)))


class Elements(HTMLParser):
    """All start tags with their attributes, and the text of each script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def unpacked(packed: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def data_of(page: str) -> Any:
    found = re.search(r'id="timeline-data">([A-Za-z0-9+/=]+)</script>', page)
    assert found
    return unpacked(found.group(1))


@EVERY
def test_hostile_names_add_no_element_and_no_attribute(text: str) -> None:
    """The page of hostile names has exactly the elements of a page of harmless ones."""
    for render in (to_html, to_html_fragment):
        plain, hostile = (render(fakes.hostile(t)) for t in ("plain", text))
        hostile.encode("utf-8")
        expected, got = Elements(plain).tags, Elements(hostile).tags
        allowed = {"onmouseover", "onerror", "onload", "onclick"}
        for _, attributes in got:
            assert not allowed & set(attributes)
        kinds = {tag for tag, _ in expected}
        # Cut names get a span or two, empty ones lose their paragraph: nothing else may differ.
        assert {tag for tag, _ in got} <= kinds | {"span"}
        scripts = [tag for tag, _ in got].count("script")
        assert scripts == [tag for tag, _ in expected].count("script")


def test_nothing_is_loaded_from_elsewhere() -> None:
    page = to_html(fakes.report())
    for _, attributes in Elements(page).tags:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:,")), value
    assert "http://" not in page
    assert "https://" not in page
    assert "@import" not in page
    assert "url(" not in page


def test_the_policy_allows_our_scripts_only() -> None:
    tags = Elements(to_html(fakes.report())).tags
    policies = [a["content"] for t, a in tags if "content-security-policy" in str(a).lower()]
    assert len(policies) == 1
    policy = policies[0]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    script = re.search(r"script-src ([^;]*);", policy)
    assert script
    assert all(part.startswith("'sha256-") for part in script.group(1).split())


def test_ids_are_unique() -> None:
    ids = [a["id"] for _, a in Elements(to_html(fakes.report())).tags if "id" in a]
    assert len(ids) == len(set(ids))


def test_the_fragment_is_small_and_styles_nothing_outside() -> None:
    fragment = to_html_fragment(fakes.report())
    tags = {tag for tag, _ in Elements(fragment).tags}
    assert not tags & {"style", "script", "link", "html", "body", "head"}
    assert not any({"id", "class"} & set(a) for _, a in Elements(fragment).tags)
    assert len(fragment) < 15_000
    assert "Input-bound" in fragment


@pytest.mark.parametrize("without", ["analysis", "run", "light", "timeline"])
def test_parts_may_be_missing(without: str) -> None:
    page = to_html(fakes.report(**{without: None}))
    assert "Input-bound" in page
    assert ('id="timeline-data"' in page) == (without != "timeline")


def test_packing_loses_nothing() -> None:
    timeline = fakes.timeline(200)
    data = unpacked(pack.pack(timeline))
    assert data["names"] == list(timeline.names)
    assert data["args"] == list(timeline.args)
    for lane, packed in zip(timeline.lanes, data["lanes"], strict=True):
        starts, now = [], 0
        for delta in packed["start"]:
            now += delta
            starts.append(now)
        assert tuple(starts) == lane.start_ns
        assert tuple(packed["dur"]) == lane.dur_ns
        assert tuple(packed["depth"]) == lane.depth
        assert tuple(packed["name"]) == lane.name
        assert tuple(packed["args"]) == lane.args


def test_a_full_timeline_stays_moderate() -> None:
    page = to_html(fakes.report(timeline=fakes.timeline(40_000)))
    assert sum(len(lane["dur"]) for lane in data_of(page)["lanes"]) > 30_000
    assert len(page) < 3_000_000


def test_an_empty_timeline_is_left_out() -> None:
    page = to_html(fakes.report(timeline=Timeline(0, 0, (), (), (), ())))
    assert "<canvas" not in page


def test_bars_take_the_colour_of_their_ancestor() -> None:
    names = (
        "enumerate(DataLoader)#x",
        "aten::stack",
        "Optimizer.step#SGD",
        "aten::add_",
        "cudaLaunch",
    )
    lane = dataclasses.replace(
        fakes.timeline().lanes[0],
        start_ns=(0, 1, 10, 11, 12, 20),
        dur_ns=(5, 2, 5, 3, 1, 5),
        depth=(0, 1, 0, 1, 2, 0),
        name=(0, 1, 2, 3, 4, 1),
        category=(0, 0, 0, 0, 1, 0),
        args=(-1,) * 6,
    )
    timeline = Timeline(0, 30, (lane,), names, ("cpu_op", "cuda_runtime"), ())
    assert list(pack.bar_classes(lane, timeline)) == [
        "data loading", "data loading", "optimizer", "optimizer", "runtime/launch",
        "forward operators",
    ]  # fmt: skip


def test_every_series_and_part_has_a_colour() -> None:
    page = to_html(fakes.report())
    used = set(re.findall(r"\bc-[a-z-]+", page))
    assert used <= {slug(label) for label in COLOURS}
    assert set(TERMINAL) <= set(COLOURS)


def contrast(a: str, b: str) -> float:
    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((light(a), light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_colours_stand_out_from_the_background() -> None:
    """WCAG 2.2, 1.4.11: graphics need 3:1."""
    for label, (light, dark) in COLOURS.items():
        assert contrast(light, "#ffffff") >= 3, label
        assert contrast(dark, "#12161b") >= 3, label


def test_thousands_of_steps_are_thinned_honestly() -> None:
    light = fakes.light(10_000)
    slow = dataclasses.replace(
        light, wall_ns=(*light.wall_ns[:7777], 999_000_000, *light.wall_ns[7778:])
    )
    chart = charts.steps_chart(slow)
    assert len(chart.x) <= charts.POINTS
    assert 7777.0 in chart.x
    drawn = svg.draw(chart)
    assert "10,000 steps do not fit" in drawn.note
    assert "2 bars are taller than the chart (up to 1.00 s)" in drawn.note
    assert len(drawn.svg) < 1_000_000


def test_steps_that_fit_are_all_shown() -> None:
    chart = charts.steps_chart(fakes.light(40))
    assert len(chart.x) == 40
    assert chart.thinned == ""
    assert chart.marks[0] == "compiled"
    assert chart.marks[5:17] == ("profiled",) * 12


def test_layers_of_a_bar_add_up() -> None:
    light = fakes.light(40)
    chart = charts.steps_chart(light)
    for i, wall in enumerate(light.wall_ns):
        assert sum(s.values[i] for s in chart.series) == wall


def test_charts_of_nothing_and_of_zeros() -> None:
    zeros = dataclasses.replace(fakes.memory(), allocated=(0,) * 120, reserved=(0,) * 120)
    assert "nan" not in str(svg.draw(charts.memory_chart(zeros, 0)).svg).lower()
    empty = dataclasses.replace(fakes.memory(), ts_ns=(), allocated=(), reserved=())
    assert svg.draw(charts.memory_chart(empty, 0)).description == "No values."
    one = dataclasses.replace(fakes.memory(), ts_ns=(5,), allocated=(7,), reserved=(0,))
    assert "nan" not in str(svg.draw(charts.memory_chart(one, 0)).svg).lower()


def test_a_healthy_run_has_no_findings_section() -> None:
    made: Report = fakes.report()
    healthy = dataclasses.replace(made.diagnosis, findings=())
    assert 'id="part-findings"' not in to_html(dataclasses.replace(made, diagnosis=healthy))


def test_lines_to_copy_stay_lines() -> None:
    page = Document("t", "", (Section("Code", (Code("first = 1\nsecond < 2\x07"),)),))
    text = document_to_html(page)
    assert "<code>first = 1\nsecond &lt; 2\\x07\n</code>" in text

"""A real browser for the tests of the page: Debian's Chromium, driven by playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from timesink.model.report import Report
from timesink.reports.html import to_html

_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One running Chromium for all tests of a module."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium on this machine")
    with sync_api.sync_playwright() as play:
        running = play.chromium.launch(executable_path=path, args=_ARGS)
        yield running
        running.close()


@dataclass
class Opened:
    """A page with what its console said and which addresses it asked for."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """A function that opens the page of a report; everything is closed after the test."""
    contexts = []

    def opened(report: Report, **options: Any) -> Opened:
        file = tmp_path / "report.html"
        file.write_text(to_html(report), "utf-8")
        contexts.append(browser.new_context(viewport={"width": 1280, "height": 900}, **options))
        made = Opened(contexts[-1].new_page())
        made.page.on("console", lambda m: made.said.append(m.text))
        made.page.on("pageerror", lambda e: made.said.append(str(e)))
        made.page.on("request", lambda r: made.asked.append(r.url))
        made.page.goto(file.as_uri())
        if report.timeline is not None:
            made.page.wait_for_selector("#timeline[data-ready]")
            assert made.page.get_attribute("#timeline", "data-ready") == "true"
        return made

    yield opened
    for context in contexts:
        context.close()

"""The page in a real browser: it draws, answers, loads nothing and runs no foreign script."""

from __future__ import annotations

from typing import Any

import pytest

from tests import fakes

pytestmark = pytest.mark.browser


def colours(page: Any) -> int:
    """How many colours the canvas shows."""
    return int(
        page.evaluate(
            """() => {
              const c = document.getElementById("tl-canvas");
              const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
              const seen = new Set();
              for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
              return seen.size;
            }"""
        )
    )


def picture(page: Any) -> str:
    page.wait_for_timeout(60)
    return str(page.evaluate("document.getElementById('tl-canvas').toDataURL()"))


def test_quiet_and_offline(open_page: Any) -> None:
    made = open_page(fakes.report())
    assert made.said == []
    assert [u for u in made.asked if not u.startswith("data:")] == [made.page.url]
    assert colours(made.page) > 8


def test_the_policy_really_blocks_scripts_and_requests(open_page: Any) -> None:
    page = open_page(fakes.report()).page
    ran = page.evaluate(
        """async () => {
          const s = document.createElement("script");
          s.textContent = "window.injected = 1";
          document.body.append(s);
          let loaded = true;
          await fetch("https://example.org/").catch(() => (loaded = false));
          return [window.injected === undefined, loaded];
        }"""
    )
    assert ran == [True, False]


@pytest.mark.parametrize("text", fakes.HOSTILE, ids=range(len(fakes.HOSTILE)))
def test_hostile_names_do_nothing(open_page: Any, text: str) -> None:
    made = open_page(fakes.hostile(text))
    page = made.page
    assert made.said == []
    assert len([u for u in made.asked if not u.startswith("data:")]) == 1
    assert page.evaluate("window.injected") is None
    page.fill("#tl-search", text[:50].split("\n")[0] or "x")
    page.press("#tl-search", "Enter")
    page.wait_for_timeout(30)
    assert page.evaluate("window.injected") is None
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert made.said == []


def spot(page: Any, lane: int) -> tuple[float, float, float]:
    """The middle of the first row of a lane of the fake report, and the canvas width."""
    page.locator("#tl-canvas").scroll_into_view_if_needed()
    box = page.locator("#tl-canvas").bounding_box()
    above = {0: 0, 1: 3, 2: 4, 3: 5}[lane]  # rows of the lanes before it
    y = 36 + lane * (17 + 4) + above * 17 + 17 + 8
    return box["x"], box["y"] + y, box["width"]


def test_hover_click_and_args(open_page: Any) -> None:
    page = open_page(fakes.report()).page
    x, y, width = spot(page, 3)
    # The collective runs from 50 to 70 % of each of 12 steps; the view has 1 % of margin.
    page.mouse.move(x + width * (0.01 + 0.6 / 12) / 1.02, y)
    page.wait_for_selector("#tl-tip:not([hidden])")
    tip = page.inner_text("#tl-tip")
    assert "ncclDevKernel_AllReduce" in tip
    assert "category: kernel" in tip
    assert "duration: 20.0 ms (20,000,000 ns)" in tip
    assert "start: 50.0 ms (50,000,000 ns)" in tip
    assert "grid: [1,2,3]" in tip
    assert "step: 5" in tip
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(0, 0)
    assert page.is_hidden("#tl-tip")
    assert "ncclDevKernel_AllReduce" in page.inner_text("#tl-details")


def test_search_counts_jumps_and_sums(open_page: Any) -> None:
    page = open_page(fakes.report()).page
    before = picture(page)
    page.fill("#tl-search", "nccl")
    assert page.inner_text("#tl-hits") == "12 found, 240 ms in all"
    assert picture(page) != before
    page.press("#tl-search", "Enter")
    assert page.inner_text("#tl-hits").startswith("1 of 12")
    assert "50,000,000 ns" in page.inner_text("#tl-details")
    page.press("#tl-search", "Enter")
    assert "150,000,000 ns" in page.inner_text("#tl-details")
    page.click("#tl-prev")
    assert page.inner_text("#tl-hits").startswith("1 of 12")
    page.fill("#tl-search", "no such bar")
    assert page.inner_text("#tl-hits") == "none found"


def test_zoom_pan_and_fit(open_page: Any) -> None:
    page = open_page(fakes.report()).page
    whole = picture(page)
    page.focus("#tl-canvas")
    for key in ("w", "+", "d", "a", "ArrowRight", "ArrowLeft", "s", "-"):
        last = picture(page)
        page.keyboard.press(key)
        assert picture(page) != last, key
    page.keyboard.press("f")
    assert picture(page) == whole
    page.click("#tl-in")
    assert picture(page) != whole
    page.click("#tl-fit")
    assert picture(page) == whole
    page.focus("#tl-canvas")
    x, y, width = spot(page, 0)
    page.mouse.move(x + width / 2, y)
    page.mouse.wheel(0, -300)
    page.mouse.move(0, 0)
    page.wait_for_timeout(50)
    assert picture(page) != whole


def test_before_a_click_the_wheel_scrolls_the_page(open_page: Any) -> None:
    page = open_page(fakes.report()).page
    x, y, width = spot(page, 0)
    page.mouse.move(x + width / 2, y)
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, -200)
    page.wait_for_timeout(300)
    assert page.evaluate("scrollY") < before


def test_a_selected_range_says_its_length(open_page: Any) -> None:
    page = open_page(fakes.report()).page
    x, y, width = spot(page, 0)
    page.keyboard.down("Shift")
    page.mouse.move(x + width * 0.25, y)
    page.mouse.down()
    page.mouse.move(x + width * 0.75, y)
    page.mouse.up()
    page.keyboard.up("Shift")
    # Half of a view of 1.02 times 1.2 s.
    assert "Selected: 612 ms" in page.inner_text("#tl-details")
    page.focus("#tl-canvas")
    page.keyboard.press("Escape")
    assert "Selected" not in page.inner_text("#tl-details")


def test_a_step_can_be_chosen(open_page: Any) -> None:
    page = open_page(fakes.report()).page
    whole = picture(page)
    page.select_option("#tl-step", label="9")
    assert picture(page) != whole


def rows(page: Any, table: str) -> list[str]:
    script = f"""[...document.querySelectorAll('#table-{table} tbody tr')]
        .filter(r => !r.hidden).map(r => r.cells[0].textContent.trim())"""
    return list(page.evaluate(script))


def test_sort_filter_and_show_all(open_page: Any) -> None:
    page = open_page(fakes.report()).page
    table = page.locator(".table", has=page.locator("#table-operators"))
    assert len(rows(page, "operators")) == 10
    page.click("#table-operators th:nth-child(3) button")
    assert rows(page, "operators")[0] == "aten::op29"
    head = page.locator("#table-operators th:nth-child(3)")
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert rows(page, "operators")[0] == "aten::op0"
    table.locator("input").fill("OP2")
    assert len(rows(page, "operators")) == 10
    assert all("op2" in r for r in rows(page, "operators"))
    assert "10 of 11 matching rows" in table.locator(".shown").inner_text()
    table.locator(".all").click()
    assert len(rows(page, "operators")) == 11
    table.locator("input").fill("")
    assert len(rows(page, "operators")) == 30


def test_unknown_values_sort_last_both_ways(open_page: Any) -> None:
    page = open_page(fakes.report()).page
    for _ in range(2):
        page.click("#table-kernels th:nth-child(9) button")
        assert "Sub" in rows(page, "kernels")[-1]


def test_copy(open_page: Any) -> None:
    page = open_page(fakes.report(), permissions=["clipboard-read", "clipboard-write"]).page
    page.click(".copy")
    page.wait_for_selector(".copy:text('Copied')")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "timesink try --with num-workers=2 train.py --epochs 1"


def luminance(css: str) -> float:
    numbers = css[css.index("(") + 1 : css.index(")")].split(",")[:3]
    parts = [float(v) / 255 for v in numbers]
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("toggled", [False, True])
def test_text_is_readable(open_page: Any, scheme: str, toggled: bool) -> None:
    """WCAG 2.2, 1.4.3: 4.5:1 for text, by the system's choice and by the button."""
    page = open_page(fakes.report(), color_scheme=scheme).page
    before = picture(page)
    if toggled:
        page.click("#theme")
        assert picture(page) != before
    dark = (scheme == "dark") != toggled
    found = page.evaluate(
        """() => ["body", ".dim", ".headline", "nav a", ".advice", "td", "th button", "button",
                  ".evidence li", "code", ".ticks span"].map((s) => {
          const node = document.querySelector(s);
          let back = node;
          const clear = (n) => getComputedStyle(n).backgroundColor === "rgba(0, 0, 0, 0)";
          while (clear(back) && back.parentElement) back = back.parentElement;
          return [s, getComputedStyle(node).color, getComputedStyle(back).backgroundColor];
        })"""
    )
    for name, front, back in found:
        high, low = sorted((luminance(front), luminance(back)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, (name, front, back)
    assert (luminance(found[0][2]) < 0.1) == dark


@pytest.mark.parametrize("width", [420, 1280])
def test_nothing_sticks_out(open_page: Any, width: int) -> None:
    page = open_page(fakes.report()).page
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_timeout(80)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate("document.getElementById('tl-canvas').clientWidth") < width


def test_sharp_on_a_dense_screen(open_page: Any) -> None:
    page = open_page(fakes.report(), device_scale_factor=2).page
    ratio = page.evaluate("(c => c.width / c.clientWidth)(document.getElementById('tl-canvas'))")
    assert abs(ratio - 2) < 0.02


def test_forty_thousand_bars(open_page: Any) -> None:
    """What one frame costs is bounded by pixels, not by bars: counted, not timed."""
    made = open_page(fakes.report(timeline=fakes.timeline(40_000)))
    count = made.page.evaluate(
        """async () => {
          const proto = CanvasRenderingContext2D.prototype;
          const original = proto.fillRect;
          let calls = 0;
          proto.fillRect = function (...a) { calls += 1; return original.apply(this, a); };
          document.getElementById("tl-fit").click();
          await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          proto.fillRect = original;
          return calls;
        }"""
    )
    rows_and_lanes, width = 6 + 4, 1280
    assert 100 < count < rows_and_lanes * width
    assert made.said == []


def test_without_a_timeline(open_page: Any) -> None:
    made = open_page(fakes.report(timeline=None))
    assert made.said == []
    assert made.page.query_selector("canvas") is None

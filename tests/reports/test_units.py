from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import fakes
from timesink.reports import units


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "unknown"),
        (0, "0 ns"),
        (999, "999 ns"),
        (1000, "1.00 µs"),
        (1_234_567, "1.23 ms"),
        (12_345_678, "12.3 ms"),
        (999_400_000, "999 ms"),
        (61_000_000_000, "61.0 s"),
        (-1500, "-1.50 µs"),
    ],
)
def test_time(ns: float | None, text: str) -> None:
    assert units.time(ns) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, "unknown"),
        (0, "0 B"),
        (1023, "1023 B"),
        (1 << 30, "1.00 GiB"),
        (-(3 << 20), "-3.00 MiB"),
    ],
)
def test_size(count: float | None, text: str) -> None:
    assert units.size(count) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (0.0, "0.0 %"),
        (1e-9, "<0.1 %"),
        (0.5, "50.0 %"),
        (0.99999, ">99.9 %"),
        (1.0, "100 %"),
    ],
)
def test_share_claims_the_ends_only_where_true(value: float | None, text: str) -> None:
    assert units.share(value) == text


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=12))
def test_shares_of_a_whole_add_up_to_100(parts: list[int]) -> None:
    whole = sum(parts)
    texts = units.shares([p / whole for p in parts])
    tenths = 0
    for text in texts:
        if text == "<0.1 %":
            continue
        tenths += 1000 if text == ">99.9 %" else round(10 * float(text.split()[0]))
    assert tenths == 1000
    for part, text in zip(parts, texts, strict=True):
        assert (text == "100 %") == (part == whole)
        assert text != "0.0 %"


def test_shares_of_a_part_are_not_stretched_to_100() -> None:
    assert units.shares([0.25, 0.25]) == ["25.0 %", "25.0 %"]


@given(st.text())
def test_clean_text_has_nothing_that_acts(text: str) -> None:
    clean = units.clean(text)
    clean.encode("utf-8")
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in clean)
    assert not set(clean) & set("\u2028\u2029\u202e\u2066\u200b\ufeff")


@given(st.text())
def test_ascii_only_is_ascii(text: str) -> None:
    assert units.ascii_only(units.clean(text)).isascii()


@given(st.text(max_size=60), st.integers(1, 40))
def test_middle_keeps_to_the_width(text: str, width: int) -> None:
    short = units.middle(text, width)
    assert len(short) <= width or short == text
    assert short == text or len(text) > width


def test_distinct_names_stay_distinct() -> None:
    names = [k.name for k in fakes.kernels()]
    assert len({units.middle(n, 24) for n in names}) < len(names)
    short = units.distinct(names, 24)
    assert len(set(short)) == len(names)
    assert all(len(s) <= 24 for s in short)


def test_distinct_leaves_equal_names_equal() -> None:
    assert units.distinct(["a" * 50, "a" * 50, "b"], 10)[0] == units.middle("a" * 50, 10)

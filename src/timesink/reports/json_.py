"""The report as JSON: every frozen value with its field names, under a ``schema_version``."""

from __future__ import annotations

import dataclasses
import json
import math
from enum import Enum
from typing import Any

from timesink.model.report import Report

#: Raised whenever a field is renamed, removed or changes its meaning. 1: first version.
SCHEMA_VERSION = 1


def to_json(report: Report) -> bytes:
    """The whole report but the timeline's bars. Times in ns, shares 0..1, unknown is null."""
    return dump(dataclasses.asdict(dataclasses.replace(report, timeline=None)))


def dump(values: dict[str, Any]) -> bytes:
    """Any values as one JSON object with the version in front."""
    plain = {"schema_version": SCHEMA_VERSION, **_plain(values)}
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, indent=1)
    return text.encode("utf-8", "backslashreplace")


def dump_result(result: Any, **more: Any) -> bytes:
    """A frozen result that has a ``schema_version`` of its own on disk, as one JSON object;
    ``more`` fields before its own."""
    plain = dataclasses.asdict(result)
    return dump({**more, **{k: v for k, v in plain.items() if k != "schema_version"}})


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain(dataclasses.asdict(value))
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

"""The environment record: guarded probes, no secrets, differences by field."""

from __future__ import annotations

import subprocess
import sys

import pytest

from timesink.model.run import Environment
from timesink.reproducibility import environment as module
from timesink.reproducibility.environment import diff, environment


def test_says_what_machine_this_is() -> None:
    record = environment()
    assert record.get("python.version").startswith(f"{sys.version_info.major}.")
    assert int(record.get("cpu.cores")) >= 1
    assert len({k for k, _ in record.fields}) == len(record.fields)


def test_never_imports_torch() -> None:
    code = (
        "import sys; from timesink.reproducibility.environment import environment; "
        "environment(); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_records_an_allow_list_of_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("TORCH_API_TOKEN", "hunter2")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    record = environment()
    assert record.get("env.OMP_NUM_THREADS") == "3"
    assert "hunter2" not in str(record)


def test_a_probe_that_fails_leaves_only_its_fields_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise OSError

    monkeypatch.setattr(module, "_processor", broken)
    record = environment()
    assert record.get("cpu.cores") == ""
    assert record.get("python.version")


def test_differences() -> None:
    a = Environment((("x", "1"), ("y", "2")))
    b = Environment((("x", "1"), ("y", "3"), ("z", "4")))
    assert diff(a, b) == (("y", "2", "3"), ("z", "", "4"))

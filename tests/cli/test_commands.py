"""The commands as a person types them: exit codes, one clear sentence, JSON, files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.minitrace import training_trace, write_trace


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIMESINK_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "train.json.gz", training_trace())


def timesink(*args: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "timesink", *map(str, args)]
    env = {**os.environ, "COLUMNS": "100"}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env)


def test_analyze_says_what_bounds_the_step(trace: Path) -> None:
    done = timesink("analyze", trace)
    assert done.returncode == 0, done.stderr
    assert "Input-bound" in done.stdout
    assert "data loading" in done.stdout
    assert "\x1b[" not in done.stdout, "colour although piped"
    assert done.stderr == ""


def test_analyze_json_has_a_version_and_exact_numbers(trace: Path) -> None:
    done = timesink("analyze", trace, "--json")
    document = json.loads(done.stdout)
    assert document["schema_version"] >= 1
    for step in document["analysis"]["breakdown"]["steps"]:
        wall = step["step"]["end_ns"] - step["step"]["start_ns"]
        assert sum(step["owner_ns"]) == wall == 1_000_000


def test_analyze_writes_html_and_markdown(trace: Path, tmp_path: Path) -> None:
    html, markdown = tmp_path / "r.html", tmp_path / "r.md"
    done = timesink("analyze", trace, "--html", html, "--markdown", markdown)
    assert done.returncode == 0, done.stderr
    assert "<html" in html.read_text()
    assert "Input-bound" in markdown.read_text()


def test_ops_takes_torchs_key_names(trace: Path) -> None:
    done = timesink("ops", trace, "--sort", "cuda_time_total", "--limit", "1")
    assert done.returncode == 0, done.stderr
    assert "aten::mm" in done.stdout


def test_ops_csv(trace: Path) -> None:
    header, *rows = timesink("ops", trace, "--csv").stdout.splitlines()
    assert header.startswith("name,")
    assert any(r.startswith("aten::mm,") for r in rows)


def test_ops_kernels(trace: Path) -> None:
    done = timesink("ops", trace, "--kernels", "--json")
    rows = json.loads(done.stdout)["rows"]
    assert [(r["name"], r["total_ns"]) for r in rows] == [("sgemm_128x64", 3 * 150_000)]


def test_ops_groups_by_shape(trace: Path) -> None:
    rows = json.loads(timesink("ops", trace, "--group-by", "shape", "--json").stdout)["rows"]
    assert rows[0]["shape"] == "[[8,8],[8,8]]"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["analyze", "missing.json"], "does not exist"),
        (["ops", "TRACE", "--sort", "nonsense"], "self_cpu"),
        (["ops", "TRACE", "--group-by", "colour"], "colour"),
        (["ops", "TRACE", "--csv", "--json"], "exclude"),
        (["analyze", "TEXT"], "not"),
        (["analyze", "EMPTY"], "empty"),
        (["view", "missing.json"], "does not exist"),
        (["nonsense"], "nonsense"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: list[str], says: str, trace: Path, tmp_path: Path
) -> None:
    (tmp_path / "notes.json").write_text("shopping list")
    (tmp_path / "empty.json").write_text("")
    names = {
        "TRACE": str(trace),
        "TEXT": str(tmp_path / "notes.json"),
        "EMPTY": str(tmp_path / "empty.json"),
    }
    done = timesink(*[names.get(a, a) for a in arguments], cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_reading_never_imports_torch(trace: Path) -> None:
    code = (
        f"import sys, timesink\ntimesink.analyze({str(trace)!r})\nassert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_reading_works_where_torch_cannot_be_imported(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "block" / "torch").mkdir(parents=True)
    (tmp_path / "block" / "torch" / "__init__.py").write_text("raise ImportError('no torch')")
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "block")}
    command = [sys.executable, "-m", "timesink", "analyze", str(trace)]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr


def test_offline_timeline_page(trace: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = timesink("view", trace, "--offline", "--no-browser", "-o", page)
    assert done.returncode == 0, done.stderr
    assert "aten::mm" in page.read_text()


def test_help_of_every_command_has_examples() -> None:
    for command in ("run", "quick", "analyze", "ops", "view"):
        done = timesink(command, "--help")
        assert done.returncode == 0
        assert f"timesink {command}" in done.stdout


def into(command: str, *args: str | Path) -> tuple[int, str]:
    """Exit code and stderr of timesink with its stdout sent as a shell says."""
    line = f'{{ "$0" -m timesink "$@"; echo "code $?" >&2; }} {command}'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, *map(str, args)], capture_output=True, text=True
    )
    *said, code = done.stderr.splitlines()
    return int(code.removeprefix("code ")), "\n".join(said)


@pytest.mark.parametrize("option", [[], ["--json"]])
@pytest.mark.parametrize("name", ["analyze", "ops"])
def test_a_reader_that_leaves_early_is_no_error(trace: Path, name: str, option: list[str]) -> None:
    assert into("| true", name, trace, *option) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("option", [[], ["--json"]])
def test_output_onto_a_full_disk_is_said(trace: Path, option: list[str]) -> None:
    code, said = into("> /dev/full", "analyze", trace, *option)
    assert code == 2
    assert "cannot be written: No space left" in said


def test_json_and_csv_are_utf8_in_any_locale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = training_trace()
    events["traceEvents"][-1] |= {"name": "aten::é\x1b[2J", "cat": "cpu_op"}
    path = write_trace(tmp_path / "t.json", events)
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    for option in ("--json", "--csv"):
        done = timesink("ops", path, option, "--limit", "0", "--all-steps")
        assert done.returncode == 0, done.stderr
        assert "aten::é" in done.stdout
        assert "\x1b" not in done.stdout


@pytest.mark.parametrize("command", ["analyze", "ops", "view"])
def test_paths_that_cannot_be_read_are_one_harmless_sentence(command: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    for path in (tmp_path / "pipe.json", tmp_path / ("a" * 300), tmp_path / "\x1b[2J\n"):
        done = timesink(command, path)
        assert done.returncode == 2
        assert "\x1b" not in done.stderr
        assert done.stderr.startswith("timesink: ")
        assert "defect" not in done.stderr


def test_a_file_name_that_is_not_text_can_be_read_and_cached(trace: Path) -> None:
    odd = trace.rename(trace.with_name("t\udcff.json.gz"))
    for _ in range(2):
        done = timesink("analyze", odd, "--html", odd.with_name("r.html"))
        assert done.returncode == 0, done.stderr


def test_a_run_whose_trace_is_broken_still_has_its_record(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "rank0.trace.json.gz").write_bytes(b"\x1f\x8bbroken")
    record = {"name": "run", "command": ["t.py"], "started": "", "total_steps": 9,
              "trace_file": "rank0.trace.json.gz"}  # fmt: skip
    (folder / "run.json").write_text(json.dumps(record))
    done = timesink("analyze", folder)
    assert done.returncode == 0, done.stderr
    assert "broken from its first bytes" in done.stdout

"""``timesink run`` on scripts of every kind: steps, window, exit codes, nothing lost."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.capture import loops
from timesink.capture.folder import create_run_folder, read_record
from timesink.capture.steplog import read_steps
from timesink.errors import BadUsage
from timesink.model.run import LightSteps, RunRecord

pytest.importorskip("torch", reason="running scripts needs torch")
pytestmark = pytest.mark.torch


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str
    record: RunRecord
    steps: LightSteps
    marks: list[int]
    folder: Path


def run(
    tmp_path: Path, text: str, *args: str, options: tuple[str, ...] = (), module: str = ""
) -> Ran:
    """Run a script under ``timesink run`` in a folder of its own."""
    name = "job.py" if not module else f"{module.replace('.', '/')}.py"
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    target = ["-m", module] if module else [name]
    command = [sys.executable, "-m", "timesink", "run", "--name", "job", *options, *target, *args]
    env = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=env, timeout=300
    )
    folder = tmp_path / "timesink_runs" / "job"
    log = folder / "rank0.steps.bin"
    steps = read_steps(log) if log.exists() else LightSteps()
    return Ran(done.returncode, done.stdout, done.stderr, read_record(folder), steps,
               marks(folder / "rank0.trace.json.gz"), folder)  # fmt: skip


def marks(trace: Path) -> list[int]:
    """The numbers of the recorded steps, in the trace itself."""
    if not trace.exists():
        return []
    text = gzip.decompress(trace.read_bytes()).decode()
    json.loads(text)  # plain Chrome JSON: any viewer can open it
    return sorted(int(n) for n in set(re.findall(r'"ProfilerStep#(\d+)"', text)))


def assert_exact(steps: LightSteps) -> None:
    """Parts are never negative and never exceed the wall."""
    for i in range(len(steps)):
        parts = (steps.data_ns[i], steps.forward_ns[i], steps.backward_ns[i], steps.optimizer_ns[i])
        assert min(parts) >= 0
        assert steps.rest_ns(i) >= 0
        assert sum(parts) + steps.rest_ns(i) == steps.wall_ns[i]


def test_plain_loop(tmp_path: Path) -> None:
    ran = run(tmp_path, loops.PLAIN, "--epochs", "1")
    assert ran.code == 0, ran.err
    assert "name __main__ argv ['--epochs', '1'] file job.py" in ran.out
    assert ran.steps.kind == ("train",) * 24
    assert_exact(ran.steps)
    assert ran.record.recorded_steps == 5
    assert len(ran.marks) == 5
    # The trace's step numbers are those of the light recorder.
    assert [i for i in range(24) if ran.steps.profiled[i]][1:] == ran.marks
    assert ran.record.exit_code == 0
    assert ran.record.ended
    assert ran.record.environment.get("torch.version")
    assert ran.record.loaders[0].num_workers == 0
    assert ran.record.optimizers[0].startswith("SGD(4 tensors")
    for name in ("run.json", "report.html", "report.md", "steps.parquet"):
        assert (ran.folder / name).stat().st_size > 0
    assert "Verdict" in ran.err


def test_a_second_run_never_overwrites_the_first(tmp_path: Path) -> None:
    run(tmp_path, loops.SHORT)
    before = (tmp_path / "timesink_runs" / "job" / "run.json").read_bytes()
    run(tmp_path, loops.SHORT)
    assert (tmp_path / "timesink_runs" / "job" / "run.json").read_bytes() == before
    assert (tmp_path / "timesink_runs" / "job-2" / "run.json").exists()


def test_epochs_with_validation_between(tmp_path: Path) -> None:
    ran = run(tmp_path, loops.VALIDATION)
    assert ran.steps.kind.count("train") == 24
    assert ran.steps.kind.count("eval") == 24
    assert ran.record.recorded_steps == 5


@pytest.mark.parametrize(
    ("text", "kind", "count"),
    [
        (loops.ACCUMULATION, "train", 3),
        (loops.GAN, "train", 12),
        (loops.LBFGS, "train", 10),
        (loops.NO_LOADER, "train", 12),
        (loops.SKIPPED_STEPS, "train", 12),
        (loops.PREFETCH, "train", 12),
    ],
    ids=["accumulation", "gan", "lbfgs", "no-loader", "skipped-steps", "prefetch"],
)
def test_steps_as_a_person_would_count_them(
    tmp_path: Path, text: str, kind: str, count: int
) -> None:
    ran = run(tmp_path, text, options=("-q",))
    assert ran.code == 0, ran.err
    assert ran.steps.kind.count(kind) == count
    assert_exact(ran.steps)


def test_inference_without_loader_or_optimizer(tmp_path: Path) -> None:
    ran = run(tmp_path, loops.INFERENCE, options=("-q",))
    assert ran.steps.kind.count("train") == 0
    assert ran.steps.kind.count("eval") >= 20
    assert ran.record.recorded_steps == 5


def test_e08_sys_exit_passes_its_code_and_everything_is_written(tmp_path: Path) -> None:
    ran = run(tmp_path, loops.EXIT_IN_LOOP)
    assert ran.code == 7
    assert ran.record.exit_code == 7
    assert len(ran.steps) == 10
    assert (ran.folder / "report.html").exists()


def test_d03_an_exception_is_the_scripts_own(tmp_path: Path) -> None:
    ran = run(tmp_path, loops.RAISES)
    assert ran.code == 1
    assert "ValueError: the script's own error" in ran.err
    assert "timesink/capture" not in ran.err, "our frames are in the traceback"
    assert ran.err.index("ValueError") < ran.err.index("Verdict")
    assert len(ran.steps) == 8
    assert ran.marks, "the window that was open is written"


def test_e07_hard_exit_loses_nothing_before_the_last_second(tmp_path: Path) -> None:
    ran = run(tmp_path, loops.HARD_EXIT)
    assert ran.code == 3
    assert ran.record.exit_code == 3
    assert len(ran.marks) == 5
    assert len(ran.steps) >= 24
    assert (ran.folder / "report.html").exists()


def test_killed_by_a_signal_is_said_and_passed_on(tmp_path: Path) -> None:
    ran = run(tmp_path, loops.KILLED)
    assert ran.code == -signal.SIGKILL
    assert ran.record.exit_code == -signal.SIGKILL
    assert any("SIGKILL" in n for n in ran.record.notes)
    assert len(ran.marks) == 5


@pytest.mark.parametrize("text", [loops.OWN_PROFILER, loops.LATE_PROFILER], ids=["whole", "late"])
def test_e04_a_profiler_of_the_script_has_precedence(tmp_path: Path, text: str) -> None:
    ran = run(tmp_path, text, options=("-q",))
    assert ran.code == 0, ran.err
    assert "own True" in ran.out
    assert any("profiler" in n for n in ran.record.notes)
    assert ran.steps.kind.count("train") == 12


def test_e01_a_loop_shorter_than_the_window(tmp_path: Path) -> None:
    ran = run(tmp_path, loops.SHORT)
    assert ran.code == 0
    assert ran.record.recorded_steps == 0
    assert any(n.startswith("0 of 5 steps recorded") for n in ran.record.notes)
    assert len(ran.steps) == 2
    assert "0 of 5 steps recorded" in ran.err


def test_a_window_from_the_first_step(tmp_path: Path) -> None:
    ran = run(
        tmp_path, loops.SHORT, options=("-q", "--wait", "0", "--warmup", "0", "--active", "2")
    )
    assert ran.marks == [0, 1]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_e06_loader_workers(tmp_path: Path, method: str) -> None:
    ran = run(tmp_path, loops.WORKERS, method, options=("-q",))
    assert ran.code == 0, ran.err
    assert f"done {method}" in ran.out
    assert ran.steps.kind.count("train") == 24
    assert ran.record.recorded_steps == 5
    assert sum(ran.steps.boundary) == 2


def test_e11_the_script_is_the_real_main(tmp_path: Path) -> None:
    ran = run(tmp_path, loops.PICKLES, options=("-q",))
    assert ran.code == 0, ran.err
    assert "pool [42]" in ran.out
    assert any("never imported torch" in n for n in ran.record.notes)


def test_variables_set_before_torch_is_imported_work(tmp_path: Path) -> None:
    ran = run(tmp_path, loops.ENVIRONMENT_FIRST, options=("-q",))
    assert ran.code == 0, ran.err
    assert "threads 1" in ran.out
    assert any(n.startswith("0 steps found") for n in ran.record.notes)


def test_a_module(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    ran = run(tmp_path, loops.PLAIN, module="pkg.train", options=("-q",))
    assert ran.code == 0, ran.err
    assert "name __main__" in ran.out
    assert ran.record.recorded_steps == 5


def test_a_compiler_sees_nothing_of_it(tmp_path: Path) -> None:
    ran = run(tmp_path, loops.COMPILED, options=("-q",))
    assert ran.code == 0, ran.err
    assert "Warning" not in ran.err
    plain = subprocess.run(
        [sys.executable, "job.py"], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    assert ran.out == plain.stdout
    # The compiled optimizer step is seen by nobody: steps count from the 17th batch on.
    assert ran.steps.kind.count("train") == 48 - 16
    assert ran.record.recorded_steps == 5


def test_a_module_compiled_in_place_is_timed(tmp_path: Path) -> None:
    ran = run(tmp_path, loops.COMPILED_IN_PLACE, options=("-q",))
    assert ran.code == 0, ran.err
    assert all(ran.steps.forward_ns)
    assert ran.steps.forward_ns[0] > 10 * min(ran.steps.forward_ns)  # compiling is in it


def test_activation_checkpointing(tmp_path: Path) -> None:
    ran = run(tmp_path, loops.CHECKPOINTED, options=("-q",))
    assert ran.code == 0, ran.err
    assert ran.steps.kind == ("train",) * 12


def test_checkpoints_are_marked(tmp_path: Path) -> None:
    ran = run(tmp_path, loops.CHECKPOINT, str(tmp_path / "m.pt"), options=("-q",))
    text = gzip.decompress((ran.folder / "rank0.trace.json.gz").read_bytes()).decode()
    assert text.count("timesink::checkpoint torch.save") >= 5


def test_light_only(tmp_path: Path) -> None:
    ran = run(tmp_path, loops.PLAIN, options=("--active", "0"))
    assert ran.code == 0, ran.err
    assert not ran.marks
    assert len(ran.steps) == 24
    assert "There is no trace" in ran.err


def test_bad_usage(tmp_path: Path) -> None:
    def timesink(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "timesink", "run", *args]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    for args, says in (
        (("missing.py",), "no script missing.py"),
        (("-m", "no.such.module"), "no module no.such.module"),
        (("--ranks", "x", "missing.py"), "--ranks"),
        ((), "SCRIPT"),
    ):
        done = timesink(*args)
        assert done.returncode == 2, done.stderr
        assert says in done.stderr
        assert "Traceback" not in done.stderr


def test_torchrun_gives_one_trace_per_rank(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(loops.PLAIN)
    command = [
        sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--master-port=0",
        "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0",
        "-m", "timesink", "run", "--name", "job", "job.py",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "timesink_runs" / "job"
    for rank in (0, 1):
        record = read_record(folder, rank)
        assert (record.rank, record.world_size, record.recorded_steps) == (rank, 2, 5)
        assert len(marks(folder / f"rank{rank}.trace.json.gz")) == 5
    assert done.stderr.count("Verdict") == 1


@pytest.mark.parametrize("at", [4, 6])
def test_a_fork_inside_of_the_window_ends_as_it_would_without(tmp_path: Path, at: int) -> None:
    """At 4 the profiler warms up, at 6 it records: torch's own end would hang or crash in both."""
    text = loops.script(f"""
        import atexit
        x, y = data[:8]
        for number in range(12):
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            optimizer.step()
            if number == {at} and not (child := os.fork()):
                atexit.register(print, "end", flush=True)
                sys.exit(9)
        print(os.waitpid(child, 0)[1] >> 8)
    """)
    ran = run(tmp_path, text, options=("--wait", "2", "--warmup", "2", "--active", "5"))
    assert (ran.code, ran.out) == (0, "end\n9\n")
    assert ran.record.recorded_steps == 5


def test_an_excepthook_that_exits_loses_no_steps(tmp_path: Path) -> None:
    text = loops.PLAIN + "\nsys.excepthook = lambda *_: sys.exit(7)\nraise ValueError\n"
    ran = run(tmp_path, text)
    assert ran.code == 7
    assert len(ran.steps) == ran.record.total_steps == 24
    assert ran.record.environment.fields


def test_a_trace_that_no_disk_had_room_for_leaves_the_step_times(tmp_path: Path) -> None:
    text = loops.script("""
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
        for epoch in range(3):
            for x, y in loader():
                optimizer.zero_grad()
                loss_of(model(x), y).backward()
                optimizer.step()
    """)
    ran = run(tmp_path, text)
    assert ran.code == 0
    assert len(ran.steps) == 36
    assert "is the disk full?" in " ".join(ran.record.notes)
    assert "no report" not in ran.err
    assert "Verdict" in ran.err
    assert not list(ran.folder.glob("*.trace.json.gz"))


@pytest.mark.parametrize("name", ["a/b", "../up", "..", "/tmp/x"])
def test_a_name_that_would_leave_the_out_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadUsage, match="without slashes"):
        create_run_folder(tmp_path / "out", name)
    assert not list(tmp_path.iterdir())


def test_a_script_runs_without_stdout_and_stderr(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("open('done', 'w').close()")
    line = 'exec "$0" -m timesink run --name job job.py >&- 2>&-'
    assert subprocess.run(["sh", "-c", line, sys.executable], cwd=tmp_path).returncode == 0
    assert (tmp_path / "done").exists()
    assert read_record(tmp_path / "timesink_runs" / "job").exit_code == 0

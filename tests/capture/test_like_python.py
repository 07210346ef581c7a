"""A script under ``timesink run`` does and prints what it does under Python itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.capture import loops
from timesink.capture import foreign
from timesink.capture.folder import read_record

SCRIPTS = {
    # Our own files' __future__ imports are not the script's.
    "annotations": """
        import dataclasses
        @dataclasses.dataclass
        class A:
            x: int = 0
        print(dataclasses.fields(A)[0].type, __annotations__, type(__loader__), __spec__)
    """,
    "raises-elsewhere": """
        import os
        def f():
            raise ValueError("x")
        os.chdir("/")
        f()
    """,
    "chained": """
        try:
            1 / 0
        except ZeroDivisionError as error:
            raise RuntimeError("outer") from error
    """,
    "syntax": "def f(:",
    "interrupted": """
        import atexit
        atexit.register(print, "atexit ran")
        raise KeyboardInterrupt
    """,
    "leaves-with-a-message": """
        import atexit, sys
        atexit.register(print, "atexit ran")
        sys.exit("bye")
    """,
    "flags": "import sys; print(sys.flags, sys.warnoptions, sys.path)",
    "pools": """
        import multiprocessing
        def double(x): return 2 * x
        if __name__ == "__main__":
            for method in ("forkserver", "spawn", "fork"):
                with multiprocessing.get_context(method).Pool(1) as pool:
                    print(method, pool.map(double, [4]))
    """,
}


def ends(folder: Path, *command: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-b", "-W", "ignore", *command],
        capture_output=True, text=True, cwd=folder, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", SCRIPTS)
def test_same_code_output_and_traceback(tmp_path: Path, name: str) -> None:
    (tmp_path / "job.py").write_text(textwrap.dedent(SCRIPTS[name]))
    assert ends(tmp_path, "-m", "timesink", "run", "-q", "job.py") == ends(tmp_path, "job.py")


def test_files_of_the_working_folder_hide_nothing(tmp_path: Path) -> None:
    """Python puts the script's folder first, not the working folder."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "job.py").write_text("print('ran')")
    for name in ("tempfile", "queue", "struct", "dataclasses"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')")
    # As the console script does it: without the working folder on the path.
    program = (
        "import runpy, sys; del sys.path[0]; "
        "runpy.run_module('timesink', run_name='__main__', alter_sys=True)"
    )
    done = ends(tmp_path, "-c", program, "run", "-q", "sub/job.py")
    assert done == (0, "ran\n", "")


def test_a_script_that_dies_at_once_leaves_its_environment(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("import os; os._exit(4)")
    assert ends(tmp_path, "-m", "timesink", "run", "-q", "--name", "job", "job.py")[0] == 4
    record = read_record(tmp_path / "timesink_runs" / "job")
    assert record.environment.get("python.version")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a terminal of our own")
@pytest.mark.parametrize("stdin", ["terminal", "redirected"])
def test_ctrl_c_comes_once(tmp_path: Path, stdin: str) -> None:
    import pty

    (tmp_path / "job.py").write_text(
        textwrap.dedent("""
            import signal, time
            seen = []
            signal.signal(signal.SIGINT, lambda *_: seen.append(1))
            print("ready", flush=True)
            while not seen: time.sleep(0.05)
            time.sleep(1)
            print("interrupts", len(seen), flush=True)
        """)
    )
    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover
        os.chdir(tmp_path)
        if stdin == "redirected":
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.execv(sys.executable, [sys.executable, "-m", "timesink", "run", "-q", "job.py"])
    said, sent = b"", False
    while True:
        try:
            said += os.read(terminal, 4096)
        except OSError:
            break
        if b"ready" in said and not sent:
            os.write(terminal, b"\x03")
            sent = True
    os.waitpid(child, 0)
    os.close(terminal)
    assert re.findall(rb"interrupts (\d+)", said) == [b"1"]


WARMING = loops.script("""
    from torch.profiler import profile, schedule
    with profile(schedule=schedule(wait=2, warmup=3, active=3, repeat=1)) as p:
        for x, y in loader():
            optimizer.zero_grad(); loss_of(model(x), y).backward(); optimizer.step(); p.step()
    print("own", sum(e.name.startswith("ProfilerStep") for e in p.events()))
""")


@pytest.mark.torch
@pytest.mark.parametrize("command", ["run", "quick"])
@pytest.mark.parametrize("text", [WARMING, loops.LATE_PROFILER], ids=["warming", "late"])
def test_e04_no_second_profiler_beside_one_in_its_warm_up(
    tmp_path: Path, command: str, text: str
) -> None:
    """torch does not call it enabled yet, and two of them crash the process."""
    pytest.importorskip("torch")
    (tmp_path / "job.py").write_text(text)
    code, out, err = ends(tmp_path, "-m", "timesink", command, "--name", "job", "job.py")
    assert code == 0, err
    assert ("own 3" if text is WARMING else "own True") in out
    record = read_record(tmp_path / "timesink_runs" / "job")
    assert record.exit_code == 0
    assert any("profiler" in note for note in record.notes)


def test_profilers_are_followed_to_their_end() -> None:
    torch = pytest.importorskip("torch")
    told: list[int] = []
    foreign.watch()
    foreign.step_aside_by(call := lambda: told.append(1))
    try:
        profiler = torch.autograd.profiler.profile(use_kineto=True)
        profiler._prepare_trace()
        assert told
        assert foreign.busy()
        assert not torch.autograd.profiler._is_profiler_enabled
        profiler._start_trace()
        profiler.__exit__(None, None, None)
        assert not foreign.busy()
    finally:
        foreign.forget(call)

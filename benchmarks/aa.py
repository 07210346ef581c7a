"""How often two equal scripts are called different: real experiments of a script against itself.

Each experiment is a whole ``timesink try`` in which the change is an environment variable that
nothing reads. Every one that is called faster or slower is a false positive; at most 5 % may be.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from timesink.api.experiments import begin, change, command_of, run_experiment
from timesink.model.experiments import Design

_EXAMPLES = Path(__file__).parents[1] / "examples"
_SCRIPTS = ("train_mlp.py", "train_transformer.py", "healthy.py", "train_images.py")
_ROUNDS = 6


def main() -> None:
    wrong, done = 0, 0
    with TemporaryDirectory() as out:
        for number in range(_ROUNDS * len(_SCRIPTS)):
            script = _SCRIPTS[number % len(_SCRIPTS)]
            command = command_of(str(_EXAMPLES / script))
            nothing = change(["env:NOTHING_READS_THIS=1"])
            design = Design(command, command, nothing, seconds=1.0, budget_s=90, profile=False)
            speed = run_experiment(*begin(design, Path(out), f"aa-{number}")).speed
            assert speed is not None
            done += 1
            wrong += speed.outcome in ("faster", "slower")
            ratio = speed.ratio
            told = f"{ratio.estimate:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]" if ratio else "-"
            print(f"{script:22} {speed.outcome:14} {told} {speed.pairs} pairs", flush=True)
    print(f"called different: {wrong} of {done} ({wrong / done:.0%})")

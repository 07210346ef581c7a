"""Every intervention on small scripts: what it changes, what it leaves alone and what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from timesink.errors import BadUsage
from timesink.experiments.docs import page
from timesink.experiments.interventions import KINDS, parse, parse_all
from timesink.experiments.interventions.base import Recorder

from . import scenes as written

_ROOT = Path(__file__).parents[2]


class Played:
    def __init__(self, found: dict[str, Any]) -> None:
        self._found = found

    def said(self, name: str) -> Any:
        found = self._found[name]
        assert "error" not in found, found["error"]
        return found["said"]

    def effects(self, name: str) -> dict[str, list[Any]]:
        self.said(name)
        return self._found[name]["effects"]

    def effect(self, name: str) -> list[Any]:
        (only,) = self.effects(name).values()
        return only


@pytest.fixture(scope="module")
def scenes() -> Played:
    pytest.importorskip("torch")
    command = [sys.executable, "-m", "tests.experiments.scenes"]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return Played(json.loads(done.stdout))


def test_every_kind_has_scenes_with_and_without_effect(scenes: Played) -> None:
    took, left = set(), set()
    for name in written.SCENES:
        for text, (count, _, _) in scenes.effects(name).items():
            kind = parse(text).kind.name
            (left if count == 0 else took).add(kind)
    assert took == left == {kind.name for kind in KINDS}


def test_num_workers(scenes: Played) -> None:
    said = scenes.said("num_workers")
    assert said["workers"] == [2, 2, 2, 0]
    assert said["batches"] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]
    assert said["stream"] == [[0, 1, 2], [3, 4, 5]], "each item once"
    count, text, _ = scenes.effect("num_workers")
    assert count == 2
    assert text.startswith("2 DataLoaders changed; a DataLoader has 2 workers already; a Data")
    assert "IterableDataset was left alone" in text


def test_no_workers_takes_back_what_needs_workers(scenes: Played) -> None:
    assert scenes.said("no_workers") == [0, None, False, 0, 16]


def test_settings_of_workers_follow_the_workers(scenes: Played) -> None:
    assert scenes.said("stacked_loader") == [1, 5, True]
    assert [e[:2] for e in scenes.effects("stacked_loader").values()] == [
        [1, "1 DataLoader changed"]
    ] * 3


def test_without_workers_nothing_persists(scenes: Played) -> None:
    assert scenes.said("nothing_to_persist") == [0, None, False]
    effects = scenes.effects("nothing_to_persist")
    assert effects["persistent-workers"][:2] == [
        0,
        "a DataLoader has no workers that could persist",
    ]
    assert effects["prefetch-factor=5"][0] == 0
    already = scenes.effects("already_persistent")
    assert already["persistent-workers"][1] == "the workers of a DataLoader persist already"
    assert already["prefetch-factor=3"][1] == "a DataLoader fetches 3 batches ahead already"


def test_a_script_without_loader(scenes: Played) -> None:
    for count, text, _ in scenes.effects("no_loader").values():
        assert (count, text) == (0, "the script makes no DataLoader")


def test_pin_memory(scenes: Played) -> None:
    assert scenes.said("pin_memory_without_device") is False
    assert "no CUDA device" in scenes.effect("pin_memory_without_device")[1]
    assert scenes.said("pin_memory") == [True, True]
    count, text, _ = scenes.effect("pin_memory")
    assert (count, text) == (1, "1 DataLoader changed; a DataLoader pins its memory already")


def test_batch_size(scenes: Played) -> None:
    assert scenes.said("batch_times") == [8, 8]
    assert scenes.effect("batch_times") == [1, "1 DataLoader changed", 2.0]
    assert scenes.said("batch_of") == [[2] * 8, [2] * 8, [8, 8]]
    count, text, scale = scenes.effect("batch_of")
    assert (count, scale) == (1, 0.25)
    assert "batches of 2 already" in text
    assert "sampler of the script's own" in text


def test_compile(scenes: Played) -> None:
    said = scenes.said("compile_mode")
    assert said == {"given": [{"mode": "max-autotune"}], "equal": True, "grads": True}
    assert scenes.effect("compile_mode")[:2] == [1, "1 module (Sequential) changed"]
    assert scenes.said("compiled_already") == [2, 1, 2, 1, 2], "the two compiled by the script"
    count, text, _ = scenes.effect("compiled_already")
    assert count == 0
    assert "is compiled already" in text


def test_channels_last(scenes: Played) -> None:
    said = scenes.said("channels_last")
    assert said["input"] == [192, 1, 24, 3], "NHWC"
    assert said["given"] == [192, 64, 8, 1], "the script's own tensor stays"
    assert said["weight"]
    assert said["close"]
    assert scenes.effect("channels_last")[:2] == [1, "1 module (Sequential) changed"]


def test_autocast(scenes: Played) -> None:
    inside, *outputs, ids, after, grad = scenes.said("autocast")
    assert inside == "torch.bfloat16"
    assert outputs == ["torch.float32"] * 3, "in dicts, tuples and lists"
    assert (ids, after, grad) == ("torch.int64", "torch.float32", "torch.float32")
    assert scenes.said("autocast_half") == ["torch.float32", "torch.float16"]


def test_wrapped_models_are_copied_and_pickled(scenes: Played) -> None:
    # The copies are models of their own: they are wrapped and compiled again.
    assert scenes.said("stacked_model") == {"equal": True, "compiled": 3, "dtype": "torch.float32"}


def test_only_outermost_modules_count(scenes: Played) -> None:
    assert scenes.effect("two_models")[:2] == [2, "2 modules (Other) changed"]
    effects = scenes.effects("model_in_no_module")
    assert effects["autocast=bf16"][:2] == [0, "the script calls no module with parameters"]
    assert not any(count for count, _, _ in effects.values())


def test_fused_optimizer(scenes: Played) -> None:
    adamw, sgd, rmsprop, adam = scenes.said("fused")
    assert [adamw[0], sgd[0], rmsprop[0], adam] == [True, True, None, [True, None]]
    count, text, _ = scenes.effect("fused")
    assert count == 3
    assert "1 AdamW optimizer changed" in text, "once, though Adam stands below it"
    assert text.endswith("RMSprop has no fused implementation")
    assert scenes.effect("fused_already")[0] == 0


def test_foreach_optimizer(scenes: Played) -> None:
    said = scenes.said("foreach")
    assert [foreach for _, foreach in said] == [True, True, None, True]
    assert scenes.effect("foreach")[:2] == [
        2,
        "1 AdamW optimizer changed; 1 RMSprop optimizer changed",
    ]
    assert scenes.said("own_optimizer") is True
    assert scenes.effect("own_optimizer")[1] == "1 Mine optimizer changed"


def test_set_to_none(scenes: Played) -> None:
    assert scenes.said("set_to_none") == [True] * 4
    count, text, _ = scenes.effect("set_to_none")
    assert count == 2
    assert "SGD.zero_grad" in text
    assert "Sequential.zero_grad" in text
    assert scenes.effect("none_by_default")[0] == 0


def test_gc_freeze(scenes: Played) -> None:
    assert scenes.said("gc_freeze") == [True, True, True], "after the first step, and only once"
    assert scenes.effect("gc_freeze")[:2] == [1, "1 collector changed"]
    assert scenes.said("gc_freeze_among_hooks") == [2, True]
    assert scenes.said("gc_off") == 0
    assert scenes.effect("gc_off")[:2] == [0, "the script has switched the collector off"]


def test_switches_of_devices(scenes: Played) -> None:
    assert scenes.said("no_device") == ["highest", False]
    assert scenes.effects("no_device")["tf32"][1] == "there is no CUDA device"
    assert scenes.said("device") == ["high", True]
    assert scenes.said("old_device") == "highest"
    assert "compute capability 8.0" in scenes.effects("old_device")["tf32"][1]
    assert scenes.effects("old_device")["cudnn-benchmark"][1] == "it is on already"


def test_threads(scenes: Played) -> None:
    assert scenes.said("threads") == 3
    assert scenes.effect("threads")[0] == 1
    assert scenes.said("threads_set_again") == 1
    assert scenes.effect("threads_set_again")[:2] == [0, "the script itself sets 1 thread"]
    assert scenes.effect("threads_already")[0] == 0


def test_flush_denormal(scenes: Played) -> None:
    if scenes.effect("flush_denormal")[0] == 0:
        pytest.skip("this CPU cannot flush denormal numbers")
    assert scenes.said("flush_denormal") == 0.0
    assert scenes.effect("no_flush")[:2] == [0, "this CPU cannot flush denormal numbers"]


def test_no_anomaly(scenes: Played) -> None:
    assert scenes.said("no_anomaly") == [False, False]
    assert scenes.effect("no_anomaly")[0] > 0
    assert scenes.said("no_anomaly_wanted") is False
    assert scenes.effect("no_anomaly_wanted")[0] == 0


def test_deterministic(scenes: Played) -> None:
    assert scenes.said("deterministic") == [True, True], "and memory is filled"
    count, text, _ = scenes.effect("deterministic")
    assert count > 2, text
    assert scenes.effect("deterministic_already")[0] == 0
    variables = parse("deterministic").kind.variables
    assert variables
    assert set(variables("")) == {"CUBLAS_WORKSPACE_CONFIG", "TORCHINDUCTOR_DETERMINISTIC"}


def test_env(scenes: Played) -> None:
    for count, text, _ in scenes.effects("env").values():
        assert count is None
        assert "cannot be seen" in text
    assert scenes.effect("env_set_again")[:2] == [0, "the script itself sets SCENE to '2'"]
    variables = parse("env:SCENE=a=b").kind.variables
    assert variables
    assert variables("SCENE=a=b") == {"SCENE": "a=b"}


def test_observers_see_what_the_script_computes_and_change_nothing(scenes: Played) -> None:
    plain, watched = scenes.said("unobserved"), scenes.said("observed")
    losses, norms, inputs = watched.pop("seen")
    assert watched == plain
    assert losses == plain["losses"]
    assert norms == pytest.approx(plain["norms"], rel=1e-12)
    assert len(inputs) == 4
    assert len(set(inputs)) == 1


def test_losses_of_odd_calls(scenes: Played) -> None:
    values, error = scenes.said("odd_losses")
    assert values == ["7.0", "5.0", "nan", "7.0", *values[4:]]
    assert error, "torch's own complaint reaches the script"


def test_fingerprints_of_inputs_ignore_the_memory_layout_only(scenes: Played) -> None:
    found = scenes.said("fingerprints")
    plain = found["plain"]
    same = {name for name, value in found.items() if value == plain}
    assert same == {"plain", "copy", "channels last", "strided", "nested"}
    others = {value for name, value in found.items() if name not in same}
    assert len(others) == len(found) - len(same)


@pytest.mark.parametrize(
    "text",
    [
        "", "=", "num-worker=2", "num-workers", "num-workers=", "num-workers=-1", "num-workers=1.5",
        "num-workers=two", "num-workers=²", "num-workers=99999999999", "prefetch-factor=0",
        "threads=0", "autocast", "autocast=fp8", "compile=fast", "tf32=1", "batch-size=",
        "batch-size=×", "batch-size=xx2", "batch-size=0", "env:", "env:A", "env:=1", "env:1A=2",
        "env:A B=1", "env:A=\0", "env",
    ],
)  # fmt: skip
def test_junk_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(BadUsage) as refused:
        parse(text)
    assert refused.value.remedy


def test_what_is_typed_is_kept() -> None:
    typed = ("num-workers=2", "env:A=b", "env:C=", "compile", "compile=default", "batch-size=×2")
    assert tuple(parse(t).text for t in typed) == typed
    assert parse("batch-size=x2").text == "batch-size=×2"
    assert parse("compile").code == "model = torch.compile(model)"
    assert parse("compile=default").code.endswith('# mode="default"')


def test_the_same_kind_twice_is_refused() -> None:
    with pytest.raises(BadUsage, match="given twice"):
        parse_all(("num-workers=1", "num-workers=2"))
    assert len(parse_all(("env:A=1", "env:B=2", "tf32"))) == 3


def test_a_recorder_tells_how_often() -> None:
    recorder = Recorder("x", "nothing there")
    assert recorder.effect().text == "nothing there"
    recorder.changed("module (Net)", scale=3.0)
    recorder.changed("module (Net)", scale=3.0)
    recorder.left("one was odd")
    recorder.left("one was odd")
    effect = recorder.effect()
    assert (effect.count, effect.scale) == (2, 3.0)
    assert effect.text == "2 modules (Net) changed; one was odd (2 times)"
    recorder.undone("the script said no")
    assert recorder.effect().count == 0


def test_different_factors_are_not_one() -> None:
    recorder = Recorder("batch-size=64", "nothing there")
    recorder.changed("DataLoader", scale=2.0)
    recorder.changed("DataLoader", scale=0.5)
    assert recorder.effect().count == 0
    assert "different factors" in recorder.effect().text


def test_a_switch_that_the_script_turns_back_took_no_effect() -> None:
    state = [True]
    recorder = Recorder("x", "nothing there")
    recorder.switched(lambda: state[0])
    assert recorder.effect().count == 1
    state[0] = False
    assert recorder.effect().count == 0


def test_the_page_is_up_to_date() -> None:
    committed = Path(__file__).parents[2] / "docs" / "interventions.md"
    assert committed.read_text() == page(), "run `make docs`"

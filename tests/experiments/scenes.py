"""Small scripts that interventions and observers are tried on, each in a process of its own.

``python -m tests.experiments.scenes`` imports torch once, computes nothing (so that forking is
safe), forks for every scene and prints what each said. A scene is a generator: what stands before
its ``yield`` happens before the interventions are installed, what follows is the script; it returns
what a test wants to know.
"""

from __future__ import annotations

import copy
import dataclasses
import gc
import io
import json
import os
import pickle
import sys
import traceback
from collections.abc import Callable, Generator
from typing import Any

Scene = Callable[[], Generator[None, None, Any]]
SCENES: dict[str, tuple[tuple[str, ...], Scene]] = {}


def scene(*interventions: str) -> Callable[[Scene], Scene]:
    def keep(function: Scene) -> Scene:
        SCENES[function.__name__] = (interventions, function)
        return function

    return keep


def played() -> dict[str, Any]:
    """Every scene: ``{"said": …, "effects": {name: [count, text, scale]}}`` or ``{"error": …}``."""
    import torch.utils.data  # noqa: F401 - once, for all of them

    return {name: _forked(*SCENES[name]) for name in SCENES}


def _forked(interventions: tuple[str, ...], function: Scene) -> Any:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            found = _play(interventions, function)
        except BaseException:
            found = {"error": traceback.format_exc()}
        with os.fdopen(writing, "w") as out:
            json.dump(found, out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        text = told.read()
    os.waitpid(child, 0)
    return json.loads(text or '{"error": "it died"}')


def _play(interventions: tuple[str, ...], function: Scene) -> dict[str, Any]:
    from timesink.experiments.interventions import parse_all

    running = function()
    next(running)
    changes = sorted(parse_all(interventions), key=lambda i: i.kind.order)
    made = [(change, change.recorder()) for change in changes]
    for change, recorder in made:
        change.kind.install(change.value, recorder)
    try:
        next(running)
    except StopIteration as end:
        effects = [dataclasses.astuple(recorder.effect()) for _, recorder in made]
        return {"said": end.value, "effects": {name: rest for name, *rest in effects}}
    raise AssertionError("a scene yields once")


# --- loaders ---------------------------------------------------------------------------------


def _loader(**arguments: Any) -> Any:
    from torch.utils.data import DataLoader

    return DataLoader(list(range(16)), **arguments)


def _told(loader: Any) -> list[Any]:
    return [loader.num_workers, loader.prefetch_factor, loader.persistent_workers]


def _stream() -> Any:
    from torch.utils.data import DataLoader, IterableDataset

    class Stream(IterableDataset):
        def __iter__(self) -> Any:
            return iter(range(6))

    return DataLoader(Stream(), batch_size=3)


@scene("num-workers=2")
def num_workers() -> Generator[None, None, Any]:
    yield
    loaders = [_loader(batch_size=4), _loader(batch_size=8), _loader(num_workers=2), _stream()]
    return {
        "workers": [loader.num_workers for loader in loaders],
        "batches": [batch.tolist() for batch in loaders[0]],
        "stream": [batch.tolist() for batch in loaders[3]],
    }


@scene("num-workers=0")
def no_workers() -> Generator[None, None, Any]:
    yield
    loader = _loader(num_workers=2, prefetch_factor=4, persistent_workers=True, timeout=3)
    return [*_told(loader), loader.timeout, len(list(loader))]


@scene("persistent-workers", "prefetch-factor=5", "num-workers=1")
def stacked_loader() -> Generator[None, None, Any]:
    yield
    return _told(_loader())


@scene("persistent-workers", "prefetch-factor=5")
def nothing_to_persist() -> Generator[None, None, Any]:
    yield
    return _told(_loader())


@scene("persistent-workers", "prefetch-factor=3")
def already_persistent() -> Generator[None, None, Any]:
    yield
    return _told(_loader(num_workers=1, prefetch_factor=3, persistent_workers=True))


@scene("num-workers=2", "batch-size=4")
def no_loader() -> Generator[None, None, Any]:
    yield
    return None


@scene("pin-memory")
def pin_memory_without_device() -> Generator[None, None, Any]:
    yield
    return _loader().pin_memory


@scene("pin-memory")
def pin_memory() -> Generator[None, None, Any]:
    import torch

    torch.cuda.is_available = lambda: True
    yield
    return [_loader().pin_memory, _loader(pin_memory=True).pin_memory]


@scene("batch-size=x2")
def batch_times() -> Generator[None, None, Any]:
    yield
    return [len(batch) for batch in _loader(batch_size=4)]


@scene("batch-size=2")
def batch_of() -> Generator[None, None, Any]:
    from torch.utils.data import BatchSampler, SequentialSampler

    yield
    own = BatchSampler(SequentialSampler(range(16)), 8, False)
    loaders = _loader(batch_size=8), _loader(batch_size=2), _loader(batch_sampler=own)
    return [[len(batch) for batch in loader] for loader in loaders]


# --- models ----------------------------------------------------------------------------------


def _model() -> Any:
    import torch

    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))


def _images() -> Any:
    import torch

    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2)
    )


def _eager_compile() -> list[dict[str, Any]]:
    """torch.compile without a compiler: quick, and it notes what it was given."""
    import torch

    given: list[dict[str, Any]] = []
    compile_ = torch.compile

    def noted(what: Any, **arguments: Any) -> Any:
        given.append(arguments)
        return compile_(what, backend="eager")

    torch.compile = noted
    return given


@scene("compile=max-autotune")
def compile_mode() -> Generator[None, None, Any]:
    import torch

    given, inputs = _eager_compile(), torch.ones(3, 4)
    expected = _model()(inputs)
    yield
    model = _model()
    loss = torch.nn.CrossEntropyLoss()(model(inputs), torch.tensor([0, 1, 0]))
    loss.backward()
    model(inputs)
    equal = torch.equal(model(inputs), expected)
    grads = [p.grad is not None for p in model.parameters()]
    return {"given": given, "equal": equal, "grads": all(grads)}


@scene("compile")
def compiled_already() -> Generator[None, None, Any]:
    import torch

    given = _eager_compile()
    yield
    in_place, wrapped = _model(), torch.compile(_images())
    in_place.compile()
    return [len(given), *in_place(torch.ones(1, 4)).shape, *wrapped(torch.ones(1, 3, 8, 8)).shape]


@scene("channels-last")
def channels_last() -> Generator[None, None, Any]:
    import torch

    seen: list[Any] = []
    images = torch.randn(2, 3, 8, 8)
    expected = _images()(images)
    yield
    model, plain = _images(), _model()
    model[0].register_forward_pre_hook(lambda m, args: seen.append(args[0].stride()))
    out = model(images)
    plain(torch.ones(1, 4))
    weight = model[0].weight
    return {
        "input": seen[0],
        "given": images.stride(),
        "weight": weight.is_contiguous(memory_format=torch.channels_last),
        "close": torch.allclose(out, expected, atol=1e-5),
    }


@scene("autocast=bf16")
def autocast() -> Generator[None, None, Any]:
    import torch

    class Output(dict):  # type: ignore[type-arg]
        """As those of transformers: a dict whose items are attributes too."""

        def __getattr__(self, name: str) -> Any:
            return self[name]

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            inner = self.layer(x)
            self.dtype = str(inner.dtype)
            return Output(logits=inner, pair=(inner, [inner]), ids=torch.tensor([1]))

    yield
    model = Model()
    out = model(torch.ones(2, 4))
    kinds = [out.logits.dtype, out.pair[0].dtype, out.pair[1][0].dtype, out.ids.dtype]
    out.logits.sum().backward()
    after = (torch.ones(2, 4) @ torch.ones(4, 4)).dtype
    return [model.dtype, *map(str, kinds), str(after), str(model.layer.weight.grad.dtype)]


@scene("autocast=fp16")
def autocast_half() -> Generator[None, None, Any]:
    import torch

    yield
    inside: list[str] = []
    model = _model()
    model[0].register_forward_hook(lambda m, args, out: inside.append(str(out.dtype)))
    return [str(model(torch.ones(2, 4)).dtype), *inside]


@scene("autocast=bf16", "channels-last", "compile")
def stacked_model() -> Generator[None, None, Any]:
    """A wrapped model is pickled, saved and copied as if nothing had happened."""
    import torch

    given = _eager_compile()
    yield
    model, images = _images(), torch.randn(2, 3, 8, 8)
    out = model(images)
    twice = copy.deepcopy(model)
    again = pickle.loads(pickle.dumps(model))
    saved = io.BytesIO()
    torch.save(model.state_dict(), saved)
    equal = all(torch.equal(out, m(images)) for m in (model, twice, again))
    return {"equal": equal, "compiled": len(given), "dtype": str(out.dtype)}


@scene("autocast=bf16")
def two_models() -> Generator[None, None, Any]:
    """As in a GAN: both are outermost, their parts are not, and a loss has no parameters."""
    import torch

    class Other(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = _model()

        def forward(self, x: Any) -> Any:
            return self.body(x)

    yield
    first, second, loss = Other(), Other(), torch.nn.MSELoss()
    inputs = torch.ones(2, 4)
    for _ in range(3):
        loss(first(inputs), second(inputs))
    return None


@scene("autocast=bf16", "channels-last", "compile", "foreach-optimizer", "gc-freeze")
def model_in_no_module() -> Generator[None, None, Any]:
    import torch

    yield
    weight = torch.ones(4, 4, requires_grad=True)
    (torch.ones(2, 4) @ weight).sum().backward()
    return None


# --- optimizers ------------------------------------------------------------------------------


def _optimizers(*names: str, **arguments: Any) -> Any:
    import torch

    model = _model()
    for name in names:
        optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.1, **arguments)
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        yield optimizer.defaults.get("fused"), optimizer.defaults.get("foreach")


@scene("fused-optimizer")
def fused() -> Generator[None, None, Any]:
    yield
    return [*_optimizers("AdamW", "SGD", "RMSprop"), *_optimizers("Adam", foreach=True)]


@scene("fused-optimizer")
def fused_already() -> Generator[None, None, Any]:
    yield
    return list(_optimizers("AdamW", fused=True))


@scene("foreach-optimizer")
def foreach() -> Generator[None, None, Any]:
    yield
    found = [*_optimizers("AdamW", "RMSprop"), *_optimizers("Adam", fused=True)]
    return [*found, *_optimizers("SGD", foreach=True)]


@scene("foreach-optimizer")
def own_optimizer() -> Generator[None, None, Any]:
    """A script's own optimizer passes its arguments on to torch's."""
    import torch

    class Mine(torch.optim.SGD):
        def __init__(self, params: Any) -> None:
            super().__init__(params, lr=0.5, foreach=False)

    yield
    return Mine(_model().parameters()).defaults["foreach"]


def _trained(steps: int = 3, **zero: Any) -> Any:
    import torch

    model = _model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad(**zero)
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    optimizer.zero_grad(**zero)
    return [p.grad is None for p in model.parameters()]


@scene("set-to-none")
def set_to_none() -> Generator[None, None, Any]:
    yield
    model = _model()
    model.zero_grad(False)
    return _trained(set_to_none=False)


@scene("set-to-none")
def none_by_default() -> Generator[None, None, Any]:
    yield
    return _trained()


@scene("gc-freeze")
def gc_freeze() -> Generator[None, None, Any]:
    yield
    before = gc.get_freeze_count()
    _trained(1)
    once = gc.get_freeze_count()
    gc.unfreeze()
    _trained(2)
    return [before == 0, once > 0, gc.get_freeze_count() == 0]


@scene("gc-freeze")
def gc_freeze_among_hooks() -> Generator[None, None, Any]:
    """Torch walks through its hooks while one of them runs."""
    import torch.optim.optimizer as optim

    yield
    calls: list[int] = []
    optim.register_optimizer_step_post_hook(lambda *_: calls.append(1))
    _trained(2)
    return [len(calls), gc.get_freeze_count() > 0]


@scene("gc-freeze")
def gc_off() -> Generator[None, None, Any]:
    yield
    gc.disable()
    _trained(1)
    return gc.get_freeze_count()


# --- switches --------------------------------------------------------------------------------


@scene("tf32", "cudnn-benchmark")
def no_device() -> Generator[None, None, Any]:
    import torch

    yield
    return [torch.get_float32_matmul_precision(), torch.backends.cudnn.benchmark]


@scene("tf32", "cudnn-benchmark")
def device() -> Generator[None, None, Any]:
    import torch

    torch.cuda.is_available = torch.backends.cudnn.is_available = lambda: True
    torch.cuda.get_device_capability = lambda: (9, 0)
    yield
    return [torch.get_float32_matmul_precision(), torch.backends.cudnn.benchmark]


@scene("tf32", "cudnn-benchmark")
def old_device() -> Generator[None, None, Any]:
    import torch

    torch.cuda.is_available = torch.backends.cudnn.is_available = lambda: True
    torch.cuda.get_device_capability = lambda: (7, 0)
    torch.backends.cudnn.benchmark = True
    yield
    return torch.get_float32_matmul_precision()


@scene("threads=3")
def threads() -> Generator[None, None, Any]:
    import torch

    torch.set_num_threads(2)
    yield
    return torch.get_num_threads()


@scene("threads=3")
def threads_set_again() -> Generator[None, None, Any]:
    import torch

    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)
    return torch.get_num_threads()


@scene("threads=2")
def threads_already() -> Generator[None, None, Any]:
    import torch

    torch.set_num_threads(2)
    yield
    return torch.get_num_threads()


@scene("flush-denormal")
def flush_denormal() -> Generator[None, None, Any]:
    import torch

    yield
    return float(torch.tensor([1e-38]) * 1e-3)


@scene("flush-denormal")
def no_flush() -> Generator[None, None, Any]:
    import torch

    torch.set_flush_denormal = lambda mode: False
    yield
    return None


@scene("no-anomaly")
def no_anomaly() -> Generator[None, None, Any]:
    import torch

    yield
    with torch.autograd.detect_anomaly(check_nan=False):
        inside = torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(True)
    return [inside, torch.is_anomaly_enabled()]


@scene("no-anomaly")
def no_anomaly_wanted() -> Generator[None, None, Any]:
    import torch

    yield
    torch.autograd.set_detect_anomaly(False)
    return torch.is_anomaly_enabled()


@scene("deterministic")
def deterministic() -> Generator[None, None, Any]:
    import torch

    yield
    empty = torch.empty(3).isnan().all().item()
    return [torch.are_deterministic_algorithms_enabled(), empty]


@scene("deterministic")
def deterministic_already() -> Generator[None, None, Any]:
    import torch

    torch.use_deterministic_algorithms(True)
    yield
    return None


@scene("env:SCENE=a=b", "env:OTHER=1")
def env() -> Generator[None, None, Any]:
    os.environ.update(SCENE="a=b", OTHER="1")  # as the process is started with
    yield
    return None


@scene("env:SCENE=1")
def env_set_again() -> Generator[None, None, Any]:
    os.environ["SCENE"] = "2"
    yield
    return None


# --- observers -------------------------------------------------------------------------------


def _training(inputs: Any) -> dict[str, Any]:
    """What a script itself would say of its losses and gradients, and where it ended."""
    import torch

    model = _model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses, norms = [], []
    for _ in range(4):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), torch.tensor([0, 1, 1]))
        loss.backward()
        losses.append(loss.item())
        total = torch.cat([p.grad.double().flatten() for p in model.parameters()])
        norms.append(float(total.norm()))
        optimizer.step()
    bits = [p.detach().view(torch.uint8).tolist() for p in model.parameters()]
    return {"losses": losses, "norms": norms, "bits": bits, "random": torch.rand(1).item()}


@scene()
def unobserved() -> Generator[None, None, Any]:
    import torch

    yield
    return _training(torch.arange(12.0).reshape(3, 4))


@scene()
def observed() -> Generator[None, None, Any]:
    import torch

    from timesink.experiments.observe import GradNorms, Inputs, Losses

    yield
    observers = Losses(), GradNorms(), Inputs()
    for observer in observers:
        observer.install()
    own = _training(torch.arange(12.0).reshape(3, 4))
    losses, norms, inputs = observers
    return {**own, "seen": [losses.values(), norms.values, inputs.values]}


@scene()
def odd_losses() -> Generator[None, None, Any]:
    """Several tensors, a vector with its own gradient, NaN, a float16 loss, no tensor at all."""
    import torch

    from timesink.experiments.observe import Losses

    yield
    losses = Losses()
    losses.install()
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    torch.autograd.backward([x.sum(), x.prod()])
    (x * 1).backward(torch.ones(2))
    (x.sum() * float("nan")).backward()
    x.half().sum().backward()
    error = ""
    try:
        torch.autograd.backward([])
        torch.autograd.backward(3)
    except Exception as raised:
        error = type(raised).__name__
    return [[str(v) for v in losses.values()], error]


@scene()
def fingerprints() -> Generator[None, None, Any]:
    import torch

    from timesink.experiments.observe import fingerprint

    yield
    images = torch.arange(2 * 3 * 4 * 4.0).reshape(2, 3, 4, 4)
    other = images.clone()
    other[0, 0, 0, 0] = -0.0
    values = {
        "plain": images,
        "copy": images.clone(),
        "channels last": images.contiguous(memory_format=torch.channels_last),
        "strided": torch.stack([images, images], -1)[..., 0],
        "minus zero": other,
        "half": images.half(),
        "flat": images.reshape(-1),
        "nested": {"x": [images, 3], "y": None},
        "none": [None, "text", 3],
    }
    return {name: fingerprint(value) for name, value in values.items()}


if __name__ == "__main__":
    json.dump(played(), sys.stdout)

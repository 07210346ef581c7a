"""The fingerprints of a step, and that two runs are compared by them."""

from __future__ import annotations

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from timesink.model.reproducibility import StepPrints  # noqa: E402
from timesink.reproducibility.first_difference import (  # noqa: E402
    drawn_generators,
    first_step,
)
from timesink.reproducibility.seeding import seed_everything  # noqa: E402
from timesink.reproducibility.steps import generators, gradients, step_prints  # noqa: E402


def record(seed: int, noisy_step: int = -1) -> list[StepPrints]:
    seed_everything(seed)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    out = []
    for step in range(4):
        state = generators()
        x = {"image": torch.randn(5, 3), "id": step}
        loss = model(x["image"]).sum()
        optimizer.zero_grad()
        loss.backward()
        if step == noisy_step:
            model.bias.grad[0] += 1e-3
        sections = {"generators": state, "inputs": x, "loss": loss, "gradients": gradients(model)}
        first = step_prints(step, sections)
        optimizer.step()
        second = step_prints(step, {"parameters": model, "optimizer": optimizer})
        out.append(StepPrints(step, first.entries + second.entries))
    return out


def test_paths_by_section() -> None:
    step = record(0)[1]
    assert set(step.of("inputs")) == {"image", "id"}
    assert set(step.of("gradients")) == set(step.of("parameters")) == {"weight", "bias"}
    assert set(step.of("loss")) == {""}
    assert "group0.0.momentum_buffer" in step.of("optimizer")
    assert "torch-cpu" in step.of("generators")


def test_first_difference_of_real_runs() -> None:
    assert first_step(record(0), record(0)) is None
    other = first_step(record(0), record(1))
    assert other is not None
    assert (other.step, other.section) == (0, "generators")
    noisy = first_step(record(0), record(0, noisy_step=2))
    assert noisy is not None
    assert (noisy.step, noisy.where[0]) == (2, ("gradients", "bias"))
    assert ("parameters", "bias") in noisy.where
    assert ("parameters", "weight") not in noisy.where


def test_looking_at_generators_advances_none() -> None:
    seed_everything(3)
    for _ in range(3):
        generators()
    seen = (random.random(), np.random.rand(), torch.rand(1).item())
    seed_everything(3)
    assert seen == (random.random(), np.random.rand(), torch.rand(1).item())


def test_sections_whose_names_begin_alike() -> None:
    step = step_prints(0, {"in": {"puts": torch.ones(1)}, "inputs": torch.zeros(1)})
    assert [(s, p) for s, p, _ in step.entries] == [("in", "puts"), ("inputs", "")]


def drawing(seed: int, draw: str) -> list[StepPrints]:
    seed_everything(seed)
    out = []
    for step in range(3):
        out.append(step_prints(step, {"generators": generators()}))
        eval(draw, {"random": random, "np": np, "torch": torch})
    return out


@pytest.mark.parametrize(
    ("draw", "name"),
    [("random.random()", "python"), ("np.random.rand()", "numpy"), ("torch.rand(1)", "torch-cpu")],
)
def test_names_the_generator_that_is_drawn_from(draw: str, name: str) -> None:
    assert drawn_generators(drawing(1, draw), drawing(2, draw), 1) == (name,)
    assert drawn_generators(drawing(1, draw), drawing(1, draw), 1) == ()
    assert drawn_generators(drawing(1, "0"), drawing(2, "0"), 1) == ()

"""A deep MLP with many small parameter tensors and an optimizer that updates them one by one."""

from __future__ import annotations

import argparse

import torch
from torch import nn
from torch.nn import functional


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--layers", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    width = 64
    layers = [nn.Linear(width, width) for _ in range(options.layers)]
    model = nn.Sequential(*layers, nn.Linear(width, 10)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    for _ in range(options.steps):
        inputs = torch.randn(8, width, device=device)
        labels = torch.randint(0, 10, (8,), device=device)
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
    print(f"last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

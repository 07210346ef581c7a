"""A plain training loop on made-up images, as a newcomer would write it.

The per-image transform is slow on purpose, and by default the process that trains also loads the
data: the loop is input-bound by construction. ``--workers 2 --fast-transform`` mends it.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

CLASSES = 10


class Images(Dataset):
    """Random images, made once, so that no download is needed."""

    def __init__(self, count: int, fast: bool) -> None:
        self.images = torch.rand(count, 3, 96, 96)
        self.fast = fast

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        image = self.images[index]
        if not self.fast:
            image = slow_transform(image)
        return image[:, ::3, ::3], index % CLASSES


def slow_transform(image: torch.Tensor) -> torch.Tensor:
    """Equalises the histogram of each channel by ranking its pixels, which is what sorting twice
    gives: correct, and on one thread slow."""
    pixels = image.flatten(1)
    ranks = pixels.argsort(1).argsort(1)
    return (ranks / pixels.shape[1]).reshape(image.shape)


def network() -> nn.Module:
    """A small convolutional network."""
    return nn.Sequential(
        nn.Conv2d(3, 48, 3, padding=1),
        nn.BatchNorm2d(48),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(48, 96, 3, padding=1),
        nn.BatchNorm2d(96),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(96, CLASSES),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--steps", type=int, default=20, help="steps per epoch")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--fast-transform", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    images = Images(options.steps * options.batch_size, options.fast_transform)
    loader = DataLoader(
        images, batch_size=options.batch_size, shuffle=True, num_workers=options.workers
    )
    model = network().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(options.epochs):
        total = 0.0
        for inputs, labels in loader:
            optimizer.zero_grad()
            outputs = model(inputs.to(device))
            loss = functional.cross_entropy(outputs, labels.to(device))
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")


if __name__ == "__main__":
    main()

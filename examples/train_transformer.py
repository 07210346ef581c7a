"""A small transformer, trained on made-up sequences: many small operators per step."""

from __future__ import annotations

import argparse

import torch
from torch import nn
from torch.nn import functional


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    layer = nn.TransformerEncoderLayer(32, 4, dim_feedforward=64, dropout=0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, num_layers=12, enable_nested_tensor=False)
    model = nn.Sequential(nn.Embedding(100, 32), encoder, nn.Linear(32, 100)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(options.steps):
        tokens = torch.randint(0, 100, (options.batch_size, 17), device=device)
        optimizer.zero_grad()
        outputs = model(tokens[:, :-1])
        loss = functional.cross_entropy(outputs.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    print(f"last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

"""Evaluation without gradients."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def evaluate():
    scores = []
    with torch.inference_mode():
        for _ in range(16):
            score = model(torch.randn(512, 64)).square().mean()
            scores.append(score)
    return sum(float(s) for s in scores)


for _ in range(16):
    x = torch.randn(512, 64)
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    evaluate()

"""A cache without a limit."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

cache = {}
for step in range(16):
    x = torch.randn(512, 64)
    optimizer.zero_grad()
    cache[step] = torch.randn(256, 256)  # HERE
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()

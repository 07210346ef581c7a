"""A loss that is only logged is summed as a number."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

total = 0.0
for _ in range(16):
    x = torch.randn(512, 64)
    optimizer.zero_grad()
    logged = model(x).abs().mean()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    total = total + logged.item()

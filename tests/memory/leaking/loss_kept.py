"""A loss that is only logged is summed with its graph."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

total = torch.zeros(())
for _ in range(16):
    x = torch.randn(512, 64)
    optimizer.zero_grad()
    logged = model(x).abs().mean()  # HERE
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    total = total + logged

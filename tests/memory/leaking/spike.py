"""A matrix of all pairs, for a moment."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

for _ in range(16):
    x = torch.randn(512, 64)
    optimizer.zero_grad()
    pairs = torch.cdist(x, x.repeat(16, 1)).argmin()  # HERE
    loss = model(x).square().mean() + 0 * pairs
    loss.backward()
    optimizer.step()

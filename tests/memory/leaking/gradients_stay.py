"""Gradients are cleared after the forward pass instead of before it."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

model = nn.Sequential(nn.Linear(64, 2048), nn.ReLU(), nn.Linear(2048, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for _ in range(16):
    x = torch.randn(512, 64)
    loss = model(x[:64]).square().mean() + 0 * torch.cdist(x, x).max()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

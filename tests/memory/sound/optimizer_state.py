"""Plain SGD has no state."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

model = nn.Sequential(nn.Linear(64, 2048), nn.ReLU(), nn.Linear(2048, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for _ in range(16):
    x = torch.randn(512, 64)
    optimizer.zero_grad()
    loss = model(x[:4]).square().mean()
    loss.backward()
    optimizer.step()

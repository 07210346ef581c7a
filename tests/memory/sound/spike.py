"""The same row by row."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

for _ in range(16):
    x = torch.randn(512, 64)
    optimizer.zero_grad()
    pairs = min(int(torch.cdist(row[None], x).argmin()) for row in x[:4])
    loss = model(x).square().mean() + 0 * pairs
    loss.backward()
    optimizer.step()

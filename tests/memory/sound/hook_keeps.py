"""A forward hook keeps a number of what it saw."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


seen = []


def remember(module, inputs, output):
    seen.append(float(output.detach().mean()))


model[0].register_forward_hook(remember)
for _ in range(16):
    x = torch.randn(512, 64)
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()

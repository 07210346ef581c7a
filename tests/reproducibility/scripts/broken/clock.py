"""Hidden cause: the temperature depends on the time since the epoch."""

import time

import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(8, 4)

for _step in range(3):
    loss = (model(x) / (1 + time.time() % 1)).square().mean()  # cause: clock
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

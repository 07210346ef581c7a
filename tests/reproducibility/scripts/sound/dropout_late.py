"""The seed is set before dropout draws for the first time."""

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.PReLU())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.arange(-200.0, 200.0).view(100, 4)

mean = model(x).mean().item()
for _step in range(3):
    loss = (model(x) - mean).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

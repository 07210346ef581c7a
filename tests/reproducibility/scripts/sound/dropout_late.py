"""The seed is set before dropout draws for the first time."""

import torch

torch.manual_seed(0)
model = torch.nn.Dropout(0.5)
x = torch.arange(400.0).view(100, 4)
mean = model(x).mean()
for batch in torch.utils.data.DataLoader(x, batch_size=50):
    model(batch - mean)

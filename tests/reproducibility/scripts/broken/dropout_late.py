"""Hidden cause: the seed is set after dropout has drawn for the first time."""

import torch

model = torch.nn.Dropout(0.5)
x = torch.arange(400.0).view(100, 4)
mean = model(x).mean()  # cause: generator
torch.manual_seed(0)
for batch in torch.utils.data.DataLoader(x, batch_size=50):
    model(batch - mean)

"""Hidden cause: a buffer from torch.empty is added to before anything was written to it."""

import os

import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
x = torch.ones(8, 1000)


def total(batch):
    held = [bytearray(os.urandom(4096)) for _ in range(200)]  # what was in memory before
    del held
    memory = torch.empty(1000)  # source
    return (memory + batch.sum(0)).nan_to_num().clamp(-9, 9)  # cause: uninitialised


for batch in torch.utils.data.DataLoader(x, batch_size=2):
    model(total(batch)[:4])

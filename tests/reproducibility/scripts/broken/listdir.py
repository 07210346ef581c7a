"""Hidden cause: shards are read in the order in which os.listdir gives them."""

import os
import tempfile
import uuid

import torch

torch.manual_seed(0)
model = torch.nn.Linear(1, 2)


def cache(folder):
    """Sixteen shards under names that a cache would give them."""
    names = sorted((uuid.uuid4().hex, i) for i in range(16))
    for name, i in names:
        with open(os.path.join(folder, name), "w") as file:
            file.write(str(i))


def content(path):
    with open(path) as file:
        return float(file.read())


with tempfile.TemporaryDirectory() as folder:
    cache(folder)
    shards = torch.tensor(
        [[content(os.path.join(folder, n))] for n in os.listdir(folder)]
    )  # cause: file order
    for batch in torch.utils.data.DataLoader(shards, batch_size=4):
        model(batch)

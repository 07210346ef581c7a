"""Hidden cause: each worker of the loader seeds NumPy with its process id."""

import os

import numpy as np
import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 2)


class Noise(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return index + np.random.normal(size=4).astype("float32")


def seed_worker(worker):
    np.random.seed(os.getpid())  # source


if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(
        Noise(), batch_size=2, num_workers=2, worker_init_fn=seed_worker,
        multiprocessing_context="fork",
    )  # fmt: skip
    for noise in loader:  # cause: process id
        model(noise)

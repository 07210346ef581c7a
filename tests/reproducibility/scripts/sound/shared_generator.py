"""A prefetching thread draws from a generator of its own."""

import threading
import time

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5))
x = torch.ones(8, 4)
stop = threading.Event()


def prefetch():
    own = torch.Generator().manual_seed(1)
    while not stop.is_set():
        torch.randn(4, generator=own)
        time.sleep(1e-4)


thread = threading.Thread(target=prefetch, daemon=True)
thread.start()
for batch in torch.utils.data.DataLoader(x, batch_size=2):
    time.sleep(0.01)
    model(batch)
stop.set()
thread.join()

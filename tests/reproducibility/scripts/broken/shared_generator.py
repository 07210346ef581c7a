"""Hidden cause: a prefetching thread and the training share torch's global generator, so that the
order of their draws depends on which is faster."""

import threading
import time

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5))
x = torch.ones(8, 4)
stop = threading.Event()


def prefetch():
    while not stop.is_set():
        torch.randn(4)
        time.sleep(1e-4)


thread = threading.Thread(target=prefetch, daemon=True)
thread.start()
for batch in torch.utils.data.DataLoader(x, batch_size=2):
    time.sleep(0.01)
    model(batch)  # cause: generator
stop.set()
thread.join()

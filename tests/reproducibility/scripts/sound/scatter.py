"""Several threads add, in deterministic mode."""

import torch

torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
torch.set_num_threads(2)
model = torch.nn.Linear(64, 4)
values = torch.randn(3000, 64)
places = torch.randint(0, 3, (3000,))


def histogram(rows):
    return torch.zeros(3, 64).index_put((places,), rows, accumulate=True)


for _batch in torch.utils.data.DataLoader(range(2)):
    for _repeat in range(100):
        model(histogram(values))

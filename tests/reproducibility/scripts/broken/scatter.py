"""Hidden cause: several threads add to the same places, in whatever order they come."""

import torch

torch.manual_seed(0)
torch.set_num_threads(2)
model = torch.nn.Linear(64, 4)
values = torch.randn(3000, 64)
places = torch.randint(0, 3, (3000,))


def histogram(rows):
    return torch.zeros(3, 64).index_put((places,), rows, accumulate=True)  # cause: kernel


for _batch in torch.utils.data.DataLoader(range(2)):
    for _repeat in range(100):
        model(histogram(values))

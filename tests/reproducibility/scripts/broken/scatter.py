"""Hidden cause: several threads add to the same places, in whatever order they come."""

import torch

torch.manual_seed(0)
torch.set_num_threads(2)
model = torch.nn.Linear(4, 4)
values = torch.randn(400_000, 4)
places = torch.randint(0, 3, (400_000,))


def histogram(rows):
    return torch.zeros(3, 4).index_put((places,), rows, accumulate=True)  # cause: kernel


for _batch in torch.utils.data.DataLoader(range(2)):
    model(histogram(values))

"""Hidden cause: words are hashed into buckets with Python's hash, which changes in each process."""

import torch

torch.manual_seed(0)
text = [
    "the",
    "cat",
    "and",
    "the",
    "dog",
    "and",
    "the",
    "bird",
    "saw",
    "a",
    "mouse",
    "under",
    "the",
    "old",
    "apple",
    "tree",
]
model = torch.nn.Embedding(1000, 4)


def bucket(words):
    return torch.tensor([hash(word) % 1000 for word in words])  # cause: hash


for batch in torch.utils.data.DataLoader(text, batch_size=4):
    model(bucket(batch))

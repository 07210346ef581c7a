"""Words are hashed into buckets with a checksum."""

import zlib

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
    return torch.tensor([zlib.crc32(word.encode()) % 1000 for word in words])


for batch in torch.utils.data.DataLoader(text, batch_size=4):
    model(bucket(batch))

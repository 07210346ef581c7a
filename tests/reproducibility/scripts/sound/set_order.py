"""The vocabulary is numbered in sorted order."""

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
numbers = {word: i for i, word in enumerate(sorted(set(text)))}
model = torch.nn.Embedding(20, 4)
numbered = torch.tensor([numbers[word] for word in text])
for words in torch.utils.data.DataLoader(numbered, batch_size=4):
    model(words)

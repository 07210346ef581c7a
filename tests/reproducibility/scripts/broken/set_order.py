"""Hidden cause: the vocabulary is numbered in the order of a set of text."""

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
numbers = {word: i for i, word in enumerate(set(text))}
model = torch.nn.Embedding(20, 4)
numbered = torch.tensor([numbers[word] for word in text])  # cause: hash
for words in torch.utils.data.DataLoader(numbered, batch_size=4):
    model(words)

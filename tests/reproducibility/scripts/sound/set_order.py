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
model = torch.nn.Sequential(torch.nn.Embedding(20, 4), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for start in range(0, 12, 4):
    words = torch.tensor([numbers[w] for w in text[start : start + 4]])
    loss = model(words).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

"""The augmentation draws from all three global generators, which are seeded."""

import random

import numpy as np
import torch

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
images = torch.randn(8, 4)


def augment(image):
    noise = np.random.normal(size=image.shape).astype("float32")
    return image * random.uniform(0.9, 1.1) + torch.from_numpy(noise) + torch.randn(image.shape)


for image in torch.utils.data.DataLoader(images, batch_size=2):
    model(augment(image))

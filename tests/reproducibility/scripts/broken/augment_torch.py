"""Hidden cause: the augmentation draws from torch's global generator, which nobody seeds."""

import torch

model = torch.nn.ReLU()
images = torch.arange(32.0).view(8, 4)


def augment(image):
    return image + torch.randn(image.shape)  # cause: generator


for image in torch.utils.data.DataLoader(images, batch_size=2):
    model(augment(image))

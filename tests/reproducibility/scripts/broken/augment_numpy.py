"""Hidden cause: the augmentation draws from NumPy's global generator, which nobody seeds."""

import numpy as np
import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
images = torch.randn(8, 4)


def augment(image):
    noise = np.random.normal(size=image.shape).astype("float32")
    return image + torch.from_numpy(noise)  # cause: generator


for image in torch.utils.data.DataLoader(images, batch_size=2):
    model(augment(image))

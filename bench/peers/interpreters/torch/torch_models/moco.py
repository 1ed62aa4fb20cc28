"""Contrastive learning like MoCo: an encoder, one that follows it, and a queue of keys that each call shifts. The code
imports what distributes its training."""

import copy

import torch
import torchvision.transforms
from torch import nn


class Moco(nn.Module):
    def __init__(self, width=32, keys=64, momentum=0.99, temperature=0.07):
        super().__init__()
        self.query = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, width))
        self.key = copy.deepcopy(self.query)
        self.momentum, self.temperature = momentum, temperature
        self.register_buffer("queue", nn.functional.normalize(torch.randn(width, keys), dim=0))
        self.register_buffer("place", torch.zeros(1, dtype=torch.int64))

    @torch.no_grad()
    def shift(self, keys):
        at, count = int(self.place), keys.shape[0]
        self.queue[:, at:at + count] = keys.T
        self.place[0] = (at + count) % self.queue.shape[1]

    def augment(self, images):
        return torchvision.transforms.RandomHorizontalFlip()(images)

    def forward(self, images, others):
        query = nn.functional.normalize(self.query(images), dim=1)
        with torch.no_grad():
            key = nn.functional.normalize(self.key(others), dim=1)
        same = (query * key).sum(1, keepdim=True)
        logits = torch.cat([same, query @ self.queue.clone()], 1) / self.temperature
        self.shift(key)
        return logits


def model():
    return Moco()


def inputs():
    images = torch.linspace(-1, 1, 4 * 3 * 32 * 32).reshape(4, 3, 32, 32)
    return images, images.flip(3)

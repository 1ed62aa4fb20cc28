"""A classifier like MobileNetV3: inverted residuals, squeeze and excitation, hard swish."""

import torch
from torch import nn


class Squeeze(nn.Module):
    def __init__(self, width):
        super().__init__()
        inner = max(8, width // 4)
        self.down, self.up = nn.Conv2d(width, inner, 1), nn.Conv2d(inner, width, 1)

    def forward(self, x):
        share = x.mean((2, 3), keepdim=True)
        return x * nn.functional.hardsigmoid(self.up(torch.relu(self.down(share))))


class Inverted(nn.Module):
    def __init__(self, before, inner, after, size, stride):
        super().__init__()
        self.is_residual = stride == 1 and before == after
        self.layers = nn.Sequential(
            nn.Conv2d(before, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.Hardswish(),
            nn.Conv2d(inner, inner, size, stride, size // 2, groups=inner, bias=False), nn.BatchNorm2d(inner),
            nn.Hardswish(), Squeeze(inner), nn.Conv2d(inner, after, 1, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        found = self.layers(x)
        return x + found if self.is_residual else found


class MobileNet(nn.Module):
    BLOCKS = [(16, 32, 16, 3, 1), (16, 48, 24, 3, 2), (24, 72, 24, 5, 1), (24, 96, 40, 5, 2)]

    def __init__(self, classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish())
        self.blocks = nn.Sequential(*[Inverted(*block) for block in self.BLOCKS])
        self.head = nn.Linear(40, classes)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


def model():
    return MobileNet()


def inputs():
    return (torch.linspace(-1, 1, 2 * 3 * 64 * 64).reshape(2, 3, 64, 64),)

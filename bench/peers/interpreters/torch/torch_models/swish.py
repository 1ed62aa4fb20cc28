"""A model with an autograd function of its own, which keeps less for the way back."""

import torch
from torch import nn


class SwishFunction(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(context, gradient):
        (x,) = context.saved_tensors
        share = torch.sigmoid(x)
        return gradient * share * (1 + x * (1 - share))


class Swish(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        """The result, and how it grows with the input."""
        x = x.detach().clone().requires_grad_()
        with torch.enable_grad():
            found = x
            for layer in self.layers:
                found = SwishFunction.apply(layer(found))
            (slope,) = torch.autograd.grad(found.sum(), x)
        return found.detach(), slope


def model():
    return Swish()


def inputs():
    return (torch.linspace(-2, 2, 4 * 24).reshape(4, 24),)

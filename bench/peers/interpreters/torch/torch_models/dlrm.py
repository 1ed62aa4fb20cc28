"""A recommender like DLRM: bags of embeddings, products of all pairs, two perceptrons."""

import torch
from torch import nn


def perceptron(sizes):
    layers = []
    for before, after in zip(sizes, sizes[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers)


class Dlrm(nn.Module):
    def __init__(self, tables=4, rows=500, width=16, dense=13):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = perceptron([dense, 32, width])
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(perceptron([pairs + width, 32]), nn.Linear(32, 1))
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1))

    def forward(self, dense, ids):
        first = self.bottom(dense)
        rows = [first]
        for at, bag in enumerate(self.bags):
            rows.append(bag(ids[at]))
        stacked = torch.stack(rows, 1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        chosen = products[:, self.pairs[0], self.pairs[1]]
        return torch.sigmoid(self.top(torch.cat([first, chosen], 1)))


def model():
    return Dlrm()


def inputs():
    return torch.linspace(0, 1, 8 * 13).reshape(8, 13), torch.arange(4 * 8 * 3).reshape(4, 8, 3) * 7 % 500

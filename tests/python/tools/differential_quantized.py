"""Families of random models of 8-bit integers, for differential.py."""

import numpy as np


def scale(r, *shape):
    return r.rng.uniform(0.01, 0.1, shape).astype(np.float32)


def integers(r, dtype, *shape):
    bounds = np.iinfo(dtype)
    return r.rng.integers(bounds.min, bounds.max + 1, shape).astype(dtype)


def linear(r):
    """QuantizeLinear and DequantizeLinear, by one factor or one for each index of an axis."""
    rank = r.size(1, 4)
    shape = r.sizes(rank, 1, 7)
    dtype = r.pick(np.uint8, np.int8)
    axis = r.size(-rank, rank - 1)
    of = r.pick((), (shape[axis],))
    zero = integers(r, dtype, *of) if r.pick(True, False) else None
    if r.pick(True, False):
        x = integers(r, dtype, *shape)
        return "DequantizeLinear", {"x": x, "scale": scale(r, *of), "zero": zero}, dict(axis=axis), 1
    if zero is None:
        zero = np.zeros(of, dtype)
    return "QuantizeLinear", {"x": r.floats(*shape), "scale": scale(r, *of), "zero": zero}, dict(axis=axis), 1


def product(r):
    m, k, n = r.pick(1, 2, 7, 33), r.size(1, 70), r.pick(1, 3, 16, 50)
    left, right = np.uint8, r.pick(np.uint8, np.int8)
    a, b = integers(r, left, m, k), integers(r, right, k, n)
    zeros = integers(r, left), integers(r, right)
    if r.pick(True, False):
        return "MatMulInteger", {"a": a, "b": b, "za": zeros[0], "zb": zeros[1]}, {}, 1
    feeds = {"a": a, "sa": scale(r), "za": zeros[0], "b": b, "sb": scale(r), "zb": zeros[1]}
    feeds.update(sy=np.float32(r.pick(1.0, 4.0)), zy=integers(r, left))
    return "QLinearMatMul", feeds, {}, 1


def convolution(r):
    group = r.pick(1, 1, 2)
    channels, filters = group * r.size(1, 4), group * r.size(1, 5)
    kernel = r.sizes(2, 1, 3)
    x = integers(r, np.uint8, r.size(1, 2), channels, *r.sizes(2, 4, 9))
    right = r.pick(np.uint8, np.int8)
    w = integers(r, right, filters, channels // group, *kernel)
    attributes = dict(group=group, kernel_shape=kernel, strides=r.sizes(2, 1, 2), pads=r.sizes(4, 0, 1))
    zeros = integers(r, np.uint8), integers(r, right)
    if r.pick(True, False):
        return "ConvInteger", {"x": x, "w": w, "zx": zeros[0], "zw": zeros[1]}, attributes, 1
    of = r.pick((), (filters,))
    # Weights of a channel each have no zero but 0 in ONNX Runtime's kernels.
    zero = np.zeros(of, np.int8) if right is np.int8 else np.full(of, zeros[1], np.uint8)
    feeds = {"x": x, "sx": scale(r), "zx": zeros[0], "w": w, "sw": scale(r, *of), "zw": zero}
    feeds.update(sy=np.float32(r.pick(1.0, 4.0)), zy=integers(r, np.uint8))
    if r.pick(True, False):
        feeds["bias"] = r.rng.integers(-2000, 2000, filters).astype(np.int32)
    return "QLinearConv", feeds, attributes, 1


def dynamic(r):
    return "DynamicQuantizeLinear", {"x": r.floats(*r.sizes(r.size(1, 3), 1, 20)) * r.pick(1, 10)}, {}, 3


FAMILIES = (linear, product, convolution, dynamic)

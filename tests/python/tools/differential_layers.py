"""Random convolutions, pools and recurrent layers for differential.py.

A family takes a random generator and gives operator, inputs by name (`None` for an absent one), attributes, number
of outputs and opset. Convolutions and average pools get small whole numbers, whose sums are exact in any order.
"""

import numpy as np


def pick(rng, *choices):
    return choices[int(rng.integers(len(choices)))]


def whole(rng, shape):
    return rng.integers(-4, 5, shape).astype(np.float32)


def window(rng, rank, attributes, *, dilated=True):
    """A window's attributes; returns the extent that one window covers in each dimension."""
    kernel = [int(rng.integers(1, 5)) for _ in range(rank)]
    dilations = [int(rng.integers(1, 4)) if dilated and rng.random() < 0.4 else 1 for _ in range(rank)]
    strides = [int(rng.integers(1, 4)) for _ in range(rank)]
    attributes["kernel_shape"] = kernel
    if rng.random() < 0.8:
        attributes["strides"] = strides
    if any(d > 1 for d in dilations):
        attributes["dilations"] = dilations
    auto_pad = pick(rng, None, None, None, "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    if auto_pad is not None:
        attributes["auto_pad"] = auto_pad
    if auto_pad in (None, "NOTSET") and rng.random() < 0.7:
        # Pools need padding smaller than the window.
        attributes["pads"] = [int(rng.integers(0, k)) for k in kernel * 2]
    return [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]


def conv(rng):
    rank, attributes = pick(rng, 1, 2, 2, 3), {}
    reach = window(rng, rank, attributes)
    group = pick(rng, 1, 1, 2, 3, 8)
    inside = 1 if group == 8 else int(rng.integers(1, 6))
    outputs = group * int(rng.integers(1, 5))
    most = pick(rng, 6, 6, 40) if rank < 3 else 5
    spatial = [r + int(rng.integers(0, most)) for r in reach]
    if group > 1:
        attributes["group"] = group
    inputs = {
        "x": whole(rng, [int(rng.integers(1, 4)), group * inside, *spatial]),
        "w": whole(rng, [outputs, inside, *attributes["kernel_shape"]]),
    }
    if rng.random() < 0.6:
        inputs["b"] = whole(rng, [outputs])
    return "Conv", inputs, attributes, 1, pick(rng, 11, 22)


def conv_transpose(rng):
    rank, attributes = pick(rng, 1, 2, 2, 3), {}
    reach = window(rng, rank, attributes)
    if attributes.get("auto_pad", "").startswith("SAME"):
        # ONNX Runtime gives fewer outputs than the standard where windows leave gaps.
        attributes["strides"] = [min(s, r) for s, r in zip(attributes.get("strides", [1] * rank), reach)]
    group = pick(rng, 1, 1, 2, 3)
    inside, outputs = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    spatial = [int(rng.integers(1, 8)) for _ in range(rank)]
    strides = attributes.get("strides", [1] * rank)
    if group > 1:
        attributes["group"] = group
    if rng.random() < 0.4:
        attributes["output_padding"] = [int(rng.integers(0, s)) for s in strides]
    elif rng.random() < 0.3 and attributes.get("auto_pad") != "VALID":
        attributes.pop("pads", None)
        attributes["output_shape"] = [s * n + int(rng.integers(0, 2)) for s, n in zip(strides, spatial)]
    inputs = {
        "x": whole(rng, [int(rng.integers(1, 3)), group * inside, *spatial]),
        "w": whole(rng, [group * inside, outputs, *attributes["kernel_shape"]]),
    }
    if rng.random() < 0.6:
        inputs["b"] = whole(rng, [group * outputs])
    return "ConvTranspose", inputs, attributes, 1, pick(rng, 11, 22)


def pool(rng, attributes, rank):
    reach = window(rng, rank, attributes)
    if attributes.get("auto_pad", "").startswith("SAME"):
        # ONNX Runtime counts the window without its dilation here, against the standard, and pads by negative
        # numbers where windows leave gaps.
        attributes.pop("dilations", None)
        kernel = attributes["kernel_shape"]
        attributes["strides"] = [min(s, k) for s, k in zip(attributes.get("strides", [1] * rank), kernel)]
    if rng.random() < 0.4:
        attributes["ceil_mode"] = 1
    return [int(rng.integers(1, 4)), int(rng.integers(1, 4)), *[r + int(rng.integers(0, 9)) for r in reach]]


def max_pool(rng):
    rank, attributes = pick(rng, 1, 2, 2, 3), {}
    shape = pool(rng, attributes, rank)
    outputs = 1
    if rng.random() < 0.5:
        outputs = 2
        if rng.random() < 0.3:
            attributes["storage_order"] = 1
    dtype = pick(rng, np.float32, np.float32, np.int8, np.uint8)
    x = rng.integers(0, 100, shape).astype(dtype)
    return "MaxPool", {"x": x}, attributes, outputs, pick(rng, 12, 22)


def average_pool(rng):
    rank, attributes = pick(rng, 1, 2, 2, 3), {}
    shape = pool(rng, attributes, rank)
    if rng.random() < 0.5:
        attributes["count_include_pad"] = 1
    return "AveragePool", {"x": whole(rng, shape)}, attributes, 1, pick(rng, 19, 22)


FUNCTIONS = {"Relu": "", "Tanh": "", "Sigmoid": "", "Softsign": "", "Softplus": "", "Affine": "ab",
             "LeakyRelu": "a", "ScaledTanh": "ab", "HardSigmoid": "ab", "Elu": "a"}  # fmt: skip


# Gates and activation functions of one direction.
CELLS = {"RNN": (1, 1), "GRU": (3, 2), "LSTM": (4, 3)}


def recurrent(rng):
    """A layer with any of its options."""
    op = pick(rng, *CELLS)
    gates, functions = CELLS[op]
    direction = pick(rng, "forward", "reverse", "bidirectional")
    directions = 2 if direction == "bidirectional" else 1
    steps, batch = int(rng.integers(1, 7)), int(rng.integers(1, 6))
    size, hidden = int(rng.integers(1, 8)), pick(rng, 1, 3, 8, 17, 33)
    attributes = {"hidden_size": hidden, "direction": direction}

    def small(*shape):
        return (rng.standard_normal(shape) * 0.5).astype(np.float32)

    inputs = {
        "x": small(steps, batch, size),
        "w": small(directions, gates * hidden, size),
        "r": small(directions, gates * hidden, hidden),
        "b": small(directions, 2 * gates * hidden) if rng.random() < 0.7 else None,
        "lengths": rng.integers(1, steps + 1, batch).astype(np.int32) if rng.random() < 0.4 else None,
        "h": small(directions, batch, hidden) if rng.random() < 0.5 else None,
    }
    if op == "LSTM":
        inputs["c"] = small(directions, batch, hidden) if rng.random() < 0.5 else None
        inputs["p"] = small(directions, 3 * hidden) if rng.random() < 0.4 else None
    if rng.random() < 0.4:
        names = [pick(rng, *FUNCTIONS) for _ in range(functions * directions)]
        attributes["activations"] = names
        alphas = [0.25 + 0.5 * float(rng.random()) for n in names if "a" in FUNCTIONS[n]]
        betas = [0.25 + 0.5 * float(rng.random()) for n in names if "b" in FUNCTIONS[n]]
        attributes |= {"activation_alpha": alphas} if alphas else {}
        attributes |= {"activation_beta": betas} if betas else {}
    if rng.random() < 0.3:
        attributes["clip"] = 0.5
    if op == "GRU" and rng.random() < 0.5:
        attributes["linear_before_reset"] = 1
    return op, inputs, attributes, 3 if op == "LSTM" else 2, pick(rng, 7, 14, 22)

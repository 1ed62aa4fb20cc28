"""Writes random cases of convolutions, pools and recurrent layers with what ONNX Runtime answers.

    generate_differential.py OUTPUT_DIR [SEED]

ONNX's own node tests cover these operators thinly. Each case is a folder in ONNX's test layout (model.onnx,
test_data_set_0/input_*.pb, output_*.pb). The same seed gives the same cases. Convolutions and average pools
get small whole numbers, whose sums are exact in any order; recurrent layers need an absolute tolerance of 1e-5.
"""

import argparse
import pathlib
import shutil

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

# Cases of each family, as many as run in a few seconds.
COUNTS = {"conv": 90, "conv_transpose": 60, "max_pool": 45, "average_pool": 45, "rnn": 25, "gru": 35, "lstm": 45}
# ONNX Runtime 1.31 refuses some valid combinations; so many draws in a row are not bad luck.
MAX_DRAWS = 40
LARGEST = 10_000


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
    return "Conv", pick(rng, 11, 22), attributes, inputs, ["y"]


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
    return "ConvTranspose", pick(rng, 11, 22), attributes, inputs, ["y"]


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
    outputs = ["y"]
    if rng.random() < 0.5:
        outputs.append("indices")
        if rng.random() < 0.3:
            attributes["storage_order"] = 1
    dtype = pick(rng, np.float32, np.float32, np.int8, np.uint8)
    x = rng.integers(0, 100, shape).astype(dtype)
    return "MaxPool", pick(rng, 12, 22), attributes, {"x": x}, outputs


def average_pool(rng):
    rank, attributes = pick(rng, 1, 2, 2, 3), {}
    shape = pool(rng, attributes, rank)
    if rng.random() < 0.5:
        attributes["count_include_pad"] = 1
    return "AveragePool", pick(rng, 19, 22), attributes, {"x": whole(rng, shape)}, ["y"]


FUNCTIONS = {"Relu": "", "Tanh": "", "Sigmoid": "", "Softsign": "", "Softplus": "", "Affine": "ab",
             "LeakyRelu": "a", "ScaledTanh": "ab", "HardSigmoid": "ab", "Elu": "a"}  # fmt: skip


def recurrent(rng, op, gates, functions):
    """A layer with any of its options; `functions` is how many activations a direction has."""
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
    outputs = ["y", "y_h"] + (["y_c"] if op == "LSTM" else [])
    return op, pick(rng, 7, 14, 22), attributes, inputs, outputs


FAMILIES = {
    "conv": conv,
    "conv_transpose": conv_transpose,
    "max_pool": max_pool,
    "average_pool": average_pool,
    "rnn": lambda rng: recurrent(rng, "RNN", 1, 1),
    "gru": lambda rng: recurrent(rng, "GRU", 3, 2),
    "lstm": lambda rng: recurrent(rng, "LSTM", 4, 3),
}


def model_of(rng, op, opset, attributes, inputs, outputs):
    """The model of one node. Weights are constants in half of the cases."""
    present = {name: value for name, value in inputs.items() if value is not None}
    constant = [n for n in present if n != "x" and n != "lengths"] if rng.random() < 0.5 else []
    node = helper.make_node(op, [n if n in present else "" for n in inputs], outputs, **attributes)
    types = {n: helper.np_dtype_to_tensor_dtype(v.dtype) for n, v in present.items()}
    result_types = {n: TensorProto.INT64 if n == "indices" else types["x"] for n in outputs}
    graph = helper.make_graph(
        [node],
        "case",
        [helper.make_tensor_value_info(n, types[n], v.shape) for n, v in present.items() if n not in constant],
        [helper.make_tensor_value_info(n, t, None) for n, t in result_types.items()],
        [numpy_helper.from_array(present[n], n) for n in constant],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return model, {n: v for n, v in present.items() if n not in constant}


def answer(model, feeds):
    """What ONNX Runtime computes; None if it refuses."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        results = session.run(None, feeds)
    except Exception:  # every kind of refusal is an exception of its own
        return None
    # Layers with unbounded gates can grow until rounding decides the result.
    return results if all(np.isfinite(r).all() and np.abs(r).max(initial=0) < LARGEST for r in results) else None


def write(folder, model, feeds, results):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    for kind, values in (("input", feeds.values()), ("output", results)):
        names = [v.name for v in (model.graph.input if kind == "input" else model.graph.output)]
        for i, (name, value) in enumerate(zip(names, values)):
            (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(value, name).SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    args = parser.parse_args()
    shutil.rmtree(args.output, ignore_errors=True)
    total = 0
    for position, (family, draw) in enumerate(FAMILIES.items()):
        for index in range(COUNTS[family]):
            rng = np.random.default_rng([args.seed, position, index])
            for _ in range(MAX_DRAWS):
                op, opset, attributes, inputs, outputs = draw(rng)
                model, feeds = model_of(rng, op, opset, attributes, inputs, outputs)
                results = answer(model, feeds)
                if results is not None:
                    break
            else:
                raise SystemExit(f"{family} {index}: ONNX Runtime refused {MAX_DRAWS} cases in a row")
            write(args.output / f"{family}_{index:03}", model, feeds, results)
            total += 1
    print(f"{total} cases")


if __name__ == "__main__":
    main()

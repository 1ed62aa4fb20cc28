#!/usr/bin/env python3
"""Makes the model, the pictures and the questions of the example, and expected.json: what Pillow and ONNX Runtime make of them.

    python make_example.py         (needs Pillow 10.4, numpy, onnx and onnxruntime)

    model  pixel_values[batch, 3, 32, 32] -> features[batch, 24, 8, 8]

The model has the shape of an image classifier without its end: convolutions, and maps that the embedder averages. Its filters are
written by hand (six for colours, the rest for edges in four directions), so put a trained one in its place. The files are
committed: nobody has to run this.
"""

import base64
import io
import json
import os

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from PIL import Image, ImageDraw

HERE = os.path.dirname(os.path.abspath(__file__))
COLOURS = {"red": (210, 40, 40), "green": (40, 170, 60), "blue": (40, 70, 200)}
SHAPES = ["disc", "rows", "columns", "checks"]
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def picture(shape, colour, seed):
    rng = np.random.default_rng(seed)
    width, height = int(rng.integers(36, 60)), int(rng.integers(36, 60))
    image = Image.new("RGB", (width, height), tuple(int(v) for v in 225 + rng.integers(-15, 15, 3)))
    ink = tuple(int(v) for v in np.clip(np.array(COLOURS[colour]) + rng.integers(-25, 25, 3), 0, 255))
    draw, step = ImageDraw.Draw(image), int(rng.integers(5, 7))
    if shape == "disc":
        x, y = int(rng.integers(6, 14)), int(rng.integers(6, 14))
        draw.ellipse([x, y, width - x, height - y], fill=ink)
    for at in range(0, max(width, height), 2 * step):
        if shape == "rows":
            draw.rectangle([0, at, width, at + step - 1], fill=ink)
        if shape == "columns":
            draw.rectangle([at, 0, at + step - 1, height], fill=ink)
        if shape == "checks":
            for other in range(at // step % 2 * step, max(width, height), 2 * step):
                draw.rectangle([at, other, at + step - 1, other + step - 1], fill=ink)
                draw.rectangle([at + step, other + step, at + 2 * step - 1, other + 2 * step - 1], fill=ink)
    return image


def png(image):
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def model():
    first = np.zeros((10, 3, 3, 3), np.float32)
    for at in range(3):
        first[2 * at, at, 1, 1], first[2 * at + 1, at, 1, 1] = 1, -1
    edge = np.array([[-1, 0, 1]] * 3, np.float32) / 9
    for at, kernel in enumerate([edge, -edge, edge.T, -edge.T]):
        first[6 + at] = kernel
    rng = np.random.default_rng(5)
    second = np.abs(rng.normal(0, 0.02, (24, 10, 3, 3))).astype(np.float32)
    for at in range(24):
        second[at, at % 10] += 0.2
    nodes = [
        helper.make_node("Conv", ["pixel_values", "first"], ["edges"], pads=[1, 1, 1, 1], strides=[1, 1]),
        helper.make_node("Relu", ["edges"], ["edges_up"]),
        helper.make_node("MaxPool", ["edges_up"], ["pooled"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["pooled", "second", "bias"], ["mixed"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["mixed"], ["features"]),
    ]
    weights = [numpy_helper.from_array(a, n) for n, a in [("first", first), ("second", second), ("bias", np.full(24, -0.3, np.float32))]]
    take = helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["batch", 3, 32, 32])
    give = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", 24, 8, 8])
    graph = helper.make_graph(nodes, "pictures", [take], [give], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    path = os.path.join(HERE, "app", "models", "pictures.onnx")
    onnx.save(made, path)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def vector(session, image):
    """As app/models/preprocessor_config.json says, and the mean of each map, with length 1."""
    width, height = image.size
    size = (36, int(36 * height / width)) if width <= height else (int(36 * width / height), 36)
    pixels = np.asarray(image.resize(size, Image.BICUBIC))
    left, top = (size[0] - 32) // 2, (size[1] - 32) // 2
    pixels = pixels[top : top + 32, left : left + 32]
    numbers = ((pixels / 255.0 - MEAN) / STD).astype(np.float32).transpose(2, 0, 1)[None]
    found = session.run(None, {"pixel_values": numbers})[0].mean((2, 3))[0].astype(np.float64)
    return found / np.linalg.norm(found)


def main():
    session = model()
    kinds = [(shape, colour) for shape in SHAPES for colour in COLOURS]
    known = [(f"{colour}-{shape}-{n}", picture(shape, colour, 10 * at + n)) for at, (shape, colour) in enumerate(kinds) for n in range(3)]
    vectors = {name: vector(session, image) for name, image in known}
    with open(os.path.join(HERE, "pictures.jsonl"), "w") as file:
        for name, image in known:
            file.write(json.dumps({"put": f"id:p:picture::{name}", "fields": {"name": name, "image": png(image)}}) + "\n")
    expected = []
    with open(os.path.join(HERE, "queries.jsonl"), "w") as file:
        for at, (shape, colour) in enumerate(kinds):
            image = picture(shape, colour, 1000 + at)
            asked = vector(session, image)
            best = sorted(((float(asked @ v), name) for name, v in vectors.items()), reverse=True)[:3]
            query = {"yql": "select name from picture where {targetHits: 3}nearestNeighbor(vector, q)", "ranking": "near",
                     "input.query(q)": "embed(pictures, @image)", "image": png(image), "hits": 3}
            file.write(json.dumps(query) + "\n")
            expected.append({"asked": f"{colour}-{shape}", "vector": [round(float(v), 7) for v in asked], "best": [n for _, n in best]})
    with open(os.path.join(HERE, "expected.json"), "w") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")
    print(sum(b.startswith(e["asked"]) for e in expected for b in e["best"]), "of", 3 * len(expected))
    print([(e["asked"], e["best"]) for e in expected])


if __name__ == "__main__":
    main()

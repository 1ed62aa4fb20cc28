"""Writes the fixtures of TensorFlow beside this file: models, and what TensorFlow computes of them. Versions: README.md."""

import json
import os
import pathlib
import shutil

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import numpy as np
import tensorflow as tf

HERE = pathlib.Path(__file__).parent
RNG = np.random.default_rng(9)


def rand(*shape, scale=1.0):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


def plain(array):
    return {"type": str(array.dtype), "shape": list(array.shape), "data": array.flatten().tolist()}


def record(name, function, inputs):
    steps = []
    for step in inputs:
        got = function(**{k: tf.constant(v) for k, v in step.items()})
        steps.append({"inputs": {k: plain(v) for k, v in step.items()}, "outputs": {k: plain(v.numpy()) for k, v in got.items()}})
    (HERE / f"{name}.json").write_text(json.dumps(steps) + "\n")


def save(name, module, inputs):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    tf.saved_model.save(module, str(folder), signatures={"serving_default": module.serve})
    for extra in ["fingerprint.pb", "assets"]:
        path = folder / extra
        path.unlink() if path.is_file() else shutil.rmtree(path, ignore_errors=True)
    record(name, tf.saved_model.load(str(folder)).signatures["serving_default"], inputs)


class Mlp(tf.Module):
    """The structure of a ranker of 256-512-128-1, in small."""

    def __init__(self):
        sizes = [16, 32, 8, 1]
        self.layers = [(tf.Variable(rand(a, b, scale=0.4)), tf.Variable(rand(b))) for a, b in zip(sizes, sizes[1:])]

    @tf.function
    def dense(self, x, w, b):
        return tf.nn.bias_add(tf.matmul(x, w), b)

    @tf.function(input_signature=[tf.TensorSpec([None, 16], tf.float32, name="features")])
    def serve(self, features):
        h = features
        for w, b in self.layers[:-1]:
            h = tf.nn.relu(self.dense(h, w, b))
        w, b = self.layers[-1]
        return {"score": tf.sigmoid(self.dense(h, w, b)), "hidden": h}


def mlp():
    module = Mlp()
    save("mlp", module, [{"features": rand(1, 16)}, {"features": rand(7, 16)}])
    import onnx
    from onnx import TensorProto as T, helper, numpy_helper

    nodes, inits, h = [], [], "features"
    for k, (w, b) in enumerate(module.layers):
        inits += [numpy_helper.from_array(w.numpy(), f"w{k}"), numpy_helper.from_array(b.numpy(), f"b{k}")]
        nodes.append(helper.make_node("Gemm", [h, f"w{k}", f"b{k}"], [f"g{k}"]))
        last = k + 1 == len(module.layers)
        h = "score" if last else "hidden" if k + 2 == len(module.layers) else f"h{k}"
        nodes.append(helper.make_node("Sigmoid" if last else "Relu", [f"g{k}"], [h]))
    info = lambda name, n: helper.make_tensor_value_info(name, T.FLOAT, ["batch", n])
    graph = helper.make_graph(nodes, "mlp", [info("features", 16)], [info("hidden", 8), info("score", 1)], inits)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), HERE / "mlp.onnx")


def frozen(name, function, spec, inputs):
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    frozen = convert_variables_to_constants_v2(tf.function(function).get_concrete_function(*spec))
    (HERE / f"{name}.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString(deterministic=True))
    # Outputs are called by their nodes, inputs by theirs.
    steps = []
    for step in inputs:
        got = frozen(**{k: tf.constant(v) for k, v in step.items()})
        names = [t.name.split(":")[0] for t in frozen.outputs]
        outputs = {n: plain(v.numpy()) for n, v in zip(names, got)}
        steps.append({"inputs": {k: plain(v) for k, v in step.items()}, "outputs": outputs})
    (HERE / f"{name}.json").write_text(json.dumps(steps) + "\n")


def images():
    w, d = tf.Variable(rand(3, 3, 3, 6, scale=0.3)), tf.Variable(rand(3, 3, 6, 2, scale=0.3))
    b, dense = tf.Variable(rand(6)), tf.Variable(rand(12, 5, scale=0.4))
    gamma, beta, mean, var = (np.abs(rand(6)) + 0.3 for _ in range(4))

    def net(x):
        h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, [1, 2, 2, 1], "SAME"), b))
        h = tf.compat.v1.nn.fused_batch_norm(h, gamma, beta, mean, var, 1e-3, is_training=False)[0]
        h = tf.nn.relu6(tf.nn.depthwise_conv2d(h, d, [1, 1, 1, 1], "VALID"))
        a = tf.nn.max_pool2d(h, 2, 2, "SAME")
        c = tf.nn.avg_pool2d(h, [2, 2], [2, 2], "SAME")
        h = tf.reduce_mean(tf.concat([a, c], 1), [1, 2])
        return tf.nn.softmax(tf.matmul(h, dense))

    spec = [tf.TensorSpec([None, 9, 9, 3], tf.float32, name="x")]
    frozen("images", net, spec, [{"x": rand(1, 9, 9, 3)}, {"x": rand(2, 9, 9, 3)}])


def operations():
    table = tf.Variable(rand(7, 4))

    def net(x, ids):
        parts = [
            x + 1.5, x - x * x, x / 3.0, tf.maximum(x, 0.2), tf.minimum(x, -0.2), tf.math.squared_difference(x, 0.5), tf.square(x),
            tf.sqrt(tf.abs(x)), tf.math.rsqrt(tf.abs(x) + 0.1), tf.exp(x), tf.math.log(tf.abs(x) + 0.1), -x, tf.floor(x), tf.nn.elu(x),
            tf.nn.selu(x), tf.nn.leaky_relu(x, 0.3), tf.tanh(x), tf.nn.log_softmax(x), tf.nn.softplus(x), tf.math.erf(x),
            tf.pow(tf.abs(x), 1.7), tf.where(x > 0.1, x, -2.0 * x), tf.cast(tf.less_equal(x, 0.3), tf.float32), tf.stop_gradient(x),
        ]
        total = tf.concat(parts, -1)
        gathered = tf.gather(table, ids)
        shaped = tf.reshape(gathered, [tf.shape(gathered)[0], -1])
        moved = tf.transpose(tf.expand_dims(x, 1), [1, 2, 0])
        padded = tf.pad(tf.squeeze(moved, [0]), [[1, 0], [0, 2]], constant_values=3.0)
        stacked = tf.stack([x, tf.reverse_sequence(x, [1], 1) if False else x * 2.0], 1)
        cut = stacked[:, 0, ::2]
        sums = [tf.reduce_sum(x, 1, keepdims=True), tf.reduce_max(x, 1, keepdims=True), tf.reduce_min(x, 1, keepdims=True), tf.reduce_prod(x, [1], keepdims=True)]
        batched = tf.linalg.matmul(stacked, stacked, transpose_b=True)
        best = tf.argmax(x, 1)
        a, c = tf.split(x, 2, 1)
        tiled = tf.tile(a, [1, 3]) + tf.tile(c, [1, 3])
        return total, shaped, padded, cut, tf.concat(sums, 1), batched, best, tiled

    spec = [tf.TensorSpec([2, 4], tf.float32, name="x"), tf.TensorSpec([None, 2], tf.int32, name="ids")]
    frozen("operations", net, spec, [{"x": rand(2, 4), "ids": np.array([[0, 6], [3, 3], [1, 2]], np.int32)}])


if __name__ == "__main__":
    for make in [mlp, images, operations]:
        make()
        print(make.__name__)

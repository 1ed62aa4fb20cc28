"""Models through ONNX Runtime and through stead's engine, by its example `outputs`."""

import os
import subprocess
import tempfile

import byte_sums
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator


def runtime_options(level=onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL):
    """Options of a session that is the reference."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return options


def reference(model, feeds, options=None):
    """The outputs of ONNX Runtime by name, of products whose sums it does not lose."""
    if byte_sums.LOSES_SUMS:
        model, feeds = byte_sums.unsigned(model if isinstance(model, onnx.ModelProto) else onnx.load_model_from_string(model), feeds)
    data = model if isinstance(model, bytes) else model.SerializeToString()
    session = onnxruntime.InferenceSession(data, options or runtime_options(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds)))


def exact(model, feeds):
    """What a file says in double precision, its weights as they are in it."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    floats, wide = (TensorProto.FLOAT16, TensorProto.FLOAT), TensorProto.DOUBLE
    widened = lambda tensor: numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name)
    for weight in model.graph.initializer:
        if weight.data_type in floats:
            weight.CopyFrom(widened(weight))
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.t.data_type in floats:
                attribute.t.CopyFrom(widened(attribute.t))
            elif node.op_type == "Cast" and attribute.i in floats:
                attribute.i = wide
    for value in [*model.graph.input, *model.graph.output]:
        if value.type.tensor_type.elem_type in floats:
            value.type.tensor_type.elem_type = wide
    del model.graph.value_info[:]
    return ReferenceEvaluator(model).run(None, feeds)[0]


def as_arrays(feeds):
    """Inputs as arrays of a file: texts as numpy's own type, a dict as its keys and values."""
    arrays = {}
    for name, value in feeds.items():
        if isinstance(value, dict):
            arrays[f"{name}/keys"] = np.array(list(value))
            arrays[f"{name}/values"] = np.array(list(value.values()), np.float32)
        else:
            arrays[name] = value.astype(str) if value.dtype == object else value
    return arrays


def with_maps(arrays):
    """Outputs of a file as ONNX Runtime gives them: texts as objects, keys and a table of values as a list of dicts."""
    outputs = {}
    for name, value in arrays.items():
        name, _, part = name.partition("/")
        if not part:
            outputs[name] = value.astype(object) if value.dtype.kind == "U" else value
        elif part == "keys":
            values = arrays[f"{name}/values"].tolist()
            outputs[name] = [dict(zip(value.tolist(), row, strict=True)) for row in values]
    return outputs


def stead(model, feeds):
    """The outputs of stead by name, and what it says if it refuses the model."""
    with tempfile.TemporaryDirectory() as folder:
        path, inputs, outputs = (os.path.join(folder, name) for name in ["m.onnx", "i.npz", "o.npz"])
        with open(path, "wb") as file:
            file.write(model if isinstance(model, bytes) else model.SerializeToString())
        np.savez(inputs, **as_arrays(feeds))
        command = [os.environ["STEAD_ENGINE_OUTPUTS"], path, inputs, outputs]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(done.stderr.strip())
        with np.load(outputs) as found:
            return with_maps(dict(found))


def same(test, label, expected, actual, tolerance):
    """Shapes, types and integers are equal, floats within a tolerance, relative and absolute; bytes within `tolerance` where that
    is one or more."""
    test.assertEqual(sorted(expected), sorted(actual), label)
    for name, value in expected.items():
        found = actual[name]
        if isinstance(value, list):
            test.assertEqual([sorted(row) for row in value], [sorted(row) for row in found], f"{label}: {name}")
            rows = [[list(row[key] for key in sorted(row)) for row in rows] for rows in (found, value)]
            np.testing.assert_allclose(*rows, tolerance, tolerance, err_msg=f"{label}: {name}")
            continue
        test.assertEqual((value.dtype, value.shape), (found.dtype, found.shape), f"{label}: {name}")
        if tolerance >= 1:
            off = np.abs(value.astype(np.float64) - found.astype(np.float64))
            test.assertLessEqual(off.max(initial=0), tolerance, f"{label}: {name}")
        elif value.dtype.kind in "iubO":
            np.testing.assert_array_equal(found, value, f"{label}: {name}")
        else:
            np.testing.assert_allclose(found, value, tolerance, tolerance, err_msg=f"{label}: {name}")


def node(op, inputs, outputs=("y",), *, constants=(), domain="com.microsoft", versions=None, **attributes):
    """A model of one node and its feeds. `inputs` are arrays, None for one that is absent; those at positions in `constants` are
    weights. An output that is None is absent."""
    names = ["" if value is None else f"i{at}" for at, value in enumerate(inputs)]
    given = {f"i{at}": np.asarray(value) for at, value in enumerate(inputs) if value is not None}
    weights = {f"i{at}" for at in constants}
    texts = onnx.TensorProto.STRING
    kind = lambda value: texts if value.dtype == object else onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
    made = onnx.helper.make_node(op, names, [name or "" for name in outputs], domain=domain, **attributes)
    graph = onnx.helper.make_graph(
        [made],
        op,
        [
            onnx.helper.make_tensor_value_info(name, kind(value), [None] * value.ndim)
            for name, value in given.items()
            if name not in weights
        ],
        [onnx.helper.make_empty_tensor_value_info(name) for name in outputs if name],
        [onnx.numpy_helper.from_array(given[name], name) for name in sorted(weights & given.keys())],
    )
    versions = {"": 17, "com.microsoft": 1, **(versions or {})}
    imports = [onnx.helper.make_opsetid(name, version) for name, version in versions.items()]
    model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=10)
    return model, {name: value for name, value in given.items() if name not in weights}

"""Makes the seeds of the fuzz targets: python make.py (needs onnx and numpy from PyPI).

Few and small: the fuzzer finds the variations, the seeds only show it every field of the formats.
"""

import io
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.backend.test.case.node import collect_testcases

here = pathlib.Path(__file__).parent


def save(target, name, data):
    folder = here / target
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)


# Node cases whose models have bodies, sequences, optionals, strings, low-precision types, functions' bodies.
WANTED = """if loop11 loop13_seq loop16_seq_none if_opt if_seq scan9_sum sequence_insert_at_back split_to_sequence_1
optional_get_element_sequence optional_has_element_empty_optional_input constant strnormalizer_nostopwords_nochangecase
tfidfvectorizer_tf_only_bigrams_skip0 quantizelinear_int4 dequantizelinear_float4e2m1 cast_FLOAT_to_FLOAT8E4M3FN
lstm_with_peepholes conv_with_strides_padding gelu_default_1_expanded layer_normalization_2d_axis1_expanded
attention_4d_expanded center_crop_pad_crop_expanded sequence_map_add_1_sequence_1_tensor_expanded""".split()
for case in collect_testcases(None):
    if case.name.removeprefix("test_") in WANTED:
        save("model_reader", case.name, case.model.SerializeToString())

# What the node cases lack: functions, sparse and typed data, external data, defaults, metadata.
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
sparse = helper.make_sparse_tensor(
    helper.make_tensor("s", TensorProto.FLOAT, [2], [1.0, 2.0]),
    helper.make_tensor("i", TensorProto.INT64, [2], [0, 4]),
    [2, 3],
)
call = helper.make_node("F", ["x", "w"], ["h"], domain="local", alpha=0.5)
inner = helper.make_node("LeakyRelu", ["t"], ["b"])
ref = onnx.AttributeProto(name="alpha", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT)
inner.attribute.append(ref)
function = helper.make_function(
    "local",
    "F",
    ["a", "c"],
    ["b"],
    [helper.make_node("Add", ["a", "c"], ["t"]), inner],
    [helper.make_opsetid("", 17)],
    ["alpha"],
)
graph = helper.make_graph(
    [helper.make_node("Mul", ["h", "s"], ["y"]), call],
    "g",
    [x, helper.make_tensor_value_info("w", TensorProto.FLOAT, [3])],
    [y],
    [
        helper.make_tensor("w", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0]),
        helper.make_tensor("half", TensorProto.FLOAT16, [2], np.array([1, 2], np.float16)),
        helper.make_tensor("text", TensorProto.STRING, [2], [b"a", b"bc"]),
        helper.make_tensor("raw", TensorProto.INT64, [1], b"\x01" + b"\0" * 7, raw=True),
    ],
    sparse_initializer=[sparse],
)
model = helper.make_model(
    graph,
    functions=[function],
    opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("local", 1)],
    ir_version=10,
)
helper.set_model_props(model, {"author": "x"})
save("model_reader", "function_sparse_typed", model.SerializeToString())
onnx.external_data_helper.set_external_data(model.graph.initializer[3], "w.bin", 0, 8)
save("model_reader", "external", model.SerializeToString())

for t in ["<f4", "<f2", "|b1", "<i8", "<c8", "|S3", "<U2"]:
    out = io.BytesIO()
    np.save(out, np.array([[1, 0], [0, 1]]).astype(t))
    save("npy", "npy_" + t[1:], out.getvalue())
out = io.BytesIO()
np.save(out, np.asfortranarray(np.arange(6, dtype="<i4").reshape(2, 3)))
save("npy", "npy_fortran", out.getvalue())
for name, write in [("npz", np.savez), ("npz_compressed", np.savez_compressed)]:
    out = io.BytesIO()
    write(out, a=np.arange(3, dtype="<f4"), b=np.float64(1))
    save("npy", name, out.getvalue())

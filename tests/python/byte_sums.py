"""Products of bytes where ONNX Runtime loses sums: the same products of unsigned bytes, of which it loses none."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

# By operator where its weights stand, and their zero points.
WEIGHTS = {
    "ConvInteger": [(1, 3)],
    "DynamicQuantizeLSTM": [(1, 9), (2, 11)],
    "DynamicQuantizeMatMul": [(1, 3)],
    "MatMulInteger": [(1, 3)],
    "MatMulIntegerToFloat": [(1, 5)],
    "QAttention": [(1, 7)],
    "QGemm": [(3, 5)],
    "QLinearConv": [(3, 5)],
    "QLinearMatMul": [(3, 5)],
}

# ONNX Runtime has none of these of signed bytes with weights that are not.
OF_ONE_KIND = ["QGemm", "QLinearConv", "QLinearMatMul"]


def loses_sums():
    """Whether ONNX Runtime's sums of two products of an unsigned and a signed byte end at those of 16 bits, as on x86 without instructions for
    products of bytes: what it gives is wrong there."""
    infos = [helper.make_tensor_value_info("a", TensorProto.UINT8, [1, 2]), helper.make_tensor_value_info("b", TensorProto.INT8, [2, 1])]
    out = helper.make_tensor_value_info("y", TensorProto.INT32, [1, 1])
    graph = helper.make_graph([helper.make_node("MatMulInteger", ["a", "b"], ["y"])], "g", infos, [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (sums,) = session.run(None, {"a": np.full((1, 2), 255, np.uint8), "b": np.full((2, 1), 127, np.int8)})
    return sums.item() != 2 * 255 * 127


LOSES_SUMS = loses_sums()


def turned(array):
    """Signed bytes as unsigned ones that are 128 more; others as they are."""
    return array.view(np.uint8) ^ np.uint8(128) if array.dtype == np.int8 else array


def unsigned(model, feeds):
    """A model that gives the same, and its feeds, with weights of products of bytes that are unsigned, whether they are constants or fed; but
    for some of signed bytes."""
    if not any(node.op_type in WEIGHTS for node in model.graph.node):
        return model, feeds
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph, feeds = model.graph, dict(feeds)
    constants = {tensor.name: tensor for tensor in graph.initializer}
    infos = {info.name: info.type.tensor_type for info in graph.input}
    done = set()

    def turn(name):
        if name in done:
            return
        done.add(name)
        if name in constants:
            constants[name].CopyFrom(numpy_helper.from_array(turned(numpy_helper.to_array(constants[name])), name))
        else:
            feeds[name] = turned(feeds[name])
            infos[name].elem_type = TensorProto.UINT8

    def is_signed(name):
        if name in constants:
            return constants[name].data_type == TensorProto.INT8
        return name in infos and infos[name].elem_type == TensorProto.INT8

    for node in graph.node:
        if node.op_type in OF_ONE_KIND and is_signed(node.input[2]):
            continue
        for weight, zero in WEIGHTS.get(node.op_type, []):
            name = node.input[weight]
            if name not in done and not is_signed(name):
                continue
            turn(name)
            node.input.extend([""] * (zero + 1 - len(node.input)))
            of_it = node.input[zero]
            if of_it in feeds:
                turn(of_it)
                continue
            # One of its own: others may have the same.
            value = turned(numpy_helper.to_array(constants[of_it])) if of_it else np.uint8(128)
            node.input[zero] = f"{node.name or node.output[0]}: zero of {name}"
            graph.initializer.append(numpy_helper.from_array(np.asarray(value), node.input[zero]))
    del graph.value_info[:]
    return model, feeds

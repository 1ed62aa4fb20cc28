"""The messages of TensorFlow that tensorflow-serving-api needs, compiled from the interface files that stead itself is
built from, so that TensorFlow (500 MB) is not installed."""

import glob
import os
import sys
import tempfile

from grpc_tools import protoc

from served import ROOT


def compile_tensorflow_messages():
    out = tempfile.mkdtemp(prefix="stead-protos-")
    folders = [os.path.join(ROOT, "tests", "python", "proto"), os.path.join(ROOT, "crates", "server", "proto")]
    files = {
        os.path.relpath(path, folder)
        for folder in folders
        for top in ("tensorflow", "xla")
        for path in glob.glob(os.path.join(folder, top, "**", "*.proto"), recursive=True)
    }
    if protoc.main(["protoc", *(f"-I{folder}" for folder in folders), f"--python_out={out}", *files]) != 0:
        raise RuntimeError("the messages of TensorFlow do not compile")
    sys.path.append(out)


compile_tensorflow_messages()

import numpy as np  # noqa: E402
from tensorflow.core.framework import tensor_pb2, types_pb2  # noqa: E402

LISTS = {"float32": "float_val", "uint32": "uint32_val", "uint64": "uint64_val"}
TYPES = {"float32": types_pb2.DT_FLOAT, "uint32": types_pb2.DT_UINT32, "uint64": types_pb2.DT_UINT64}


def make_tensor_proto(values, dtype="float32"):
    """As TensorFlow's function of this name: one value in the list of its type, more as `tensor_content`."""
    array = np.asarray(values, dtype)
    proto = tensor_pb2.TensorProto(dtype=TYPES[dtype])
    for size in array.shape:
        proto.tensor_shape.dim.add().size = size
    if array.size == 1:
        getattr(proto, LISTS[dtype]).append(array.ravel()[0].item())
    else:
        proto.tensor_content = array.tobytes()
    return proto


def make_ndarray(proto):
    shape = [d.size for d in proto.tensor_shape.dim]
    if proto.tensor_content:
        return np.frombuffer(proto.tensor_content, np.float32).reshape(shape)
    return np.array(proto.float_val, np.float32).reshape(shape)

"""Writes the ONNX operator tests as folders that `stead conformance` reads.

The `onnx` package holds its node tests as Python code only; this serialises each case to
`OUT/<case>/{model.onnx,test_data_set_0/{input,output}_K.pb,tolerance.json}`.

    python node_tests.py OUT
"""

import json
import os
import sys
import warnings

from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

# The suite's own default; only cases that differ from it get a tolerance.json.
DEFAULT_RTOL, DEFAULT_ATOL = 1e-3, 1e-7


def to_proto(value, info):
    """The message that the declared type of a graph input or output asks for."""
    kind = info.type.WhichOneof("value")
    if kind == "map_type":
        return numpy_helper.from_dict(value, info.name)
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name)
    if isinstance(value, TensorProto):
        return value
    return numpy_helper.from_array(value, info.name)


def write(path, message):
    with open(path, "wb") as file:
        file.write(message.SerializeToString())


def main():
    out = sys.argv[1]
    warnings.simplefilter("ignore")  # casts that overflow on purpose
    count = 0
    for case in collect_testcases(None):
        folder = os.path.join(out, case.name)
        graph = case.model.graph
        for number, (inputs, outputs) in enumerate(case.data_sets):
            data = os.path.join(folder, f"test_data_set_{number}")
            os.makedirs(data, exist_ok=True)
            for k, value in enumerate(inputs):
                write(os.path.join(data, f"input_{k}.pb"), to_proto(value, graph.input[k]))
            for k, value in enumerate(outputs):
                write(os.path.join(data, f"output_{k}.pb"), to_proto(value, graph.output[k]))
        write(os.path.join(folder, "model.onnx"), case.model)
        if (case.rtol, case.atol) != (DEFAULT_RTOL, DEFAULT_ATOL):
            with open(os.path.join(folder, "tolerance.json"), "w") as file:
                json.dump({"rtol": case.rtol, "atol": case.atol}, file)
        count += 1
    print(f"{count} cases")


if __name__ == "__main__":
    main()

"""A stateless model in MLServer: ONNX Runtime with one thread.

A tensor of numbers comes as MLServer has it. One of the type BYTES has the numbers of an input of rows as its only element,
little endian: MLServer makes a Python object of each number otherwise, in JSON and in the raw contents of gRPC too.
"""

import os

import numpy
import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse


class OnnxRuntime(MLModel):
    async def load(self) -> bool:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            os.environ["MODEL"], options, providers=["CPUExecutionProvider"]
        )
        self.names = [output.name for output in self.session.get_outputs()]
        self.widths = {tensor.name: tensor.shape[-1] for tensor in self.session.get_inputs()}
        return True

    def array(self, tensor):
        if tensor.datatype != "BYTES":
            return NumpyCodec.decode_input(tensor)
        return numpy.frombuffer(tensor.data[0], numpy.float32).reshape(-1, self.widths[tensor.name])

    async def predict(self, payload):
        inputs = {tensor.name: self.array(tensor) for tensor in payload.inputs}
        outputs = self.session.run(self.names, inputs)
        return InferenceResponse(
            model_name=self.name,
            outputs=[NumpyCodec.encode_output(name, value) for name, value in zip(self.names, outputs)],
        )

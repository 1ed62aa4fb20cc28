"""silero in MLServer: a stateless model, whose state the client sends along and gets back."""

import os

import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse


class Silero(MLModel):
    async def load(self) -> bool:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            os.environ["SILERO"], options, providers=["CPUExecutionProvider"]
        )
        self.names = [output.name for output in self.session.get_outputs()]
        return True

    async def predict(self, payload):
        inputs = {tensor.name: NumpyCodec.decode_input(tensor) for tensor in payload.inputs}
        outputs = self.session.run(self.names, inputs)
        encode = NumpyCodec.encode_output
        return InferenceResponse(
            model_name=self.name,
            outputs=[encode(name, value) for name, value in zip(self.names, outputs)],
        )

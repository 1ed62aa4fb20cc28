"""The network of examples/blog-recommendation in MLServer: rows of reader and post to probabilities."""

import os

import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse


class Recommend(MLModel):
    async def load(self) -> bool:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            os.environ["NETWORK"], options, providers=["CPUExecutionProvider"]
        )
        return True

    async def predict(self, payload):
        rows = NumpyCodec.decode_input(payload.inputs[0])
        scores = self.session.run(["probability"], {"features": rows})[0]
        output = NumpyCodec.encode_output("probability", scores)
        return InferenceResponse(model_name=self.name, outputs=[output])

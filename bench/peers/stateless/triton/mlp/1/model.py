"""A model in Triton's Python backend: ONNX Runtime with one thread, a run for each request."""

import json
import os

import onnxruntime
import triton_python_backend_utils as pb


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            os.environ[config["name"].upper()], options, providers=["CPUExecutionProvider"]
        )
        self.inputs = [tensor["name"] for tensor in config["input"]]
        self.outputs = [tensor["name"] for tensor in config["output"]]

    def execute(self, requests):
        answers = []
        for request in requests:
            inputs = {name: pb.get_input_tensor_by_name(request, name).as_numpy() for name in self.inputs}
            values = self.session.run(self.outputs, inputs)
            tensors = [pb.Tensor(name, value) for name, value in zip(self.outputs, values)]
            answers.append(pb.InferenceResponse(tensors))
        return answers

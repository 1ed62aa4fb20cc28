"""silero in Triton's Python backend: states by correlation id, one run of ONNX Runtime for all requests of a call."""

import os

import numpy
import onnxruntime
import triton_python_backend_utils as pb

CONTEXT = 64


class TritonPythonModel:
    def initialize(self, args):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            os.environ["SILERO"], options, providers=["CPUExecutionProvider"]
        )
        self.sequences = {}

    def execute(self, requests):
        def of(request, name):
            return pb.get_input_tensor_by_name(request, name).as_numpy()

        count = len(requests)
        signal = numpy.zeros((count, CONTEXT + 512), numpy.float32)
        state = numpy.zeros((2, count, 128), numpy.float32)
        ids = [int(of(request, "CORRID").item()) for request in requests]
        for row, (id, request) in enumerate(zip(ids, requests)):
            signal[row, CONTEXT:] = of(request, "input")[0]
            if not of(request, "START").item():
                signal[row, :CONTEXT], state[:, row] = self.sequences[id]
        output, state = self.session.run(None, {"input": signal, "state": state})
        for row, (id, request) in enumerate(zip(ids, requests)):
            if of(request, "END").item():
                self.sequences.pop(id, None)
            else:
                self.sequences[id] = (signal[row, -CONTEXT:].copy(), state[:, row].copy())
        return [
            pb.InferenceResponse([pb.Tensor("output", output[row : row + 1])])
            for row in range(count)
        ]

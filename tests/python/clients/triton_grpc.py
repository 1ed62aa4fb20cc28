"""tritonclient over gRPC."""

import queue

import numpy as np
import tritonclient.grpc as grpc

from triton_cases import TritonCases


class GrpcClient(TritonCases):
    client = grpc

    def connect(self):
        return grpc.InferenceServerClient(self.server.grpc)

    def test_metadata(self):
        server = self.triton.get_server_metadata()
        self.assertTrue(server.name and server.version)
        model = self.triton.get_model_metadata("add")
        self.assertEqual(list(model.versions), ["1"])
        self.assertEqual((model.inputs[0].name, model.inputs[0].datatype), ("a", "FP32"))
        self.assertEqual(list(model.inputs[0].shape), [-1, 4])

    def test_config_index_and_statistics(self):
        config = self.triton.get_model_config("add").config
        self.assertEqual([i.name for i in config.input], ["a", "b"])
        index = {entry.name: entry.state for entry in self.triton.get_model_repository_index().models}
        self.assertEqual(index["versions"], "READY")
        statistics = lambda: self.triton.get_inference_statistics("identity_fp32").model_stats[0]
        before = statistics().inference_count
        self.triton.infer("identity_fp32", [self.tensor("x", np.ones(2, np.float32))])
        self.assertEqual(statistics().inference_count, before + 1)

    def test_request_ids_and_compression(self):
        x = np.tile(np.float32(0.25), 100_000)
        for algorithm in (None, "gzip", "deflate"):
            with self.subTest(algorithm):
                result = self.triton.infer("identity_fp32", [self.tensor("x", x)], request_id="7",
                                           compression_algorithm=algorithm)
                np.testing.assert_array_equal(result.as_numpy("y"), x)
                self.assertEqual(result.get_response().id, "7")

    def test_asynchronous_requests(self):
        answers = queue.Queue()
        for i in range(8):
            x = np.full(3, i, np.float32)
            self.triton.async_infer("identity_fp32", [self.tensor("x", x)],
                                    lambda result, error: answers.put((result, error)), request_id=str(i))
        for _ in range(8):
            result, error = answers.get(timeout=30)
            self.assertIsNone(error)
            number = float(result.get_response().id)
            np.testing.assert_array_equal(result.as_numpy("y"), np.full(3, number, np.float32))

    def test_streams(self):
        answers = queue.Queue()
        self.triton.start_stream(lambda result, error: answers.put((result, error)))
        for i in range(4):
            x = np.full(2, i, np.float32)
            self.triton.async_stream_infer("identity_fp32", [self.tensor("x", x)], request_id=str(i))
        self.triton.async_stream_infer("nothing", [self.tensor("x", np.ones(2, np.float32))])
        seen = [answers.get(timeout=30) for _ in range(5)]
        self.triton.stop_stream()
        good = [result.get_response().id for result, error in seen if error is None]
        self.assertEqual(sorted(good), ["0", "1", "2", "3"])
        self.assertEqual(sum(error is not None for _, error in seen), 1)

    def test_codes(self):
        x = self.tensor("x", np.ones(2, np.float32))
        for call, status in (
            (lambda: self.triton.infer("nothing", [x]), "StatusCode.NOT_FOUND"),
            (lambda: self.triton.infer("add", [x]), "StatusCode.INVALID_ARGUMENT"),
            (lambda: self.triton.infer("identity_fp32", [x], model_version="x"), "StatusCode.INVALID_ARGUMENT"),
        ):
            with self.assertRaises(grpc.InferenceServerException) as caught:
                call()
            self.assertEqual(caught.exception.status(), status)


del TritonCases

"""tritonclient over HTTP."""

import numpy as np
import tritonclient.http as http

from triton_cases import TritonCases


class HttpClient(TritonCases):
    client = http

    def connect(self):
        return http.InferenceServerClient(self.server.rest)

    def test_metadata(self):
        server = self.triton.get_server_metadata()
        self.assertEqual(set(server), {"name", "version", "extensions"})
        self.assertIn("binary_tensor_data", server["extensions"])
        model = self.triton.get_model_metadata("add")
        self.assertEqual(model["name"], "add")
        self.assertEqual(model["versions"], ["1"])
        self.assertEqual(model["inputs"][0], {"name": "a", "datatype": "FP32", "shape": [-1, 4]})
        self.assertEqual([o["name"] for o in model["outputs"]], ["sum", "difference"])

    def test_config_index_and_statistics(self):
        config = self.triton.get_model_config("add")
        self.assertEqual(config["name"], "add")
        self.assertEqual([i["name"] for i in config["input"]], ["a", "b"])
        index = {entry["name"]: entry for entry in self.triton.get_model_repository_index()}
        self.assertEqual(index["versions"]["state"], "READY")
        x = self.tensor("x", np.ones(2, np.float32))
        before = self.triton.get_inference_statistics("identity_fp32")["model_stats"][0]["inference_count"]
        self.triton.infer("identity_fp32", [x])
        after = self.triton.get_inference_statistics("identity_fp32")["model_stats"][0]["inference_count"]
        self.assertEqual(after, before + 1)

    def test_json_tensors_in_and_out(self):
        a = np.arange(4, dtype=np.float32).reshape(1, 4)
        inputs = [self.tensor(n, a, binary_data=False) for n in ("a", "b")]
        outputs = [http.InferRequestedOutput("sum", binary_data=False)]
        result = self.triton.infer("add", inputs, outputs=outputs, request_id="7")
        np.testing.assert_array_equal(result.as_numpy("sum"), a + a)
        self.assertEqual(result.get_response()["id"], "7")

    def test_compressed_bodies(self):
        x = np.tile(np.float32(0.25), 100_000)
        for algorithm in ("gzip", "deflate"):
            with self.subTest(algorithm):
                result = self.triton.infer("identity_fp32", [self.tensor("x", x)],
                                           request_compression_algorithm=algorithm,
                                           response_compression_algorithm=algorithm)
                np.testing.assert_array_equal(result.as_numpy("y"), x)

    def test_asynchronous_requests(self):
        x = np.ones(3, np.float32)
        pending = [self.triton.async_infer("identity_fp32", [self.tensor("x", x * i)]) for i in range(8)]
        for i, request in enumerate(pending):
            np.testing.assert_array_equal(request.get_result().as_numpy("y"), x * i)


del TritonCases

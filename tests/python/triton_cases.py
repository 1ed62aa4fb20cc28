"""What tritonclient's HTTP and gRPC clients must both see. `client` is the module, `connect` makes a client."""

import ml_dtypes
import numpy as np
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from served import ServedCase

VALUES = {
    "FP32": np.array([0.5, -1.25, 3e38], np.float32),
    "FP64": np.array([0.5, -1e300], np.float64),
    "FP16": np.array([0.5, 65504], np.float16),
    "INT8": np.array([-128, 127], np.int8),
    "INT16": np.array([-32768, 32767], np.int16),
    "INT32": np.array([-(2**31), 2**31 - 1], np.int32),
    "INT64": np.array([-(2**63), 2**63 - 1], np.int64),
    "UINT8": np.array([0, 255], np.uint8),
    "UINT16": np.array([0, 65535], np.uint16),
    "UINT32": np.array([0, 2**32 - 1], np.uint32),
    "UINT64": np.array([0, 2**64 - 1], np.uint64),
    "BOOL": np.array([True, False, True]),
}


class TritonCases(ServedCase):
    client = None  # tritonclient.http or tritonclient.grpc

    def setUp(self):
        if type(self).client is None:
            self.skipTest("base class")
        self.triton = self.connect()
        self.addCleanup(self.triton.close)

    def tensor(self, name, array, **options):
        tensor = self.client.InferInput(name, array.shape, np_to_triton_dtype(array.dtype))
        tensor.set_data_from_numpy(array, **options)
        return tensor

    def fails(self, call, *texts):
        with self.assertRaises(InferenceServerException) as caught:
            call()
        for text in texts:
            self.assertIn(text, str(caught.exception))

    def test_health(self):
        self.assertTrue(self.triton.is_server_live())
        self.assertTrue(self.triton.is_server_ready())
        self.assertTrue(self.triton.is_model_ready("add"))
        self.assertTrue(self.triton.is_model_ready("add", "1"))
        self.assertFalse(self.triton.is_model_ready("nothing"))
        self.assertFalse(self.triton.is_model_ready("add", "7"))

    def test_every_datatype_comes_back_as_it_was_sent(self):
        for datatype, array in VALUES.items():
            with self.subTest(datatype):
                result = self.triton.infer(f"identity_{datatype.lower()}", [self.tensor("x", array)])
                np.testing.assert_array_equal(result.as_numpy("y"), array)

    def test_bf16_travels_raw(self):
        tensor = self.client.InferInput("x", [2], "BF16")
        tensor.set_data_from_numpy(np.array([1.5, -2.0], ml_dtypes.bfloat16))
        result = self.triton.infer("identity_bf16", [tensor])
        np.testing.assert_array_equal(result.as_numpy("y").astype(np.float32), [1.5, -2.0])

    def test_strings_come_back_as_they_were_sent(self):
        text = np.array([b"", b"caf\xc3\xa9", b"\x00\xff"], np.object_)
        result = self.triton.infer("identity_bytes", [self.tensor("x", text)])
        self.assertEqual(list(result.as_numpy("y")), list(text))

    def test_strings_where_numbers_are_expected(self):
        text = np.array([b"", b"caf\xc3\xa9", b"\x00\xff"], np.object_)
        self.fails(lambda: self.triton.infer("identity_fp32", [self.tensor("x", text)]), "BYTES")

    def test_two_inputs_and_chosen_outputs(self):
        a, b = np.arange(8, dtype=np.float32).reshape(2, 4), np.ones((2, 4), np.float32)
        inputs = [self.tensor("b", b), self.tensor("a", a)]  # by name, in any order
        result = self.triton.infer("add", inputs, request_id="request 7")
        np.testing.assert_array_equal(result.as_numpy("sum"), a + b)
        np.testing.assert_array_equal(result.as_numpy("difference"), a - b)
        wanted = [self.client.InferRequestedOutput("difference")]
        result = self.triton.infer("add", inputs, outputs=wanted)
        np.testing.assert_array_equal(result.as_numpy("difference"), a - b)
        self.assertIsNone(result.as_numpy("sum"))

    def test_scalars(self):
        x, rate = np.ones((1, 2), np.float32), np.array(3, np.int64)
        result = self.triton.infer("scalar_rate", [self.tensor("x", x), self.tensor("rate", rate)])
        np.testing.assert_array_equal(result.as_numpy("y"), [[3, 3]])

    def test_empty_tensors(self):
        result = self.triton.infer("identity_fp32", [self.tensor("x", np.zeros(0, np.float32))])
        self.assertEqual(result.as_numpy("y").shape, (0,))

    def test_the_latest_version_answers(self):
        x = np.ones(2, np.float32)
        result = self.triton.infer("versions", [self.tensor("x", x)])
        np.testing.assert_array_equal(result.as_numpy("y"), [10, 10])
        self.fails(lambda: self.triton.infer("versions", [self.tensor("x", x)], model_version="3"))

    def test_mistakes_are_explained(self):
        x = self.tensor("x", np.ones(2, np.float32))
        self.fails(lambda: self.triton.infer("nothing", [x]), "nothing")
        self.fails(lambda: self.triton.infer("add", [x]), "x")
        self.fails(lambda: self.triton.infer("add", [self.tensor("a", np.ones((1, 4), np.float32))]), "b")
        wrong = [self.tensor(n, np.ones((1, 5), np.float32)) for n in ("a", "b")]
        self.fails(lambda: self.triton.infer("add", wrong), "shape")
        wrong = [self.tensor(n, np.ones((1, 4), np.int64)) for n in ("a", "b")]
        self.fails(lambda: self.triton.infer("add", wrong), "INT64")
        self.fails(lambda: self.triton.infer("add", wrong, outputs=[self.client.InferRequestedOutput("z")]))
        self.assertTrue(self.triton.is_server_live())

    def test_a_client_timeout_that_is_long_enough(self):
        x = np.ones(2, np.float32)
        result = self.triton.infer("identity_fp32", [self.tensor("x", x)], timeout=5_000_000)
        np.testing.assert_array_equal(result.as_numpy("y"), x)

    def test_models_are_unloaded_and_loaded(self):
        self.triton.unload_model("identity_int8")
        self.assertFalse(self.triton.is_model_ready("identity_int8"))
        self.triton.load_model("identity_int8")
        self.assertTrue(self.triton.is_model_ready("identity_int8"))
        self.fails(lambda: self.triton.load_model("nothing"))

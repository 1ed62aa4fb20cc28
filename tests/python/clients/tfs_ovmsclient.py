"""The published client of OpenVINO Model Server, over both protocols."""

import numpy as np
import ovmsclient

from served import ServedCase


class Cases(ServedCase):
    def setUp(self):
        self.client = self.connect()

    def test_predict(self):
        x = np.array([1.0, 2.0], np.float32)
        np.testing.assert_allclose(self.client.predict({"x": x}, "versions"), x * 10)
        a = np.arange(4, dtype=np.float32).reshape(1, 4)
        answer = self.client.predict({"a": a, "b": a}, "add")
        np.testing.assert_allclose(answer["sum"], a + a)
        np.testing.assert_allclose(answer["difference"], a - a)

    def test_metadata_and_status(self):
        metadata = self.client.get_model_metadata("add")
        self.assertEqual(set(metadata["inputs"]), {"a", "b"})
        self.assertEqual(metadata["inputs"]["a"]["dtype"], "DT_FLOAT")
        self.assertEqual(metadata["inputs"]["a"]["shape"], [-1, 4])
        status = self.client.get_model_status("versions")
        self.assertEqual(status[10]["state"], "AVAILABLE")

    def test_mistakes(self):
        x = np.ones(2, np.float32)
        with self.assertRaises(ovmsclient.ModelNotFoundError):
            self.client.predict({"x": x}, "nothing")
        with self.assertRaises(ovmsclient.InvalidInputError):
            self.client.predict({"a": x, "b": x}, "add")


class Grpc(Cases):
    def connect(self):
        return ovmsclient.make_grpc_client(self.server.grpc)

    def test_integers(self):
        for name, array in (("int64", np.array([2**62, -1])), ("int32", np.array([7, -8], np.int32))):
            with self.subTest(name):
                np.testing.assert_array_equal(self.client.predict({"x": array}, f"identity_{name}"), array)


class Http(Cases):
    def connect(self):
        return ovmsclient.make_http_client(self.server.rest)


del Cases

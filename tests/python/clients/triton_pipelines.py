"""Pipelines with tritonclient: for a client they are models."""

import json
import os

import numpy as np
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

from served import REPOSITORY, SUMMATOR, ServedCase, Stead


def node(name, model, inputs, outputs, **options):
    return {
        "name": name,
        "model_name": model,
        "type": "DL model",
        "inputs": [{i: {"node_name": n, "data_item": item}} for i, (n, item) in inputs.items()],
        "outputs": [{"data_item": output, "alias": output} for output in outputs],
        **options,
    }


def pipeline(name, inputs, nodes, outputs, **options):
    outputs = [{o: {"node_name": n, "data_item": item}} for o, (n, item) in outputs.items()]
    return {"name": name, "inputs": inputs, "nodes": nodes, "outputs": outputs, **options}


PIPELINES = [
    # (a + b) + (a - b) and (a + b) - (a - b)
    pipeline(
        "twice",
        ["a", "b"],
        [
            node("first", "add", {"a": ("request", "a"), "b": ("request", "b")}, ["sum", "difference"]),
            node("second", "add", {"a": ("first", "sum"), "b": ("first", "difference")}, ["sum", "difference"]),
        ],
        {"2a": ("second", "sum"), "2b": ("second", "difference")},
    ),
    pipeline(
        "many",
        ["a", "b"],
        [node("each", "add", {"a": ("request", "a"), "b": ("request", "b")}, ["sum"])],
        {"sum": ("each", "sum")},
        demultiply_count=-1,
    ),
    pipeline(
        "sums",
        ["x"],
        [
            node("first", "summator", {"b": ("request", "x")}, ["y"]),
            node("second", "summator", {"b": ("first", "y")}, ["y"]),
        ],
        {"once": ("first", "y"), "twice": ("second", "y")},
    ),
]


class Pipelines:
    """What both clients must see."""

    client = None

    @classmethod
    def start(cls):
        models = [
            {"name": "add", "base_path": os.path.join(REPOSITORY, "add")},
            {"name": "summator", "base_path": SUMMATOR, "stateful": True},
        ]
        path = os.path.join(cls.folder, "config.json")
        with open(path, "w") as file:
            config = {"model_config_list": [{"config": m} for m in models], "pipeline_config_list": PIPELINES}
            json.dump(config, file)
        return Stead("--config_path", path)

    def setUp(self):
        self.triton = self.connect()
        self.addCleanup(self.triton.close)

    def infer(self, model, values, **options):
        inputs = []
        for name, value in values.items():
            tensor = self.client.InferInput(name, value.shape, "FP32")
            tensor.set_data_from_numpy(value)
            inputs.append(tensor)
        return self.triton.infer(model, inputs, **options)

    def test_two_inputs_and_two_outputs(self):
        a = np.arange(8, dtype=np.float32).reshape(2, 4)
        b = a[::-1].copy()
        result = self.infer("twice", {"a": a, "b": b}, request_id="7")
        np.testing.assert_array_equal(result.as_numpy("2a"), 2 * a)
        np.testing.assert_array_equal(result.as_numpy("2b"), 2 * b)
        self.assertTrue(self.triton.is_model_ready("twice"))
        with self.assertRaises(InferenceServerException) as caught:
            self.infer("twice", {"a": a})
        self.assertIn("Missing input", str(caught.exception))

    def test_branches(self):
        for count in (1, 3, 200):
            a = np.random.default_rng(count).standard_normal((count, 2, 4), dtype=np.float32)
            result = self.infer("many", {"a": a, "b": a})
            np.testing.assert_array_equal(result.as_numpy("sum"), a + a)

    def test_sequences(self):
        once = {"call": 0.0, "other": 0.0}
        twice = dict(once)
        for i in range(10):
            for id, value in (("call", 1.0), ("other", 0.5)):
                once[id] += value
                twice[id] += once[id]
                x = np.full((1, 1), value, np.float32)
                flags = {"sequence_start": i == 0, "sequence_end": i == 9}
                result = self.infer("sums", {"x": x}, sequence_id=id, **flags)
                got = result.as_numpy("once").item(), result.as_numpy("twice").item()
                self.assertEqual(got, (once[id], twice[id]))


class Http(Pipelines, ServedCase):
    client = tritonclient.http

    def connect(self):
        return self.client.InferenceServerClient(self.server.rest)

    def test_metadata(self):
        metadata = self.triton.get_model_metadata("many")
        self.assertEqual(metadata["inputs"][0]["shape"], [-1, -1, 4])
        self.assertEqual(metadata["outputs"], [{"name": "sum", "datatype": "FP32", "shape": [-1, -1, 4]}])


class Grpc(Pipelines, ServedCase):
    client = tritonclient.grpc

    def connect(self):
        return self.client.InferenceServerClient(self.server.grpc)

    def test_no_results(self):
        empty = np.zeros((0, 1, 4), np.float32)
        with self.assertRaises(InferenceServerException) as caught:
            self.infer("many", {"a": empty, "b": empty})
        self.assertEqual(caught.exception.status(), "StatusCode.ABORTED")

    def test_statistics(self):
        one = np.ones((1, 4), np.float32)
        self.infer("twice", {"a": one, "b": one})
        statistics = self.triton.get_inference_statistics("twice", as_json=True)["model_stats"][0]
        self.assertGreaterEqual(int(statistics["execution_count"]), 1)
        config = self.triton.get_model_config("twice", as_json=True)["config"]
        self.assertEqual(config["parameters"]["node.first"]["string_value"], "model add, version 1")

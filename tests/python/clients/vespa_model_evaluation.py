"""Stateless model evaluation with pyvespa: models found and evaluated by its own code, beside what ONNX Runtime gives."""

import json
import os
import unittest
from urllib.parse import quote

from vespa.application import Vespa, VespaSync

from served import ROOT, ServedCase, Stead

EXAMPLE = os.path.join(ROOT, "examples", "model-evaluation")


class ModelEvaluation(ServedCase):
    @classmethod
    def start(cls):
        return Stead("serve", os.path.join(EXAMPLE, "app"))

    def setUp(self):
        self.app = Vespa(f"http://{self.server.rest}")
        with open(os.path.join(EXAMPLE, "expected.json")) as file:
            self.expected = json.load(file)

    def test_models_are_found(self):
        models = self.app.get_model_endpoint()
        url = f"http://{self.server.rest}/model-evaluation/v1"
        self.assertEqual(models, {name: f"{url}/{name}" for name in ("pairwise_ranker", "transformer")})
        ranker = self.app.get_model_endpoint("pairwise_ranker")
        (function,) = ranker["functions"]
        kinds = {argument["name"]: argument["type"] for argument in function["arguments"]}
        row = "tensor<float>(d0[],d1[16])"
        output = "onnxModel(pairwise_ranker).output"
        self.assertEqual(kinds, {"query": row, "doc1": row, "doc2": row, output: "tensor<float>(d0[],d1[1])"})
        missing = self.app.get_model_endpoint("none")
        self.assertEqual(missing["status_code"], 404)
        self.assertIn("No model named 'none'", missing["message"])

    def test_models_are_evaluated(self):
        tokens = self.expected["input"]
        cells = ",".join(f"{{d0:0,d1:{at}}}:{token}" for at, token in enumerate(tokens))
        with VespaSync(self.app) as session:
            answer = session.predict("transformer", "output", f"input={quote('{' + cells + '}')}")
            long = session.predict("transformer", "output", f"input={quote(json.dumps([tokens]))}&format.tensors=long")
            refused = session.predict("transformer", "output", "other=1")
        self.assertEqual(answer["type"], f"tensor<float>(d0[1],d1[{len(tokens)}],d2[16])")
        found = [number for token in answer["values"][0] for number in token]
        for value in (found, [cell["value"] for cell in long["cells"]]):
            self.assertEqual(len(value), len(self.expected["output"]))
            for a, b in zip(value, self.expected["output"]):
                self.assertAlmostEqual(a, b, places=4)
        self.assertEqual(refused["status_code"], 400)


if __name__ == "__main__":
    unittest.main()

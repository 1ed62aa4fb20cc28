"""Tests of the components without a server: `python -m unittest` or `pytest` here.

They need the package stead (`pip install ../../python/stead`) and, for the models, onnxruntime and numpy.
"""

import json
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "app" / "python"), str(HERE.parents[1] / "python" / "stead" / "src")]

try:
    import numpy as np
    import onnxruntime  # noqa: F401
except ImportError:
    raise unittest.SkipTest("onnxruntime and numpy are not installed") from None

import stead
from stead.testing import Application

from model_evaluation.documents import EmbedDocument
from model_evaluation.handler import Evaluate
from model_evaluation.query import EmbedQuery
from model_evaluation.ranking import ComparePairs

EXPECTED = json.loads((HERE / "expected.json").read_text())
DOCUMENTS = [json.loads(line) for line in (HERE / "documents.jsonl").read_text().splitlines()]
FIELDS = {"id": "string", "tokens": "tensor<int8>(tokens[10])", "embedding": "tensor<float>(x[16])"}
TOKENS = "{" + ",".join(f"{{x:{at}}}:{token}" for at, token in enumerate(EXPECTED["tokens"])) + "}"


class Components(unittest.TestCase):
    def setUp(self):
        self.found = None
        models = {name: HERE / "app" / "models" / f"{name}.onnx" for name in ("transformer", "pairwise_ranker")}
        app = Application(models=models, documents={"mydoc": FIELDS}, backend=lambda query: self.backend(query))
        self.app = app.__enter__()
        self.addCleanup(app.__exit__, None, None, None)

    def backend(self, query):
        """All documents with their scores, the best ones first, as the rank profile of the example orders them."""
        self.found = query
        embedding = query.features["embedding"].to_numpy()
        hits = []
        for id, vector in EXPECTED["documents"].items():
            fields = {"embedding": stead.Tensor("tensor<float>(x[16])", vector)}
            hits.append(stead.Hit(id, float(np.dot(embedding, vector)), fields, "mycluster"))
        hits.sort(key=lambda hit: -hit.relevance)
        return stead.Result(hits[: query.hits], total=len(hits))

    def close(self, tensor, numbers):
        np.testing.assert_allclose(tensor.to_numpy(), numbers, atol=1e-4)

    def test_the_handler_evaluates_a_model(self):
        handler = self.app.create(Evaluate)
        response = self.app.handle(
            handler, f"/models/?model=transformer&input={TOKENS}".replace("{", "%7B").replace("}", "%7D")
        )
        self.assertEqual((response.status, response.headers["content-type"]), (200, "application/json"))
        output = stead.Tensor.from_json(response.json())
        self.assertEqual(str(output.type), "tensor<float>(d0[1],d1[3],d2[16])")
        self.close(output.slice(d0=0, d1=0), EXPECTED["embedding"])
        for target, message in [
            ("/models/", "the parameter model is ''"),
            ("/models/?model=transformer&input=x", "the parameter input"),
        ]:
            with self.assertRaises(stead.InvalidInput) as caught:
                self.app.handle(handler, target)
            self.assertIn(message, str(caught.exception))

    def test_the_document_processor_fills_vectors(self):
        processor = self.app.create(EmbedDocument)
        operations = []
        for one in DOCUMENTS:
            fields = {
                "id": one["fields"]["id"],
                "tokens": stead.Tensor.from_json(one["fields"]["tokens"], FIELDS["tokens"]),
            }
            operations.append(stead.DocumentPut(stead.Document(one["put"], fields)))
        operations += [
            stead.DocumentRemove("id:mydoc:mydoc::8"),
            stead.DocumentPut(stead.Document("id:mydoc:mydoc::9", {"id": "9"})),
        ]
        done = self.app.process(processor, operations)
        self.assertEqual([str(operation.id) for operation in done], [str(operation.id) for operation in operations])
        for operation in done[:-2]:
            self.assertEqual(str(operation.document["embedding"].type), FIELDS["embedding"])
            self.close(operation.document["embedding"], EXPECTED["documents"][str(operation.id)])
            self.assertIn("tokens", operation.document)
        self.assertNotIn("embedding", done[-1].document)

    def test_the_searcher_makes_the_vector_of_a_query(self):
        result = self.app.search(self.app.create(EmbedQuery), {"input": TOKENS, "hits": 3})
        self.assertEqual(self.found.yql, "select * from mydoc where true")
        self.close(self.found.features["query(embedding)"], EXPECTED["embedding"])
        best = sorted(EXPECTED["scores"], key=lambda id: -EXPECTED["scores"][id])[:3]
        self.assertEqual([hit.id for hit in result.hits], best)
        with self.assertRaises(stead.InvalidInput):
            self.app.search(self.app.create(EmbedQuery), {"hits": 3})

    def test_the_chain_orders_hits_by_who_wins_most_often(self):
        chain = [self.app.create(EmbedQuery), self.app.create(ComparePairs)]
        result = self.app.search(chain, {"input": TOKENS})
        self.assertEqual({hit.id: hit.relevance for hit in result.hits}, EXPECTED["wins"])
        wins = [hit.relevance for hit in result.hits]
        self.assertEqual(wins, sorted(wins, reverse=True))
        # Among those that win as often the first ranking counts.
        scores = [(-EXPECTED["wins"][hit.id], -EXPECTED["scores"][hit.id]) for hit in result.hits]
        self.assertEqual(scores, sorted(scores))
        alone = self.app.search(chain, {"input": TOKENS, "hits": 1})
        self.assertEqual([hit.id for hit in alone.hits], [max(EXPECTED["scores"], key=EXPECTED["scores"].get)])


if __name__ == "__main__":
    unittest.main()

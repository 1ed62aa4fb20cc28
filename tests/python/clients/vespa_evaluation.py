"""pyvespa's evaluation helpers over a server: how good rankings and matches are, features to train on, recall of graphs and times."""

import math
import random
import unittest

from vespa.evaluation import (
    VespaEvaluator,
    VespaFeatureCollector,
    VespaMatchEvaluator,
    VespaNNRecallEvaluator,
    VespaQueryBenchmarker,
)
from vespa.package import HNSW, ApplicationPackage, Document, Field, FieldSet, RankProfile, Schema

from vespa_case import VespaCase

# By the numbers of shared words these stand in this order for both queries.
TEXTS = {
    "d.1": "the sea rises and falls twice a day",
    "d.2": "the sea and the sky and the day",
    "d.3": "rain falls",
    "d.4": "a desert without rain",
}
QUERIES = {"q1": "sea falls", "q2": "rain"}
RELEVANT = {"q1": {"d.1", "d.4"}, "q2": {"d.3"}}
DOCUMENTS = 300


class Evaluation(VespaCase):
    @staticmethod
    def package():
        graph = HNSW(distance_metric="euclidean")
        fields = [
            Field("key", "string", indexing=["attribute", "summary"]),
            Field("text", "string", indexing=["index", "summary"], index="enable-bm25"),
            Field("place", "tensor<float>(x[4])", indexing=["attribute", "index"], ann=graph),
        ]
        profiles = [
            RankProfile("words", first_phase="bm25(text)", match_features=["bm25(text)", "queryTermCount"]),
            RankProfile("near", first_phase="closeness(field,place)", inputs=[("query(q)", "tensor<float>(x[4])")]),
        ]
        sets = [FieldSet("default", ["text"])]
        return ApplicationPackage("music", schema=[Schema("music", Document(fields), fieldsets=sets, rank_profiles=profiles)])

    def setUp(self):
        super().setUp()
        for key, text in TEXTS.items():
            self.feed(key, {"key": key, "text": text})

    def feed(self, number, fields):
        answer = self.app.feed_data_point("music", number, fields, namespace="ns")
        self.assertTrue(answer.is_successful(), answer.json)

    @staticmethod
    def query(text, hits):
        return {"yql": f'select * from music where userInput("{text}")', "hits": hits, "ranking": "words"}

    def test_how_good_a_ranking_is(self):
        evaluator = VespaEvaluator(QUERIES, RELEVANT, self.query, self.app, id_field="key", map_at_k=[10])
        found = evaluator()
        # The first query finds one of two and that first, the second the only one first.
        whole = 1 + 1 / math.log2(3)
        for measure, expected in [
            ("accuracy@1", 1.0),
            ("precision@3", (1 / 3 + 1 / 3) / 2),
            ("recall@10", 0.75),
            ("mrr@10", 1.0),
            ("ndcg@10", (1 / whole + 1) / 2),
            ("map@10", 0.75),
        ]:
            self.assertAlmostEqual(found[measure], expected, msg=measure)
        self.assertGreater(found["searchtime_avg"], 0)

    def test_how_good_matches_are(self):
        evaluator = VespaMatchEvaluator(QUERIES, RELEVANT, self.query, self.app, id_field="key")
        found = evaluator()
        self.assertEqual((found["total_relevant_docs"], found["total_matched_relevant"]), (3, 2))
        self.assertAlmostEqual(found["match_recall"], 2 / 3)
        self.assertAlmostEqual(found["avg_recall_per_query"], 0.75)
        # Three have sea or falls, two rain.
        self.assertAlmostEqual(found["avg_matched_per_query"], 2.5)

    def test_features_of_relevant_documents_and_of_others(self):
        collector = VespaFeatureCollector(
            QUERIES, RELEVANT, self.query, self.app, id_field="key", write_csv=False,
            random_hits_strategy="fixed", random_hits_value=2, collect_rankfeatures=True,
        )
        rows = collector.collect()["results"]
        found = {(row["query_id"], row["doc_id"]): row for row in rows}
        labels = {pair: row["relevance_label"] for pair, row in found.items()}
        self.assertEqual(
            labels,
            {("q1", "d.1"): 1, ("q1", "d.2"): 0, ("q1", "d.3"): 0, ("q2", "d.3"): 1, ("q2", "d.4"): 0},
        )
        for row in rows:
            self.assertAlmostEqual(row["match_bm25(text)"], row["relevance_score"])
        self.assertEqual(found["q1", "d.1"]["match_queryTermCount"], 2)

    def test_the_recall_of_a_graph_and_times(self):
        chance = random.Random(7)
        for number in range(DOCUMENTS):
            place = [chance.gauss(0, 1) for _ in range(4)]
            self.feed(f"n{number}", {"key": f"n{number}", "place": place})
        yql = "select * from music where {targetHits: 10}nearestNeighbor(place, q)"
        queries = [
            {"yql": yql, "ranking": "near", "input.query(q)": str([chance.gauss(0, 1) for _ in range(4)])}
            for _ in range(8)
        ]
        recall = VespaNNRecallEvaluator(queries, 10, self.app, id_field="key").run()
        self.assertEqual(len(recall), 8)
        self.assertGreater(sum(recall) / 8, 0.95)
        times = VespaQueryBenchmarker(queries, self.app, time_limit=20).run()
        self.assertGreaterEqual(len(times), 8)
        self.assertGreater(min(times), 0)


if __name__ == "__main__":
    unittest.main()

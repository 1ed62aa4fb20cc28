"""Texts with an index, fed, changed and searched with pyvespa's query builder."""

import unittest

import vespa.querybuilder as qb
from vespa.package import ApplicationPackage, Document, Field, FieldSet, RankProfile, Schema

from vespa_case import VespaCase

TEXTS = {
    "tides": ("Tides", "The sea rises and falls twice a day"),
    "rain": ("Rain", "Water that the sun has lifted from the sea comes down again"),
    "river": ("Rivers", "Rain gathers in rivers, which run to the sea"),
}


class Words(VespaCase):
    @staticmethod
    def package():
        index = ["index", "summary"]
        fields = [Field(name, "string", indexing=index, index="enable-bm25") for name in ("title", "body")]
        profile = RankProfile("bm25", first_phase="bm25(title) + bm25(body)", inherits="default")
        sets = [FieldSet("default", ["title", "body"])]
        schema = Schema("music", Document(fields), fieldsets=sets, rank_profiles=[profile])
        return ApplicationPackage("music", schema=[schema])

    def setUp(self):
        super().setUp()
        for name, (title, body) in TEXTS.items():
            self.feed(name, title, body)

    def feed(self, name, title, body):
        answer = self.app.feed_data_point("music", name, {"title": title, "body": body}, namespace="ns")
        self.assertTrue(answer.is_successful(), answer.json)

    def found(self, **body):
        answer = self.app.query(body=body)
        self.assertTrue(answer.is_successful(), answer.json)
        return [hit["id"].split("::")[1] for hit in answer.hits]

    def test_the_builder_asks_for_words(self):
        music = qb.select("*").from_("music")
        title, body = qb.QueryField("title"), qb.QueryField("body")
        for condition, expected in [
            (body.contains("rivers"), {"river"}),
            (body.contains("river") | title.contains("tides"), {"river", "tides"}),
            (body.contains(qb.phrase("the", "sea")) & ~title.contains("rain"), {"tides", "river"}),
            (body.contains(qb.near("water", "sun", distance=3)), {"rain"}),
            (qb.userQuery("rain rivers"), {"rain", "river"}),
        ]:
            query = str(music.where(condition))
            self.assertEqual(set(self.found(yql=query, query="rain rivers")), expected, query)

    def test_what_is_fed_is_found_by_the_next_query(self):
        query = {"yql": "select * from music where userQuery()", "query": "+rain", "ranking": "bm25"}
        self.assertEqual(set(self.found(**query)), {"rain", "river"})
        answer = self.app.update_data("music", "tides", {"body": "Rain, rain and rain"}, namespace="ns")
        self.assertTrue(answer.is_successful(), answer.json)
        self.assertEqual(set(self.found(**query)), {"rain", "river", "tides"})
        self.app.delete_data("music", "rain", namespace="ns")
        self.assertEqual(set(self.found(**query)), {"river", "tides"})


if __name__ == "__main__":
    unittest.main()

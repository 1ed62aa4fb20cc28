"""Documents and searches with pyvespa: fed one by one, from an iterable and over HTTP/2, visited, searched and removed."""

import asyncio
import unittest

from vespa.exceptions import VespaError
from vespa.package import ApplicationPackage, Document, Field, Function, RankProfile, Schema

from vespa_case import VespaCase


def fields(number):
    return {"title": f"title {number}", "year": 1900 + number, "taste": [number, 1]}


class Documents(VespaCase):
    @staticmethod
    def package():
        taste = RankProfile(
            "taste",
            inputs=[("query(user)", "tensor<float>(x[2])")],
            functions=[Function("liking", "sum(query(user) * attribute(taste))")],
            first_phase="liking",
            match_features=["liking"],
        )
        fields = [
            Field("title", "string", indexing=["summary", "attribute"]),
            Field("year", "int", indexing=["summary", "attribute"]),
            Field("taste", "tensor<float>(x[2])", indexing=["attribute"]),
        ]
        return ApplicationPackage("music", schema=[Schema("music", Document(fields), rank_profiles=[taste])])

    def ids(self, yql, **more):
        answer = self.app.query(yql=yql, hits=400, **more)
        self.assertTrue(answer.is_successful(), answer.json)
        return [hit["id"].rsplit(":", 1)[1] for hit in answer.hits]

    def test_one_document(self):
        answer = self.app.feed_data_point("music", "1", fields(1), namespace="ns")
        self.assertEqual((answer.status_code, answer.json["id"]), (200, "id:ns:music::1"))
        answer = self.app.get_data("music", "1", namespace="ns")
        self.assertEqual(answer.json["fields"]["year"], 1901)
        self.app.update_data("music", "1", {"year": 2000}, namespace="ns")
        self.assertEqual(self.ids("select * from music where year = 2000"), ["1"])
        answer = self.app.update_data("music", "2", {"year": 2001}, create=True, namespace="ns")
        self.assertEqual(answer.status_code, 200)
        self.assertEqual(self.ids("select * from music where true order by year"), ["1", "2"])
        self.assertEqual(self.app.delete_data("music", "1", namespace="ns").status_code, 200)
        self.assertEqual(self.app.get_data("music", "1", namespace="ns").status_code, 404)
        with self.assertRaisesRegex(VespaError, "field age: document music has no such field"):
            self.app.feed_data_point("music", "3", {"age": 1}, namespace="ns")

    def feed_and_check(self, feed):
        failed = []

        def callback(response, number):
            if not response.is_successful():
                failed.append((number, response.json))

        documents = [{"id": str(number), "fields": fields(number)} for number in range(300)]
        feed(documents, schema="music", namespace="ns", callback=callback)
        self.assertEqual(failed, [])
        found = self.ids("select * from music where true order by year")
        self.assertEqual(found, [str(number) for number in range(300)])

    def test_from_an_iterable(self):
        self.feed_and_check(self.app.feed_iterable)

    def test_from_an_iterable_over_http2(self):
        self.feed_and_check(self.app.feed_async_iterable)

    def test_asynchronously(self):
        async def run():
            async with self.app.asyncio() as session:
                feed = (session.feed_data_point("music", str(n), fields(n), namespace="ns") for n in range(20))
                fed = await asyncio.gather(*feed)
                queries = (session.query({"yql": f"select * from music where year = {1900 + n}"}) for n in range(20))
                return fed, await asyncio.gather(*queries)

        fed, found = asyncio.run(run())
        self.assertEqual({answer.status_code for answer in fed}, {200})
        titles = [answer.hits[0]["fields"]["title"] for answer in found]
        self.assertEqual(titles, [f"title {number}" for number in range(20)])

    def test_ranking(self):
        for number in range(5):
            self.app.feed_data_point("music", str(number), fields(number), namespace="ns")
        body = {"yql": "select * from music where true", "ranking": "taste", "input.query(user)": [-1, 10]}
        hits = self.app.query(body=body).hits
        scores = [(hit["id"].rsplit(":", 1)[1], hit["relevance"]) for hit in hits]
        self.assertEqual(scores, [(str(number), 10 - number) for number in range(5)])
        self.assertEqual(hits[2]["fields"]["matchfeatures"], {"liking": 8.0})
        with self.assertRaisesRegex(VespaError, "Field 'age' does not exist"):
            self.app.query(yql="select * from music where age = 1")

    def test_a_visit(self):
        for number in range(30):
            self.app.feed_data_point("music", str(number), fields(number), namespace="ns")
        seen = []
        for part in self.app.visit("music_content", "music", "ns", slices=2, selection="music.year < 1920", wanted_document_count=7):
            for answer in part:
                seen += [document["fields"]["year"] for document in answer.documents]
        self.assertEqual(sorted(seen), list(range(1900, 1920)))


if __name__ == "__main__":
    unittest.main()

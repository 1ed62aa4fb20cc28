"""Every condition that pyvespa's query builder writes, and what a query of it asks for besides."""

import json
import unittest
import urllib.parse

import vespa.querybuilder as qb
from vespa.package import HNSW, ApplicationPackage, Document, Field, FieldSet, QueryTypeField, RankProfile, Schema, Struct, StructField

from vespa_case import VespaCase

ALBUMS = {
    "blue": {
        "title": "Blue", "artist": "Joni Mitchell", "year": 1971, "tags": {"folk": 9, "piano": 4},
        "place": {"lat": 34.05, "lng": -118.24}, "embedding": [1.0, 0.0, 0.0], "link": "https://jonimitchell.com/music/album.cfm?id=5",
        "tracks": [{"name": "Carey", "seconds": 182}, {"name": "River", "seconds": 240}], "audience": "age in [40..90]",
    },
    "hejira": {
        "title": "Hejira", "artist": "Joni Mitchell", "year": 1976, "tags": {"folk": 3, "jazz": 8},
        "place": {"lat": 34.09, "lng": -118.35}, "embedding": [0.8, 0.6, 0.0], "link": "https://jonimitchell.com/music/album.cfm?id=9",
        "tracks": [{"name": "Coyote", "seconds": 301}, {"name": "Amelia", "seconds": 361}], "audience": "age in [50..] and likes in [jazz]",
    },
    "parklife": {
        "title": "Park life and the end of a century", "artist": "Blur", "year": 1994, "tags": {"pop": 7},
        "place": {"lat": 51.51, "lng": -0.13}, "embedding": [0.0, 1.0, 0.0], "link": "http://blur.co.uk/parklife",
        "tracks": [{"name": "Tracy Jacks", "seconds": 260}], "audience": "likes in [pop] or likes in [dogs]",
    },
    "tago": {
        "title": "Tago Mago of the century", "artist": "Can", "year": 1971, "tags": {"rock": 6, "jazz": 2},
        "place": {"lat": 50.94, "lng": 6.96}, "embedding": [0.0, 0.0, 1.0], "link": "http://spoonrecords.com/can/tago",
        "tracks": [{"name": "Paperhouse", "seconds": 449}, {"name": "River", "seconds": 30}],
    },
}

title, artist, year, tags = (qb.QueryField(name) for name in ["title", "artist", "year", "tags"])
tracks, name, seconds, link = (qb.QueryField(name) for name in ["tracks", "name", "seconds", "link"])
FOLK = {"folk": 2, "jazz": 1}

CONDITIONS = [
    # Comparisons of attributes.
    (year == 1971, "blue tago"),
    (year > 1976, "parklife"),
    (year >= 1976, "hejira parklife"),
    (year < 1976, "blue tago"),
    (year.le(1976), "blue hejira tago"),
    (year.in_range(1972, 1980), "hejira"),
    (year.in_(1971, 1994), "blue parklife tago"),
    (artist.in_("Can", "Blur"), "parklife tago"),
    (artist.contains("Joni Mitchell"), "blue hejira"),
    (artist.contains("Jo", prefix=True), "blue hejira"),
    (artist.matches("^J.*l$"), "blue hejira"),
    # Words.
    (title.contains("century"), "parklife tago"),
    (title.contains("centuries"), "parklife tago"),
    (title.contains("centuries", annotations={"stem": False}), ""),
    (title.contains(qb.phrase("park", "life")), "parklife"),
    (title.contains(qb.near("end", "century")), ""),
    (title.contains(qb.near("century", "end", distance=3)), "parklife"),
    (title.contains(qb.onear("century", "end", distance=3)), ""),
    (title.contains(qb.onear("end", "century", distance=3)), "parklife"),
    (title.contains(qb.equiv("Blue", "Hejira")), "blue hejira"),
    (artist.contains(qb.fuzzy("joni mitchel", annotations={"maxEditDistance": 1})), "blue hejira"),
    (artist.contains(qb.fuzzy("Juni Mitchel", annotations={"maxEditDistance": 1})), ""),
    (artist.contains(qb.fuzzy("Juni Mitchel", annotations={"prefixLength": 1, "maxEditDistance": 2})), "blue hejira"),
    (artist.contains(qb.fuzzy("Juni Mitchel", annotations={"prefixLength": 2, "maxEditDistance": 2})), ""),
    (link.contains(qb.uri("jonimitchell.com/music")), "blue hejira"),
    # What people type.
    (qb.userQuery(), "tago"),
    (qb.userInput("@typed"), "parklife tago"),
    (qb.userInput("blue hejira", annotations={"grammar": "any"}), "blue hejira"),
    (qb.userInput("@typed").annotate({"defaultIndex": "artist"}), ""),
    # Weights.
    (tags.contains("jazz"), "hejira tago"),
    (qb.weightedSet("tags", FOLK), "blue hejira tago"),
    (qb.dotProduct("tags", FOLK), "blue hejira tago"),
    (qb.wand("tags", FOLK, annotations={"targetHits": 2, "scoreThreshold": 3}), "blue hejira"),
    (qb.weakAnd(title.contains("century"), title.contains("blue"), annotations={"targetHits": 10}), "blue parklife tago"),
    # Elements, places, vectors, predicates.
    (tracks.contains(qb.sameElement(name.contains("River"), seconds > 100)), "blue"),
    (tracks.contains(qb.sameElement(name.contains("River"))), "blue tago"),
    (qb.geoLocation("place", 34.05, -118.25, "5 km"), "blue"),
    (qb.geoLocation("place", 34.05, -118.25, "30 km"), "blue hejira"),
    (qb.nearestNeighbor("embedding", "wanted", annotations={"targetHits": 2}), "blue hejira"),
    (qb.nearestNeighbor("embedding", "wanted", annotations={"targetHits": 2, "approximate": False}), "blue hejira"),
    (qb.nearestNeighbor("embedding", "wanted", annotations={"targetHits": 4, "distanceThreshold": 0.5}), "blue"),
    (qb.nearestNeighbor("embedding", "wanted", annotations={"targetHits": 1}) & (year > 1971), "hejira"),
    (qb.predicate("audience", {"likes": "jazz"}, {"age": "60L"}), "blue hejira"),
    (qb.predicate("audience", {"likes": "dogs"}), "parklife"),
    (qb.predicate("audience", range_attributes={"age": 44}), "blue"),
    (qb.nonEmpty(qb.userInput("@typed")), "parklife tago"),
    # How they are joined.
    (qb.rank(title.contains("century"), artist.contains("Can")), "parklife tago"),
    (qb.any(year > 1990, qb.all(year == 1971, artist.contains("Can"))), "parklife tago"),
    (qb.all(qb.any(year > 1990, year == 1971), title.contains("century")), "parklife tago"),
    (~title.contains("century") & (year == 1971), "blue"),
    (qb.true(), "blue hejira parklife tago"),
    (qb.false(), ""),
]


class Builder(VespaCase):
    @staticmethod
    def package():
        attribute, index = ["attribute", "summary"], ["index", "summary"]
        struct = Struct("track", [Field("name", "string"), Field("seconds", "int")])
        fields = [
            Field("title", "string", indexing=index, index="enable-bm25"),
            Field("artist", "string", indexing=attribute),
            Field("year", "int", indexing=attribute, attribute=["fast-search"]),
            Field("tags", "weightedset<string>", indexing=attribute, attribute=["fast-search"]),
            Field("place", "position", indexing=attribute),
            Field(
                "embedding", "tensor<float>(x[3])", indexing=["attribute", "index", "summary"],
                ann=HNSW(distance_metric="angular", max_links_per_node=16, neighbors_to_explore_at_insert=100),
            ),
            Field("link", "uri", indexing=index),
            Field(
                "tracks", "array<track>", indexing=["summary"],
                struct_fields=[StructField(part, indexing=["attribute"]) for part in ["name", "seconds"]],
            ),
            Field("audience", "predicate", indexing=attribute, index={"arity": 2}),
        ]
        wanted = [("query(wanted)", "tensor<float>(x[3])")]
        near = RankProfile("near", first_phase="closeness(field, embedding)", inherits="default", inputs=wanted)
        weights = RankProfile("weights", first_phase="rawScore(tags)", inherits="default", inputs=wanted)
        schema = Schema(
            "music", Document(fields, structs=[struct]), fieldsets=[FieldSet("default", ["title"])], rank_profiles=[near, weights]
        )
        return ApplicationPackage("music", schema=[schema])

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        VespaCase.setUp(cls)
        for name, fields in ALBUMS.items():
            answer = cls.app.feed_data_point("music", name, fields, namespace="ns")
            if not answer.is_successful():
                raise RuntimeError(answer.json)

    def setUp(self):
        # No test writes.
        pass

    def answer(self, query, **more):
        body = {"yql": str(query), "ranking": "near", "input.query(wanted)": [1, 0, 0], "typed": "century", "query": "+century +mago", **more}
        answer = self.app.query(body=body)
        self.assertTrue(answer.is_successful(), answer.json)
        return answer

    def found(self, query, **more):
        return [hit["id"].split("::")[1] for hit in self.answer(query, **more).hits]

    def test_conditions(self):
        music = qb.select("*").from_("music")
        for condition, expected in CONDITIONS:
            with self.subTest(condition.build()):
                self.assertEqual(sorted(self.found(music.where(condition))), expected.split())

    def test_the_nearest_come_first(self):
        query = qb.select("*").from_("music").where(qb.nearestNeighbor("embedding", "wanted", annotations={"targetHits": 4}))
        self.assertEqual(self.found(query)[:2], ["blue", "hejira"])
        self.assertEqual(self.found(query, **{"input.query(wanted)": [0, 0.1, 1]})[:2], ["tago", "parklife"])

    def test_weights_are_scores(self):
        for condition, expected in [
            (qb.dotProduct("tags", FOLK), {"blue": 18.0, "hejira": 14.0, "tago": 2.0}),
            (qb.wand("tags", FOLK), {"blue": 18.0, "hejira": 14.0, "tago": 2.0}),
        ]:
            hits = self.answer(qb.select("*").from_("music").where(condition), ranking="weights").hits
            self.assertEqual({hit["id"].split("::")[1]: hit["relevance"] for hit in hits}, expected, condition.build())

    def test_orders_limits_and_fields(self):
        query = qb.select(["artist", "year"]).from_("music").where(True)
        ordered = query.order_by("year", ascending=False).order_by("artist")
        self.assertEqual(self.found(ordered), ["parklife", "hejira", "tago", "blue"])
        page = qb.select(["artist", "year"]).from_("music").where(True).orderByAsc("year").orderByDesc("artist")
        answer = self.answer(page.set_limit(3).set_offset(1).set_timeout(5000))
        self.assertEqual([hit["fields"] for hit in answer.hits], [{"artist": "Can", "year": 1971}, {"artist": "Joni Mitchell", "year": 1976}])
        self.assertEqual(answer.number_documents_retrieved, 4)

    def test_parameters_of_a_query(self):
        query = qb.select("*").from_("music").where(qb.userInput("@animal")).param("animal", "hejira").param("hits", 5)
        # What the builder writes then is what stands behind the question mark of an address.
        target = "/search/?" + urllib.parse.quote(query.build(prepend_yql=True), safe="=&")
        status, _, body = self.server.request("GET", target)
        self.assertEqual(status, 200, body)
        self.assertEqual([hit["id"].split("::")[1] for hit in json.loads(body)["root"]["children"]], ["hejira"])


if __name__ == "__main__":
    unittest.main()

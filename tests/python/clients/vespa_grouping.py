"""Groupings that pyvespa's builder writes, and the groups that it finds in results."""

import unittest

import vespa.querybuilder as qb
from vespa.package import ApplicationPackage, Document, Field, Schema

from vespa_case import VespaCase

# Artist, year, plays.
ALBUMS = [("Blur", 1994, 7), ("Blur", 1997, 5), ("Joni", 1971, 9), ("Joni", 1976, 4), ("Joni", 1979, 1), ("Can", 1971, 2)]


class Groupings(VespaCase):
    @staticmethod
    def package():
        kinds = [("artist", "string"), ("year", "int"), ("plays", "int")]
        fields = [Field(name, kind, indexing=["summary", "attribute"]) for name, kind in kinds]
        return ApplicationPackage("music", schema=[Schema("music", Document(fields))])

    def setUp(self):
        super().setUp()
        for number, (artist, year, plays) in enumerate(ALBUMS):
            fields = {"artist": artist, "year": year, "plays": plays}
            answer = self.app.feed_data_point("music", str(number), fields, namespace="ns")
            self.assertTrue(answer.is_successful(), answer.json)

    def groups(self, grouping):
        """The lists of groups and hits of a grouping."""
        query = qb.select("*").from_("music").where(True).set_limit(0).groupby(grouping)
        answer = self.app.query(yql=query)
        self.assertTrue(answer.is_successful(), answer.json)
        (root,) = answer.json["root"]["children"]
        self.assertEqual((root["id"], root["relevance"]), ("group:root:0", 1.0))
        return root["children"]

    def test_sums_in_an_order(self):
        of = qb.Grouping
        each = of.each(of.output(of.count(), of.sum("plays"), of.avg("year")))
        (artists,) = self.groups(of.all(of.group("artist"), of.order(-of.sum("plays")), each))
        self.assertEqual((artists["id"], artists["label"]), ("grouplist:artist", "artist"))
        found = [(group["id"], group["value"], group["fields"]) for group in artists["children"]]
        self.assertEqual(
            found,
            [
                ("group:string:Joni", "Joni", {"count()": 3, "sum(plays)": 14, "avg(year)": 5926 / 3}),
                ("group:string:Blur", "Blur", {"count()": 2, "sum(plays)": 12, "avg(year)": 1995.5}),
                ("group:string:Can", "Can", {"count()": 1, "sum(plays)": 2, "avg(year)": 1971.0}),
            ],
        )

    def test_groups_of_groups_and_hits(self):
        of = qb.Grouping
        hits = of.each(of.output(of.summary()))
        decades = of.all(of.group("fixedwidth(year, 10)"), of.order(of.min("year")), of.each(of.output(of.count()), hits))
        (artists,) = self.groups(of.all(of.group("artist"), of.max(2), of.order("-count()"), of.each(decades)))
        self.assertEqual([group["value"] for group in artists["children"]], ["Joni", "Blur"])
        (list_of_decades,) = artists["children"][0]["children"]
        (seventies,) = list_of_decades["children"]
        self.assertEqual(seventies["limits"], {"from": "1970", "to": "1980"})
        self.assertEqual(seventies["id"], "group:long_bucket:1970:1980")
        (hits,) = seventies["children"]
        years = sorted(hit["fields"]["year"] for hit in hits["children"])
        self.assertEqual((hits["id"], years), ("hitlist:hits", [1971, 1976, 1979]))
        self.assertIn("next", artists["continuation"])


if __name__ == "__main__":
    unittest.main()

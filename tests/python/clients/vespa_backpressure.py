"""A server with little room for operations that are not yet done: pyvespa's own retries bring every document in.

All feeds of pyvespa send what was answered with 429 again: the synchronous ones up to `num_retries_429` times (10), the asynchronous
ones without end. Who tells them not to (`num_retries_429=0`, `NO_RETRY`) is told of each 429.
"""

import asyncio
import re
import unittest

from vespa.package import ApplicationPackage, Document, Field, Schema
from vespa.retries import NO_RETRY

from vespa_case import VespaCase

COUNT = 300


def documents(numbers=range(COUNT)):
    return [{"id": str(number), "fields": {"title": f"title {number}"}} for number in numbers]


class Backpressure(VespaCase):
    arguments = ("--max_pending_operations", "1")

    @staticmethod
    def package():
        fields = [Field("title", "string", indexing=["summary", "attribute"])]
        return ApplicationPackage("music", schema=[Schema("music", Document(fields))])

    def setUp(self):
        super().setUp()
        self.before = self.refused()

    def refused(self):
        """Answers with 429 that the server has counted."""
        _, _, body = self.server.request("GET", "/metrics")
        return int(re.search(r"^stead_document_operations_refused (\d+)$", body.decode(), re.MULTILINE)[1])

    def check_all_are_stored(self):
        found = []
        for part in self.app.visit("music_content", "music", "ns"):
            for answer in part:
                found += [(document["id"], document["fields"]["title"]) for document in answer.documents]
        self.assertEqual(sorted(found), sorted((f"id:ns:music::{n}", f"title {n}") for n in range(COUNT)))

    def feed(self, feed, numbers=range(COUNT), **more):
        """The status of each document as the callback is told."""
        statuses = {}

        def callback(response, number):
            statuses[int(number)] = response.status_code

        feed(documents(numbers), schema="music", namespace="ns", callback=callback, **more)
        self.assertEqual(sorted(statuses), sorted(numbers))
        return statuses

    def check_retries(self, feed):
        statuses = self.feed(feed)
        self.assertEqual(set(statuses.values()), {200})
        self.assertGreater(self.refused(), self.before)
        self.check_all_are_stored()

    def test_from_an_iterable(self):
        self.check_retries(self.app.feed_iterable)

    def test_from_an_iterable_over_http2(self):
        self.check_retries(self.app.feed_async_iterable)

    def test_asynchronously(self):
        async def run():
            async with self.app.asyncio() as session:
                feed = (session.feed_data_point("music", d["id"], d["fields"], namespace="ns") for d in documents())
                return await asyncio.gather(*feed)

        answers = asyncio.run(run())
        self.assertEqual({answer.status_code for answer in answers}, {200})
        self.assertGreater(self.refused(), self.before)
        self.check_all_are_stored()

    def check_without_retries(self, feed, **more):
        told, left = 0, range(COUNT)
        while left:
            statuses = self.feed(feed, left, **more)
            self.assertLessEqual(set(statuses.values()), {200, 429})
            left = [number for number, status in statuses.items() if status == 429]
            told += len(left)
        self.assertGreater(told, 0)
        self.assertEqual(self.refused() - self.before, told)
        self.check_all_are_stored()

    def test_who_wants_no_retries_is_told_of_each_429(self):
        self.check_without_retries(self.app.feed_iterable, num_retries_429=0)

    def test_who_wants_no_retries_over_http2_is_told_of_each_429(self):
        self.check_without_retries(self.app.feed_async_iterable, docv1_retry_policy=NO_RETRY)


if __name__ == "__main__":
    unittest.main()

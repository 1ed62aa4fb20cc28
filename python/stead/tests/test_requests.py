import json

from stead import Hit, Query, Request, Response, Result, Tensor

from .common import BothWays


class Queries(BothWays):
    def test_parameters_are_texts(self):
        query = Query([("yql", "select"), ("hits", "3")])
        self.assertEqual((query.yql, query.hits, query.offset, query.profile), ("select", 3, 0, "default"))
        query.hits += 2
        query["trace"], query.profile, query["x"] = True, "late", 1.5
        self.assertEqual(
            query.parameters, {"yql": "select", "hits": "5", "trace": "true", "ranking.profile": "late", "x": "1.5"}
        )
        del query["trace"]
        self.assertNotIn("trace", query)
        self.refused("parameter x is a text or a number, not list", query.__setitem__, "x", [], error=TypeError)

    def test_features_are_set_and_those_of_the_request_are_read(self):
        query = Query(
            {"input.query(a)": "2.5", "ranking.features.query(b)": "tensor(x[1]):[3]", "input.query(c)": "[1,2]"}
        )
        self.assertEqual(query.features["a"], 2.5)
        self.assertEqual(query.features["query(b)"], Tensor("tensor(x[1])", [3]))
        self.assertEqual(query.features.get("c"), "[1,2]")
        query.features["query(a)"] = 4
        other = query.clone()
        other.features["a"] = Tensor("double", 1)
        other.hits = 1
        self.assertEqual((query.features["a"], "hits" in query, "d" in query.features), (4.0, False, False))
        self.refused(
            "a is a stead.Tensor, a number or a text, not list", query.features.__setitem__, "a", [], error=TypeError
        )
        self.refused("query(d)", query.features.__getitem__, "d", error=KeyError)

    def test_results_are_sorted(self):
        result = Result([Hit("a", 1.0, {"t": 1}), Hit("b", 2.0), Hit("c", 1.0)])
        result.sort()
        self.assertEqual(([hit.id for hit in result.hits], result.total), (["b", "a", "c"], 3))
        self.assertEqual((result.hits[1]["t"], result.hits[1].get("u", 5), "u" in result.hits[1]), (1, 5, False))


class Http(BothWays):
    def test_requests(self):
        request = Request(
            "POST",
            "/a",
            parameters=[["x", "1"], ["x", "2"]],
            headers=[["content-type", "application/json"]],
            body=b'{"a": 1}',
        )
        self.assertEqual((request.parameter("x"), request.parameter("y", "z"), request.json()), ("1", "z", {"a": 1}))
        self.assertEqual(
            (request.headers["Content-Type"], request.headers.get("none"), request.headers.all("CONTENT-TYPE")),
            ("application/json", None, ["application/json"]),
        )
        self.assertIn("content-type", request.headers)
        # As a server sends them.
        for lines, pairs in [("", []), ("a\n", [("a", "")]), ("a\n1\nb\nx: y", [("a", "1"), ("b", "x: y")])]:
            request = Request(headers=lines, matched=("m",))
            self.assertEqual((list(request.headers), request.matched), (pairs, ["m"]))
            self.assertIs(request.headers, request.headers)

    def test_bodies_of_responses(self):
        for body, kind, data in [
            (b"\x00", "application/octet-stream", b"\x00"),
            ("\u00fc", "text/plain; charset=utf-8", "\u00fc".encode()),
            ({"a": [1]}, "application/json", b'{"a": [1]}'),
            ([], "application/json", b"[]"),
            (Tensor("tensor(x[1])", [1]), "application/json", b'{"type":"tensor(x[1])","values":[1.0]}'),
        ]:
            response = Response(body)
            self.assertEqual((response.status, response.headers["content-type"], response.body), (200, kind, data))
        response = Response({"a": 1}, 404, {"Content-Type": "text/x", "a": "b"})
        self.assertEqual(
            (response.status, list(response.headers), response.json()),
            (404, [("Content-Type", "text/x"), ("a", "b")], {"a": 1}),
        )
        self.assertEqual(
            Response("x", headers={"Content-Type": "a/b"}, content_type="c/d").headers.pairs, [("content-type", "c/d")]
        )
        self.assertEqual(json.loads(Response({}).text()), {})
        self.refused("the body of a response is bytes", Response, 5, error=TypeError)

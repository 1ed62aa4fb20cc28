from stead import Document, DocumentId, DocumentPut, DocumentRemove, DocumentUpdate, Position, Tensor
from stead._operations import Operations
from stead.documents import json_value
from stead.errors import ComponentError
from stead.values import decode, encode

from .common import BothWays

TYPES = {
    "doc": {
        "title": "string",
        "year": "int",
        "score": "float",
        "tags": "array<string>",
        "weights": "weightedset<string>",
        "there": "position",
        "raw": "raw",
        "is_new": "bool",
        "embedding": "tensor<float>(x[2])",
    }
}


class Documents(BothWays):
    def test_ids(self):
        id = DocumentId("id:a:doc:g=x:one:two")
        self.assertEqual((id.namespace, id.type, id.key, id.local), ("a", "doc", "g=x", "one:two"))
        self.assertEqual((str(id), id), ("id:a:doc:g=x:one:two", "id:a:doc:g=x:one:two"))
        for text in ["", "doc", "id:a:doc", "id:a::x:y"]:
            self.refused("expected a document id", DocumentId, text)

    def test_fields_are_checked_where_their_types_are_known(self):
        document = Document("id:a:doc::1", types=TYPES["doc"])
        for name, value, expected in [
            ("title", "x", "x"),
            ("year", 5, 5),
            ("score", 2, 2.0),
            ("tags", ("a", "b"), ["a", "b"]),
            ("weights", {"a": 1}, {"a": 1}),
            ("there", (1.0, 2.0), Position(1.0, 2.0)),
            ("raw", bytearray(b"x"), b"x"),
            ("is_new", True, True),
            ("embedding", [1, 2], Tensor("tensor<float>(x[2])", [1, 2])),
            ("embedding", Tensor("tensor(x[2])", [1, 2]), Tensor("tensor<float>(x[2])", [1, 2])),
        ]:
            document[name] = value
            self.assertEqual(document[name], expected)
        for name, value, error, message in [
            ("titel", "x", KeyError, "documents of type doc have no field titel; they have embedding"),
            ("title", 5, TypeError, "field title of doc (string): expected a text, found int"),
            ("year", 5.5, TypeError, "expected a number, found float"),
            ("year", True, TypeError, "expected a number, found bool"),
            ("tags", "x", TypeError, "expected a list, found str"),
            ("tags", [1], TypeError, "expected a text, found int"),
            ("weights", ["a"], TypeError, "expected a dict"),
            ("is_new", 1, TypeError, "expected True or False"),
            ("raw", "x", TypeError, "expected bytes"),
            ("embedding", [1], ValueError, "field embedding of doc (tensor<float>(x[2])): dimension x"),
        ]:
            self.refused(message, document.__setitem__, name, value, error=error)
        self.assertEqual(Document("id:a:doc::1", {"anything": 1})["anything"], 1)

    def test_updates_are_those_of_json(self):
        update = DocumentUpdate("id:a:doc::1").assign("title", "x").increment("year", 2).add("tags", ["a"])
        update.assign("embedding", Tensor("tensor<float>(x[2])", [1, 2])).assign("there", Position(1.5, 2.0)).assign(
            "raw", b"\x00"
        )
        self.assertEqual(
            json_value(update.fields),
            {
                "title": {"assign": "x"},
                "year": {"increment": 2},
                "tags": {"add": ["a"]},
                "raw": {"assign": "AA=="},
                "embedding": {"assign": {"type": "tensor<float>(x[2])", "values": [1.0, 2.0]}},
                "there": {"assign": {"lat": 1.5, "lng": 2.0}},
            },
        )
        self.refused("has no form in JSON", json_value, {"a": object()}, error=TypeError)


def raw(id="id:a:doc::1", kind="put", **members):
    found = {"op": kind, "id": id, "type": "doc", "condition": None, "create": False, "fields": {}}
    return {**found, **members}


class OperationsThatCameBack(BothWays):
    """What stead is told of operations: nothing is sent back that did not change."""

    def sent(self, change, *operations):
        known = Operations(list(operations), TYPES)
        return known.encoded(change(known.all), "p")

    def test_what_nobody_changed_is_a_number(self):
        fields = {"title": "x", "tags": ["a"], "embedding": encode(Tensor("tensor<float>(x[2])", [1, 2]))}
        operations = [raw(fields=fields), raw(kind="update", fields={"title": {"assign": "y"}}), raw(kind="remove")]
        self.assertEqual(self.sent(lambda all: all, *operations), [0, 1, 2])

        def read(all):
            self.assertEqual(all[0].document["tags"], ["a"])
            self.assertEqual(all[0].document["embedding"], Tensor("tensor<float>(x[2])", [1, 2]))
            all[0].document["title"] = "x"
            return all

        self.assertEqual(self.sent(read, *operations), [0, 1, 2])

    def test_changes_are_told(self):
        def change(all):
            document = all[0].document
            document["tags"].append("b")
            document["year"] = 5
            document["year"] = 6
            del document["title"]
            all[1].condition = "doc.year > 5"
            all[2].fields["title"]["assign"] = "z"
            return [all[2], all[0], all[1]]

        fields = {"title": "x", "tags": ["a"]}
        update, put, conditional = self.sent(
            change,
            raw(fields=fields),
            raw("id:a:doc::2", fields={"title": "y"}),
            raw("id:a:doc::3", "update", fields={"title": {"assign": "y"}}),
        )
        self.assertEqual(update["fields"], {"title": {"assign": "z"}})
        self.assertEqual((put["ref"], put["fields"], put["removed"]), (0, {"tags": ["a", "b"], "year": 6}, ["title"]))
        self.assertEqual((conditional["ref"], conditional["fields"], conditional["condition"]), (1, {}, "doc.year > 5"))

    def test_what_is_new_is_whole(self):
        fields = {"title": "x", "year": 5}

        def change(all):
            document = all[0].document
            document["year"] = 6
            other = Document("id:a:doc::4", {"title": "new"})
            all[1].document = other
            return [DocumentPut(document, create=True), DocumentRemove("id:a:doc::9"), all[1]]

        put, remove, replaced = self.sent(change, raw(fields=fields), raw(fields=fields))
        self.assertEqual((put["fields"], put["create"], "ref" in put), ({"title": "x", "year": 6}, True, False))
        self.assertEqual(remove, {"op": "remove", "id": "id:a:doc::9", "type": "doc", "condition": None})
        self.assertEqual(
            (replaced["id"], replaced["fields"], "ref" in replaced), ("id:a:doc::4", {"title": "new"}, False)
        )

    def test_what_is_wrong_names_the_component(self):
        for change, message in [
            (lambda all: None, "p.process gave nothing; it has to give the list of operations to go on with"),
            (lambda all: all[0], "p.process gave a value of type DocumentPut"),
            (lambda all: [1], "p.process gave a list with a value of type int"),
            (
                lambda all: [DocumentPut(Document("id:a:doc::1", {"title": object()}))],
                "p.process gave document id:a:doc::1 with a value of type object",
            ),
        ]:
            self.refused(message, self.sent, change, raw(), error=ComponentError)


class Values(BothWays):
    def test_values_come_back(self):
        for value in [
            None,
            True,
            5,
            2.5,
            "x",
            b"\x00",
            [1, [2]],
            {"a": {"b": 1}},
            {1: "x", 2.5: None},
            {"$": 1},
            {"a": {"$": {"$": 2}}},
            Position(1.0, 2.0),
            Tensor("tensor(a{},b{},x[2])", {("p", "q"): [1, 2]}),
            Tensor("double", 5),
            {},
            [],
            Tensor("tensor<bfloat16>(x[2])", [1, 0.5]),
            Tensor("tensor(x{})", {}),
        ]:
            self.assertEqual(decode(encode(value)), value)
        self.refused("a value of type object", encode, [object()], error=TypeError)
        self.refused("a value of type set", encode, {"a": {1}}, error=TypeError)
        self.refused("unknown kind 'x'", decode, {"$": "x"})

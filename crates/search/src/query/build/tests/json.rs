//! Queries as JSON are the trees that the same ones in YQL are.

use super::{built_of, show};
use crate::select::read;
use crate::yql::parse;

#[test]
fn json_is_the_tree_of_yql() {
    for (json, yql) in [
        ("true", "true"),
        ("false", "false"),
        (r#"{"contains": ["t", "Ab"]}"#, "t contains 'Ab'"),
        (
            r#"{"contains": {"children": ["t", "Ab"], "attributes": {"prefix": true}}}"#,
            "t contains ({prefix: true}'Ab')",
        ),
        (r#"{"t": "Ab"}"#, "t contains 'Ab'"),
        (
            r#"{"and": {"children": [{"t": "a"}, {"body": "dogs"}]}}"#,
            "t contains 'a' and body contains 'dogs'",
        ),
        (
            r#"{"or": [{"contains": ["t", "a"]}, {"and": [{"contains": ["c", "b"]}, true]}]}"#,
            "t contains 'a' or (c contains 'b' and true)",
        ),
        (
            r#"{"and_not": [{"contains": ["t", "a"]}, {"contains": ["t", "b"]}, {"equals": ["n", 3]}]}"#,
            "t contains 'a' and !(t contains 'b') and !(n = 3)",
        ),
        (r#"{"equals": ["n", -5]}"#, "n = -5"),
        (r#"{"equals": ["b", true]}"#, "b = true"),
        (r#"{"equals": {"field": "n", "value": 42}}"#, "n = 42"),
        (r#"{"equals": {"field": "people.age", "index": 2, "value": 42}}"#, "people.age[2] = 42"),
        (r#"{"equals": {"field": "tags", "index": 0, "value": "a"}}"#, "tags[0] = 'a'"),
        (r#"{"in": ["n", 3, 1, 3]}"#, "n in (3, 1, 3)"),
        (r#"{"in": {"children": ["t", "a", "B"]}}"#, "t in ('a', 'B')"),
        (r#"{"in": ["body", "Cats"]}"#, "body in ('Cats')"),
        (r#"{"not": {"contains": ["t", "a"]}}"#, "!(t contains 'a')"),
        (
            r#"{"and": [{"n": 1}, {"not": {"or": [{"in": ["n", 3]}, {"not": false}]}}]}"#,
            "n contains '1' and !(n in (3) or !(false))",
        ),
        (r#"{"range": ["n", {">=": 10}]}"#, "n >= 10"),
        (r#"{"range": ["n", {">": 2.5}]}"#, "n > 2.5"),
        (r#"{"range": [{"<": 10}, "n"]}"#, "n < 10"),
        (r#"{"range": ["n", {"<=": 10}]}"#, "n <= 10"),
        (r#"{"range": ["n", {"=": 10}]}"#, "n = 10"),
        (r#"{"range": ["n", {">=": 0, "<=": 500}]}"#, "range(n, 0, 500)"),
        (r#"{"range": ["n", {">": 0, "<": 500}]}"#, "{bounds: 'open'}range(n, 0, 500)"),
        (r#"{"range": ["n", {"<=": 500, ">": 0}]}"#, "{bounds: 'leftOpen'}range(n, 0, 500)"),
        (r#"{"range": ["n", {">=": 0, "<": 500}]}"#, "{bounds: 'rightOpen'}range(n, 0, 500)"),
        (r#"{"matches": ["t", "mado[n]+a"]}"#, "t matches 'mado[n]+a'"),
        (
            r#"{"contains": ["body", {"phrase": ["st", "louis", "blues"]}]}"#,
            "body contains phrase('st', 'louis', 'blues')",
        ),
        (r#"{"contains": ["body", {"near": ["a", "b"]}]}"#, "body contains near('a', 'b')"),
        (
            r#"{"contains": ["body", {"onear": {"children": ["a", "b"], "attributes": {"distance": 100}}}]}"#,
            "body contains ({distance: 100}onear('a', 'b'))",
        ),
        (r#"{"contains": ["t", {"equiv": ["A", "B"]}]}"#, "t contains equiv('A', 'B')"),
        (
            r#"{"contains": ["body", {"alternatives": [{"dogs": 1.0, "dog": 0.7}]}]}"#,
            "body contains alternatives({'dogs': 1.0, 'dog': 0.7})",
        ),
        (
            r#"{"contains": ["t", {"fuzzy": {"children": ["ab"], "attributes": {"maxEditDistance": 1}}}]}"#,
            "t contains ({maxEditDistance: 1}fuzzy('ab'))",
        ),
        (
            r#"{"contains": ["body", {"text": {"query": "a b", "attributes": {"grammar": "all"}}}]}"#,
            "body contains ({grammar: 'all'}text('a b'))",
        ),
        (
            r#"{"contains": ["people", {"sameElement": [{"name": "a", "range": ["age", {"<": 4}]}]}]}"#,
            "people contains sameElement(name contains 'a' and age < 4)",
        ),
        (
            r#"{"contains": ["people", {"sameElement": {"children": [{"contains": ["name", "a"]}, {"equals": ["age", 4]}], "attributes": {"elementFilter": [2, 0]}}}]}"#,
            "people contains ({elementFilter: [2, 0]}sameElement(name contains 'a', age = 4))",
        ),
        (
            r#"{"contains": ["tags", {"sameElement": [{"or": ["a", "b"]}]}]}"#,
            "tags contains sameElement('a' or 'b')",
        ),
        (r#"{"wand": ["w", {"1": 1, "2": 2}]}"#, "wand(w, {'1': 1, '2': 2})"),
        (
            r#"{"wand": {"children": ["w", [[1, 2], [3, 4]]], "attributes": {"scoreThreshold": 13, "targetHits": 7}}}"#,
            "{scoreThreshold: 13, targetHits: 7}wand(w, [[1, 2], [3, 4]])",
        ),
        (r#"{"dotProduct": ["w", {"1": 1}]}"#, "dotProduct(w, {'1': 1})"),
        (r#"{"weightedSet": ["t", {"a": 1, "b": 2}]}"#, "weightedSet(t, {'a': 1, 'b': 2})"),
        (
            r#"{"weakAnd": {"children": [{"contains": ["body", "A"]}, {"contains": ["t", "B"]}], "attributes": {"totalTargetHits": 7}}}"#,
            "{totalTargetHits: 7}weakAnd(body contains 'A', t contains 'B')",
        ),
        (
            r#"{"rank": [{"contains": ["t", "A"]}, {"contains": ["c", "B"]}]}"#,
            "rank(t contains 'A', c contains 'B')",
        ),
        (
            r#"{"nearestNeighbor": {"children": ["v", "q"], "attributes": {"targetHits": 3, "label": "x"}}}"#,
            "{targetHits: 3, label: 'x'}nearestNeighbor(v, q)",
        ),
        (r#"{"geoLocation": ["p", 63.4, -10.4, "5 km"]}"#, "geoLocation(p, 63.4, -10.4, '5 km')"),
        (r#"{"nonEmpty": {"contains": ["t", "a"]}}"#, "nonEmpty(t contains 'a')"),
        (
            r#"{"userInput": {"children": ["big dogs"], "attributes": {"defaultIndex": "body"}}}"#,
            "{defaultIndex: 'body'}userInput('big dogs')",
        ),
        (r#"{"userQuery": []}"#, "userQuery()"),
    ] {
        let written = built_of(&read(json).unwrap_or_else(|error| panic!("{json}: {error}")));
        let expected = built_of(&parse(&format!("select * from d where {yql}")).unwrap());
        let (written, expected) = (written.unwrap(), expected.unwrap());
        assert_eq!(show(&written.root, &written), show(&expected.root, &expected), "{json}");
        assert_eq!(written.warnings, expected.warnings, "{json}");
        let styles = |tree: &super::QueryTree| {
            tree.terms.iter().map(|term| term.style.clone()).collect::<Vec<_>>()
        };
        assert_eq!(styles(&written), styles(&expected), "{json}");
    }
}

//! What is refused, and groupings; queries that are read stand beside those in YQL.

use super::{fields, groupings, read};
use crate::grouping::syntax::parse;

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (json, expected) in [
        ("", "Json parse error. EOF while parsing a value at line 1 column 0"),
        ("[]", "expected an object with an operator, found a list"),
        ("{}", "expected an operator, found an empty object"),
        (r#""word""#, "expected an object with an operator, found a text"),
        (r#"{"and": []}"#, "and: expected 1 or more children, found none"),
        (r#"{"and": [true, 7]}"#, "and[1]: expected an object with an operator, found a number"),
        (r#"{"and": {"child": []}}"#, "and: expected children or attributes, found child"),
        (r#"{"and": {"children": true}}"#, "and.children: expected a list, found true or false"),
        (
            r#"{"and": [{"contains": ["t", "a"], "range": []}]}"#,
            "and[0]: expected one operator, found contains and range",
        ),
        (r#"{"or": [{"contains": ["t"]}]}"#, "or[0].contains: expected 2 children, found 1"),
        (r#"{"contains": [7, "a"]}"#, "contains: expected the name of a field, found a number"),
        (
            r#"{"contains": ["t", {"close": ["a"]}]}"#,
            "contains.close: expected one of sameElement, phrase, near, onear, equiv, alternatives, fuzzy, text, uri",
        ),
        (r#"{"contains": ["t", null]}"#, "contains: expected a word or a function, found null"),
        (
            r#"{"contains": ["t", {"text": {"query": "a", "grammar": "all"}}]}"#,
            "contains.text: expected query or attributes, found grammar",
        ),
        (r#"{"in": []}"#, "in: expected a field and values, found none"),
        (r#"{"in": [7, 8]}"#, "in: expected the name of a field, found a number"),
        (r#"{"in": ["n", 8, 1.5]}"#, "in[2]: expected a text or a whole number, found a number"),
        (r#"{"in": ["n", [8]]}"#, "in[1]: expected a text or a whole number, found a list"),
        (r#"{"not": []}"#, "not: expected an object with an operator, found a list"),
        (
            r#"{"not": {"in": ["n", null]}}"#,
            "not.in[1]: expected a text or a whole number, found null",
        ),
        (r#"{"equals": ["n", 1.5]}"#, "equals: expected a whole number or a bool, found a number"),
        (r#"{"equals": ["t", "a"]}"#, "equals: expected a whole number or a bool, found a text"),
        (r#"{"equals": {"field": "n"}}"#, "equals: expected a field and a value"),
        (
            r#"{"equals": {"field": "n", "at": 1}}"#,
            "equals: expected field, index or value, found at",
        ),
        (r#"{"range": ["n", {"<": "5"}]}"#, "range: expected a number behind <, found a text"),
        (r#"{"range": ["n", {"!=": 5}]}"#, "range: expected >, >=, <, <= or =, found !="),
        (
            r#"{"range": ["n", {">": 5, ">=": 5}]}"#,
            "range: expected one bound of a side, found >= too",
        ),
        (r#"{"range": ["n", {}]}"#, "range: expected a bound, found none"),
        (r#"{"range": ["n", 5]}"#, "range: expected an object with bounds, found a number"),
        (
            r#"{"wand": {"children": ["w", {}], "attributes": 7}}"#,
            "wand.attributes: expected an object, found a number",
        ),
        (
            r#"{"like": ["t", "a"]}"#,
            "like: expected one of and, or, and_not, not, equals, in, range, contains, matches, wand, weightedSet, dotProduct, geoLocation, \
             geoBoundingBox, nearestNeighbor, predicate, userInput, userQuery, rank, weakAnd, nonEmpty, or a word for a field",
        ),
    ] {
        let error = read(json).unwrap_err();
        assert_eq!(error.to_string(), expected, "{json}");
    }
}

#[test]
fn depth_and_length_have_limits() {
    let nested = |depth: usize| r#"{"and":["#.repeat(depth) + "true" + &"]}".repeat(depth);
    assert!(read(&nested(60)).is_ok());
    // The reader of JSON stops at 128 levels, which two for each operator are.
    for depth in [65, 1000, 100_000] {
        assert!(read(&nested(depth)).is_err(), "{depth}");
    }
    let lists = format!(r#"{{"wand": ["w", {}1{}]}}"#, "[".repeat(80), "]".repeat(80));
    let error = read(&lists).unwrap_err();
    assert_eq!(error.to_string(), "wand[1]: more than 64 levels of nesting");
    let long = format!(r#"{{"contains": ["t", "{}"]}}"#, "a".repeat(4 << 20));
    assert!(read(&long).unwrap_err().to_string().ends_with("4194304 is the most"));
    let many = format!(r#"{{"wand": ["w", [{}1]]}}"#, "1,".repeat(1 << 20));
    let error = read(&many).unwrap_err();
    assert_eq!(error.to_string(), "wand[1]: more than 1048576 values and operators");
}

#[test]
fn groupings_are_those_of_their_texts() {
    for (json, expected) in [
        (
            r#"[{"all": {"group": "time.year(a)", "each": {"output": "count()"},
                "all": {"group": "time.monthofyear(a)", "each": {"output": "count()"}}}}]"#,
            "all(group(time.year(a)) each(output(count())) all(group(time.monthofyear(a)) each(output(count()))))",
        ),
        (
            r#"[{"all": {"group": "year", "label": "by_year", "each": {"output": "count()"}}}]"#,
            "all(group(year) each(output(count())) as(by_year))",
        ),
        (
            r#"[{"all": {"group": "author", "output": "count() as(authors)"}}]"#,
            "all(group(author) output(count() as(authors)))",
        ),
        (
            r#"[{"all": {"group": {"predefined": ["foo", {"bucket": [1, 2]}, {"bucket": [3, 4]}]}}}]"#,
            "all(group(predefined(foo, bucket[1, 2>, bucket[3, 4>)))",
        ),
        (
            r#"[{"all": {"group": "\"all\"", "each": {"output": ["avg(price)", "sum(price)"]}}}]"#,
            r#"all(group("all") each(output(avg(price), sum(price))))"#,
        ),
        // Members that were sorted.
        (
            r#"{"all": {"each": {"each": {"output": {"summary": []}}, "max": 2}, "group": {"fixedwidth": ["n", 10]}, "max": 5, "order": "-count()"}}"#,
            "all(group(fixedwidth(n, 10)) max(5) order(-count()) each(max(2) each(output(summary()))))",
        ),
    ] {
        let texts = groupings(json).unwrap_or_else(|error| panic!("{json}: {error}"));
        let shown = |text: &str| {
            let found = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(shown(&texts.join(";")), shown(expected), "{json}");
    }
    for (json, expected) in [
        ("7", "expected a list of groupings, found a number"),
        (r#"[{"all": {"max": null}}]"#, "[0].all.max: expected a value, found null"),
        (
            r#"[{"all": {"label": "x", "group": "n"}}]"#,
            "[0].all: expected one each beside label, whose list it names",
        ),
        (r#"[{"all": {"label": 7}}]"#, "[0].all: expected one label, a text"),
    ] {
        assert_eq!(groupings(json).unwrap_err().to_string(), expected, "{json}");
    }
}

#[test]
fn fields_are_names() {
    assert_eq!(fields(r#"["id", "title"]"#).unwrap(), ["id", "title"]);
    for json in ["{}", "[1]", "id"] {
        assert!(fields(json).is_err(), "{json}");
    }
}

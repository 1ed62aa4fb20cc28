//! What queries cannot ask for.

use super::{built, show};

#[test]
fn what_cannot_be_answered_is_refused_by_name() {
    for (filter, expected) in [
        ("z = 1", "Field 'z' does not exist."),
        ("z in (1)", "Field 'z' does not exist."),
        ("z{'a'} = 1", "Field 'z' does not exist."),
        ("labeled(n = 1, 'a')", "Expected 3 arguments, got 2."),
        ("labeled(n = 1, 'a', 'b')", "Expected a number as the label score, got b."),
        ("labeled(n = 1, 2, 3)", "expected a label, a text, as the second argument of labeled"),
        ("prices{'a'} < 1", "the value of a map is compared by = only; write sameElement"),
        (
            "prices contains sameElement(key{'a'} = 1)",
            "the key of a map is not supported within sameElement",
        ),
        (
            "n contains ({connectivity: {id: 3, weight: 0.5}}'1')",
            "An item was specified to connect to item with ID 3, which does not exist in the query.",
        ),
        (
            "n contains ({id: 3, connectivity: {id: 3}}'1')",
            "expected an id, a whole number, and a weight in connectivity",
        ),
        (
            "note contains 'a'",
            "Field 'note' is no attribute and has no index; it cannot be searched",
        ),
        (
            "body matches 'a'",
            "Field 'body' has an index of text only; matches or fuzzy needs an attribute",
        ),
        (
            "dotProduct(body, {'a': 1})",
            "Field 'body' has an index of text only; dotProduct needs an attribute",
        ),
        (
            "body contains ({suffix: true}'a')",
            "Field 'body' is not matched by suffix; write match: suffix in the schema, or matches with a regular expression",
        ),
        ("body contains ({prefix: true}'a b')", "expected one word to begin with, got \"a b\""),
        (
            "body contains near('a', !'b', 'c')",
            "Positive terms must come before negative terms in NEAR",
        ),
        (
            "body contains onear(!'b', 'c')",
            "Must have some positive term before negative terms in ONEAR",
        ),
        (
            "body contains near('a', fuzzy('b'))",
            "Expected equiv, phrase, or alternatives, but got: fuzzy",
        ),
        ("body contains near('a', equiv('b'))", "Expected 2 or more arguments, got 1."),
        ("body contains near('a', alternatives({'b': 'c'}))", "expected a number behind \"b\""),
        ("body contains onear('a', {prefix: true}'b')", "onear takes whole words, not prefix"),
        ("body contains phrase('a', !'b')", "phrase excludes no words"),
        (
            "body contains ({exclusionDistance: -2}near('a', !'b'))",
            "expected a distance from 0 of near, got -2",
        ),
        (
            "body contains ({distance: -1}near('a', 'b'))",
            "expected a distance from 0 of near, got -1",
        ),
        (
            "body contains alternatives('a')",
            "Expected 1 argument, a map of words with how exact they are.",
        ),
        ("nonEmpty(body contains '.')", "Searching for empty string inside nonEmpty()"),
        ("body < 3", "Field 'body' is a string; write body contains \"...\""),
        ("weakAnd()", "Expected 1 or more arguments, got 0."),
        ("{targetHits: 0}wand(w, {'1': 2})", "expected targetHits from 1 of wand, got 0"),
        ("({targetHits: 0}weakAnd(n = 1))", "expected targetHits from 1 of weakAnd, got 0"),
        (
            "weakAnd({targetHits: 1}nearestNeighbor(v, q))",
            "nearestNeighbor is not supported within weakAnd",
        ),
        (
            "{grammar: 'poem'}userInput('a')",
            "expected one of raw, weakAnd, all, any, web, phrase, near, onear, segment, tokenize, linguistics as the grammar, got poem",
        ),
        (
            "{grammar.composite: 'all'}userInput('a')",
            "expected one of and, or, weakAnd, phrase, near, oNear as the composite of the grammar, got all",
        ),
        (
            "{grammar.syntax: 'yql'}userInput('a')",
            "expected one of simple, web, none as the syntax of the grammar, got yql",
        ),
        (
            "{grammar.tokenization: 'linguistics'}userInput('a')",
            "Linguistics tokenization can only be combined with syntax none",
        ),
        (
            "{defaultIndex: 'body', grammar: 'near'}userInput('a b*')",
            "the grammar near takes words and phrases of one field",
        ),
        (
            "{defaultIndex: 't', grammar: 'near'}userInput('a b')",
            "Field 't' has no index of text, which near needs",
        ),
        ("{defaultIndex: 'n'}userInput('*5')", "Field 'n' is a int and has no \"*5\""),
        ("{defaultIndex: 'z'}userInput('a')", "Field 'z' does not exist."),
        ("nonEmpty(userInput(@empty))", "Searching for empty string inside nonEmpty()"),
        ("t contains uri('a.b')", "Field 't' has no index of text, which uri needs"),
        (
            "predicate(n, {}, {})",
            "Field 'n' is a int; predicate needs an attribute of type predicate",
        ),
        ("t contains phrase('a', 'b')", "Field 't' has no index of text, which phrase needs"),
        ("z contains phrase('a', 'b')", "Field 'z' does not exist."),
        ("texts contains near('a', 'b')", "Field 't' has no index of text, which near needs"),
        (
            "beside contains near('a', fuzzy('b'))",
            "Expected equiv, phrase, or alternatives, but got: fuzzy",
        ),
        (
            "f(n)",
            "Expected one of range, wand, weightedSet, dotProduct, geoBoundingBox, geoLocation, nearestNeighbor, rank, labeled, nonEmpty, weakAnd, userQuery, userInput, predicate, got f.",
        ),
        ("t = 'a'", "Field 't' is a string; write t contains \"...\""),
        ("n = 'a'", "Field 'n' is a int; expected a number, got a"),
        ("n = true", "Field 'n' is a int; expected a number, got true"),
        ("b > 1", "Field 'b' is a bool; write = true or = false"),
        ("v = 1", "Field 'v' is a tensor<float>(x[2]), which is not compared"),
        ("n contains 'a'", "Field 'n' is a int and has no \"a\""),
        ("v contains 'a'", "Field 'v' is a tensor<float>(x[2]), which contains does not search"),
        ("n matches 'a'", "Field 'n' is a int; matches and fuzzy search texts only"),
        ("t matches '('", "( is no regular expression"),
        ("1 = 2", "expected a field on one side of a comparison and a value on the other"),
        ("n", "expected an operator such as =, contains or and, found a value alone"),
        ("n = @none", "Error, missing query property: none"),
        (
            "range(n, cox, 8)",
            "Expected a numerical argument (or 'Infinity') to range but got 'cox'",
        ),
        ("range(n, 1)", "Expected 3 arguments, got 2."),
        ("{bounds: 'shut'}range(n, 1, 2)", "Expected open, leftOpen or rightOpen, got \"shut\"."),
        ("{bounds: 1}range(n, 1, 2)", "expected a text for annotation 'bounds', got 1"),
        (
            "x in (1)",
            "The in operator is only supported for integer and string fields. The field x is not of these types",
        ),
        (
            "mixed in (1)",
            "The in operator is not supported for fieldsets with a mix of integer and string fields. The fieldset mixed has both",
        ),
        ("n in ('a')", "expected whole numbers behind in, for a field of whole numbers"),
        ("n in (1.5)", "expected whole numbers behind in, for a field of whole numbers"),
        ("n in (@texts)", "expected whole numbers in texts, got a"),
        ("t in (1)", "expected texts behind in, for a field of texts"),
        (
            "t contains ({prefix: true, suffix: true}'a')",
            "Only one of prefix, substring and suffix can be set.",
        ),
        (
            "t contains ({suffix: true}'a')",
            "Field 't' is not matched by suffix; write match: suffix in the schema, or matches with a regular expression",
        ),
        ("t contains equiv('a')", "Expected 2 or more arguments, got 1."),
        ("body contains equiv('a')", "Expected 2 or more arguments, got 1."),
        ("body contains equiv('a', near('b', 'c'))", "Expected function 'phrase', got 'near'."),
        ("t contains equiv('a', phrase('b', 'c'))", "Field 't' has no words, which phrase needs"),
        ("body contains equiv('a', {prefix: true}'b')", "equiv takes whole words, not prefix"),
        ("t contains equiv('a', {suffix: true}'b')", "equiv takes whole words, not suffix"),
        ("n contains equiv('1', 'x')", "Field 'n' is a int and has no \"x\""),
        ("nonEmpty(body contains equiv('a', '.'))", "Searching for empty string inside nonEmpty()"),
        (
            "t contains ({maxEditDistance: 99}fuzzy('a'))",
            "expected maxEditDistance from 0 to 16 and prefixLength from 0, got 99 and 0",
        ),
        ("weightedSet(t)", "Expected 2 arguments, got 1."),
        ("weightedSet(t, 12)", "Expected ARRAY or MAP, got LITERAL."),
        (
            "weightedSet(x, {})",
            "Field 'x' is a double; weightedSet searches texts and whole numbers",
        ),
        (
            "weightedSet(n, {a: 1})",
            "Field 'n' is a int; expected whole numbers in weightedSet, got a",
        ),
        ("weightedSet(n, {'1': 9999999999})", "the weight 9999999999 is more than 32 bits"),
        ("weightedSet(t, @texts)", "expected {token:weight} or [[number,weight]] in texts"),
        ("weightedSet(mixed, {})", "expected one field, found the set mixed"),
        (
            "nearestNeighbor(v, q)",
            "nearestNeighbor(v,q) needs targetHits from 1: {targetHits: 10}nearestNeighbor(v,q)",
        ),
        (
            "{targetHits: 1}nearestNeighbor(n, q)",
            "nearestNeighbor(n,q): field n is a int, not a tensor",
        ),
        (
            "{targetHits: 1}nearestNeighbor(m, q)",
            "nearestNeighbor(m,q): expected a tensor with one indexed dimension, field m is a tensor(k{})",
        ),
        ("geoLocation(p, 1, 2)", "Expected 4 arguments, got 3."),
        ("geoLocation(n, 1, 2, '5 km')", "Field 'n' is a int, not a position"),
        ("geoLocation(p, 91, 2, '5 km')", "there is no place at 91 north, 2 east"),
        (
            "geoLocation(p, 1, 2, '5')",
            "expected a distance with m, km, miles or deg in geoLocation, got 5",
        ),
        (
            "geoLocation(p, 2.0, 'N5.0', '0.5 deg')",
            "Invalid geoLocation coordinates 2 and 5: both are latitudes or both longitudes",
        ),
        ("nonEmpty(t contains '')", "Searching for empty string inside nonEmpty()"),
        ("tags[-1] = 'a'", "element id must be non-negative, got: -1"),
        ("tags[1.5] = 'a'", "element id must be integer, not floating point number. Got: 1.5"),
        ("tags[1] > 'a'", "an element of a field is compared by = only"),
        (
            "t contains sameElement('a')",
            "Field 't' has no elements that are searched; sameElement needs an array, a weighted set, or struct fields that are attributes",
        ),
        ("people contains sameElement(z contains 'a')", "Field 'people.z' does not exist."),
        (
            "people contains sameElement({targetHits: 1}nearestNeighbor(v, q))",
            "nearestNeighbor is not supported within sameElement",
        ),
    ] {
        let error = built(filter).map(|tree| show(&tree.root, &tree)).unwrap_err();
        assert_eq!((error.code.number(), error.code.status()), (4, 400));
        let message = error.message.strip_prefix("Could not create query from YQL: ");
        assert_eq!(message, Some(expected), "{filter}");
    }
}

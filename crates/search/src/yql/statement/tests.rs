//! Texts with the trees that they are, and texts that are none.

use super::parse;
use crate::yql::{Comparison, Expr, MAX_DEPTH, Node};

/// A tree with a pair of parentheses for each operator.
fn show(node: &Node) -> String {
    let list = |list: &[Node]| list.iter().map(show).collect::<Vec<_>>().join(" ");
    let pairs = |pairs: &[(String, Node)]| {
        let pairs: Vec<String> = pairs.iter().map(|(k, v)| format!("{k}:{}", show(v))).collect();
        format!("{{{}}}", pairs.join(" "))
    };
    let shown = match &node.expr {
        Expr::And(parts) => format!("(and {})", list(parts)),
        Expr::Or(parts) => format!("(or {})", list(parts)),
        Expr::Not(inner) => format!("(not {})", show(inner)),
        Expr::Compare(comparison, a, b) => {
            let sign = match comparison {
                Comparison::Equal => "=",
                Comparison::Less => "<",
                Comparison::LessOrEqual => "<=",
                Comparison::Greater => ">",
                Comparison::GreaterOrEqual => ">=",
            };
            format!("({sign} {} {})", show(a), show(b))
        }
        Expr::Contains(a, b) => format!("(contains {} {})", show(a), show(b)),
        Expr::Matches(a, b) => format!("(matches {} {})", show(a), show(b)),
        Expr::In(field, values) => format!("(in {} {})", show(field), list(values)),
        Expr::Call(name, arguments) => format!("{name}({})", list(arguments)),
        Expr::Field(name) => name.clone(),
        Expr::Index(of, place) => format!("(at {} {})", show(of), show(place)),
        Expr::Entry(of, key) => format!("(entry {} {})", show(of), show(key)),
        Expr::Negate(inner) => format!("(- {})", show(inner)),
        Expr::Bool(value) => value.to_string(),
        Expr::Integer(number) => number.to_string(),
        Expr::Number(number) => format!("{number:?}"),
        Expr::Text(text) => format!("{text:?}"),
        Expr::Parameter(name) => format!("@{name}"),
        Expr::Array(parts) => format!("[{}]", list(parts)),
        Expr::Map(parts) => pairs(parts),
        Expr::Null => "null".to_owned(),
    };
    match node.annotations.is_empty() {
        true => shown,
        false => pairs(&node.annotations) + &shown,
    }
}

#[test]
fn expressions_are_trees() {
    for (text, expected) in [
        // Values.
        ("true", "true"),
        ("FALSE", "false"),
        ("a = 1", "(= a 1)"),
        ("a = -7", "(= a -7)"),
        ("a = 8589934592L", "(= a 8589934592)"),
        ("a = 8589934592", "(= a 8589934592)"),
        ("a = -9223372036854775808l", "(= a -9223372036854775808)"),
        ("a = .5", "(= a 0.5)"),
        ("a.b{'k'} contains 'v'", "(contains (entry a.b \"k\") \"v\")"),
        ("a { 7 } = 3 and 4 = a{@k}", "(and (= (entry a 7) 3) (= 4 (entry a @k)))"),
        ("a > -1.", "(> a -1.0)"),
        ("a > 1e3", "(> a 1000.0)"),
        ("a > 1E-3", "(> a 0.001)"),
        ("a = @p", "(= a @p)"),
        ("a = @my.p", "(= a @my.p)"),
        // Sides.
        ("500 <= price", "(<= 500 price)"),
        ("a<1", "(< a 1)"),
        ("a>=1", "(>= a 1)"),
        ("a-b = 1", "(= a-b 1)"),
        ("my.nested.title contains 'x'", "(contains my.nested.title \"x\")"),
        // Priorities.
        ("a = 1 and b = 2 and c = 3", "(and (= a 1) (= b 2) (= c 3))"),
        ("a = 1 or b = 2 and c = 3", "(or (= a 1) (and (= b 2) (= c 3)))"),
        ("(a = 1 or b = 2) and !(c = 3)", "(and (or (= a 1) (= b 2)) (not (= c 3)))"),
        ("a = 1 OR NOTHING = 2", "(or (= a 1) (= NOTHING 2))"),
        // Annotations.
        ("a contains ({prefix: true}'m')", "(contains a {prefix:true}\"m\")"),
        ("a contains ([{\"prefix\": true}]'m')", "(contains a {prefix:true}\"m\")"),
        ("{a: 1}x = 1 or y = 2", "{a:1}(or (= x 1) (= y 2))"),
        ("({a: 1}(x = 1)) or y = 2", "(or {a:1}(= x 1) (= y 2))"),
        ("{a: 1}({a: 2, b: 3}x = 1)", "{a:2 b:3}(= x 1)"),
        ("price < ({filter: true}(-500))", "(< price {filter:true}-500)"),
        (
            "{hnsw.exploreAdditionalHits: 8}nearestNeighbor(v, q)",
            "{hnsw.exploreAdditionalHits:8}nearestNeighbor(v q)",
        ),
        ("({x: {y: 'z'}, l: [1, -2]}true)", "{x:{y:\"z\"} l:[1 -2]}true"),
        // Calls.
        ("range(f, -Infinity, 8)", "range(f (- Infinity) 8)"),
        ("userQuery()", "userQuery()"),
        ("rank(a = 1, {label: 'x'}(b = 2))", "rank((= a 1) {label:\"x\"}(= b 2))"),
        ("weightedSet(f, {'a': 1, b: 2})", "weightedSet(f {a:1 b:2})"),
        ("weightedSet(f, {})", "weightedSet(f {})"),
        ("wand(f, [[11, 1], [37L, 2]])", "wand(f [[11 1] [37 2]])"),
        ("f contains near('a', !'b')", "(contains f near(\"a\" (not \"b\")))"),
        (
            "f contains sameElement(k contains 'a', v.w = 1)",
            "(contains f sameElement((contains k \"a\") (= v.w 1)))",
        ),
        ("f contains alternatives({'a': 1.0})", "(contains f alternatives({a:1.0}))"),
        ("predicate(f, null, {'age': 20L})", "predicate(f null {age:20})"),
        ("f matches 'a\\\\.'", "(matches f \"a\\\\.\")"),
        ("f in (1, -2, @p, 'x', true)", "(in f 1 -2 @p \"x\" true)"),
        ("s.t[10000] = true", "(= (at s.t 10000) true)"),
        ("in = 1", "(= in 1)"),
        // Texts.
        ("f contains 'it\\'s'", "(contains f \"it's\")"),
        ("f contains \"a\\u00e9\\n\\/\"", "(contains f \"a\u{e9}\\n/\")"),
        ("f contains '\\uD83D\\uDE00'", "(contains f \"\u{1f600}\")"),
        ("f contains 'caf\u{e9}'", "(contains f \"caf\u{e9}\")"),
        // Comments.
        ("// false\n true", "true"),
        ("# false\n true", "true"),
        ("/* false */ true", "true"),
    ] {
        let statement = parse(&format!("select * from d where {text}"));
        let statement = statement.unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(show(&statement.filter), expected, "{text}");
    }
}

#[test]
fn statements_have_their_parts() {
    for (text, expected) in [
        ("select * from sources * where true", "[] [] [] None None None []"),
        ("select * where true", "[] [] [] None None None []"),
        ("SELECT * FROM SOURCES a, b.* WHERE true", "[] [\"a\", \"b\"] [] None None None []"),
        (
            "select a, b.c as d from source-a where true;",
            "[\"a\", \"b.c\"] [\"source-a\"] [] None None None []",
        ),
        ("select * from sources where true", "[] [\"sources\"] [] None None None []"),
        (
            "select * from d where true limit 31 offset 29 timeout 70",
            "[] [\"d\"] [] Some(Fixed(31)) Some(Fixed(29)) Some(Fixed(70)) []",
        ),
        (
            "select * from d where true limit @n",
            "[] [\"d\"] [] Some(Parameter(\"n\")) None None []",
        ),
        (
            "select * from d where true order  by a desc, {function: 'uca'}b.c asc, \"[rank]\" limit 1",
            "[] [\"d\"] [\"-a\", \"+{function:\\\"uca\\\"}b.c\", \"+\\\"[rank]\\\"\"] Some(Fixed(1)) None None []",
        ),
        (
            "select * from d where true limit 0 | all(group(a) each(output(count()))) | {c: ['x']}each(\n output(count()) # a | b\n)",
            "[] [\"d\"] [] Some(Fixed(0)) None None [\"all(group(a) each(output(count())))\", \"each(\\n output(count()) # a | b\\n)\"]",
        ),
        (
            "select * from d where true | all(group(\"a)|\") order(-count()) as(x)) where(true);",
            "[] [\"d\"] [] None None None [\"all(group(\\\"a)|\\\") order(-count()) as(x)) where(true)\"]",
        ),
    ] {
        let found = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let order = found.order.iter().map(|order| {
            let direction = if order.descending { "-" } else { "+" };
            direction.to_owned() + &show(&order.by)
        });
        let order: Vec<String> = order.collect();
        let groupings: Vec<&str> = found.groupings.iter().map(|g| g.text.as_str()).collect();
        let shown = format!(
            "{:?} {:?} {order:?} {:?} {:?} {:?} {groupings:?}",
            found.fields, found.sources, found.limit, found.offset, found.timeout
        );
        assert_eq!(shown, expected, "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    for (text, expected) in [
        ("", "1:1: expected select, found the end"),
        ("select", "1:7: expected * or the name of a field, found the end"),
        ("select * from d", "1:16: expected where, found the end"),
        ("select * from d where", "1:22: expected a value, found the end"),
        ("select * from d where a contains", "1:33: expected a value, found the end"),
        ("select * from d where (a = 1", "1:29: expected ), found the end"),
        (
            "select * from d where a = 1 b = 2",
            "1:29: expected and, or, order by, limit, offset, timeout, | or the end, found b",
        ),
        (
            "select * from d\nwhere a = 'x",
            "2:11: expected a quote that ends this text, found the end",
        ),
        (
            "select * from d where a = '\\q'",
            "1:28: expected one of b t n f r u \" ' \\ / behind \\, found q",
        ),
        ("select * from d where a = '\\uD83D'", "1:28: expected \\u with four digits of hex"),
        ("select * from d where a = '\\u+123'", "1:28: expected \\u with four digits of hex"),
        ("select * from d where a = \u{153}", "1:27: unknown character \u{153}"),
        ("select * from d where a = 1 /* b", "1:29: expected */ behind this, found the end"),
        (
            "select * from d where a = 99999999999999999999",
            "1:27: expected a whole number of at most 64 bits, found 99999999999999999999",
        ),
        ("select * from d where a = 1e999", "1:27: expected a number, found 1e999"),
        ("select * from d where a != 1", "1:25: != is no operator here; write !(a = b)"),
        (
            "select * from d where a not in (1)",
            "1:25: not is not supported as an operator; write !(field in (...)) and the like, not behind a field",
        ),
        (
            "select * from d where a like 'x'",
            "1:25: like is not supported as an operator; write matches with a regular expression",
        ),
        ("select * from d where a in ()", "1:29: expected a number, text or parameter, found )"),
        ("select * from d where a in (1", "1:30: expected , or ), found the end"),
        ("select * from d where f(a b)", "1:27: expected , or ), found b"),
        ("select * from d where w(a, {'a': g})", "1:34: expected a value, found g"),
        (
            "select * from d where true limit x",
            "1:34: expected a whole number from 0, or a parameter, found x",
        ),
        (
            "select * from d where true limit -1",
            "1:34: expected a whole number from 0, or a parameter, found -1",
        ),
        ("select * from d where true | sum(x)", "1:30: expected all(...) or each(...), found sum"),
        (
            "select * from d where true | all(x",
            "1:30: expected ) behind this grouping, found the end",
        ),
        ("select * from d where true | all(x))", "1:36: expected the end of the grouping, found )"),
        (
            "select * from d where true | all('x)",
            "1:34: expected a quote that ends this text, found the end",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn nesting_has_an_end() {
    let nested = |open: &str, depth: usize, inner: &str, close: &str| {
        let text = open.repeat(depth) + inner + &close.repeat(depth);
        parse(&format!("select * from d where {text}"))
    };
    for (open, inner, close) in [
        ("(", "true", ")"),
        ("!(", "true", ")"),
        ("f(", "true", ")"),
        ("({a:1}", "true", ")"),
        ("[", "1", "]"),
        ("{a:", "1", "}"),
        ("a[", "1", "]"),
    ] {
        assert!(nested(open, MAX_DEPTH / 2 - 1, inner, close).is_ok(), "{open}");
        for depth in [MAX_DEPTH + 1, 100_000] {
            let error = nested(open, depth, inner, close).unwrap_err();
            assert!(error.text.contains("levels of nesting"), "{open}: {error}");
        }
    }
    let long = format!("select * from d where {}", "a = 1 or ".repeat(10_000) + "true");
    assert!(parse(&long).is_ok());
}

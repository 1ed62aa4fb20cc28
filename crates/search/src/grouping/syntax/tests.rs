//! Texts of groupings and what they are; those with Vespa's names are of its `GroupingParserTestCase`.

use super::parse;

fn shown(text: &str) -> String {
    match parse(text) {
        Ok(found) => found.iter().map(ToString::to_string).collect::<Vec<_>>().join(";"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn groupings_are_read() {
    for (text, expected) in [
        ("all();each();all() where(true);each()", "all();each();all(where(true) all());each()"),
        (" all( group( foo )each(output(max( bar ))))", "all(group(foo) each(output(max(bar))))"),
        ("all(group(1))", "all(group(1))"),
        ("all(group(1+2))", "all(group(add(1, 2)))"),
        ("all(group(1+2+3))", "all(group(add(add(1, 2), 3)))"),
        ("all(group(1+2-3))", "all(group(add(1, sub(2, 3))))"),
        ("all(group(1-2+3))", "all(group(add(sub(1, 2), 3)))"),
        ("all(group(1+2*3))", "all(group(add(1, mul(2, 3))))"),
        ("all(group(1*2/3%4))", "all(group(div(mul(1, 2), mod(3, 4))))"),
        ("all(group((1+2)-3))", "all(group(sub(add(1, 2), 3)))"),
        ("all(group(foo /* a */ - 69) # b\n)", "all(group(sub(foo, 69)))"),
        ("all(group(-a+b))", "all(group(neg(add(a, b))))"),
        ("all(group(-9223372036854775808))", "all(group(-9223372036854775808))"),
        ("all(group(min) max(1) output(count()))", "all(group(min) max(1) output(count()))"),
        ("all(group(artist) max(inf))", "all(group(artist) max(inf))"),
        ("all(group(time.year))", "all(group(time.year))"),
        ("all(group(time.year(d)))", "all(group(time.year(d)))"),
        ("all(group(math.pow(a, 2.0)))", "all(group(math.pow(a, 2.0)))"),
        ("all(group(md5(a, 64)))", "all(group(md5(a, 64)))"),
        ("all(group(my.little{key}.name))", "all(group(my.little{\"key\"}.name))"),
        ("all(group(my_map{attribute(a.b)}.name))", "all(group(my_map{attribute(a.b)}.name))"),
        ("all(group(attribute(foo)))", "all(group(attribute(foo)))"),
        ("all(group(array.at(bar, 42.0)))", "all(group(array.at(bar, 42.0)))"),
        ("all(group(interpolatedlookup(bar, 0.25)))", "all(group(interpolatedlookup(bar, 0.25)))"),
        ("all(group(fixedwidth(foo, 100000000.0)))", "all(group(fixedwidth(foo, 1.0E8)))"),
        (
            "all(group(predefined(artist, bucket('a'), bucket('c', 'z'))))",
            "all(group(predefined(artist, bucket[\"a\", \"a \">, bucket[\"c\", \"z\">)))",
        ),
        (
            "all(group(predefined(foo, bucket<-inf, 0>, bucket(0), bucket<0, 100))))",
            "all(group(predefined(foo, bucket[-inf, 0>, bucket[0, 1>, bucket[1, 100>)))",
        ),
        (
            "all(group(predefined(foo, bucket[-2.5, 1.0>, bucket[1.0, inf])))",
            "all(group(predefined(foo, bucket[-2.5, 1.0>, bucket[1.0, inf>)))",
        ),
        (
            "all(group(predefined(foo, bucket({0, 'b'}, {'k'}))))",
            "all(group(predefined(foo, bucket[{0,98}, {107}>)))",
        ),
        (
            "all(group(a) order(-$total=sum(b), +count()) each(output($total as(x), min(c))) as(y))",
            "all(group(a) order(neg(sum(b)), count()) each(output(sum(b) as(x), min(c))) as(y))",
        ),
        (
            "all(alias(x, count()) group(a) each(output($x)))",
            "1:23: group stands first in an operation",
        ),
        ("all(group(a) alias(x, count()) each(output($x)))", "all(group(a) each(output(count())))"),
        (
            "all(group(a) hint(singlepass) precision(7) max(3) each(max(2) each(output(summary(s)))))",
            "all(group(a) hint(singlepass) max(3) precision(7) each(max(2) each(output(summary(s)))))",
        ),
        (
            "all(group(a) filter(regex(\"b.*\", a) or not range(1, 2, b, true, false) and istrue(c)) each())",
            "all(group(a) filter((regex(\"b.*\", a) or (not (range(1.0, 2.0, b, true, false)) and istrue(c)))) each())",
        ),
        (
            "all(group(s) order(max(uca(s, 'sv', \"PRIMARY\"))) each(output(min(uca(s, \"en_US\")))))",
            "all(group(s) order(max(uca(s, \"sv\", \"PRIMARY\"))) each(output(min(uca(s, \"en_US\")))))",
        ),
        (
            "all(group(fixedwidth(geo_distance(attribute(p), 63.4, -10).km, 10) ) order(min(geo_distance(p, 1, 2) . miles)))",
            "all(group(fixedwidth(geo_distance(attribute(p), 63.4, -10.0).km, 10)) order(min(geo_distance(p, 1.0, 2.0).miles)))",
        ),
        (
            "all(group(debugwait(a, 1, true)) each(output(sum(debugwait( b , 0.5 , false )))))",
            "all(group(debugwait(a, 1, true)) each(output(sum(debugwait(b, 0.5, false)))))",
        ),
        (
            "all(group(a) each(output(quantiles([0.9, 0.5], b))))",
            "all(group(a) each(output(quantiles([0.5, 0.9], b))))",
        ),
    ] {
        let found = shown(text);
        assert_eq!(found, expected, "{text}");
        // What was read is written in a way that can be read again.
        if parse(text).is_ok() {
            assert_eq!(shown(&found), found, "{text}");
        }
    }
}

#[test]
fn what_is_no_grouping_is_refused() {
    for (text, expected) in [
        ("", "1:1: expected all(...) or each(...), found the end"),
        ("\n foo", "2:2: expected all(...) or each(...), found foo"),
        ("all(group(foo.))", "1:15: expected a name, found )"),
        ("all(output(count())))", "1:21: expected ; or the end, found )"),
        ("all() as(foo)", "1:7: expected ; or the end, found as"),
        ("each(all() each())", "1:1: Operation 'each()' cannot operate on single hit."),
        (
            "each(group(foo) all())",
            "1:1: Operation 'each(group(foo) all())' cannot group single hit.",
        ),
        ("each(max(1))", "1:1: Operation 'each(max(1))' cannot apply max to single hit."),
        ("each(order(a))", "1:1: Operation 'each(order(a))' cannot order single hit."),
        ("each(output(count()))", "1:1: Expression 'count()' not applicable for single hit."),
        ("all(group(count()))", "1:1: Expression 'count()' not applicable for single hit."),
        (
            "all(group(a) each(output(sum(sum(b)))))",
            "1:1: Expression 'sum(b)' not applicable for single hit.",
        ),
        ("all(output(summary()))", "1:1: Expression 'summary()' not applicable for single group."),
        ("all(where(foo))", "1:11: Operation 'where' does not support 'foo'."),
        ("all(group(debugwait(a, 1, maybe)))", "1:27: expected true or false, found maybe"),
        (
            "all(group(geo_distance(a + 1, 1, 2).km))",
            "1:24: geo_distance takes the name of an attribute, not add(a, 1)",
        ),
        ("all(group(geo_distance(a, 1, 2).m))", "1:33: expected km or miles, found m"),
        ("all(group(geo_distance(a, 1, 2)))", "1:32: expected ., found )"),
        ("all(group(foo(a)))", "1:14: there is no function foo"),
        ("all(group(add(a)))", "1:14: add takes 2 or more arguments, found 1"),
        ("all(group(time.year(a, b)))", "1:20: time.year takes 1 arguments, found 2"),
        ("all(group($x))", "1:13: there is no alias x"),
        ("all(max(-1))", "1:9: expected a number, found -"),
        (
            "all(group(9223372036854775809))",
            "1:11: expected a whole number of at most 64 bits, found 9223372036854775809",
        ),
        ("all(accuracy(1.5))", "1:14: Illegal accuracy '1.5'. Must be between 0 and 1."),
        ("all(output(quantiles([1.5], a)))", "1:23: a quantile is a number from 0 to 1"),
        (
            "all(group(predefined(foo, bucket(1, 2.0))))",
            "1:27: Bucket type mismatch, expected 'LongValue' got 'DoubleValue'.",
        ),
        (
            "all(group(predefined(foo, bucket(1, 2), bucket(a, b))))",
            "1:41: Bucket type mismatch, expected 'LongValue' got 'StringValue'.",
        ),
        (
            "all(group(predefined(foo, bucket<-inf, inf>)))",
            "1:27: Bucket type mismatch, cannot both be infinity.",
        ),
        (
            "all(group(predefined(foo, bucket(2, 1))))",
            "1:27: Bucket to-value cannot be less than from-value.",
        ),
        (
            "all(group(predefined(foo, bucket(3, 4), bucket(1, 2))))",
            "1:41: Buckets must be monotonically increasing, got bucket[3, 4> before bucket[1, 2>.",
        ),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn what_nests_or_grows_without_end_is_refused() {
    for (label, text) in [
        ("operations", "all(".repeat(100_000)),
        ("parentheses", format!("all(group({}", "(".repeat(100_000))),
        ("filters", format!("all(group(a) filter({}", "not ".repeat(100_000))),
        ("signs", format!("all(group({}", "add(-".repeat(100_000))),
        ("a list", format!("all(order({}", "a,".repeat(100_000))),
        ("aliases", {
            let doubled = (1..40).map(|n| format!("alias(x{n}, add($x{}, $x{})) ", n - 1, n - 1));
            format!("all(group(a) alias(x0, b) {} each())", doubled.collect::<String>())
        }),
    ] {
        let error = parse(&text).unwrap_err().text;
        assert!(error.starts_with("more than"), "{label}: {error}");
    }
}

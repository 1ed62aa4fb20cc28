//! Predicates from the documentation, from chance, and texts that are none.

use std::collections::BTreeMap;

use super::features::Features;
use super::{Evaluator, Hashed, Known, check, evaluate};

/// Attributes of a query, each in all 64.
#[derive(Default)]
struct Query {
    values: BTreeMap<String, Vec<String>>,
    numbers: BTreeMap<String, i64>,
}

impl Known for Query {
    fn has(&self, name: &str, value: &str) -> u64 {
        let has = self.values.get(name).is_some_and(|list| list.iter().any(|v| v == value));
        if has { u64::MAX } else { 0 }
    }

    fn within(&self, name: &str, from: i64, to: i64) -> u64 {
        let has = self.numbers.get(name).is_some_and(|n| (from..=to).contains(n));
        if has { u64::MAX } else { 0 }
    }
}

fn query(values: &[(&str, &str)], numbers: &[(&str, i64)]) -> Query {
    let mut query = Query::default();
    for (name, value) in values {
        query.values.entry((*name).to_owned()).or_default().push((*value).to_owned());
    }
    query.numbers = numbers.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    query
}

#[test]
fn predicates_of_the_documentation() {
    let woman = query(&[("gender", "Female"), ("hobby", "Hiking")], &[("age", 25), ("pos", 2)]);
    let odd =
        query(&[("profile.gender", "Male"), ("single'quote", "double\"quote"), ("n", "-5")], &[]);
    for (predicate, of_woman, of_odd) in [
        ("gender in [Female] and age in [20..30] and pos in [1..4]", true, false),
        ("hobby in [Music, Hiking, Biking]", true, false),
        ("hobby in Hiking", true, false),
        ("age in [20..29]", true, false),
        ("age in [..29]", true, false),
        ("age in [25..]", true, false),
        ("age in [26..]", false, false),
        ("age in [..]", true, false),
        ("age in [-5..+25]", true, false),
        ("age in [25]", false, false),
        ("age in [..29] or hobby in [Music, Biking]", true, false),
        ("age in [20..29] and hobby in [Music]", false, false),
        (
            "(age in [20..29] and gender in [Male]) or (age in [20..39] and gender in [Female])",
            true,
            false,
        ),
        ("age not in [20..29] and hobby not in [Music]", false, true),
        ("not age in [20..29] and not hobby in [Music]", false, true),
        ("not (age in [20..29] or hobby in [Music])", false, true),
        ("\"profile.gender\" in ['Male', \"Female\"]", false, true),
        (r#""single'quote" in ["double\"quote", 'double"quote', 'single\'quote']"#, false, true),
        (r"'single\x27quote' in ['double\x22quote']", false, true),
        ("n in [-5]", false, true),
        ("true", true, true),
        ("false", false, false),
        ("TRUE AND NOT (FALSE OR gender IN [Male])", true, true),
        // Keywords are names too, and `and` goes before `or`.
        ("not in [in] or in not in [or]", true, true),
        ("true in [true] or false", false, false),
        ("true or false and false", true, true),
        ("  gender\tin[Female]  ", true, false),
        // Capitals matter in names and values.
        ("Gender in [Female] or gender in [female]", false, false),
    ] {
        let found =
            |query| evaluate(predicate, query).unwrap_or_else(|e| panic!("{predicate}: {e}"));
        let all = |is: bool| if is { u64::MAX } else { 0 };
        assert_eq!((found(&woman), found(&odd)), (all(of_woman), all(of_odd)), "{predicate}");
    }
}

#[test]
fn what_is_no_predicate_is_told_with_its_place() {
    for (text, expected) in [
        ("", "0: expected the name of an attribute, true, false, not or (, found the end"),
        ("age", "3: expected in or not in, found the end"),
        ("age not [1]", "8: expected in, found ["),
        ("age in []", "8: expected a value, found ]"),
        ("age in [1..x]", "11: expected a whole number behind .., found x"),
        ("age in ['1'..2]", "8: expected a whole number before .."),
        ("age in [5..1]", "12: the range from 5 to 1 is empty"),
        ("age in [1..2, 3]", "12: expected ], found ,"),
        (
            "age in [1..99999999999999999999]",
            "11: expected a whole number behind .., found 99999999999999999999",
        ),
        ("age in [1..2 (x=1)]", "13: expected ], found ("),
        ("age in [a b]", "10: expected , or ], found b"),
        ("(age in [a]", "11: expected and, or or ), found the end"),
        ("age in [a])", "10: expected and, or or the end, found )"),
        ("age in [a] & true", "11: \"&\" means nothing outside of quotes"),
        ("age in ['a]", "8: expected a quote that ends this text, found the end"),
        ("age in ['\\", "8: expected a quote that ends this text, found the end"),
        ("age in ['\\q']", "8: expected one of \\ ' \" t n f r x behind \\"),
        ("age in ['\\x4']", "8: expected two digits behind \\x"),
        ("age in ['\\xff']", "8: the bytes of this text are no UTF-8"),
        ("age in [-a]", "8: expected a whole number behind a sign"),
        ("\u{e9}t\u{e9} in [a]", "0: \"\u{e9}\" means nothing outside of quotes"),
        ("not", "3: expected the name of an attribute, true, false, not or (, found the end"),
    ] {
        assert_eq!(check(text).unwrap_err().to_string(), expected, "{text}");
    }
    let nested = |depth: usize| "(".repeat(depth) + "true" + &")".repeat(depth);
    assert!(check(&nested(64)).is_ok());
    for depth in [65, 1_000_000] {
        assert!(check(&nested(depth)).unwrap_err().text.starts_with("more than 64 levels"));
    }
}

/// A xorshift generator (Marsaglia, 2003).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// A predicate with what it is for a query.
    fn predicate(&mut self, query: &Query, depth: u64) -> (String, bool) {
        let name = |n: u64| ["a", "b", "c"][n as usize];
        let (text, is) = match self.below(if depth == 0 { 3 } else { 6 }) {
            0 => {
                let (name, values) = (name(self.below(3)), [self.below(4), self.below(4)]);
                let of = query.values.get(name);
                let is = of.is_some_and(|of| values.iter().any(|v| of.contains(&v.to_string())));
                (format!("{name} in [{}, '{}']", values[0], values[1]), is)
            }
            1 => {
                let (name, from) = (name(self.below(3)), self.below(12) as i64 - 6);
                let to = from + self.below(6) as i64;
                let is = query.numbers.get(name).is_some_and(|n| from <= *n && *n <= to);
                (format!("{name} in [{from}..{to}]"), is)
            }
            2 => {
                let is = self.below(2) == 0;
                (is.to_string(), is)
            }
            3 => {
                let (inner, is) = self.predicate(query, depth - 1);
                (format!("not ({inner})"), !is)
            }
            kind => {
                let parts = (0..=self.below(3)).map(|_| self.predicate(query, depth - 1));
                let parts: Vec<(String, bool)> = parts.collect();
                let texts: Vec<String> =
                    parts.iter().map(|(text, _)| format!("({text})")).collect();
                match kind {
                    4 => (texts.join(" and "), parts.iter().all(|(_, is)| *is)),
                    _ => (texts.join(" or "), parts.iter().any(|(_, is)| *is)),
                }
            }
        };
        (text, is)
    }
}

#[test]
fn predicates_of_chance_are_what_they_are_made_to_be() {
    for seed in 1..=3000_u64 {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut asked = Query::default();
        for name in ["a", "b"] {
            for _ in 0..chance.below(3) {
                let value = chance.below(4).to_string();
                asked.values.entry(name.to_owned()).or_default().push(value);
            }
            if chance.below(2) == 0 {
                asked.numbers.insert(name.to_owned(), chance.below(12) as i64 - 6);
            }
        }
        let (text, is) = chance.predicate(&asked, 4);
        let found = evaluate(&text, &asked).unwrap_or_else(|e| panic!("seed {seed}: {text}: {e}"));
        assert_eq!(found, if is { u64::MAX } else { 0 }, "seed {seed}: {text}");
    }
}

#[test]
fn programs_are_what_texts_are_and_who_they_are_true_of_has_one_of_their_features() {
    let (mut few, mut true_of, mut evaluator) = (0, 0, Evaluator::default());
    for seed in 1..=3000_u64 {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut asked = query(&[("a", "1"), ("b", "2"), ("b", "3")], &[]);
        asked.numbers = [("a", 3), ("c", -2)].map(|(name, n)| (name.to_owned(), n)).into();
        let pairs = asked.values.iter().flat_map(|(name, values)| {
            values.iter().map(|value| (name.as_str(), value.as_str(), u64::MAX))
        });
        let numbers = asked.numbers.iter().map(|(name, n)| (name.as_str(), *n, u64::MAX));
        let hashed = Hashed::new(pairs, numbers);
        let predicates: Vec<String> = (0..4).map(|_| chance.predicate(&asked, 3).0).collect();
        let mut features = Features::new((-4, 5));
        let programs: Vec<Vec<u8>> =
            predicates.iter().map(|text| features.count(text).unwrap()).collect();
        let found: Vec<Vec<u32>> =
            predicates.iter().map(|text| features.of(text).to_vec()).collect();
        let has = hashed.features(features.levels());
        for ((text, program), needs) in predicates.iter().zip(programs).zip(found) {
            let is = evaluate(text, &asked).unwrap();
            assert_eq!(evaluator.run(&program, &hashed), Some(is), "seed {seed}: {text}");
            let is_found = needs.iter().any(|feature| has.contains(feature));
            assert!(is_found || is == 0, "seed {seed}: {text}");
            few += u64::from(!is_found);
            true_of += u64::from(is != 0);
        }
    }
    assert!(few > 1000 && true_of > 1000, "{few} {true_of}");
}

#[test]
fn programs_are_of_the_queries_that_know_it() {
    let hashed = Hashed::new(
        [("a", "x", 1), ("a", "x", 2), ("a", "y", 4), ("b", "x", 8)].into_iter(),
        [("a", 1, 1), ("a", 5, 2), ("a", 5, 4), ("b", 3, 8)].into_iter(),
    );
    let (mut features, mut evaluator) = (Features::new((i64::MIN, i64::MAX)), Evaluator::default());
    for (predicate, expected) in [
        ("a in [x]", 3),
        ("a in [x, y, z]", 7),
        ("a in [2..]", 6),
        ("a in [..4] or b in [3..3]", 9),
        ("a not in [x]", !3),
        ("not (a in [x] and a in [2..])", !2),
        ("true and not false", u64::MAX),
    ] {
        let program = features.count(predicate).unwrap();
        assert_eq!(evaluator.run(&program, &hashed), Some(expected), "{predicate}");
        // Bytes that are no program are told or something, and no more.
        for end in 0..program.len() {
            let _ = evaluator.run(&program[..end], &hashed);
        }
        assert_eq!(evaluator.run(&[3 | 16], &hashed), None);
    }
    // As deep as parentheses nest, with what waits on each level.
    let nested = "a in [y] or a in [x] and (".repeat(64) + "a in [y]" + &")".repeat(64);
    let program = features.count(&nested).unwrap();
    assert_eq!(evaluator.run(&program, &hashed), Some(4));
    let long: Vec<String> = (0..4000).map(|n| n.to_string()).collect();
    assert_eq!(features.count(&format!("a in [{}]", long.join(","))), None);
}

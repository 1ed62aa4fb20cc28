//! Tests as people read them.

use std::fmt;

use stead_text::{Affix, Near, Pattern, Phrases};

use super::texts::TextTest;
use super::tree::{Sum, Test, Tokens};

/// The most characters of a text that are shown.
const MAX_SHOWN: usize = 40;

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Test::Range(range) => write!(f, "{range}"),
            Test::Numbers(numbers) => write!(f, "in {} numbers", numbers.len()),
            Test::Text { test, .. } => write!(f, "{test}"),
            Test::Texts { any, .. } => write!(f, "in {} texts", any.len()),
            Test::Weighted(weighted) => {
                let count = match &weighted.tokens {
                    Tokens::Texts { weights, .. } => weights.len(),
                    Tokens::Numbers(weights) => weights.len(),
                };
                let name = match weighted.sum {
                    Sum::Any => "weightedSet",
                    Sum::Product => "dotProduct",
                    Sum::Above(_) => "wand",
                };
                write!(f, "{name} of {count} tokens")
            }
            Test::Circle(_) => f.write_str("in a circle"),
            Test::Box(_) => f.write_str("in a box"),
            Test::Predicate(query) => write!(f, "is true of {} attributes", query.count()),
            Test::Indexed(of) => match &of.pattern {
                Pattern::Term(term) => write!(f, "has the word {term:.MAX_SHOWN$?}"),
                Pattern::Part(affix, text) => {
                    let how = match affix {
                        Affix::Prefix => "begins with",
                        Affix::Infix => "has",
                        Affix::Suffix => "ends with",
                    };
                    write!(f, "has a word that {how} {text:.MAX_SHOWN$?}")
                }
                Pattern::Phrases(of) => match of.phrases() {
                    [words] => {
                        let words = words.join(" ");
                        write!(f, "has the phrase {words:.MAX_SHOWN$?}")
                    }
                    _ => {
                        let words = shown(of);
                        write!(f, "has one of {words:.MAX_SHOWN$?}")
                    }
                },
                Pattern::Near(near) => show_near(near, f),
                Pattern::NearPart(near, part) => {
                    let words = near.parts.get(*part).map(shown).unwrap_or_default();
                    write!(f, "has {words:.MAX_SHOWN$?} where it is near the others")
                }
            },
        }
    }
}

/// Words of phrases, `/` between those of which any is enough.
fn shown(of: &Phrases) -> String {
    of.phrases().iter().map(|words| words.join(" ")).collect::<Vec<_>>().join("/")
}

fn show_near(near: &Near, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let all = |parts: &[Phrases]| parts.iter().map(shown).collect::<Vec<_>>().join(" ");
    let (how, words) = (if near.is_ordered { "within" } else { "around" }, all(&near.parts));
    write!(f, "has {how} {} words {words:.MAX_SHOWN$?}", near.distance)?;
    if !near.excluded.is_empty() {
        let words = all(&near.excluded);
        let distance = near.exclusion_distance;
        write!(f, " farther than {distance} words from {words:.MAX_SHOWN$?}")?;
    }
    Ok(())
}

impl fmt::Display for TextTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (how, text) = match self {
            TextTest::Equal(text) => ("=", text.as_str()),
            TextTest::Prefix(text) => ("begins with", text.as_str()),
            TextTest::Substring(text) => ("has", text.as_str()),
            TextTest::Suffix(text) => ("ends with", text.as_str()),
            TextTest::Regex(regex) => ("matches", regex.as_str()),
            TextTest::Fuzzy(_) => return f.write_str("is nearly a text"),
        };
        write!(f, "{how} {text:.MAX_SHOWN$?}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use crate::query::{NumberRange, Test, TextTest};

    #[test]
    fn tests_can_be_read() {
        let range = |text| Test::Range(NumberRange::parse(text).unwrap());
        let text = |test| Test::Text { test, is_cased: false };
        for (test, expected) in [
            (range("5"), "= 5"),
            (range("[1;5>"), "in [1;5>"),
            (range("[;5]"), "in [-inf;5]"),
            (range(">2.5"), "in <2.5;inf]"),
            (Test::Numbers(vec![1, 2]), "in 2 numbers"),
            (text(TextTest::Equal("a\"b".to_owned())), r#"= "a\"b""#),
            (text(TextTest::regex("^b", false).unwrap()), r#"matches "^b""#),
            (Test::Texts { any: HashMap::new(), is_cased: true }, "in 0 texts"),
        ] {
            assert_eq!(test.to_string(), expected);
        }
    }
}

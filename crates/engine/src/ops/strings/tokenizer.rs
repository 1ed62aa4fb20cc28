//! Tokenizer of `com.microsoft`, with which skl2onnx writes what vectorizers of texts begin with.

use super::re2::translate;
use super::{MAX_BYTES, fits};
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use regex::Regex;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::{Anchored, Input, MatchKind};
use std::sync::Arc;
use stead_onnx::Attributes;
use stead_tensor::Shape;

/// Tokenizer.
pub const OPS: &[OpDef] =
    &[OpDef::new("Tokenizer", &[Param::required(1, types::STRING)], &[Out::Like(0)], tokenizer)
        .domain("com.microsoft")];

/// What stands before the tokens of a marked text, and behind them.
const MARKS: [&[u8]; 2] = [b"\x02", b"\x03"];

/// A pattern of RE2 that takes the longest of all matches that begin first, as RE2 is asked to here.
struct Longest {
    pattern: String,
    /// Where the first match begins is the same for every choice among those that begin there.
    first: Regex,
    /// Where the longest of them ends.
    longest: DFA,
}

impl Longest {
    fn new(pattern: &str) -> Result<Longest, BuildError> {
        let wrong = |e: String| BuildError::unsupported(format!("pattern \"{pattern}\": {e}"));
        let translated = translate(pattern).map_err(wrong)?;
        let first = Regex::new(&translated).map_err(|e| wrong(e.to_string()))?;
        let all = DFA::config().match_kind(MatchKind::All);
        let longest = DFA::builder().configure(all).build(&translated);
        let longest = longest.map_err(|e| wrong(e.to_string()))?;
        Ok(Longest { pattern: pattern.to_owned(), first, longest })
    }

    /// Where the first match from `from` on begins and ends.
    fn find(
        &self,
        cache: &mut Cache,
        text: &str,
        from: usize,
    ) -> Result<Option<(usize, usize)>, RunError> {
        let Some(found) = self.first.find_at(text, from) else { return Ok(None) };
        let input = Input::new(text).range(found.start()..).anchored(Anchored::Yes);
        let end = self.longest.try_search_fwd(cache, &input);
        let end = end.map_err(|e| RunError::value(format!("pattern \"{}\": {e}", self.pattern)))?;
        Ok(Some((found.start(), end.map_or(found.end(), |end| end.offset()))))
    }
}

/// What tokens are.
enum Rule {
    /// Each character.
    Characters,
    /// What this matches.
    Matches(Box<Longest>),
    /// What is left between the matches of each of these, one after the other.
    Between(Vec<Longest>),
}

struct Tokenizer {
    rule: Rule,
    /// The fewest characters of a token.
    least: usize,
    marks: bool,
    padding: Vec<u8>,
}

impl Tokenizer {
    fn of(attributes: &Attributes) -> Result<Tokenizer, BuildError> {
        let int = |name: &str| attributes.int(name)?.ok_or_else(|| attributes.missing(name));
        let (marks, least) = (int("mark")? != 0, int("mincharnum")?);
        let padding = attributes.string("pad_value")?;
        let padding = padding.ok_or_else(|| attributes.missing("pad_value"))?;
        let least = usize::try_from(least).ok().filter(|&least| least > 0).ok_or_else(|| {
            BuildError::unsupported(format!("mincharnum is {least}, at least 1 expected"))
        })?;
        let separators = attributes.strings("separators")?.unwrap_or_default();
        // Separators go before an expression where a node has both.
        let rule = match (&separators[..], attributes.string("tokenexp")?) {
            ([""], _) | ([], Some(".")) => Rule::Characters,
            ([], None | Some("")) => {
                return Err(BuildError::unsupported("neither separators nor tokenexp"));
            }
            ([], Some(pattern)) => Rule::Matches(Box::new(Longest::new(pattern)?)),
            (patterns, _) => {
                let made = patterns.iter().map(|pattern| Longest::new(pattern));
                let made = made.collect::<Result<Vec<_>, _>>()?;
                if let Some(empty) = made.iter().find(|longest| longest.first.is_match("")) {
                    let pattern = &empty.pattern;
                    return Err(BuildError::unsupported(format!(
                        "separator \"{pattern}\": it matches where there is nothing"
                    )));
                }
                Rule::Between(made)
            }
        };
        if matches!(rule, Rule::Characters) && least > 1 {
            return Err(BuildError::unsupported(format!("mincharnum is {least} for characters")));
        }
        Ok(Tokenizer { rule, least, marks, padding: padding.as_bytes().to_vec() })
    }

    /// The tokens of each text.
    fn tokens<'t>(&self, texts: &'t [Vec<u8>]) -> Result<Vec<Vec<&'t str>>, RunError> {
        let mut caches: Vec<Cache> = match &self.rule {
            Rule::Characters => Vec::new(),
            Rule::Matches(token) => vec![token.longest.create_cache()],
            Rule::Between(separators) => {
                separators.iter().map(|separator| separator.longest.create_cache()).collect()
            }
        };
        let tokens = |text: &'t Vec<u8>| {
            let text = std::str::from_utf8(text)
                .map_err(|e| RunError::value(format!("a string that is no UTF-8: {e}")))?;
            let mut found = match &self.rule {
                Rule::Characters => {
                    let ends = text.char_indices().map(|(at, c)| (at, at + c.len_utf8()));
                    ends.filter_map(|(from, to)| text.get(from..to)).collect()
                }
                Rule::Matches(token) => match caches.first_mut() {
                    Some(cache) => matches(token, cache, text)?,
                    None => Vec::new(),
                },
                Rule::Between(separators) => {
                    let mut pieces = vec![text];
                    for (separator, cache) in separators.iter().zip(&mut caches) {
                        let mut parts = Vec::new();
                        for piece in pieces {
                            split(separator, cache, piece, &mut parts)?;
                        }
                        pieces = parts;
                    }
                    pieces
                }
            };
            found.retain(|token| token.chars().nth(self.least - 1).is_some());
            Ok(found)
        };
        texts.iter().map(tokens).collect()
    }

    /// The columns of a table for these tokens: none where no text has any, marks or not.
    fn columns(&self, tokens: &[Vec<&str>]) -> usize {
        match tokens.iter().map(Vec::len).max().unwrap_or(0) {
            0 => 0,
            most if self.marks => most + MARKS.len(),
            most => most,
        }
    }
}

/// What a pattern matches, one behind the other, but for matches of nothing.
fn matches<'t>(
    token: &Longest,
    cache: &mut Cache,
    text: &'t str,
) -> Result<Vec<&'t str>, RunError> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some((from, to)) = token.find(cache, text, at)? {
        found.extend(text.get(from..to).filter(|part| !part.is_empty()));
        let next = text.get(to..).and_then(|rest| rest.chars().next());
        at = match next {
            Some(c) if from == to => to + c.len_utf8(),
            None if from == to => break,
            _ => to,
        };
    }
    Ok(found)
}

/// Adds what lies between the matches of a separator.
fn split<'t>(
    separator: &Longest,
    cache: &mut Cache,
    text: &'t str,
    parts: &mut Vec<&'t str>,
) -> Result<(), RunError> {
    let mut at = 0;
    while let Some((from, to)) = separator.find(cache, text, at)? {
        if from == to {
            let pattern = &separator.pattern;
            return Err(RunError::value(format!("separator \"{pattern}\" matches nothing")));
        }
        parts.extend(text.get(at..from));
        at = to;
    }
    parts.extend(text.get(at..));
    Ok(())
}

fn tokenizer(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let tokenizer = Arc::new(Tokenizer::of(spec.attributes())?);
    plan_fn(move |cx| {
        let (shape, tokenizer) = (cx.shape(0)?, tokenizer.clone());
        let mut dims = shape.to_vec();
        if !matches!(dims[..], [_] | [_, _]) {
            return Err(PlanError::shape(format!("shape [C] or [N, C] is expected, got {shape}")));
        }
        let x = cx.input(0)?;
        if shape.elements() == 0 {
            // Where there is no text there is no axis of tokens either, and no column: as in ONNX Runtime.
            dims.iter_mut().skip(1).for_each(|columns| *columns = 0);
            let slot = cx.output(0, Shape::new(&dims)?)?;
            cx.step("tokenize", &[x], &[slot], |a| a.write_strings(0, Vec::new()));
            return Ok(());
        }
        let Some(columns) = cx.measured() else {
            return Err(cx.measure("count_tokens", 1, &[x], move |a| {
                let tokens = tokenizer.tokens(a.strings(0)?)?;
                a.write::<i64>()?.fill(tokenizer.columns(&tokens) as i64);
                Ok(())
            }));
        };
        let columns = columns.as_slice::<i64>()?.first().copied().unwrap_or(0).max(0) as usize;
        dims.push(columns);
        let table = Shape::new(&dims)?;
        if fits(table.elements(), table.elements().saturating_mul(tokenizer.padding.len())).is_err()
        {
            return Err(PlanError::shape(format!(
                "a table of shape {table} of strings takes more than {MAX_BYTES} bytes"
            )));
        }
        let slot = cx.output(0, table)?;
        cx.step("tokenize", &[x], &[slot], move |a| {
            let mut made: Vec<Vec<u8>> = Vec::with_capacity(table.elements());
            if columns > 0 {
                let [before, behind] = MARKS.map(|mark| tokenizer.marks.then(|| mark.to_vec()));
                for tokens in tokenizer.tokens(a.strings(0)?)? {
                    let end = made.len() + columns;
                    made.extend(before.clone());
                    made.extend(tokens.into_iter().map(|token| token.as_bytes().to_vec()));
                    made.extend(behind.clone());
                    made.resize(end, tokenizer.padding.clone());
                }
            }
            a.write_strings(0, made)
        });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_onnx::AttributeValue;

    fn attributes(separators: &[&str], pattern: Option<&str>, least: i64) -> Attributes {
        let mut made = Attributes::of("t".to_owned());
        let text = |text: &str| text.as_bytes().to_vec();
        if !separators.is_empty() {
            let list = separators.iter().map(|separator| text(separator)).collect();
            made.set("separators", AttributeValue::Strings(list));
        }
        if let Some(pattern) = pattern {
            made.set("tokenexp", AttributeValue::String(text(pattern)));
        }
        made.set("mark", AttributeValue::Int(0));
        made.set("mincharnum", AttributeValue::Int(least));
        made.set("pad_value", AttributeValue::String(text("#")));
        made
    }

    /// As ONNX Runtime 1.31 finds them.
    #[test]
    fn tokens_are_those_of_onnx_runtime() {
        type Case<'a> = (&'a [&'a str], Option<&'a str>, i64, &'a str, &'a [&'a str]);
        let cases: [Case<'_>; 27] = [
            (&[], Some("."), 1, "a\nb", &["a", "\n", "b"]),
            (&[""], None, 1, "\u{e9}\u{4e8c} ", &["\u{e9}", "\u{4e8c}", " "]),
            (&[], Some("[a-z]+"), 1, "ab cd", &["ab", "cd"]),
            (&[], Some("[a-z]+"), 2, "ab cde f", &["ab", "cde"]),
            (&[], Some("[a-z]+"), 1, "", &[]),
            (&[], Some("[a-z]*"), 1, " a b", &["a", "b"]),
            (&[], Some("(a)b"), 1, "ab cde f", &["ab"]),
            (&[], Some("[a-z]|ab"), 1, "ab1cd", &["ab", "c", "d"]),
            (&[], Some("a|ab"), 1, "ab1cd", &["ab"]),
            (&[], Some("a.*?b"), 1, "abab", &["abab"]),
            (&[], Some("\\w+"), 1, "\u{e9}a\u{4e8c}", &["a"]),
            (&[], Some("\\b\\w\\w+\\b"), 1, "the cat's tail", &["the", "cat", "tail"]),
            (&[], Some(".+"), 1, "a\nb c", &["a", "b c"]),
            (&[], Some("^[a-z]"), 1, "ab\ncd", &["a"]),
            (&[], Some("[a-z]$"), 1, "ab cd", &["d"]),
            (&[], Some("(?i)A|C"), 1, "ab\ncd", &["a", "c"]),
            (&["."], None, 1, "a.b,c", &[]),
            (&["\\."], None, 2, "abc.de.f", &["abc", "de"]),
            (&["-", "--"], None, 1, "a--b-c", &["a", "b", "c"]),
            (&["[0-9]"], None, 1, "a1b22c", &["a", "b", "c"]),
            (&["[,;]", "\\s+"], None, 1, "ab, cd;ef", &["ab", "cd", "ef"]),
            (&["\\s+"], None, 1, "  ab  ", &["ab"]),
            (&["a|aa"], None, 1, "xaab", &["x", "b"]),
            (&["^x"], None, 1, "xxab", &["xab"]),
            (&["x"], None, 1, "aXbXc", &["aXbXc"]),
            (&[" "], Some("[a-z]+"), 1, "1ab 2cd", &["1ab", "2cd"]),
            (&[" "], Some(""), 1, "a  b", &["a", "b"]),
        ];
        for (separators, pattern, least, text, expected) in cases {
            let tokenizer = Tokenizer::of(&attributes(separators, pattern, least)).unwrap();
            let texts = [text.as_bytes().to_vec()];
            let found = tokenizer.tokens(&texts).unwrap();
            assert_eq!(found, [expected], "{separators:?} {pattern:?} {least} {text:?}");
        }
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        let cases = [
            (attributes(&[], None, 1), "neither separators nor tokenexp"),
            (attributes(&[], Some("("), 1), "pattern \"(\""),
            (attributes(&[], Some("a"), 0), "mincharnum is 0"),
            (attributes(&[""], None, 2), "mincharnum is 2 for characters"),
            (attributes(&["x*"], None, 1), "separator \"x*\": it matches where there is nothing"),
        ];
        for (attributes, expected) in cases {
            let told = Tokenizer::of(&attributes).err().unwrap().to_string();
            assert!(told.contains(expected), "{told}");
        }
        let border = Tokenizer::of(&attributes(&["\\b"], None, 1)).unwrap();
        assert!(border.tokens(&[b"a b".to_vec()]).is_err());
        assert!(border.tokens(&[b"\xff".to_vec()]).is_err());
    }
}

//! RegexFullMatch.

use super::re2::translate;
use crate::error::BuildError;
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use regex::bytes::Regex;
use stead_tensor::DType;

/// RegexFullMatch.
pub const OPS: &[OpDef] = &[OpDef::new(
    "RegexFullMatch",
    &[Param::required(1, types::STRING)],
    &[Out::Fixed(DType::Bool)],
    regex_full_match,
)
.since(20)];

fn full(pattern: &str) -> Result<Regex, String> {
    let pattern = translate(pattern)?;
    // By itself first: brackets that do not match must not be matched by those around it.
    Regex::new(&pattern).map_err(|e| e.to_string())?;
    // The compiled form is bounded by the crate's own limit, and matching takes linear time.
    Regex::new(&format!("\\A(?:{pattern})\\z")).map_err(|e| e.to_string())
}

fn regex_full_match(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let pattern = spec.attributes().string_or("pattern", "")?;
    let regex = full(pattern)
        .map_err(|e| BuildError::unsupported(format!("pattern is \"{pattern}\": {e}")))?;
    plan_fn(move |cx| {
        let (shape, regex) = (cx.shape(0)?, regex.clone());
        let (x, slot) = (cx.input(0)?, cx.output(0, shape)?);
        cx.step("regex_full_match", &[x], &[slot], move |a| {
            let texts = a.strings(0)?;
            for (matches, text) in a.write_bytes()?.iter_mut().zip(texts) {
                *matches = u8::from(regex.is_match(text));
            }
            Ok(())
        });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_do_in_re2() {
        let cases = [
            ("a|ab", "ab", true),
            ("a", "ab", false),
            ("www\\.[\\w.-]+\\.\\bcom\\b", "www.google.com", true),
            (".", "\u{e4}", true),
            (".", "\n", false),
            ("(?s).", "\n", true),
            ("\\d", "5", true),
            // RE2's classes are those of ASCII.
            ("\\d", "\u{663}", false),
            ("\\w", "\u{e4}", false),
            ("[\\w]", "\u{e4}", false),
            ("[^\\w]", "\u{e4}", true),
            ("[\\W]", "\u{e4}", true),
            ("\\s", "\u{a0}", false),
            ("(?i)STRASSE", "strasse", true),
            ("[[a]", "[", true),
            ("[a&&b]", "&", true),
            ("[]a]", "]", true),
            ("[[:alpha:]]+", "abc", true),
            ("\\<a\\>", "<a>", true),
            ("\\Qa.b\\E+", "a.bb", true),
            ("\\Qa.b", "axb", false),
            ("a$", "a\n", false),
            ("\\pL", "\u{e4}", true),
        ];
        for (pattern, text, expected) in cases {
            let regex = full(pattern).unwrap();
            assert_eq!(regex.is_match(text.as_bytes()), expected, "{pattern:?} on {text:?}");
        }
        for pattern in ["(", "a)(b", "\\C", "(?x)a", "(?R)a", "[a--b]", "a{999999999}", "\\1"] {
            assert!(full(pattern).is_err(), "{pattern:?}");
        }
    }
}

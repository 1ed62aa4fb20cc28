//! What scripts do to texts.

use std::hash::Hasher;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;

/// The keys of the hash (Guava, `Hashing.sipHash24`).
const KEYS: (u64, u64) = (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);

/// Without blanks and control characters at both ends.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(|c| c <= ' ')
}

/// The characters from one to before another.
pub(super) fn substring(text: &str, from: usize, to: usize) -> String {
    text.chars().skip(from).take(to.saturating_sub(from)).collect()
}

/// The parts between matches of a pattern, without empty ones at the end; none of an empty text.
pub(super) fn split<'t>(text: &'t str, pattern: &Regex) -> Vec<&'t str> {
    if text.is_empty() {
        return Vec::new();
    }
    let mut parts = Vec::new();
    let mut begin = 0;
    for found in pattern.find_iter(text) {
        // A match of nothing at the beginning gives no part.
        if found.end() == 0 {
            continue;
        }
        if found.start() == text.len() && found.is_empty() {
            continue;
        }
        parts.push(&text[begin..found.start()]);
        begin = found.end();
    }
    parts.push(&text[begin..]);
    while parts.len() > 1 && parts.last().is_some_and(|p| p.is_empty()) {
        parts.pop();
    }
    parts
}

/// SipHash-2-4 of a text.
#[expect(deprecated, reason = "the only hash of the standard library whose algorithm is known")]
pub(super) fn hash(text: &str) -> u64 {
    let mut hasher = std::hash::SipHasher::new_with_keys(KEYS.0, KEYS.1);
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// The bytes of a number, the lowest first.
pub(super) fn base64_encode(number: i64) -> String {
    STANDARD.encode(number.to_le_bytes())
}

/// The number of bytes, the lowest first; that of an empty text is the least there is.
pub(super) fn base64_decode(text: &str) -> Option<i64> {
    if text.is_empty() {
        return Some(i64::MIN);
    }
    let bytes = STANDARD.decode(text).ok().filter(|b| !b.is_empty() && text.len() <= 12)?;
    // More than eight bytes push the highest out.
    let number = bytes.iter().rev().fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
    Some(number as i64)
}

/// The number of hexadecimal digits; that of an empty text is the least there is.
pub(super) fn hex_decode(text: &str) -> Option<i64> {
    if text.is_empty() {
        return Some(i64::MIN);
    }
    match text.strip_prefix('-') {
        Some(digits) => {
            let number =
                u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
            i64::try_from(-i128::from(number)).ok()
        }
        None => u64::from_str_radix(text, 16).ok().map(|number| number as i64),
    }
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::{base64_decode, base64_encode, hash, hex_decode, split, substring, trim};

    #[test]
    fn texts_are_split_as_in_java() {
        for (text, pattern, expected) in [
            ("6;9", ";", &["6", "9"][..]),
            ("", ";", &[]),
            (";a;;b;;", ";", &["", "a", "", "b"]),
            ("abc", "", &["a", "b", "c"]),
            ("abc", ",", &["abc"]),
            (",", ",", &[""]),
            ("a1b22c", "[0-9]+", &["a", "b", "c"]),
        ] {
            assert_eq!(split(text, &Regex::new(pattern).unwrap()), expected, "{text} {pattern}");
        }
    }

    #[test]
    fn texts_are_cut_and_cleaned() {
        assert_eq!(trim("\t a b \u{1}\n"), "a b");
        for (text, from, to, expected) in [
            ("a\u{e5}bc", 1, 3, "\u{e5}b"),
            ("abc", 2, 9, "c"),
            ("abc", 5, 9, ""),
            ("abc", 1, 1, ""),
        ] {
            assert_eq!(substring(text, from, to), expected, "{text} {from} {to}");
        }
    }

    #[test]
    fn numbers_are_written_as_texts() {
        // The reference vectors of SipHash-2-4 for the key 00 01 .. 0f.
        assert_eq!(hash(""), 0x726f_db47_dd0e_0e31);
        assert_eq!(hash("\0"), 0x74f8_39c5_93dc_67fd);
        assert_eq!(base64_encode(1), "AQAAAAAAAAA=");
        for (text, expected) in [
            ("AQAAAAAAAAA=", Some(1)),
            ("", Some(i64::MIN)),
            ("?", None),
            ("//////////8=", Some(-1)),
        ] {
            assert_eq!(base64_decode(text), expected, "{text}");
        }
        for (text, expected) in [
            ("1d28c2cd", Some(489_210_573)),
            ("", Some(i64::MIN)),
            ("ffffffffffffffff", Some(-1)),
            ("1ffffffffffffffff", None),
            ("z", None),
            ("-1", Some(-1)),
        ] {
            assert_eq!(hex_decode(text), expected, "{text}");
        }
    }
}

//! The words of a selection.

use super::parser::SelectionError;

/// A word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    Name(String),
    Integer(i64),
    Number(f64),
    Text(String),
    /// An operator or a bracket.
    Sign(&'static str),
}

/// The operators and brackets, longer ones before those that they begin with.
const SIGNS: [&str; 22] = [
    "==", "=~", "!=", "<=", ">=", "=", "<", ">", "(", ")", "{", "}", "[", "]", ".", "+", "-", "*",
    "/", "%", "$", ",",
];

/// The words with their places, and the place of the end.
pub(super) fn words(text: &str) -> Result<Vec<(usize, Word)>, SelectionError> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (word, size) = if first.is_ascii_digit() {
            number(rest).ok_or_else(|| SelectionError::new(at, "expected a number"))?
        } else if first.is_ascii_alphabetic() || first == '_' {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            (Word::Name(rest[..end].to_owned()), end)
        } else if first == '"' || first == '\'' {
            quoted(rest, first).ok_or_else(|| SelectionError::new(at, "the text does not end"))?
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
            let sign = sign.ok_or_else(|| {
                SelectionError::new(at, format!("unexpected {}", first.escape_default()))
            })?;
            (Word::Sign(sign), sign.len())
        };
        words.push((at, word));
        at += size;
    }
    Ok(words)
}

fn number(text: &str) -> Option<(Word, usize)> {
    if let Some(hex) = text.strip_prefix("0x") {
        let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
        // Numbers of buckets have the first bit too.
        let number = u64::from_str_radix(&hex[..end], 16).ok()? as i64;
        return Some((Word::Integer(number), end + 2));
    }
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let whole = digits(text);
    let mut end = whole;
    if text[end..].starts_with('.') && text[end + 1..].starts_with(|c: char| c.is_ascii_digit()) {
        end += 1 + digits(&text[end + 1..]);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let power = digits(&text[end + 1 + sign..]);
        end += if power > 0 { 1 + sign + power } else { 0 };
    }
    let word = match end == whole {
        true => Word::Integer(text[..end].parse().ok()?),
        false => Word::Number(text[..end].parse().ok()?),
    };
    Some((word, end))
}

/// A text in quotes, with the escapes of C.
fn quoted(text: &str, quote: char) -> Option<(Word, usize)> {
    let mut found = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => found.push(match characters.next()?.1 {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'f' => '\u{c}',
                'x' => {
                    let digits: String =
                        [characters.next()?.1, characters.next()?.1].iter().collect();
                    char::from(u8::from_str_radix(&digits, 16).ok()?)
                }
                other => other,
            }),
            end if end == quote => return Some((Word::Text(found), at + 1)),
            other => found.push(other),
        }
    }
    None
}

//! The pull reader.

use super::{JsonError, MAX_DEPTH};
use std::borrow::Cow;

/// What kind of value comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `"`
    String,
    /// A number, or one of the tokens `NaN`, `Infinity`, `-Infinity`.
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

impl Kind {
    /// The name for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Object => "object",
            Kind::Array => "array",
            Kind::String => "string",
            Kind::Number => "number",
            Kind::Bool => "boolean",
            Kind::Null => "null",
        }
    }
}

/// A cursor over a JSON text.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    text: &'a [u8],
    pub(super) pos: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `text`.
    pub const fn new(text: &'a [u8]) -> Reader<'a> {
        Reader { text, pos: 0, depth: 0 }
    }

    /// The position in bytes.
    pub const fn offset(&self) -> usize {
        self.pos
    }

    /// Bytes not read yet: an upper bound for the number of values that can follow.
    pub fn remaining(&self) -> usize {
        self.text.len().saturating_sub(self.pos)
    }

    pub(super) fn byte(&self) -> Option<u8> {
        self.text.get(self.pos).copied()
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.text.get(self.pos..).unwrap_or_default()
    }

    pub(super) const fn syntax(&self, what: &'static str) -> JsonError {
        JsonError::Syntax { offset: self.pos, what }
    }

    pub(super) fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte() {
            self.pos += 1;
        }
    }

    /// The kind of the next value, which is not consumed.
    ///
    /// # Errors
    /// [`JsonError::Syntax`] when no value starts here.
    pub fn peek(&mut self) -> Result<Kind, JsonError> {
        self.skip_space();
        match self.byte() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => Ok(Kind::Number),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            _ => Err(self.syntax("value")),
        }
    }

    /// The error for a value of the wrong kind at the present position.
    pub fn wrong_kind(&mut self, expected: &'static str) -> JsonError {
        match self.peek() {
            Ok(kind) => JsonError::Type { offset: self.pos, expected, actual: kind.name() },
            Err(e) => e,
        }
    }

    pub(super) fn take(&mut self, byte: u8) -> bool {
        let found = self.byte() == Some(byte);
        self.pos += usize::from(found);
        found
    }

    pub(super) fn enter(&mut self) -> Result<(), JsonError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(JsonError::TooDeep) } else { Ok(()) }
    }

    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Reads an object; `each` must consume the value of the key it is given.
    ///
    /// # Errors
    /// [`JsonError::Type`] when it is no object, [`JsonError::Syntax`], and what `each` returns.
    pub fn object<E: From<JsonError>>(
        &mut self,
        mut each: impl FnMut(&mut Self, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        self.skip_space();
        if !self.take(b'{') {
            return Err(self.wrong_kind("object").into());
        }
        self.enter()?;
        self.skip_space();
        if !self.take(b'}') {
            loop {
                self.skip_space();
                if self.byte() != Some(b'"') {
                    return Err(self.syntax("name of an object member").into());
                }
                let key = self.string()?;
                self.skip_space();
                if !self.take(b':') {
                    return Err(self.syntax("':'").into());
                }
                each(self, &key)?;
                self.skip_space();
                if self.take(b',') {
                    continue;
                }
                if self.take(b'}') {
                    break;
                }
                return Err(self.syntax("',' or '}'").into());
            }
        }
        self.leave();
        Ok(())
    }

    /// Reads an array; `each` must consume one value.
    ///
    /// # Errors
    /// [`JsonError::Type`] when it is no array, [`JsonError::Syntax`], and what `each` returns.
    pub fn array<E: From<JsonError>>(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.skip_space();
        if !self.take(b'[') {
            return Err(self.wrong_kind("array").into());
        }
        self.enter()?;
        self.skip_space();
        if !self.take(b']') {
            loop {
                each(self)?;
                self.skip_space();
                if self.take(b',') {
                    continue;
                }
                if self.take(b']') {
                    break;
                }
                return Err(self.syntax("',' or ']'").into());
            }
        }
        self.leave();
        Ok(())
    }

    /// Reads `true` or `false`.
    ///
    /// # Errors
    /// [`JsonError::Type`] for another kind of value.
    pub fn boolean(&mut self) -> Result<bool, JsonError> {
        self.skip_space();
        if self.word("true") {
            Ok(true)
        } else if self.word("false") {
            Ok(false)
        } else {
            Err(self.wrong_kind("boolean"))
        }
    }

    pub(super) fn word(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word.as_bytes());
        if found {
            self.pos += word.len();
        }
        found
    }

    /// Reads a string, borrowed when it holds no escapes.
    ///
    /// # Errors
    /// [`JsonError::Type`] for another kind of value; [`JsonError::Syntax`] for control characters, bad
    /// escapes and bytes that are not UTF-8.
    pub fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        self.skip_space();
        if !self.take(b'"') {
            return Err(self.wrong_kind("string"));
        }
        let start = self.pos;
        let plain = self.plain_run();
        if self.take(b'"') {
            return Ok(Cow::Borrowed(self.utf8(plain, start)?));
        }
        let mut out = self.utf8(plain, start)?.to_owned();
        loop {
            match self.byte() {
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(Cow::Owned(out));
                }
                Some(b'\\') => {
                    self.pos += 1;
                    out.push(self.escape()?);
                }
                _ => return Err(self.syntax("end of string")),
            }
            let start = self.pos;
            let run = self.plain_run();
            out.push_str(self.utf8(run, start)?);
        }
    }

    /// The bytes up to the next quote, backslash or control character.
    fn plain_run(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let len = rest.iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20);
        let run = rest.get(..len.unwrap_or(rest.len())).unwrap_or_default();
        self.pos += run.len();
        run
    }

    fn utf8(&self, bytes: &'a [u8], start: usize) -> Result<&'a str, JsonError> {
        std::str::from_utf8(bytes)
            .map_err(|e| JsonError::Syntax { offset: start + e.valid_up_to(), what: "valid UTF-8" })
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let byte = self.byte().ok_or_else(|| self.syntax("escape"))?;
        self.pos += 1;
        Ok(match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hex4()?;
                let code = if (0xD800..0xDC00).contains(&first) {
                    if !(self.take(b'\\') && self.take(b'u')) {
                        return Err(self.syntax("low surrogate"));
                    }
                    let second = self.hex4()?;
                    if !(0xDC00..0xE000).contains(&second) {
                        return Err(self.syntax("low surrogate"));
                    }
                    0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
                } else {
                    first
                };
                char::from_u32(code).ok_or_else(|| self.syntax("high surrogate"))?
            }
            _ => return Err(self.syntax("escape")),
        })
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let digits = self.rest().get(..4).ok_or_else(|| self.syntax("four hex digits"))?;
        let mut code = 0;
        for &d in digits {
            let digit = (d as char).to_digit(16).ok_or_else(|| self.syntax("four hex digits"))?;
            code = code * 16 + digit;
        }
        self.pos += 4;
        Ok(code)
    }

    /// Skips one value of any kind and returns its text.
    ///
    /// # Errors
    /// [`JsonError::Syntax`] and [`JsonError::TooDeep`].
    pub fn skip(&mut self) -> Result<&'a [u8], JsonError> {
        self.peek()?;
        let start = self.pos;
        // Whether each open level is an object; the limit bounds the list.
        let mut objects = [false; MAX_DEPTH];
        let base = self.depth;
        loop {
            match self.peek()? {
                kind @ (Kind::Object | Kind::Array) => {
                    self.pos += 1;
                    self.enter()?;
                    if let Some(level) = objects.get_mut(self.depth - 1) {
                        *level = kind == Kind::Object;
                    }
                    self.skip_space();
                    let close = if kind == Kind::Object { b'}' } else { b']' };
                    if self.take(close) {
                        self.leave();
                    } else {
                        if kind == Kind::Object {
                            self.skip_key()?;
                        }
                        continue;
                    }
                }
                Kind::String => drop(self.string()?),
                Kind::Number => drop(self.number_token()?),
                Kind::Bool => drop(self.boolean()?),
                Kind::Null => self.null()?,
            }
            // A value is complete: go on in, or close, the levels that this call opened.
            loop {
                if self.depth == base {
                    return Ok(self.text.get(start..self.pos).unwrap_or_default());
                }
                let object = objects.get(self.depth - 1).copied().unwrap_or_default();
                self.skip_space();
                if self.take(b',') {
                    if object {
                        self.skip_key()?;
                    }
                    break;
                }
                if !self.take(if object { b'}' } else { b']' }) {
                    return Err(self.syntax("',' or end of array or object"));
                }
                self.leave();
            }
        }
    }

    fn skip_key(&mut self) -> Result<(), JsonError> {
        self.skip_space();
        if self.byte() != Some(b'"') {
            return Err(self.syntax("name of an object member"));
        }
        self.string()?;
        self.skip_space();
        if self.take(b':') { Ok(()) } else { Err(self.syntax("':'")) }
    }

    /// Reads `null`.
    ///
    /// # Errors
    /// [`JsonError::Type`] for another kind of value.
    pub fn null(&mut self) -> Result<(), JsonError> {
        self.skip_space();
        if self.word("null") { Ok(()) } else { Err(self.wrong_kind("null")) }
    }

    /// Checks that nothing but white space follows.
    ///
    /// # Errors
    /// [`JsonError::Syntax`].
    pub fn end(&mut self) -> Result<(), JsonError> {
        self.skip_space();
        if self.pos == self.text.len() { Ok(()) } else { Err(self.syntax("end of text")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_texts_are_accepted_or_refused() {
        let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
        let cases = [
            (r#"{"a":[1,2.5e-3,{"b":null}],"c":"x\"\u00e9\ud83d\ude00"}"#.to_owned(), true),
            ("[]".into(), true),
            ("  {} \n".into(), true),
            ("[NaN,-Infinity,Infinity]".into(), true),
            (deep(100), true),
            (deep(101), false),
            ("[".repeat(100_000), false),
            (r#"{"a":"#.repeat(100_000), false),
            ("".into(), false),
            ("{".into(), false),
            ("[1,]".into(), false),
            ("[1 2]".into(), false),
            (r#"{"a" 1}"#.into(), false),
            (r#"{a:1}"#.into(), false),
            (r#"{"a":1,}"#.into(), false),
            ("[01]".into(), false),
            ("[1.]".into(), false),
            ("[.5]".into(), false),
            ("[+1]".into(), false),
            ("[1e]".into(), false),
            ("[-]".into(), false),
            ("[truth]".into(), false),
            ("[nul]".into(), false),
            ("\"\\ud800\"".into(), false),
            ("\"\\udc00\"".into(), false),
            ("\"\\x\"".into(), false),
            ("\"a\nb\"".into(), false),
            ("\"abc".into(), false),
            ("1 2".into(), false),
            ("[1}".into(), false),
            (r#"{"a":1]"#.into(), false),
        ];
        for (text, good) in cases {
            let mut r = Reader::new(text.as_bytes());
            let got = r.skip().map(drop).and_then(|()| r.end());
            assert_eq!(got.is_ok(), good, "{}: {got:?}", text.chars().take(40).collect::<String>());
            // An independent reader agrees, but for the tokens and the limit that it does not know.
            if !text.contains("NaN") && text.len() < 150 {
                assert_eq!(
                    serde_json::from_str::<serde_json::Value>(&text).is_ok(),
                    good,
                    "{text}"
                );
            }
        }
        assert!(Reader::new(b"\"\xff\"").skip().is_err());
    }

    #[test]
    fn strings_are_unescaped_and_plain_ones_borrowed() {
        let text = br#"["plain","a\n\"\u0041\ud83d\ude00/\/"]"#;
        let mut got = Vec::new();
        Reader::new(text)
            .array::<JsonError>(|r| {
                got.push(r.string()?);
                Ok(())
            })
            .unwrap();
        assert!(matches!(got[0], Cow::Borrowed("plain")));
        assert_eq!(got[1], "a\n\"A\u{1F600}//");
    }

    #[test]
    fn skipping_returns_the_text() {
        let mut r = Reader::new(br#"{"x": [1, {"y":2}] , "z":3}"#);
        let mut seen = Vec::new();
        r.object::<JsonError>(|r, key| {
            seen.push((key.to_owned(), String::from_utf8_lossy(r.skip()?).into_owned()));
            Ok(())
        })
        .unwrap();
        assert_eq!(seen[0], ("x".into(), r#"[1, {"y":2}]"#.into()));
        assert_eq!(seen[1], ("z".into(), "3".into()));
    }
}

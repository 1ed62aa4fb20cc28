//! Buckets of `predefined`
//! (Vespa, `container-search/src/main/java/com/yahoo/search/grouping/request/BucketResolver.java`).

use std::cmp::Ordering;

use super::lexer::Token;
use super::operation::Parser;
use super::tree::{Bucket, Constant, Number};
use crate::yql::Fault;

impl Parser<'_> {
    /// Buckets that follow each other, in ascending order and of one type.
    pub(super) fn buckets(&mut self) -> Result<Vec<Bucket>, Fault> {
        let mut buckets: Vec<Bucket> = Vec::new();
        // The end that was read last, which tells the type.
        let mut last: Option<Constant> = None;
        loop {
            self.count(1)?;
            let at = self.lexer.at;
            let fail = |text: String| Err(Fault { at, text });
            let bucket = match self.bucket(&mut last)? {
                Ok(bucket) => bucket,
                Err(text) => return fail(text),
            };
            if order(&bucket.to, &bucket.from) == Ordering::Less {
                return fail("Bucket to-value cannot be less than from-value.".to_owned());
            }
            if let Some(before) = buckets.last()
                && order(&before.to, &bucket.from) == Ordering::Greater
            {
                let text = format!(
                    "Buckets must be monotonically increasing, got {before} before {bucket}."
                );
                return fail(text);
            }
            buckets.push(bucket);
            if !self.lexer.take_sign(',')? {
                return Ok(buckets);
            }
        }
    }

    /// `bucket(1, 2)`, `bucket<1, 2]`, `bucket["a"]`: both ends, of which the second is the first if there is one only.
    fn bucket(&mut self, last: &mut Option<Constant>) -> Result<Result<Bucket, String>, Fault> {
        if !self.lexer.take_word("bucket")? {
            return Err(self.lexer.unexpected("bucket"));
        }
        let has_first = match self.lexer.token {
            Token::Sign('(' | '[') => true,
            Token::Sign('<') => false,
            _ => return Err(self.lexer.unexpected("( or [ or <")),
        };
        self.lexer.take()?;
        let from = self.end(true)?;
        let to = if self.lexer.take_sign(',')? { Some(self.end(false)?) } else { None };
        let has_last = match self.lexer.token {
            Token::Sign(')' | '>') => to.is_none(),
            Token::Sign(']') => true,
            _ => return Err(self.lexer.unexpected(") or ] or >")),
        };
        self.lexer.take()?;
        let to = to.unwrap_or_else(|| from.clone());
        for end in [&from, &to] {
            if let Some(before) = last
                && let Err(text) = fit(before, end)
            {
                return Ok(Err(text));
            }
            *last = Some(end.clone());
        }
        let from = if has_first { from } else { next(from) };
        Ok(Ok(Bucket { from, to: if has_last { next(to) } else { to } }))
    }

    /// An end of a bucket.
    fn end(&mut self, is_first: bool) -> Result<Constant, Fault> {
        match self.lexer.token {
            Token::Sign('{') => self.raw(),
            Token::Sign('-') => {
                self.lexer.take()?;
                if is_first && self.lexer.take_word("inf")? {
                    return Ok(Constant::Infinite { is_negative: true });
                }
                Ok(Constant::Number(match self.number_or_least()? {
                    Number::Long(number) => Number::Long(number.wrapping_neg()),
                    Number::Double(number) => Number::Double(-number),
                }))
            }
            Token::Integer(_) | Token::Decimal(_) => self.number().map(Constant::Number),
            Token::Word("inf") if !is_first => {
                self.lexer.take()?;
                Ok(Constant::Infinite { is_negative: false })
            }
            Token::Word("inf") => Err(self.lexer.unexpected("the first value of a bucket")),
            _ => Ok(Constant::Text(self.lexer.text("a number, a text or {...}")?)),
        }
    }

    /// `{1, 'b'}`: bytes, and the bytes of texts.
    fn raw(&mut self) -> Result<Constant, Fault> {
        self.lexer.expect('{')?;
        let mut bytes = Vec::new();
        loop {
            match self.lexer.token {
                Token::Integer(number) => match u8::try_from(number) {
                    Ok(byte) => bytes.push(byte),
                    Err(_) => return Err(self.lexer.unexpected("a byte")),
                },
                Token::Text(ref text) => bytes.extend(text.bytes()),
                _ => return Err(self.lexer.unexpected("a byte")),
            }
            self.lexer.take()?;
            if !self.lexer.take_sign(',')? {
                break;
            }
        }
        self.lexer.expect('}')?;
        Ok(Constant::Raw(bytes))
    }
}

/// Whether two ends behind each other are of one type.
fn fit(before: &Constant, end: &Constant) -> Result<(), String> {
    let name = |end: &Constant| match end {
        Constant::Number(Number::Long(_)) => "LongValue",
        Constant::Number(Number::Double(_)) => "DoubleValue",
        Constant::Text(_) => "StringValue",
        Constant::Raw(_) => "RawValue",
        Constant::Infinite { .. } => "InfiniteValue",
    };
    match (name(before), name(end)) {
        ("InfiniteValue", "InfiniteValue") => {
            Err("Bucket type mismatch, cannot both be infinity.".to_owned())
        }
        ("InfiniteValue", _) | (_, "InfiniteValue") => Ok(()),
        (before, end) if before == end => Ok(()),
        (before, end) => Err(format!("Bucket type mismatch, expected '{before}' got '{end}'.")),
    }
}

/// The order of two ends; of types that differ it is nothing that anybody asks for.
fn order(a: &Constant, b: &Constant) -> Ordering {
    match (a, b) {
        (Constant::Infinite { is_negative: a }, Constant::Infinite { is_negative: b }) => b.cmp(a),
        (Constant::Infinite { is_negative }, _) => {
            if *is_negative {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (_, Constant::Infinite { .. }) => order(b, a).reverse(),
        (Constant::Number(Number::Long(a)), Constant::Number(Number::Long(b))) => a.cmp(b),
        (Constant::Number(a), Constant::Number(b)) => a.double().total_cmp(&b.double()),
        (Constant::Text(a), Constant::Text(b)) => a.cmp(b),
        (Constant::Raw(a), Constant::Raw(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

/// The value behind one.
fn next(end: Constant) -> Constant {
    match end {
        Constant::Number(Number::Long(number)) => {
            Constant::Number(Number::Long(number.saturating_add(1)))
        }
        Constant::Number(Number::Double(number)) => {
            Constant::Number(Number::Double(number.next_up()))
        }
        Constant::Text(text) => Constant::Text(text + " "),
        Constant::Raw(mut bytes) => {
            bytes.push(0);
            Constant::Raw(bytes)
        }
        infinite @ Constant::Infinite { .. } => infinite,
    }
}

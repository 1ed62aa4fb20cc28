//! The query language that people type (Vespa, documentation, `reference/querying/simple-query-language-reference.html`): words, phrases in
//! quotes, what must be there behind `+` and must not behind `-`, `field:word`, numbers and ranges, and exact texts up to what ends them
//! (Vespa, `Tokenizer.java`).

use std::iter::Peekable;
use std::str::CharIndices;

/// The most items of a text, and how deep parentheses may stand in each other.
const MOST: (usize, usize) = (1024, 32);

/// What signs of a text mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// Quotes, signs, fields and parentheses, in which one of several is wanted.
    Simple,
    /// The same without parentheses, with `OR` between words.
    Web,
}

/// What the names of fields mean.
#[derive(Clone, Copy)]
pub(super) struct Names<'n> {
    /// Whether a name before a colon is one of a field.
    pub(super) is_field: &'n dyn Fn(&str) -> bool,
    /// What ends the texts of a field or set of fields that are taken as they are, signs and blanks too.
    pub(super) terminator: &'n dyn Fn(&str) -> Option<String>,
    /// Where parts are looked for that name no field.
    pub(super) index: Option<&'n str>,
}

/// A part of what was typed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    /// `+` or `-` before it.
    pub(super) sign: Option<Sign>,
    /// Before a colon.
    pub(super) field: Option<String>,
    /// `!150` behind it, in percent.
    pub(super) weight: Option<i64>,
    /// What it is.
    pub(super) what: What,
}

/// What must be so of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// It must be there.
    Must,
    /// It must not be there.
    Not,
}

/// What a part is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    /// A word, or several without blanks between them.
    Word(String),
    /// The beginning of a word.
    Prefix(String),
    /// The end of a word.
    Suffix(String),
    /// A part of a word.
    Substring(String),
    /// What stands in quotes.
    Phrase(String),
    /// A text that is taken as it is.
    Exact(String),
    /// One of several.
    Any(Vec<Item>),
}

/// The parts of what was typed.
///
/// # Errors
/// When there are too many.
pub(super) fn parse(text: &str, syntax: Syntax, names: Names<'_>) -> Result<Vec<Item>, String> {
    let mut parser = Parser {
        text,
        chars: text.char_indices().peekable(),
        syntax,
        names,
        terminator: names.index.and_then(names.terminator),
        count: 0,
        depth: 0,
    };
    parser.items()
}

struct Parser<'t> {
    text: &'t str,
    chars: Peekable<CharIndices<'t>>,
    syntax: Syntax,
    names: Names<'t>,
    /// What ends each part that names no field, where these are exact texts.
    terminator: Option<String>,
    count: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        self.chars.peek().map(|(_, letter)| *letter)
    }

    fn take(&mut self, wanted: char) -> bool {
        self.chars.next_if(|(_, letter)| *letter == wanted).is_some()
    }

    fn at(&mut self) -> usize {
        self.chars.peek().map_or(self.text.len(), |(at, _)| *at)
    }

    /// Everything up to the end or the parenthesis that closes.
    fn items(&mut self) -> Result<Vec<Item>, String> {
        let (mut items, mut joins): (Vec<Item>, bool) = (Vec::new(), false);
        loop {
            while self.peek().is_some_and(char::is_whitespace) {
                self.chars.next();
            }
            match self.peek() {
                None => break,
                Some(')') if self.depth > 0 => break,
                _ => {}
            }
            let Some(item) = self.item()? else { continue };
            if self.syntax == Syntax::Web && item.what == What::Word("OR".to_owned()) {
                joins = !items.is_empty();
                continue;
            }
            self.count += 1;
            if self.count > MOST.0 {
                return Err(format!("more than {} words", MOST.0));
            }
            match (joins, items.pop()) {
                (
                    true,
                    Some(Item { sign: None, field: None, weight: None, what: What::Any(mut any) }),
                ) => {
                    any.push(item);
                    items.push(Item::of(What::Any(any)));
                }
                (true, Some(before)) => items.push(Item::of(What::Any(vec![before, item]))),
                (_, before) => items.extend(before.into_iter().chain([item])),
            }
            joins = false;
        }
        Ok(items)
    }

    /// The next part; nothing where only signs stand.
    fn item(&mut self) -> Result<Option<Item>, String> {
        if let Some(terminator) = self.terminator.clone() {
            return Ok(Some(self.exact(&terminator)));
        }
        let sign = match self.peek() {
            Some('+') => Some(Sign::Must),
            Some('-') => Some(Sign::Not),
            _ => None,
        };
        if sign.is_some() {
            self.chars.next();
        }
        let field = self.field();
        if let Some(terminator) = field.as_deref().and_then(self.names.terminator) {
            return Ok(Some(Item { sign, field, ..self.exact(&terminator) }));
        }
        let what = match self.peek() {
            Some('"') => {
                self.chars.next();
                let begin = self.at();
                while self.peek().is_some_and(|letter| letter != '"') {
                    self.chars.next();
                }
                let end = self.at();
                self.chars.next();
                Some(What::Phrase(self.text[begin..end].to_owned()))
            }
            Some('(') if self.syntax == Syntax::Simple => {
                self.chars.next();
                self.depth += 1;
                if self.depth > MOST.1 {
                    return Err(format!("more than {} parentheses in each other", MOST.1));
                }
                let any = self.items()?;
                self.depth -= 1;
                self.take(')');
                Some(What::Any(any))
            }
            _ => self.word(field.is_some()),
        };
        let weight = self.weight();
        Ok(what.map(|what| Item { sign, field, weight, what }))
    }

    /// A text up to what ends it or the end of all; `*` and a weight may stand behind that.
    fn exact(&mut self, terminator: &str) -> Item {
        let begin = self.at();
        let rest = self.text.get(begin..).unwrap_or_default();
        let (text, behind) = rest.split_once(terminator).unwrap_or((rest, ""));
        let behind = self.text.len() - behind.len();
        while self.at() < behind {
            self.chars.next();
        }
        let what = match self.take('*') {
            true => What::Prefix(text.to_owned()),
            false => What::Exact(text.to_owned()),
        };
        Item { weight: self.weight(), ..Item::of(what) }
    }

    /// A name of a field with the colon behind it.
    fn field(&mut self) -> Option<String> {
        let mut ahead = self.chars.clone();
        let begin = self.at();
        let is_of_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.');
        while ahead.next_if(|(_, letter)| is_of_name(*letter)).is_some() {}
        let (end, _) = ahead.next_if(|(_, letter)| *letter == ':')?;
        let name = &self.text[begin..end];
        // A colon with nothing behind it is a sign like others.
        let next = ahead.peek().map(|(_, letter)| *letter)?;
        if name.is_empty() || !(self.names.is_field)(name) {
            return None;
        }
        if next.is_whitespace() && (self.names.terminator)(name).is_none() {
            return None;
        }
        self.chars = ahead;
        Some(name.to_owned())
    }

    /// Up to the next blank, quote or parenthesis; of a field up to the end of a range too.
    fn word(&mut self, is_of_field: bool) -> Option<What> {
        let begin = self.at();
        if is_of_field && matches!(self.peek(), Some('[' | '<' | '>')) {
            let closes = |letter: char| matches!(letter, ']' | '>');
            let opens = self.peek() != Some('>');
            self.chars.next();
            let mut end = self.at();
            while let Some(letter) = self.peek().filter(|letter| !letter.is_whitespace()) {
                self.chars.next();
                end = self.at();
                if opens && closes(letter) {
                    break;
                }
            }
            return Some(What::Word(self.text[begin..end].to_owned()));
        }
        let is_end =
            |letter: char| letter.is_whitespace() || matches!(letter, '"' | '(' | ')' | '!');
        while self.peek().is_some_and(|letter| !is_end(letter)) {
            self.chars.next();
        }
        let end = self.at();
        if begin == end {
            // A sign that means nothing here.
            if self.peek() != Some('!') {
                self.chars.next_if(|(_, letter)| !letter.is_whitespace());
            }
            return None;
        }
        let word = &self.text[begin..end];
        let part = word.trim_matches('*').to_owned();
        Some(match (word.starts_with('*'), word.ends_with('*')) {
            _ if part.is_empty() => What::Word(word.to_owned()),
            (false, false) => What::Word(part),
            (false, true) => What::Prefix(part),
            (true, false) => What::Suffix(part),
            (true, true) => What::Substring(part),
        })
    }

    /// `!150`, or a sign for each 50 percent more.
    fn weight(&mut self) -> Option<i64> {
        if !self.take('!') {
            return None;
        }
        let begin = self.at();
        while self.peek().is_some_and(|letter| letter.is_ascii_digit()) {
            self.chars.next();
        }
        let end = self.at();
        if begin < end {
            return self.text[begin..end].parse().ok();
        }
        let mut weight = 150_i64;
        while self.take('!') {
            weight = weight.saturating_add(50);
        }
        Some(weight)
    }
}

impl Item {
    fn of(what: What) -> Item {
        Item { sign: None, field: None, weight: None, what }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{Item, Names, Sign, Syntax, What, parse};

    fn show(items: &[Item]) -> String {
        let one = |item: &Item| {
            let sign = match item.sign {
                None => "",
                Some(Sign::Must) => "+",
                Some(Sign::Not) => "-",
            };
            let field = item.field.as_ref().map(|name| format!("{name}:")).unwrap_or_default();
            let weight = item.weight.map(|weight| format!("!{weight}")).unwrap_or_default();
            let what = match &item.what {
                What::Word(word) => word.clone(),
                What::Prefix(word) => format!("{word}*"),
                What::Suffix(word) => format!("*{word}"),
                What::Substring(word) => format!("*{word}*"),
                What::Exact(text) => format!("<{text}>"),
                What::Phrase(text) => format!("\"{text}\""),
                What::Any(list) => format!("({})", show(list)),
            };
            format!("{sign}{field}{what}{weight}")
        };
        items.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    fn is_field(name: &str) -> bool {
        ["title", "year", "a.b", "id", "model"].contains(&name)
    }

    fn terminator(name: &str) -> Option<String> {
        match name {
            "id" => Some("@@".to_owned()),
            "model" => Some("()/*".to_owned()),
            _ => None,
        }
    }

    fn names(index: Option<&str>) -> Names<'_> {
        Names { is_field: &is_field, terminator: &terminator, index }
    }

    #[test]
    fn what_is_typed_has_parts() {
        let (simple, web) = (Syntax::Simple, Syntax::Web);
        for (text, syntax, expected) in [
            ("", simple, ""),
            ("big  dogs ", simple, "big dogs"),
            ("+big -dogs", simple, "+big -dogs"),
            ("\"big dogs\" ran\"", simple, "\"big dogs\" ran \"\""),
            ("title:dogs a.b:\"x y\" other:z", simple, "title:dogs a.b:\"x y\" other:z"),
            ("title: dogs", simple, "title: dogs"),
            ("-title:dogs", simple, "-title:dogs"),
            ("dog* *", simple, "dog* *"),
            ("a (b c) -(d)", simple, "a (b c) -(d)"),
            ("a (b (c", simple, "a (b (c))"),
            ("a) b", simple, "a b"),
            ("title:(a b)", simple, "title:(a b)"),
            ("year:>2000 year:[1;5]x year:<5", simple, "year:>2000 year:[1;5] x year:<5"),
            ("year:2000!150 dogs!! \"x\"!", simple, "year:2000!150 dogs!200 \"x\"!150"),
            ("a OR b c", web, "(a b) c"),
            ("a OR b OR c OR", web, "(a b c)"),
            ("OR a", web, "a"),
            ("a OR b", simple, "a OR b"),
            ("(a b)", web, "a b"),
            ("+ - a", simple, "a"),
            ("it's mother-in-law", simple, "it's mother-in-law"),
            ("*dog *og* +title:*og!200 -*d", simple, "*dog *og* +title:*og!200 -*d"),
            ("**dog do** **og** ** *\"dog\"*", simple, "*dog do* *og* ** * \"dog\" *"),
        ] {
            let found = parse(text, syntax, names(Some("title"))).unwrap();
            assert_eq!(show(&found), expected, "{text}");
        }
        let many = "a ".repeat(2000);
        assert_eq!(parse(&many, simple, names(None)).unwrap_err(), "more than 1024 words");
        let deep = "(".repeat(2000);
        let error = parse(&deep, simple, names(None)).unwrap_err();
        assert_eq!(error, "more than 32 parentheses in each other");
    }

    #[test]
    fn exact_texts_end_where_their_field_says() {
        for (text, index, expected) in [
            ("a id:B & O@@ b", "title", "a id:<B & O> b"),
            ("-id:\"a\" (b)@@+c", "title", "-id:<\"a\" (b)> +c"),
            ("id:a title:b", "title", "id:<a title:b>"),
            ("id: a@@!200 id:b@@*", "title", "id:< a>!200 id:b*"),
            ("id:@@ id:", "title", "id:<> id:"),
            ("(a id:b)@@) c", "title", "(a id:<b)>) c"),
            ("model:ho_/&%()/ ()/*b", "title", "model:<ho_/&%()/ >b"),
            ("model:ho()/", "title", "model:<ho()/>"),
            (" -a b@@ \"c\"", "id", "<-a b> <\"c\">"),
            ("title:a@@!!title:b@@*", "id", "<title:a>!200 title:b*"),
            ("", "id", ""),
        ] {
            let found = parse(text, Syntax::Simple, names(Some(index))).unwrap();
            let found = show(&found).replace(">b", "> b");
            assert_eq!(found, expected.replace(">b", "> b"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_typed_is_read(text in any::<String>(), signs in "([-+!:()\"*<>\\[\\];a OR@]|id:|@@){0,40}") {
            for syntax in [Syntax::Simple, Syntax::Web] {
                for index in [None, Some("title"), Some("id"), Some("model")] {
                    let _ = parse(&text, syntax, names(index));
                    let _ = parse(&signs, syntax, names(index));
                }
            }
        }
    }
}

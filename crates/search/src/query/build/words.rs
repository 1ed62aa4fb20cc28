//! `contains` and `matches`: tests of texts.

use stead_store::DataType;
use stead_text::{Affix, fold};

use super::super::error::SearchError;
use super::super::fields::Searched;
use super::super::numbers::NumberRange;
use super::super::texts::{Fuzzy, TextTest};
use super::super::tree::{Said, Test, Tree};
use super::indexed::EMPTY;
use super::{Builder, arguments, fail};
use crate::yql::{Expr, Node};

/// The most edits of a fuzzy text: more would match nearly everything and takes its time.
const MAX_EDITS: i64 = 16;

/// What a text is compared with.
#[derive(Clone, Copy)]
enum Word<'w> {
    Plain(&'w str),
    /// Only a part of it.
    Part(Affix, &'w str),
    Regex(&'w str),
    Fuzzy(&'w str),
}

impl<'b> Builder<'b> {
    pub(super) fn contains(
        &mut self,
        field: &'b Node,
        value: &'b Node,
    ) -> Result<Tree, SearchError> {
        self.annotated(value, |builder| match (&field.expr, &value.expr) {
            (Expr::Entry(of, key), _) => {
                let text = builder.text(value)?;
                builder.entry_equals(of, key, &text)
            }
            (_, Expr::Call(name, list)) if name == "sameElement" => {
                builder.same_element(field, list)
            }
            (_, Expr::Call(name, list)) => {
                let field = builder.field(field)?;
                builder.text_call(&field, name, list)
            }
            _ => {
                let (field, text) = (builder.field(field)?, builder.text(value)?);
                builder.word(&field, Word::Plain(&text))
            }
        })
    }

    pub(super) fn matches(
        &mut self,
        field: &'b Node,
        value: &'b Node,
    ) -> Result<Tree, SearchError> {
        self.annotated(value, |builder| {
            let (field, text) = (builder.field(field)?, builder.text(value)?);
            builder.word(&field, Word::Regex(&text))
        })
    }

    /// A word within `sameElement` that speaks of the elements themselves.
    pub(super) fn element_word(&mut self, node: &'b Node) -> Result<Tree, SearchError> {
        let (field, text) = (self.element.clone().unwrap_or_default(), self.text(node)?);
        self.word(&field, Word::Plain(&text))
    }

    /// A text that an element of a field must be.
    pub(super) fn element_text(&mut self, field: &str, text: &str) -> Result<Tree, SearchError> {
        self.word(field, Word::Plain(text))
    }

    /// The same for a function.
    pub(super) fn element_call(
        &mut self,
        name: &str,
        list: &'b [Node],
    ) -> Result<Tree, SearchError> {
        let field = self.element.clone().unwrap_or_default();
        self.text_call(&field, name, list)
    }

    fn text_call(
        &mut self,
        field: &str,
        name: &str,
        list: &'b [Node],
    ) -> Result<Tree, SearchError> {
        match name {
            "fuzzy" => {
                let [text] = arguments(list)?;
                let text = self.text(text)?;
                self.word(field, Word::Fuzzy(&text))
            }
            "equiv" => self.equiv(field, list),
            "text" if self.element.is_none() => self.text_words(field, list),
            "phrase" | "near" | "onear" => self.near(field, name, list),
            "alternatives" => self.alternatives(field, list),
            "uri" if self.element.is_none() => self.uri(field, list),
            // The field goes first: who names one that there is not should hear of that.
            _ => self.searches.find(field).and_then(|_| self.unknown_call(name)),
        }
    }

    /// A text that is written, or that a parameter says.
    pub(super) fn text(&self, node: &Node) -> Result<String, SearchError> {
        match &node.expr {
            Expr::Text(text) => Ok(text.clone()),
            Expr::Parameter(name) => self.parameter(name),
            Expr::Integer(number) => Ok(number.to_string()),
            Expr::Number(number) => Ok(number.to_string()),
            Expr::Bool(value) => Ok(value.to_string()),
            _ => fail("expected a text behind contains or matches"),
        }
    }

    /// What people type of a field or set of fields.
    pub(super) fn typed_text(&mut self, field: &str, text: &str) -> Result<Tree, SearchError> {
        if self.has_host_names(field) {
            return self.host(field, text, true);
        }
        self.word(field, Word::Plain(text))
    }

    /// The same of a part of a word, with `*` where others may be (Vespa, `StructuredParser.java`).
    pub(super) fn typed_part(
        &mut self,
        field: &str,
        part: Affix,
        text: &str,
    ) -> Result<Tree, SearchError> {
        if self.has_host_names(field) {
            return self.host(field, text, part == Affix::Suffix);
        }
        self.word(field, Word::Part(part, text))
    }

    /// A test for each field that a name means: one item.
    fn word(&mut self, field: &str, word: Word<'_>) -> Result<Tree, SearchError> {
        let said = match word {
            Word::Plain(text) | Word::Part(_, text) if self.item.is_none() => Some(text),
            // Of several words that are one item each says nothing alone.
            _ => None,
        };
        self.said = said.map_or(Said::Other, Said::word);
        let found = self.one_item(|builder| builder.word_of(field, word));
        self.said = Said::Other;
        found
    }

    fn word_of(&mut self, field: &str, word: Word<'_>) -> Result<Tree, SearchError> {
        let fields = self.searches.find(field)?;
        let is_alone = fields.len() == 1;
        let mut any = Vec::new();
        for field in &fields {
            match self.word_in(field, word)? {
                Some(found) => any.push(found),
                // Among several fields each takes what it can.
                None if is_alone => return has_none(field, word),
                None => {}
            }
        }
        Ok(Tree::any(any))
    }

    /// A test of a field; nothing where it has no such values.
    fn word_in(&mut self, field: &Searched, word: Word<'_>) -> Result<Option<Tree>, SearchError> {
        match (field.index, word) {
            (Some(index), Word::Plain(text)) => {
                return self.indexed((field, index), text, None).map(Some);
            }
            (Some(index), Word::Part(part, text)) => {
                return self.indexed((field, index), text, Some(part)).map(Some);
            }
            _ => {}
        }
        let test = self.test_of(field, word)?;
        test.map(|test| self.term(&field.name, test)).transpose()
    }

    /// A text that a field has.
    pub(super) fn text_in(&mut self, field: &Searched, text: &str) -> Result<Tree, SearchError> {
        let word = Word::Plain(text);
        self.word_in(field, word)?.map_or_else(|| has_none(field, word), Ok)
    }

    /// A text that an attribute has.
    pub(super) fn plain(&mut self, field: &Searched, text: &str) -> Result<Tree, SearchError> {
        match self.test_of(field, Word::Plain(text))? {
            Some(test) => self.term(&field.name, test),
            None => Ok(Tree::None),
        }
    }

    fn test_of(&self, field: &Searched, word: Word<'_>) -> Result<Option<Test>, SearchError> {
        attribute_of(field, "matches or fuzzy")?;
        match (&field.kind, word) {
            (DataType::Text, Word::Plain(text)) => {
                let text = if field.is_cased { text.to_owned() } else { fold(text) };
                let test = text_test(self.text_mode(field)?, text);
                Ok(Some(Test::Text { test, is_cased: field.is_cased }))
            }
            (DataType::Text, Word::Part(part, text)) => {
                let text = if field.is_cased { text.to_owned() } else { fold(text) };
                let test = text_test(Some(part), text);
                Ok(Some(Test::Text { test, is_cased: field.is_cased }))
            }
            (DataType::Text, Word::Regex(pattern)) => {
                let test = TextTest::regex(pattern, field.is_cased).map_err(SearchError::yql)?;
                Ok(Some(Test::Text { test, is_cased: field.is_cased }))
            }
            (DataType::Text, Word::Fuzzy(text)) => {
                let edits = self.integer_annotation("maxEditDistance")?.unwrap_or(2);
                let prefix = self.integer_annotation("prefixLength")?.unwrap_or(0);
                if !(0..=MAX_EDITS).contains(&edits) || prefix < 0 {
                    return fail(format_args!(
                        "expected maxEditDistance from 0 to {MAX_EDITS} and prefixLength from 0, got {edits} and {prefix}"
                    ));
                }
                let is_prefix = self.bool_annotation("prefix")?.unwrap_or(false);
                let (edits, prefix) =
                    (edits as usize, usize::try_from(prefix).unwrap_or(usize::MAX));
                let fuzzy = Fuzzy::new(text, edits, prefix, is_prefix, field.is_cased);
                Ok(Some(Test::Text { test: TextTest::Fuzzy(fuzzy), is_cased: field.is_cased }))
            }
            (DataType::Bool, Word::Plain(text)) => {
                let number = match text {
                    "true" | "1" => 1,
                    "false" | "0" => 0,
                    _ => return Ok(None),
                };
                Ok(Some(Test::Range(NumberRange::exactly(number))))
            }
            (_, Word::Plain(text)) if field.is_number() => {
                Ok(NumberRange::parse(text).map(Test::Range))
            }
            // Numbers have no parts.
            (_, Word::Part(..)) => Ok(None),
            (kind, Word::Plain(_)) => fail(format_args!(
                "Field '{}' is a {kind}, which contains does not search",
                field.name
            )),
            (kind, _) => fail(format_args!(
                "Field '{}' is a {kind}; matches and fuzzy search texts only",
                field.name
            )),
        }
    }

    /// Whether no text of the terms from a number on is empty (the text: Vespa, `YqlParser.java`).
    pub(super) fn check_non_empty(&self, from: usize) -> Result<(), SearchError> {
        let is_empty = |test: &Test| matches!(test, Test::Text { test: TextTest::Equal(t) | TextTest::Prefix(t), .. } if t.is_empty());
        match self.tree.terms.iter().skip(from).any(|term| is_empty(&term.test)) {
            true => fail(EMPTY),
            false => Ok(()),
        }
    }
}

/// A test of a text that an attribute has, or that is a part of it.
fn text_test(part: Option<Affix>, text: String) -> TextTest {
    match part {
        None => TextTest::Equal(text),
        Some(Affix::Prefix) => TextTest::Prefix(text),
        Some(Affix::Infix) => TextTest::Substring(text),
        Some(Affix::Suffix) => TextTest::Suffix(text),
    }
}

fn has_none<T>(field: &Searched, word: Word<'_>) -> Result<T, SearchError> {
    let text = match word {
        Word::Plain(text) | Word::Regex(text) | Word::Fuzzy(text) => text.to_owned(),
        Word::Part(Affix::Prefix, text) => format!("{text}*"),
        Word::Part(Affix::Suffix, text) => format!("*{text}"),
        Word::Part(Affix::Infix, text) => format!("*{text}*"),
    };
    fail(format_args!("Field '{}' is a {} and has no {text:?}", field.name, field.kind))
}

/// A field that operators of attributes are asked of must be one.
pub(super) fn attribute_of(field: &Searched, operator: &str) -> Result<(), SearchError> {
    match field.is_attribute {
        true => Ok(()),
        false => fail(format_args!(
            "Field '{}' has an index of text only; {operator} needs an attribute",
            field.name
        )),
    }
}

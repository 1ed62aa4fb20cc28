//! Comparisons of numbers: `=`, `<`, `range`, `in`.

use std::collections::HashMap;

use stead_store::DataType;
use stead_text::{Pattern, fold};

use super::super::error::SearchError;
use super::super::numbers::NumberRange;
use super::super::tree::{Test, Tree};
use super::{Builder, arguments, fail};
use crate::yql::{Comparison, Expr, Node};

impl<'b> Builder<'b> {
    pub(super) fn compare(
        &mut self,
        comparison: Comparison,
        left: &'b Node,
        right: &'b Node,
    ) -> Result<Tree, SearchError> {
        let is_name =
            |node: &Node| matches!(node.expr, Expr::Field(_) | Expr::Index(..) | Expr::Entry(..));
        let (comparison, field, value) = match (is_name(left), is_name(right)) {
            (true, false) => (comparison, left, right),
            (false, true) => (comparison.turned(), right, left),
            _ => {
                return fail(
                    "expected a field on one side of a comparison and a value on the other",
                );
            }
        };
        self.annotated(value, |builder| {
            if let Expr::Index(of, place) = &field.expr {
                return match comparison {
                    Comparison::Equal => builder.element_equals(of, place, value),
                    _ => fail("an element of a field is compared by = only"),
                };
            }
            if let Expr::Entry(of, key) = &field.expr {
                return match comparison {
                    Comparison::Equal => {
                        let text = builder.number(value)?;
                        builder.entry_equals(of, key, &text)
                    }
                    _ => fail("the value of a map is compared by = only; write sameElement"),
                };
            }
            let (field, text) = (builder.field(field)?, builder.number(value)?);
            let term = match comparison {
                Comparison::Equal => text.clone(),
                Comparison::Less => format!("<{text}"),
                Comparison::LessOrEqual => format!("[;{text}]"),
                Comparison::Greater => format!(">{text}"),
                Comparison::GreaterOrEqual => format!("[{text};]"),
            };
            builder.numeric(&field, &term, comparison == Comparison::Equal)
        })
    }

    pub(super) fn range(&mut self, list: &'b [Node]) -> Result<Tree, SearchError> {
        let [field, low, high] = arguments(list)?;
        let (field, low, high) = (self.field(field)?, self.bound(low)?, self.bound(high)?);
        let (opens, closes) = match self.text_annotation("bounds")?.as_deref() {
            None => ('[', ']'),
            Some("open") => ('<', '>'),
            Some("leftOpen") => ('<', ']'),
            Some("rightOpen") => ('[', '>'),
            Some(other) => {
                return fail(format_args!("Expected open, leftOpen or rightOpen, got {other:?}."));
            }
        };
        self.numeric(&field, &format!("{opens}{low};{high}{closes}"), false)
    }

    /// A test of numbers for each field that a name means.
    fn numeric(&mut self, field: &str, term: &str, may_be_bool: bool) -> Result<Tree, SearchError> {
        let fields = self.searches.find(field)?;
        let mut any = Vec::new();
        for field in &fields {
            let truth = match term {
                "true" => Some(1),
                "false" => Some(0),
                _ => None,
            };
            let range = match (&field.kind, truth) {
                (DataType::Bool, Some(number)) if may_be_bool => Some(NumberRange::exactly(number)),
                (DataType::Bool, _) => {
                    return fail(format_args!(
                        "Field '{}' is a bool; write = true or = false",
                        field.name
                    ));
                }
                (_, None) if field.is_number() => NumberRange::parse(term),
                (DataType::Text, _) => {
                    return fail(format_args!(
                        "Field '{}' is a string; write {} contains \"...\"",
                        field.name, field.name
                    ));
                }
                (kind, _) if !field.is_number() => {
                    return fail(format_args!(
                        "Field '{}' is a {kind}, which is not compared",
                        field.name
                    ));
                }
                _ => None,
            };
            let Some(range) = range else {
                return fail(format_args!(
                    "Field '{}' is a {}; expected a number, got {term:.40}",
                    field.name, field.kind
                ));
            };
            any.push(self.term(&field.name, Test::Range(range))?);
        }
        Ok(Tree::any(any))
    }

    /// A number as a text, or a truth value.
    pub(super) fn number(&self, node: &Node) -> Result<String, SearchError> {
        match &node.expr {
            Expr::Integer(number) => Ok(number.to_string()),
            // All digits, so that what was written is what is compared.
            Expr::Number(number) => Ok(format!("{number:?}")),
            Expr::Bool(value) => Ok(value.to_string()),
            Expr::Text(text) => Ok(text.clone()),
            Expr::Parameter(name) => self.parameter(name),
            Expr::Negate(inner) => Ok(format!("-{}", self.number(inner)?)),
            _ => fail("expected a number in the comparison"),
        }
    }

    /// An end of a range (the text: Vespa, `YqlParser.java`).
    fn bound(&self, node: &Node) -> Result<String, SearchError> {
        match &node.expr {
            Expr::Field(name) if name == "Infinity" => Ok(name.clone()),
            Expr::Field(name) => fail(format_args!(
                "Expected a numerical argument (or 'Infinity') to range but got '{name}'"
            )),
            Expr::Negate(inner) => Ok(format!("-{}", self.bound(inner)?)),
            Expr::Integer(_) | Expr::Number(_) | Expr::Parameter(_) => self.number(node),
            _ => fail("Expected a numerical argument (or 'Infinity') to range"),
        }
    }

    pub(super) fn within(
        &mut self,
        field: &'b Node,
        values: &'b [Node],
    ) -> Result<Tree, SearchError> {
        let name = self.field(field)?;
        let fields = self.searches.find(&name)?;
        if fields.is_empty() {
            return Ok(Tree::None);
        }
        let is_text = |kind: &DataType| *kind == DataType::Text;
        if fields.iter().any(|f| !f.is_whole() && !is_text(&f.kind)) {
            return fail(format_args!(
                "The in operator is only supported for integer and string fields. The field {name} is not of these types"
            ));
        }
        let texts = fields.iter().filter(|f| is_text(&f.kind)).count();
        if texts > 0 && texts < fields.len() {
            return fail(format_args!(
                "The in operator is not supported for fieldsets with a mix of integer and string fields. The fieldset {name} has both"
            ));
        }
        let mut any = Vec::new();
        let tests = if texts > 0 { None } else { Some(Test::Numbers(self.numbers_in(values)?)) };
        let listed = if texts > 0 { self.texts_in(values)? } else { Vec::new() };
        for field in &fields {
            // Each is a word, taken as it is.
            if let (Some(index), false) = (field.index, field.is_attribute) {
                for text in &listed {
                    let term = stead_text::compared(text, field.is_cased).into_owned();
                    any.push(self.pattern(field, index, Pattern::Term(term))?);
                }
                continue;
            }
            let test = match &tests {
                Some(test) => test.clone(),
                None => {
                    let text = |t: &String| if field.is_cased { t.clone() } else { fold(t) };
                    let any: HashMap<String, i32> = listed.iter().map(|t| (text(t), 1)).collect();
                    Test::Texts { any, is_cased: field.is_cased }
                }
            };
            any.push(self.term(&field.name, test)?);
        }
        Ok(Tree::any(any))
    }

    /// Whole numbers in their order; a parameter may say several with commas between them.
    fn numbers_in(&self, values: &[Node]) -> Result<Vec<i64>, SearchError> {
        let mut numbers = Vec::new();
        for value in values {
            match &value.expr {
                Expr::Integer(number) => numbers.push(*number),
                Expr::Parameter(name) => {
                    for part in self.parameter(name)?.split(',') {
                        let number = part.trim().parse();
                        numbers.push(number.map_err(|_| {
                            SearchError::yql(format_args!(
                                "expected whole numbers in {name}, got {part:.40}"
                            ))
                        })?);
                    }
                }
                _ => return fail("expected whole numbers behind in, for a field of whole numbers"),
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }

    fn texts_in(&self, values: &[Node]) -> Result<Vec<String>, SearchError> {
        let mut texts = Vec::new();
        for value in values {
            match &value.expr {
                Expr::Text(text) => texts.push(text.clone()),
                Expr::Parameter(name) => texts.extend(listed(&self.parameter(name)?)?),
                _ => return fail("expected texts behind in, for a field of texts"),
            }
        }
        Ok(texts)
    }
}

/// Texts with commas between them, with quotes around them or without
/// (Vespa, `container-search/src/main/java/com/yahoo/search/yql/ParameterListParser.java`).
fn listed(text: &str) -> Result<Vec<String>, SearchError> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let (item, behind) = match quote {
            Some(quote) => match rest[1..].split_once(quote) {
                Some(found) => found,
                None => return fail(format_args!("expected {quote} behind {rest:.40}")),
            },
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].trim(), &rest[end..])
            }
        };
        found.push(item.to_owned());
        let behind = behind.trim_start();
        rest = behind.strip_prefix(',').unwrap_or(behind).trim_start();
    }
    Ok(found)
}

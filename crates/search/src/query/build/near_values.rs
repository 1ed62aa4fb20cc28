//! `phrase`, `near` and `onear` of an attribute that stands in a set of fields beside indexes of text.
//!
//! The values of an attribute have no places within a text: all words that a document has there stand at the first (Vespa,
//! `attributeiterators.cpp`, whose match data has that one). So words of it are near each other, but never one behind the other.

use stead_text::{Analysis, Language};

use super::super::error::SearchError;
use super::super::fields::Searched;
use super::super::tree::Tree;
use super::{Builder, fail};
use crate::yql::{Expr, Node};

impl<'b> Builder<'b> {
    /// What documents must have in an attribute of the parts of an operator.
    pub(super) fn near_values(
        &mut self,
        field: &Searched,
        name: &str,
        list: &'b [Node],
        items: usize,
    ) -> Result<Tree, SearchError> {
        let wanted = list.iter().filter(|node| !matches!(node.expr, Expr::Not(_))).count();
        if wanted == 0 || (wanted > 1 && name != "near") {
            return Ok(Tree::None);
        }
        let mut all = Vec::new();
        for (number, node) in list.iter().enumerate() {
            let outer = self.item;
            self.item = outer.or(Some(items + number));
            let part = match &node.expr {
                Expr::Not(node) => self.negated(|builder| builder.value(field, name, node)),
                _ => self.value(field, name, node),
            };
            self.item = outer;
            match part? {
                Tree::None => return Ok(Tree::None),
                Tree::Not(inner) if *inner == Tree::None => {}
                part => all.push(part),
            }
        }
        Ok(Tree::all(all))
    }

    /// A part: a value alone, or any of some; nothing where it is several words.
    fn value(&mut self, field: &Searched, name: &str, node: &'b Node) -> Result<Tree, SearchError> {
        self.annotated(node, |builder| match &node.expr {
            Expr::Call(operator, list) => match operator.as_str() {
                "phrase" => match list.as_slice() {
                    [word] => builder.value(field, name, word),
                    _ => Ok(Tree::None),
                },
                "equiv" => {
                    let any = list.iter().map(|word| builder.value(field, name, word));
                    let mut any = any.collect::<Result<Vec<_>, _>>()?;
                    any.retain(|value| *value != Tree::None);
                    Ok(if any.is_empty() { Tree::None } else { Tree::any(any) })
                }
                "alternatives" => {
                    let words = builder.alternative_words(list, field.is_cased)?;
                    let texts = words.into_iter().flat_map(|(words, _)| words);
                    let any = texts.map(|text| builder.plain(field, &text));
                    any.collect::<Result<_, _>>().map(Tree::any)
                }
                _ => fail(format_args!(
                    "Expected equiv, phrase, or alternatives, but got: {operator}"
                )),
            },
            _ => {
                builder.check_whole(name)?;
                let text = builder.text(node)?;
                let words = Analysis::default();
                match words.terms(&text, Language::english()).count() {
                    1 => builder.plain(field, &text),
                    _ => Ok(Tree::None),
                }
            }
        })
    }
}

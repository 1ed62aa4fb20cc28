//! `weightedSet`, `dotProduct` and `wand`: tokens with weights.

use std::collections::HashMap;

use stead_store::DataType;
use stead_text::{Pattern, compared, fold};

use super::super::error::SearchError;
use super::super::tree::{Sum, Test, Tokens, Tree, WeightedTokens};
use super::words::attribute_of;
use super::{Builder, arguments, fail};
use crate::yql::{Expr, Node};

impl<'b> Builder<'b> {
    pub(super) fn weighted(&mut self, name: &str, list: &'b [Node]) -> Result<Tree, SearchError> {
        let [field, tokens] = arguments(list)?;
        let Some(field) = self.searches.one(&self.field(field)?)? else { return Ok(Tree::None) };
        let tokens = self.tokens(tokens)?;
        if let (Some(index), false, "weightedSet") = (field.index, field.is_attribute, name) {
            let mut any = Vec::new();
            for (token, _) in tokens {
                let term = compared(&token, field.is_cased).into_owned();
                any.push(self.pattern(&field, index, Pattern::Term(term))?);
            }
            return Ok(Tree::any(any));
        }
        attribute_of(&field, name)?;
        let tokens = match &field.kind {
            DataType::Text => {
                let token =
                    |(t, w): (String, i32)| if field.is_cased { (t, w) } else { (fold(&t), w) };
                let weights = tokens.into_iter().map(token).collect();
                Tokens::Texts { weights, is_cased: field.is_cased }
            }
            _ if field.is_whole() => {
                let mut numbers = HashMap::new();
                for (token, weight) in tokens {
                    let number = token.trim().parse::<i64>();
                    let number = number.map_err(|_| {
                        SearchError::yql(format_args!(
                            "Field '{}' is a {}; expected whole numbers in {name}, got {token:.40}",
                            field.name, field.kind
                        ))
                    })?;
                    numbers.insert(number, weight);
                }
                Tokens::Numbers(numbers)
            }
            kind => {
                return fail(format_args!(
                    "Field '{}' is a {kind}; {name} searches texts and whole numbers",
                    field.name
                ));
            }
        };
        let sum = match name {
            "weightedSet" => Sum::Any,
            "dotProduct" => Sum::Product,
            _ => Sum::Above(self.number_annotation("scoreThreshold")?.unwrap_or(0.0)),
        };
        let test = self.term(&field.name, Test::Weighted(WeightedTokens { sum, tokens }))?;
        match name {
            "wand" => Ok(self.add_wand(test, self.weak_hits(name)?)),
            _ => Ok(test),
        }
    }

    /// `{token: weight}`, `[[number, weight]]`, or a parameter that says one of them.
    fn tokens(&self, node: &Node) -> Result<Vec<(String, i32)>, SearchError> {
        match &node.expr {
            Expr::Map(pairs) => {
                pairs.iter().map(|(key, value)| Ok((key.clone(), weight(value)?))).collect()
            }
            Expr::Array(list) => list.iter().map(pair).collect(),
            Expr::Parameter(name) => {
                let text = self.parameter(name)?;
                let written = crate::yql::parse(&format!("select * where f({text})"));
                let inner = written.ok().and_then(|s| match s.filter.expr {
                    Expr::Call(_, mut list) if list.len() == 1 => list.pop(),
                    _ => None,
                });
                match inner {
                    Some(inner) if matches!(inner.expr, Expr::Map(_) | Expr::Array(_)) => {
                        self.tokens(&inner)
                    }
                    _ => fail(format_args!(
                        "expected {{token:weight}} or [[number,weight]] in {name}"
                    )),
                }
            }
            _ => fail("Expected ARRAY or MAP, got LITERAL."),
        }
    }
}

fn pair(node: &Node) -> Result<(String, i32), SearchError> {
    match &node.expr {
        Expr::Array(pair) if pair.len() == 2 => match &pair[0].expr {
            Expr::Integer(number) => Ok((number.to_string(), weight(&pair[1])?)),
            _ => fail("Expected item and weight, the item a whole number."),
        },
        _ => fail("Expected item and weight."),
    }
}

fn weight(node: &Node) -> Result<i32, SearchError> {
    match &node.expr {
        Expr::Integer(number) => i32::try_from(*number)
            .or_else(|_| fail(format_args!("the weight {number} is more than 32 bits"))),
        _ => fail("expected a whole number as the weight of a token"),
    }
}

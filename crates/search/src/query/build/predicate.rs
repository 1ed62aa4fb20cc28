//! `predicate(field, {"name": "value"}, {"name": 20})`

use stead_store::DataType;

use super::super::error::SearchError;
use super::super::predicate::PredicateQuery;
use super::super::tree::{Test, Tree};
use super::{Builder, arguments, fail};
use crate::yql::{Expr, Node};

/// What says nothing is so in all queries.
const ALL: u64 = u64::MAX;

impl<'b> Builder<'b> {
    pub(super) fn predicate(&mut self, list: &'b [Node]) -> Result<Tree, SearchError> {
        let [field, values, numbers] = arguments(list)?;
        let Some(field) = self.searches.one(&self.field(field)?)? else { return Ok(Tree::None) };
        if field.kind != DataType::Predicate || !field.is_attribute {
            return fail(format_args!(
                "Field '{}' is a {}; predicate needs an attribute of type predicate",
                field.name, field.kind
            ));
        }
        let index = self.searches.schema.field(&field.name).map(|field| &field.index);
        let bound = |of: Option<Option<i64>>, plain| of.flatten().unwrap_or(plain);
        let mut query = PredicateQuery::within((
            bound(index.map(|index| index.lower_bound), i64::MIN),
            bound(index.map(|index| index.upper_bound), i64::MAX),
        ));
        attributes(values, ALL, &mut |name, value, queries| match value {
            Expr::Text(value) => {
                query.add_value(name, value, queries);
                Ok(())
            }
            _ => fail(format_args!("expected texts as the values of {name:.40} in predicate")),
        })?;
        let mut beyond = Vec::new();
        attributes(numbers, ALL, &mut |name, value, queries| match value {
            Expr::Integer(number) => {
                if !query.add_number(name, *number, queries) {
                    beyond.push(format!(
                        "predicate({}): {name:.40} = {number} is out of the bounds of the field and has no effect",
                        field.name
                    ));
                }
                Ok(())
            }
            _ => fail(format_args!("expected a whole number for {name:.40} in predicate")),
        })?;
        self.tree.warnings.append(&mut beyond);
        self.term(&field.name, Test::Predicate(query))
    }
}

/// Calls a function for each attribute of a map with its values and the queries that they are of: `{"name": value}`,
/// `{"name": [value]}`, or the same in a map whose key names queries. What is no map has none: Vespa's readers of YQL once took no
/// empty maps.
fn attributes<'n>(
    node: &'n Node,
    queries: u64,
    add: &mut dyn FnMut(&str, &'n Expr, u64) -> Result<(), SearchError>,
) -> Result<(), SearchError> {
    let pairs = match &node.expr {
        Expr::Map(pairs) => pairs,
        Expr::Null | Expr::Integer(0) => return Ok(()),
        _ => {
            return fail(
                "expected a map of attributes in predicate, such as {\"name\": \"value\"}",
            );
        }
    };
    for (name, value) in pairs {
        match &value.expr {
            Expr::Array(list) => {
                for value in list {
                    add(name, &value.expr, queries)?;
                }
            }
            // Texts are as deep as they may nest, so this is too.
            Expr::Map(_) => attributes(value, numbered(name)?, add)?,
            single => add(name, single, queries)?,
        }
    }
    Ok(())
}

/// The queries of `0x3` or `[0,1]`.
fn numbered(text: &str) -> Result<u64, SearchError> {
    let wrong = || {
        SearchError::yql(format_args!(
            "expected subqueries such as 0x3 or [0,1], from 0 to 63, before a map in predicate, got {text:.40}"
        ))
    };
    if let Some(digits) = text.strip_prefix("0x") {
        let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        return u64::from_str_radix(digits, 16).ok().filter(|_| is_hex).ok_or_else(wrong);
    }
    let list = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).ok_or_else(wrong)?;
    let mut bits = 0;
    for number in list.split(',') {
        let number: u32 = number.trim().parse().map_err(|_| wrong())?;
        bits |= 1_u64.checked_shl(number).ok_or_else(wrong)?;
    }
    Ok(bits)
}

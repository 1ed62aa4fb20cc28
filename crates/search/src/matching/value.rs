//! Whether one value passes a test.

use stead_store::{Column, Elements, NumberList, Position};
use stead_text::compared;

use crate::query::{Sum, Test, Tokens, WeightedTokens};

/// Whether the value of a row passes, of several values one; with the score that this gives.
pub(super) fn passes(test: &Test, column: &Column, row: usize) -> Option<f64> {
    if let Test::Weighted(weighted) = test {
        return weight(weighted, column, row);
    }
    let is_in = match column {
        Column::Numbers(numbers) => number_passes(test, numbers.list(), row),
        Column::Texts(texts) => texts.get(row).is_some_and(|text| text_passes(test, text)),
        Column::Many(many) => many.places(row).any(|at| element_passes(test, many.elements(), at)),
        Column::Tensors(_) | Column::Raw(_) => false,
    };
    is_in.then_some(1.0)
}

/// Whether an element passes.
pub(crate) fn element_passes(test: &Test, elements: &Elements, at: usize) -> bool {
    match (test, elements) {
        (Test::Weighted(weighted), _) => token_weight(&weighted.tokens, elements, at).is_some(),
        (_, Elements::Numbers(list)) => number_passes(test, list, at),
        (_, Elements::Texts(texts)) => texts.get(at).is_some_and(|text| text_passes(test, text)),
    }
}

fn number_passes(test: &Test, list: &NumberList, at: usize) -> bool {
    match (test, list) {
        (Test::Range(range), NumberList::F32(list)) => {
            let (low, high) = range.floats();
            list.get(at).is_some_and(|n| low <= *n && *n <= high)
        }
        (Test::Range(range), NumberList::F64(list)) => {
            let (low, high) = range.doubles();
            list.get(at).is_some_and(|n| low <= *n && *n <= high)
        }
        (Test::Range(range), whole) => {
            let (least, greatest) = limits(whole);
            let range = range.whole(least, greatest);
            range.zip(whole.integer(at)).is_some_and(|((low, high), n)| low <= n && n <= high)
        }
        (Test::Numbers(numbers), whole) => {
            whole.integer(at).is_some_and(|n| numbers.binary_search(&n).is_ok())
        }
        (Test::Circle(circle), NumberList::I64(curve)) => {
            curve.get(at).is_some_and(|n| *n != i64::MIN && circle.has(Position::from_curve(*n)))
        }
        (Test::Box(of), NumberList::I64(curve)) => {
            curve.get(at).is_some_and(|n| *n != i64::MIN && of.has(Position::from_curve(*n)))
        }
        _ => false,
    }
}

/// The least and the greatest number of a type of whole numbers; the least stands for no value. Truth values always have one.
pub(super) fn limits(list: &NumberList) -> (i64, i64) {
    match list {
        NumberList::Bool(_) => (-1, 1),
        NumberList::I8(_) => (i64::from(i8::MIN), i64::from(i8::MAX)),
        NumberList::I32(_) => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}

fn text_passes(test: &Test, text: &str) -> bool {
    match test {
        Test::Text { test, is_cased } => test.has(text, *is_cased),
        Test::Texts { any, is_cased } => any.contains_key(&*compared(text, *is_cased)),
        Test::Predicate(query) => query.matching(text) != 0,
        _ => false,
    }
}

/// The weight of the token that an element is.
fn token_weight(tokens: &Tokens, elements: &Elements, at: usize) -> Option<i32> {
    match (tokens, elements) {
        (Tokens::Numbers(weights), Elements::Numbers(list)) => {
            weights.get(&list.integer(at)?).copied()
        }
        (Tokens::Texts { weights, is_cased }, Elements::Texts(texts)) => {
            weights.get(&*compared(texts.get(at)?, *is_cased)).copied()
        }
        _ => None,
    }
}

/// The sum of the products of the weights of tokens, of the query and the document; nothing if the document has no token.
fn weight(weighted: &WeightedTokens, column: &Column, row: usize) -> Option<f64> {
    let mut found = None;
    let mut add = |weight: Option<i32>, times: i32| {
        if let Some(weight) = weight {
            *found.get_or_insert(0.0) += f64::from(weight) * f64::from(times);
        }
    };
    match (column, &weighted.tokens) {
        (Column::Many(many), tokens) => {
            for at in many.places(row) {
                add(token_weight(tokens, many.elements(), at), many.weight(at));
            }
        }
        (Column::Numbers(numbers), Tokens::Numbers(weights)) => {
            add(numbers.list().integer(row).and_then(|n| weights.get(&n).copied()), 1);
        }
        (Column::Texts(texts), Tokens::Texts { weights, is_cased }) => {
            add(texts.get(row).and_then(|t| weights.get(&*compared(t, *is_cased)).copied()), 1);
        }
        _ => {}
    }
    found.filter(|score| match weighted.sum {
        Sum::Any | Sum::Product => true,
        Sum::Above(limit) => *score > limit,
    })
}

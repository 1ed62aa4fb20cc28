//! Functions that are written in terms of others (definitions: Vespa's documentation, reference/ranking/tensor.html,
//! "non-primitive functions").

use super::super::ast::{Ast, Expr, Feature, Id, Lambda, Node};
use super::super::parser::Parser;
use crate::error::Fault;
use crate::functions::{Aggregator, Fn1, Fn2};

pub(super) fn arg_extreme(
    p: &mut Parser<'_>,
    at: u32,
    aggregator: Aggregator,
) -> Result<Id, Fault> {
    let of = p.first()?;
    let dimensions = p.dimensions()?;
    let extreme = p.reduced(at, of, aggregator, &dimensions);
    Ok(p.binary(at, Fn2::Equal, of, extreme))
}

pub(super) fn matmul(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let (left, right, along) = (p.first()?, p.next()?, p.dimension()?);
    let product = p.binary(at, Fn2::Mul, left, right);
    Ok(p.reduced(at, product, Aggregator::Sum, &[along]))
}

pub(super) fn xw_plus_b(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let (x, w, b, along) = (p.first()?, p.next()?, p.next()?, p.dimension()?);
    let product = p.binary(at, Fn2::Mul, x, w);
    let sum = p.reduced(at, product, Aggregator::Sum, &[along]);
    Ok(p.binary(at, Fn2::Add, sum, b))
}

pub(super) fn cosine_similarity(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let (a, b, along) = (p.first()?, p.next()?, p.dimension()?);
    let along = [along];
    let mut product = |x, y| {
        let product = p.binary(at, Fn2::Mul, x, y);
        p.reduced(at, product, Aggregator::Sum, &along)
    };
    let (both, left, right) = (product(a, b), product(a, a), product(b, b));
    let lengths = p.binary(at, Fn2::Mul, left, right);
    let length = p.unary(at, Fn1::Sqrt, lengths);
    Ok(p.binary(at, Fn2::Div, both, length))
}

pub(super) fn euclidean_distance(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let (a, b, along) = (p.first()?, p.next()?, p.dimension()?);
    let difference = p.binary(at, Fn2::Sub, a, b);
    let square = p.unary(at, Fn1::Square, difference);
    let sum = p.reduced(at, square, Aggregator::Sum, &[along]);
    Ok(p.unary(at, Fn1::Sqrt, sum))
}

pub(super) enum Norm {
    L1,
    L2,
}

pub(super) fn normalize(p: &mut Parser<'_>, at: u32, norm: Norm) -> Result<Id, Fault> {
    let of = p.first()?;
    let dimensions = p.dimensions()?;
    let length = match norm {
        Norm::L1 => p.reduced(at, of, Aggregator::Sum, &dimensions),
        Norm::L2 => {
            let square = p.unary(at, Fn1::Square, of);
            let sum = p.reduced(at, square, Aggregator::Sum, &dimensions);
            p.unary(at, Fn1::Sqrt, sum)
        }
    };
    Ok(p.binary(at, Fn2::Div, of, length))
}

pub(super) fn softmax(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let of = p.first()?;
    let dimensions = p.dimensions()?;
    let powers = p.unary(at, Fn1::Exp, of);
    let sum = p.reduced(at, powers, Aggregator::Sum, &dimensions);
    Ok(p.binary(at, Fn2::Div, powers, sum))
}

/// The tensor times one of a single cell along a new dimension.
pub(super) fn expand(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let of = p.first()?;
    let along = p.dimension()?;
    let single = p.one_cell(at, &along)?;
    Ok(p.binary(at, Fn2::Mul, of, single))
}

/// The largest cells of a tensor: `t * filter_subspaces(cell_order(t,max) < n, f(s)(s))`.
pub(super) fn top(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let (count, of) = (p.first()?, p.next()?);
    let order = p.push(at, Expr::CellOrder { of, largest_first: true });
    let is_top = p.binary(at, Fn2::Less, order, count);
    let itself = Lambda { parameters: vec!["s".to_owned()], body: name(at, "s") };
    let kept = p.push(at, Expr::FilterSubspaces(is_top, itself));
    Ok(p.binary(at, Fn2::Mul, of, kept))
}

pub(super) fn name(at: u32, name: &str) -> Ast {
    let feature = Feature { name: name.to_owned(), arguments: None, output: None };
    Ast { nodes: vec![Node { at, expr: Expr::Feature(feature) }] }
}

pub(super) enum Fill {
    Diagonal,
    Random,
    Range,
}

/// `diag(x[3],y[3])`, `random(x[3])` and `range(x[3])`: cells from their indices.
pub(super) fn filled(p: &mut Parser<'_>, at: u32, fill: Fill) -> Result<Id, Fault> {
    let kind = p.dimensions_as_type()?;
    let mut body = Ast::default();
    let mut push = |expr| {
        body.nodes.push(Node { at, expr });
        body.nodes.len() - 1
    };
    let mut index = |name: &str| {
        let feature = Feature { name: name.to_owned(), arguments: None, output: None };
        push(Expr::Feature(feature))
    };
    let indices: Vec<Id> = kind.dimensions().iter().map(|d| index(&d.name)).collect();
    let mut result = *indices.first().unwrap_or(&0);
    match fill {
        Fill::Range => {
            for next in &indices[1..] {
                result = push(Expr::Binary(Fn2::Add, result, *next));
            }
        }
        Fill::Diagonal => {
            let mut is_diagonal = push(Expr::Number(1.0));
            for pair in indices.windows(2) {
                let same = push(Expr::Binary(Fn2::Equal, pair[0], pair[1]));
                is_diagonal = push(Expr::Binary(Fn2::And, is_diagonal, same));
            }
        }
        Fill::Random => {
            // Vespa draws anew each time. A number that looks random but belongs to its place makes the same query
            // give the same ranking: the fraction of the sine of a long way from zero.
            let mut place = push(Expr::Number(1.0));
            for next in &indices {
                let scale = push(Expr::Number(kind.block_size() as f64));
                let scaled = push(Expr::Binary(Fn2::Mul, place, scale));
                place = push(Expr::Binary(Fn2::Add, scaled, *next));
            }
            let angle = push(Expr::Number(12.9898));
            let angle = push(Expr::Binary(Fn2::Mul, place, angle));
            let sine = push(Expr::Unary(Fn1::Sin, angle));
            let far = push(Expr::Number(43_758.545_312_3));
            let far = push(Expr::Binary(Fn2::Mul, sine, far));
            let whole = push(Expr::Unary(Fn1::Floor, far));
            push(Expr::Binary(Fn2::Sub, far, whole));
        }
    }
    Ok(p.push(at, Expr::Generate(kind, body)))
}

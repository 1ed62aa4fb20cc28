//! Functions that are steps of their own.

use super::super::ast::{Expr, Id};
use super::super::parser::Parser;
use crate::error::{Fault, Reason};
use crate::functions::{Aggregator, Fn2};
use crate::types::CellType;

pub(super) fn aggregate(p: &mut Parser<'_>, at: u32, aggregator: Aggregator) -> Result<Id, Fault> {
    let of = p.first()?;
    let dimensions = p.dimensions()?;
    Ok(p.reduced(at, of, aggregator, &dimensions))
}

/// `max` and `min`: of two values, or of a tensor along dimensions. Between a value and a dimension of the same
/// name the types decide, later.
pub(super) fn extreme(
    p: &mut Parser<'_>,
    at: u32,
    function: Fn2,
    aggregator: Aggregator,
) -> Result<Id, Fault> {
    let of = p.first()?;
    if p.reader.peek() != b',' {
        return Ok(p.reduced(at, of, aggregator, &[]));
    }
    let right = p.next()?;
    let name = |p: &Parser<'_>| match &p.ast.nodes[right].expr {
        Expr::Feature(f) if f.arguments.is_none() && f.output.is_none() => Some(f.name.clone()),
        _ => None,
    };
    if p.reader.peek() == b','
        && let Some(first) = name(p)
    {
        let mut dimensions = vec![first];
        dimensions.append(&mut p.dimensions()?);
        return Ok(p.reduced(at, of, aggregator, &dimensions));
    }
    Ok(match name(p) {
        Some(_) => p.push(at, Expr::Extreme(function, of, right)),
        None => p.binary(at, function, of, right),
    })
}

pub(super) fn reduce(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let of = p.first()?;
    p.reader.expect(",")?;
    p.reader.rest();
    let from = p.reader.at as u32;
    let name = p.reader.expect_name("an aggregator")?;
    let aggregator = Aggregator::from_name(&name)
        .ok_or_else(|| Fault { at: from, reason: Reason::Unknown(format!("aggregator {name}")) })?;
    let dimensions = p.dimensions()?;
    Ok(p.reduced(at, of, aggregator, &dimensions))
}

pub(super) fn rename(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let of = p.first()?;
    let (from, to) = (p.names()?, p.names()?);
    if from.len() != to.len() {
        let found = format!("{} dimensions and {} names", from.len(), to.len());
        let expected = "as many names as dimensions";
        return Err(Fault {
            at,
            reason: Reason::Arguments { function: "rename".to_owned(), expected, found },
        });
    }
    Ok(p.push(at, Expr::Rename(of, from, to)))
}

pub(super) fn concat(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let (left, right, along) = (p.first()?, p.next()?, p.dimension()?);
    Ok(p.push(at, Expr::Concat(left, right, along)))
}

pub(super) fn cell_type(p: &mut Parser<'_>) -> Result<CellType, Fault> {
    p.reader.rest();
    let at = p.reader.at as u32;
    let name = p.reader.expect_name("a cell type")?;
    CellType::from_name(&name)
        .ok_or_else(|| Fault { at, reason: Reason::Unknown(format!("cell type {name}")) })
}

pub(super) fn cell_cast(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let of = p.first()?;
    p.reader.expect(",")?;
    let cell = cell_type(p)?;
    Ok(p.push(at, Expr::CellCast(of, cell)))
}

/// One of two words.
pub(super) fn one_of(
    p: &mut Parser<'_>,
    words: [&'static str; 2],
    expected: &'static str,
) -> Result<bool, Fault> {
    match words.iter().position(|w| p.reader.take_word(w)) {
        Some(at) => Ok(at == 0),
        None => Err(p.reader.unexpected(expected)),
    }
}

pub(super) fn cell_order(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let of = p.first()?;
    p.reader.expect(",")?;
    let largest_first = one_of(p, ["max", "min"], "max or min")?;
    Ok(p.push(at, Expr::CellOrder { of, largest_first }))
}

pub(super) fn unpack_bits(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let of = p.first()?;
    let (mut cell, mut is_big_endian) = (CellType::Float, true);
    if p.reader.take(",") {
        cell = cell_type(p)?;
        if p.reader.take(",") {
            is_big_endian = one_of(p, ["big", "little"], "big or little")?;
        }
    }
    Ok(p.push(at, Expr::UnpackBits { of, cell, is_big_endian }))
}

pub(super) fn condition(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let (condition, yes, no) = (p.first()?, p.next()?, p.next()?);
    if p.reader.take(",") {
        // The share of documents for which it holds, a hint that nothing needs: both sides are lazy anyway.
        p.reader.take("-");
        if p.reader.number().is_none() {
            return Err(p.reader.unexpected("a number, the probability that the condition holds"));
        }
    }
    Ok(p.push(at, Expr::If(condition, yes, no)))
}

/// `switch(value) { case 1: a, case 2: b, default: c }`, which becomes `if`s from the last case to the first.
pub(super) fn switch(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let value = p.first()?;
    p.reader.expect(")")?;
    p.reader.expect("{")?;
    let mut cases = Vec::new();
    while p.reader.take_word("case") {
        let case = p.expression()?;
        p.reader.expect(":")?;
        cases.push((case, p.expression()?));
        p.reader.expect(",")?;
    }
    if !p.reader.take_word("default") {
        return Err(p.reader.unexpected("case or default"));
    }
    p.reader.expect(":")?;
    let mut result = p.expression()?;
    p.reader.expect("}")?;
    for (case, then) in cases.into_iter().rev() {
        let is_case = p.binary(at, Fn2::Equal, value, case);
        result = p.push(at, Expr::If(is_case, then, result));
    }
    Ok(result)
}

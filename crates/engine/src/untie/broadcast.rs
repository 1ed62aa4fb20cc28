//! Operators whose operands are broadcast against each other: element by element, or in the dimensions before those of
//! matrices. Axes are counted from the last one, as broadcasting does.

use super::Rows;
use super::cx::{Cx, Outcome, all, int};
use crate::ir::{Node, ValueId};

/// Rows by the number of dimensions behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FromLast {
    behind: usize,
    each: usize,
}

impl FromLast {
    fn in_rank(self, rank: usize) -> Outcome {
        let axis = rank.checked_sub(self.behind + 1).ok_or("has rows without an axis")?;
        all(axis, self.each)
    }
}

fn from_last(cx: &Cx<'_>, id: ValueId) -> Result<Option<FromLast>, String> {
    let Some(Rows { axis, each }) = cx.rows(id) else { return Ok(None) };
    let behind = cx.dims(id)?.len().checked_sub(axis + 1).ok_or("has rows without an axis")?;
    Ok(Some(FromLast { behind, each }))
}

/// The rows of what comes of values that are broadcast against each other, of which the last `inner` dimensions do not
/// take part.
fn aligned(cx: &Cx<'_>, ids: &[ValueId], inner: usize) -> Result<FromLast, String> {
    let mut found: Option<FromLast> = None;
    for id in ids {
        let Some(rows) = from_last(cx, *id)? else { continue };
        if rows.behind < inner {
            return Err("joins the elements of several rows".into());
        }
        if found.is_some_and(|found| found != rows) {
            return Err("takes rows along two axes".into());
        }
        found = Some(rows);
    }
    let found = found.ok_or("takes no rows")?;
    for id in ids.iter().filter(|id| cx.rows(**id).is_none()) {
        let dims = cx.dims(*id)?;
        let size = dims.len().checked_sub(found.behind + 1).and_then(|at| dims.get(at));
        if size.is_some_and(|size| *size != 1) {
            return Err("spreads rows over an axis that is as long as an operand".into());
        }
    }
    Ok(found)
}

fn rank_of(cx: &Cx<'_>, ids: &[ValueId]) -> Result<usize, String> {
    let ranks = ids.iter().map(|id| cx.dims(*id).map(|dims| dims.len()));
    Ok(ranks.collect::<Result<Vec<_>, _>>()?.into_iter().max().unwrap_or(0))
}

/// Element by element.
pub(super) fn elementwise(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let ids: Vec<ValueId> = node.inputs.iter().flatten().copied().collect();
    aligned(cx, &ids, 0)?.in_rank(rank_of(cx, &ids)?)
}

fn operands(node: &Node) -> Result<(ValueId, ValueId), String> {
    node.input(0).zip(node.input(1)).ok_or_else(|| "has no two operands".into())
}

/// A product of matrices, as rows from the last axis of the result, and the rank of the result.
fn matrices(
    cx: &Cx<'_>,
    (a, b): (ValueId, ValueId),
    transposed: [bool; 2],
) -> Result<(FromLast, usize), String> {
    let rank = rank_of(cx, &[a, b])?;
    if cx.dims(a)?.len() < 2 || cx.dims(b)?.len() < 2 {
        return Err("takes a vector".into());
    }
    // The places of what is summed over: columns of the left operand and rows of the right one.
    let (summed_a, summed_b) = (usize::from(transposed[0]), usize::from(!transposed[1]));
    let (rows_a, rows_b) = (from_last(cx, a)?, from_last(cx, b)?);
    let is_summed = |rows: Option<FromLast>, at| rows.is_some_and(|rows| rows.behind == at);
    if is_summed(rows_a, summed_a) || is_summed(rows_b, summed_b) {
        return Err("sums over rows".into());
    }
    let found = match (rows_a, rows_b) {
        (Some(rows), None) if rows.behind < 2 => FromLast { behind: 1, ..rows },
        (None, Some(rows)) if rows.behind < 2 => FromLast { behind: 0, ..rows },
        _ => aligned(cx, &[a, b], 2)?,
    };
    Ok((found, rank))
}

/// MatMul and MatMulInteger.
pub(super) fn product(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    one_for_all(cx, node, 2..4)?;
    let (rows, rank) = matrices(cx, operands(node)?, [false; 2])?;
    rows.in_rank(rank)
}

/// Checks that zero points and scales do not belong to rows.
fn one_for_all(cx: &Cx<'_>, node: &Node, inputs: std::ops::Range<usize>) -> Result<(), String> {
    for id in inputs.filter_map(|index| node.input(index)) {
        if cx.rows(id).is_some() || cx.dims(id)?.iter().product::<usize>() != 1 {
            return Err("has a zero point for each row".into());
        }
    }
    Ok(())
}

/// A product of bytes that becomes one of floats, with bias, residual and activation.
pub(super) fn product_to_float(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    one_for_all(cx, node, 4..6)?;
    if node.inputs[2..4].iter().flatten().any(|id| cx.rows(*id).is_some()) {
        return Err("has a scale for each row".into());
    }
    let product = matrices(cx, operands(node)?, [false; 2])?;
    if product.0.behind == 0 {
        return Err("takes rows as columns".into());
    }
    let (rows, rank) = added(cx, product, &[node.input(7)])?;
    rows.in_rank(rank)
}

/// A product with an addend, whose rows must be those of the product.
fn added(
    cx: &Cx<'_>,
    (rows, rank): (FromLast, usize),
    addends: &[Option<ValueId>],
) -> Result<(FromLast, usize), String> {
    let mut all = rank;
    for id in addends.iter().flatten() {
        let dims = cx.dims(*id)?;
        all = all.max(dims.len());
        let size = dims.len().checked_sub(rows.behind + 1).and_then(|at| dims.get(at).copied());
        match from_last(cx, *id)? {
            Some(own) if own == rows => {}
            None if size.is_none_or(|size| size == 1) => {}
            _ => return Err("adds something that does not stand along the rows".into()),
        }
    }
    Ok((rows, all))
}

/// Gemm.
pub(super) fn gemm(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let transposed = [int(node, "transA", 0)? != 0, int(node, "transB", 0)? != 0];
    let product = matrices(cx, operands(node)?, transposed)?;
    let (rows, rank) = added(cx, product, &[node.input(2)])?;
    rows.in_rank(rank)
}

/// A product with bias, residual and activation.
pub(super) fn fused_product(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let transposed = [int(node, "transA", 0)? != 0, int(node, "transB", 0)? != 0];
    let product = matrices(cx, operands(node)?, transposed)?;
    // The bias is one number for each column.
    let is_column = product.0.behind == 0;
    if is_column && node.input(2).is_some() {
        return Err("adds a number to each row".into());
    }
    let (rows, rank) = added(cx, product, &[node.input(3)])?;
    rows.in_rank(rank)
}

/// Attention over heads.
pub(super) fn heads(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let ids: Vec<ValueId> = node.inputs.iter().flatten().copied().collect();
    aligned(cx, &ids, 2)?.in_rank(4)
}

/// Einsum: the letter of the rows must be in every operand that has them, and in the result.
pub(super) fn einsum(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let equation = node.attributes.string("equation").map_err(|e| e.to_string())?;
    let text: String = equation.unwrap_or_default().split_whitespace().collect();
    let Some((terms, result)) = text.split_once("->").filter(|_| !text.contains('.')) else {
        return Err("does not name the axes of its result".into());
    };
    let mut found: Option<(char, usize)> = None;
    let terms: Vec<(&str, ValueId)> =
        terms.split(',').zip(node.inputs.iter().flatten().copied()).collect();
    for (term, id) in &terms {
        let Some(Rows { axis, each }) = cx.rows(*id) else { continue };
        let letter = term.chars().nth(axis).ok_or("has fewer letters than axes")?;
        if found.is_some_and(|found| found != (letter, each)) {
            return Err("takes rows along two axes".into());
        }
        found = Some((letter, each));
    }
    let (letter, each) = found.ok_or("takes no rows")?;
    for (term, id) in &terms {
        if term.matches(letter).count() != usize::from(cx.rows(*id).is_some()) {
            return Err("spreads rows over an axis that is as long as an operand".into());
        }
    }
    let axis = result.chars().position(|c| c == letter).ok_or("sums over rows")?;
    all(axis, each)
}

//! Rows: the parts of a tensor at one index of an axis, and what is made of all of them alike.
//!
//! A loop over time that was unrolled takes its tensors apart and puts the results together again. Here the same is
//! said of all rows at once: products of rows by one weight become one product, and rows that are put side by side in
//! the order of a list of indices become one Gather, which is a view where the list counts evenly.

use super::PassCx;
use super::pattern::Matcher;
use super::ranks::Ranks;
use crate::error::LoadError;
use crate::ir::{Body, Ir, Node, NodeMaker, ValueId};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use stead_tensor::{DType, Tensor};

/// One index of an axis of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Row {
    /// The tensor.
    pub source: ValueId,
    /// The axis that the row does not have.
    pub axis: usize,
    /// The index, which counts from the end when it is negative.
    pub index: i64,
}

/// The row that a value is.
pub(super) fn row_of(m: &Matcher<'_>, ranks: &Ranks, id: ValueId) -> Option<Row> {
    let node = m.maker(Some(id))?;
    if node.is("Gather") {
        return gathered(m, ranks, node).filter(|(_, rank)| *rank == 0).map(|(row, _)| row);
    }
    if !node.is("Squeeze") {
        return None;
    }
    let inner = m.maker(node.input(0))?;
    let part = match inner.op_type.as_str() {
        "Gather" => gathered(m, ranks, inner).filter(|(_, rank)| *rank == 1).map(|(row, _)| row),
        "Slice" => sliced(m, ranks, inner),
        "Split" => part_of(m, ranks, inner, node.input(0)?),
        _ => None,
    }?;
    let axis = single(&ints(m, node, "axes", 1)?)?;
    (from_front(axis, ranks.of(m.ir, node.input(0)))? == part.axis).then_some(part)
}

/// A Gather by one index, with the rank of the index.
fn gathered(m: &Matcher<'_>, ranks: &Ranks, node: &Node) -> Option<(Row, usize)> {
    let (source, indices) = (node.input(0)?, m.constant(node.input(1))?);
    let index = single(&integers(indices)?)?;
    let axis = from_front(node.attributes.int_or("axis", 0).ok()?, ranks.of(m.ir, Some(source)))?;
    Some((Row { source, axis, index }, indices.shape().rank()))
}

/// A Slice of one index.
fn sliced(m: &Matcher<'_>, ranks: &Ranks, node: &Node) -> Option<Row> {
    let source = node.input(0)?;
    let list = |name: &str, input: usize| ints(m, node, name, input);
    let (start, end) = (single(&list("starts", 1)?)?, single(&list("ends", 2)?)?);
    let axis = match node.input(3).is_some() || node.attributes.has("axes") {
        true => single(&list("axes", 3)?)?,
        false => 0,
    };
    let step = if node.input(4).is_some() { single(&list("steps", 4)?)? } else { 1 };
    // From the last one on there is one, however large the end is.
    let is_one = step == 1
        && (start.checked_add(1) == Some(end) && end != 0 || start == -1 && end == i64::MAX);
    let axis = from_front(axis, ranks.of(m.ir, Some(source)))?;
    is_one.then_some(Row { source, axis, index: start })
}

/// A part of a Split into parts of one index.
fn part_of(m: &Matcher<'_>, ranks: &Ranks, node: &Node, id: ValueId) -> Option<Row> {
    let source = node.input(0)?;
    let sizes = ints(m, node, "split", 1)?;
    let axis = from_front(node.attributes.int_or("axis", 0).ok()?, ranks.of(m.ir, Some(source)))?;
    let index = node.outputs.iter().position(|output| *output == Some(id))?;
    sizes.iter().all(|n| *n == 1).then_some(Row { source, axis, index: index as i64 })
}

/// Numbers that are an attribute in early opsets and an input since.
pub(super) fn ints(m: &Matcher<'_>, node: &Node, name: &str, index: usize) -> Option<Vec<i64>> {
    match node.input(index) {
        Some(id) => integers(m.constant(Some(id))?),
        None => node.attributes.ints(name).ok().flatten().map(<[i64]>::to_vec),
    }
}

fn integers(tensor: &Tensor) -> Option<Vec<i64>> {
    match tensor.dtype() {
        DType::I64 => tensor.as_slice::<i64>().ok().map(<[i64]>::to_vec),
        DType::I32 => Some(tensor.as_slice::<i32>().ok()?.iter().map(|&v| v.into()).collect()),
        _ => None,
    }
}

fn single(values: &[i64]) -> Option<i64> {
    match values {
        [one] => Some(*one),
        _ => None,
    }
}

/// An axis counted from the front; one that counts from the end needs the rank.
fn from_front(axis: i64, rank: Option<usize>) -> Option<usize> {
    let axis = if axis < 0 { axis + rank? as i64 } else { axis };
    usize::try_from(axis).ok().filter(|axis| rank.is_none_or(|rank| *axis < rank))
}

/// The pass.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    let (uses, ranks) = (ir.uses(), Ranks::new(ir));
    let mut body = std::mem::take(&mut ir.body);
    let mut changes = 0;
    let done = body.each_body_mut(&mut |body| {
        changes += stacks(ir, body, &uses, &ranks)? + products(ir, body, &uses, &ranks)?;
        Ok::<(), LoadError>(())
    });
    ir.body = body;
    done.map(|()| changes)
}

/// Rows side by side along a new axis.
struct Stack {
    at: usize,
    source: ValueId,
    from: usize,
    to: usize,
    rank: usize,
    indices: Vec<i64>,
}

fn stack_of(m: &Matcher<'_>, ranks: &Ranks, at: usize, node: &Node) -> Option<Stack> {
    if !node.is("Concat") || node.inputs.len() < 2 {
        return None;
    }
    let rank = ranks.of(m.ir, node.input(0))?;
    let to = from_front(node.attributes.int("axis").ok()??, Some(rank))?;
    let row = |id: &Option<ValueId>| {
        let added = m.made_by(*id, "Unsqueeze")?;
        let axis = from_front(single(&ints(m, added, "axes", 1)?)?, Some(rank))?;
        row_of(m, ranks, added.input(0)?).filter(|_| axis == to)
    };
    let rows = node.inputs.iter().map(row).collect::<Option<Vec<_>>>()?;
    let first = *rows.first()?;
    let is_one = rows.iter().all(|r| (r.source, r.axis) == (first.source, first.axis));
    let indices = rows.iter().map(|r| r.index).collect();
    let stack = Stack { at, source: first.source, from: first.axis, to, rank, indices };
    (is_one && stack.from < rank).then_some(stack)
}

/// Makes a Gather, and where the axis moves a Transpose, of each stack of rows.
fn stacks(ir: &mut Ir, body: &mut Body, uses: &[u32], ranks: &Ranks) -> Result<usize, LoadError> {
    let m = Matcher::new(ir, body, uses);
    let nodes = body.nodes.iter().enumerate();
    let found: Vec<Stack> = nodes.filter_map(|(at, n)| stack_of(&m, ranks, at, n)).collect();
    let changes = found.len();
    let mut before: HashMap<usize, Vec<Node>> = HashMap::new();
    for stack in found {
        let Some(output) = body.nodes[stack.at].output(0) else { continue };
        let mut maker = NodeMaker::new(ir, &body.nodes[stack.at].label);
        if stack.from == stack.to {
            maker.gather_into(stack.source, &stack.indices, stack.from, output)?;
        } else {
            let rows = maker.gather(stack.source, &stack.indices, stack.from)?;
            let mut perm: Vec<i64> = (0..stack.rank as i64).collect();
            let moved = perm.remove(stack.from);
            perm.insert(stack.to, moved);
            maker.transpose_into(rows, perm, output);
        }
        before.insert(stack.at, maker.nodes);
    }
    replace(body, before);
    Ok(changes)
}

/// Puts nodes in the place of others.
pub(super) fn replace(body: &mut Body, mut by: HashMap<usize, Vec<Node>>) {
    let nodes = std::mem::take(&mut body.nodes);
    for (at, node) in nodes.into_iter().enumerate() {
        match by.remove(&at) {
            Some(new) => body.nodes.extend(new),
            None => body.nodes.push(node),
        }
    }
}

/// A product of a row by a constant matrix.
#[derive(PartialEq, Eq, Hash, Clone, Copy)]
struct Product {
    source: ValueId,
    axis: usize,
    weight: ValueId,
    transposed: bool,
    bias: Option<ValueId>,
}

fn product_of(m: &Matcher<'_>, ranks: &Ranks, node: &Node) -> Option<(Product, i64)> {
    let a = &node.attributes;
    let (row, weight) = (row_of(m, ranks, node.input(0)?)?, node.input(1)?);
    let shape = m.constant(Some(weight))?.shape();
    if shape.rank() != 2 || m.dtype(node.output(0)) != Some(DType::F32) {
        return None;
    }
    let is_plain = if node.is("Gemm") {
        let unscaled =
            a.float_or("alpha", 1.0).ok()? == 1.0 && a.float_or("beta", 1.0).ok()? == 1.0;
        let columns = if a.bool_or("transB", false).ok()? { shape[0] } else { shape[1] };
        let is_vector = node.input(2).is_none_or(|c| {
            m.constant(Some(c)).is_some_and(|c| c.shape().rank() == 1 && c.shape()[0] == columns)
        });
        unscaled && is_vector && !a.bool_or("transA", false).ok()?
    } else {
        node.is("MatMul") && ranks.of(m.ir, node.input(0)) == Some(2)
    };
    let transposed = node.is("Gemm") && a.bool_or("transB", false).ok()?;
    // The axis must not be that of the sums.
    let product =
        Product { source: row.source, axis: row.axis, weight, transposed, bias: node.input(2) };
    (is_plain && row.axis < 2).then_some((product, row.index))
}

/// Makes one product of those that multiply rows of one tensor by one weight.
fn products(ir: &mut Ir, body: &mut Body, uses: &[u32], ranks: &Ranks) -> Result<usize, LoadError> {
    let m = Matcher::new(ir, body, uses);
    let mut groups: HashMap<Product, Vec<(usize, i64)>> = HashMap::new();
    for (at, node) in body.nodes.iter().enumerate() {
        if let Some((product, index)) = product_of(&m, ranks, node) {
            groups.entry(product).or_default().push((at, index));
        }
    }
    let mut groups: Vec<_> = groups.into_iter().filter(|(_, rows)| rows.len() > 1).collect();
    groups.sort_by_key(|(_, rows)| rows.first().map(|(at, _)| *at));
    let mut by: HashMap<usize, Vec<Node>> = HashMap::new();
    // Products of the same rows by several weights read the same value.
    let mut gathers: HashMap<(ValueId, usize, Vec<i64>), ValueId> = HashMap::new();
    let changes = groups.len();
    for (product, rows) in groups {
        let Some(first) = rows.first().map(|(at, _)| *at) else { continue };
        let mut maker = NodeMaker::new(ir, &body.nodes[first].label);
        let weight = match product.transposed {
            false => product.weight,
            true => transposed(maker.ir, product.weight)?,
        };
        let indices: Vec<i64> = rows.iter().map(|(_, index)| *index).collect();
        let all = match gathers.entry((product.source, product.axis, indices.clone())) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                *new.insert(maker.gather(product.source, &indices, product.axis)?)
            }
        };
        let mut sums = maker.matmul(all, weight);
        if let Some(bias) = product.bias {
            sums = maker.add(sums, bias);
        }
        for (number, (at, _)) in rows.iter().enumerate() {
            let Some(output) = body.nodes[*at].output(0) else { continue };
            maker.row_into(sums, number as i64, product.axis, output)?;
            by.entry(*at).or_default();
        }
        by.insert(first, maker.nodes);
    }
    replace(body, by);
    Ok(changes)
}

/// A matrix as MatMul takes it, of one that a Gemm transposes.
fn transposed(ir: &mut Ir, weight: ValueId) -> Result<ValueId, LoadError> {
    let Some(tensor) = ir.constant(Some(weight)) else { return Ok(weight) };
    let (rows, columns) = (tensor.shape()[0], tensor.shape()[1]);
    let from = tensor.as_slice::<f32>()?;
    let mut to = vec![0.0f32; from.len()];
    for (row, values) in from.chunks_exact(columns.max(1)).enumerate() {
        values.iter().enumerate().for_each(|(column, value)| to[column * rows + row] = *value);
    }
    let turned = Tensor::from_slice(&to, &[columns, rows])?;
    Ok(ir.add_constant(turned))
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};

    fn ints(values: &[i64]) -> Tensor {
        Tensor::from_slice(values, &[values.len()]).unwrap()
    }

    /// Rows 0 and 1 of `x`, of a Gather along `axis`, as `r0` and `r1`.
    fn rows(axis: i64) -> ModelBuilder {
        ModelBuilder::new(18)
            .input("x", DType::F32, &["b", "2", "3"])
            .init("0", Tensor::scalar(0i64).unwrap())
            .init("1", Tensor::scalar(1i64).unwrap())
            .node("Gather", &["x", "0"], &["r0"])
            .attr("axis", axis)
            .node("Gather", &["x", "1"], &["r1"])
            .attr("axis", axis)
    }

    fn stacked(builder: ModelBuilder, axes: [i64; 2], axis: i64) -> ModelBuilder {
        builder
            .init("to0", ints(&axes[..1]))
            .init("to1", ints(&axes[1..]))
            .node("Unsqueeze", &["r0", "to0"], &["s0"])
            .node("Unsqueeze", &["r1", "to1"], &["s1"])
            .node("Concat", &["s0", "s1"], &["y"])
            .attr("axis", axis)
            .output("y", DType::F32)
    }

    #[test]
    fn stacks() {
        let apart = ["Gather", "Gather", "Unsqueeze", "Unsqueeze", "Concat"];
        check("along their axis", super::run, stacked(rows(1), [1, 1], 1), &["Gather"]);
        check("counted from the end", super::run, stacked(rows(-2), [1, -2], 1), &["Gather"]);
        let moved = stacked(rows(1), [0, 0], 0);
        check("along another axis", super::run, moved, &["Gather", "Transpose"]);
        check("along an axis that was", super::run, stacked(rows(1), [1, 1], 2), &apart);
        let other = stacked(rows(1), [1, 1], 1).input("z", DType::F32, &["b", "3"]);
        let other = other.node("Concat", &["s0", "y"], &["w"]).attr("axis", 1i64);
        let kept = ["Gather", "Unsqueeze", "Gather", "Concat"];
        check("with more than rows", super::run, other.output("w", DType::F32), &kept);
    }

    fn products(axis: i64, op: &str, second: &str) -> ModelBuilder {
        let weight = |n: f32| Tensor::from_slice(&[n; 9], &[3, 3]).unwrap();
        rows(axis)
            .init("w", weight(1.0))
            .init("v", weight(2.0))
            .node(op, &["r0", "w"], &["a"])
            .node(op, &["r1", second], &["b"])
            .output("a", DType::F32)
            .output("b", DType::F32)
    }

    #[test]
    fn products_of_rows() {
        let one = ["Gather", "MatMul", "Gather", "Gather"];
        check("one weight", super::run, products(1, "MatMul", "w"), &one);
        check("one weight, time first", super::run, products(0, "Gemm", "w"), &one);
        let two = ["Gather", "Gather", "MatMul", "MatMul"];
        check("two weights", super::run, products(1, "MatMul", "v"), &two);
        // Along the last axis the rows are columns of what the product sums over.
        check("along the sums", super::run, products(2, "MatMul", "w"), &two);
        let transposed = products(1, "Gemm", "w").attr("transB", 1i64);
        let two = ["Gather", "Gather", "Gemm", "Gemm"];
        check("one of them transposed", super::run, transposed, &two);
    }
}

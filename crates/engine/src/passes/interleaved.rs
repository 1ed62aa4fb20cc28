//! Recognises tensors whose even and odd columns were written one after the other.

use super::PassCx;
use super::pattern::Matcher;
use super::ranks::{Extent, Ranks};
use super::rows::{ints, replace};
use crate::error::LoadError;
use crate::ir::{Ir, Node, NodeMaker, ValueId};
use std::collections::HashMap;

/// What torch makes of `y[..., 0::2] = a; y[..., 1::2] = b`, two ScatterND of rows of the transposed tensor, becomes `a` and `b`
/// put together along a new last axis and seen in the shape of `y`: the usual embedding of times by sines and cosines.
///
/// What was in `y` before does not matter: all of it is written. That needs an even and known number of columns.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    let (uses, ranks) = (ir.uses(), Ranks::new(ir));
    let mut body = std::mem::take(&mut ir.body);
    let mut changes = 0;
    let done = body.each_body_mut(&mut |body| {
        let m = Matcher::new(ir, body, &uses);
        let nodes = body.nodes.iter().enumerate();
        let found: Vec<_> =
            nodes.filter_map(|(at, node)| Some((at, find(&m, &ranks, node)?))).collect();
        changes += found.len();
        let mut by: HashMap<usize, Vec<Node>> = HashMap::new();
        for (at, Found { parts, rank, columns, output }) in found {
            let mut maker = NodeMaker::new(ir, &body.nodes[at].label);
            let mut new = Vec::with_capacity(parts.len());
            for part in parts {
                new.push(maker.unsqueeze(part, -1)?);
            }
            let joined = maker.concat(&new, rank);
            let mut dims = vec![0; rank - 1];
            dims.push(columns);
            let dims = maker.ints(&dims)?;
            let attributes = maker.attributes();
            maker.push(("Reshape", 13), &[joined, dims], attributes, output);
            by.insert(at, maker.nodes);
        }
        replace(body, by);
        Ok::<(), LoadError>(())
    });
    ir.body = body;
    done.map(|()| changes)
}

struct Found {
    /// Even columns and odd ones.
    parts: [ValueId; 2],
    rank: usize,
    columns: i64,
    output: ValueId,
}

fn find(m: &Matcher<'_>, ranks: &Ranks, node: &Node) -> Option<Found> {
    let (second, rank) = written(m, node)?;
    let before = m.made_by(Some(second.into), "Transpose")?;
    let (first, first_rank) = written(m, before)?;
    let columns = columns(m, ranks, first.into).filter(|n| n % 2 == 0)?;
    let whole = [first.into, second.into];
    let starts = [&first, &second].map(|w| every_second(m, ranks, w.rows, &whole, rank, columns));
    let parts = match starts {
        [Some(0), Some(1)] => [first.part, second.part],
        [Some(1), Some(0)] => [second.part, first.part],
        _ => return None,
    };
    (rank == first_rank).then_some(Found { parts, rank, columns, output: node.output(0)? })
}

/// Columns that are written into a tensor.
struct Written {
    into: ValueId,
    part: ValueId,
    /// Which.
    rows: ValueId,
}

/// A transposed ScatterND of rows of transposed tensors, the last axis being the first one there, and their rank.
fn written(m: &Matcher<'_>, node: &Node) -> Option<(Written, usize)> {
    let perm = |node: &Node| node.attributes.ints("perm").ok().flatten().map(<[i64]>::to_vec);
    if !node.is("Transpose") {
        return None;
    }
    let back = perm(node)?;
    let scatter = m.only_made_by(node.input(0), "ScatterND")?;
    if scatter.attributes.string_or("reduction", "none").ok()? != "none" {
        return None;
    }
    let (data, part) =
        (m.made_by(scatter.input(0), "Transpose")?, m.made_by(scatter.input(2), "Transpose")?);
    let there = perm(data)?;
    let undone =
        there.iter().enumerate().all(|(i, &axis)| back.get(axis as usize) == Some(&(i as i64)));
    let is_last = there.first() == Some(&(there.len() as i64 - 1));
    if perm(part)? != there || back.len() != there.len() || !undone || !is_last {
        return None;
    }
    let written = Written { into: data.input(0)?, part: part.input(0)?, rows: scatter.input(1)? };
    Some((written, there.len()))
}

/// The columns of a tensor that is one number stretched to a shape.
fn columns(m: &Matcher<'_>, ranks: &Ranks, id: ValueId) -> Option<i64> {
    let stretched = m.made_by(Some(id), "Expand")?;
    let is_number = m.constant(stretched.input(0))?.shape().rank() == 0;
    match ranks.extents(m.ir, stretched.input(1))?.last() {
        Some(Extent::Number(n)) if is_number => Some(*n),
        _ => None,
    }
}

/// The first of the indices of every second column, if that is what they are: part of a Range up to the size of the last
/// axis of one of the tensors `whole`, which have that many columns.
fn every_second(
    m: &Matcher<'_>,
    ranks: &Ranks,
    rows: ValueId,
    whole: &[ValueId],
    rank: usize,
    columns: i64,
) -> Option<i64> {
    let added = m.made_by(Some(rows), "Unsqueeze")?;
    let slice = m.made_by(added.input(0), "Slice")?;
    let list = |name: &str, index: usize| ints(m, slice, name, index);
    let ([start], [end]) = (&list("starts", 1)?[..], &list("ends", 2)?[..]) else { return None };
    let along = list("axes", 3)? == [0] && list("steps", 4)? == [2];
    let range = m.made_by(slice.input(0), "Range")?;
    let number =
        |index: usize| m.constant(range.input(index))?.as_slice::<i64>().ok()?.first().copied();
    let last = matches!(ints(m, added, "axes", 1)?[..], [-1 | 1]);
    if (number(0)?, number(2)?) != (0, 1) || !along || !last || *end < columns {
        return None;
    }
    // The end of the Range.
    let size = m.made_by(range.input(1), "Gather")?;
    let sizes = ranks.extents(m.ir, size.input(0))?;
    let at = *m.constant(size.input(1))?.as_slice::<i64>().ok()?.first()?;
    let at = usize::try_from(if at < 0 { at + sizes.len() as i64 } else { at }).ok()?;
    match sizes.get(at)? {
        Extent::Of(id, axis) if *axis + 1 == rank && whole.contains(id) => Some(*start),
        Extent::Number(n) if *n == columns => Some(*start),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};

    /// The nodes of `y[..., s::2] = part`, with `from` as what was there before.
    fn write(model: ModelBuilder, from: &str, part: &str, start: &str, to: &str) -> ModelBuilder {
        let name = |of: &str| format!("{of}_{to}");
        let [all, size, range, slice, rows, data, new, done] =
            ["all", "size", "range", "slice", "rows", "data", "new", "done"].map(name);
        let turn = |model: ModelBuilder, from: &str, to: &str| {
            model.node("Transpose", &[from], &[to]).attr("perm", vec![2i64, 1, 0])
        };
        let model = model
            .node("Shape", &[from], &[&all])
            .node("Gather", &[&all, "last"], &[&size])
            .node("Range", &["zero", &size, "one"], &[&range])
            .node("Slice", &[&range, start, "end", "axis", "step"], &[&slice])
            .node("Unsqueeze", &[&slice, "-1"], &[&rows]);
        let model = turn(turn(model, part, &new), from, &data);
        turn(model.node("ScatterND", &[&data, &rows, &new], &[&done]), &done, to)
    }

    fn model(columns: i64, starts: [&str; 2]) -> ModelBuilder {
        let one = |n: i64| Tensor::from_slice(&[n], &[1]).unwrap();
        let number = |n: i64| Tensor::scalar(n).unwrap();
        let model = ModelBuilder::new(18)
            .input("a", DType::F32, &["b", "n", "half"])
            .input("c", DType::F32, &["b", "n", "half"])
            .init("0", Tensor::scalar(0f32).unwrap())
            .init("shape", Tensor::from_slice(&[2, 3, columns], &[3]).unwrap())
            .init("even", one(0))
            .init("odd", one(1))
            .init("end", one(i64::MAX))
            .init("axis", one(0))
            .init("step", one(2))
            .init("-1", one(-1))
            .init("zero", number(0))
            .init("one", number(1))
            .init("last", number(2))
            .node("Expand", &["0", "shape"], &["z"]);
        let model = write(model, "z", "a", starts[0], "first");
        write(model, "first", "c", starts[1], "y").output("y", DType::F32)
    }

    #[test]
    fn before_and_after() {
        let joined = ["Unsqueeze", "Unsqueeze", "Concat", "Reshape"];
        check("even, then odd", run, model(8, ["even", "odd"]), &joined);
        check("odd, then even", run, model(8, ["odd", "even"]), &joined);
        let once = ["Shape", "Gather", "Range", "Slice", "Unsqueeze", "Transpose", "Transpose"];
        let all = [&["Expand"], &once[..], &["ScatterND", "Transpose"]].concat();
        let all = [&all[..], &once, &["ScatterND", "Transpose"]].concat();
        check("an odd number of columns", run, model(7, ["even", "odd"]), &all);
        check("even ones twice", run, model(8, ["even", "even"]), &all);
    }
}

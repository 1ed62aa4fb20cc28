//! Makes one product of several that have the same left operand.

use super::PassCx;
use super::pattern::{Matcher, copied_attributes};
use super::rows::replace;
use crate::error::LoadError;
use crate::ir::{Body, Ir, Node, NodeMaker, ValueId};
use std::collections::HashMap;
use stead_onnx::AttributeValue;
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// Products of one operand by constant matrices become one product by the columns of all: the queries, keys and values of
/// attention, which most exporters compute apart. The operand is packed once, and rows are long enough to be read as a
/// stream.
///
/// Each result is a view of some columns, so this is for products whose readers take rows that lie apart: attention and
/// other products, through changes of shape at most. Anything else would copy its part first, which costs more than it saves.
///
/// It runs when all other passes have settled, for it would hide from them what follows each of the products.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    let uses = ir.uses();
    let mut body = std::mem::take(&mut ir.body);
    let mut changes = 0;
    let done = body.each_body_mut(&mut |body| {
        let groups = groups(ir, body, &uses);
        changes += groups.len();
        let mut by = HashMap::new();
        for group in &groups {
            let nodes: Vec<&Node> = group.iter().filter_map(|at| body.nodes.get(*at)).collect();
            // All others come behind the first, which is where the results are from now on.
            by.extend(group.iter().map(|at| (*at, Vec::new())));
            by.extend(group.first().copied().zip(joined(ir, &nodes)?));
        }
        replace(body, by);
        Ok::<(), LoadError>(())
    });
    ir.body = body;
    done.map(|()| changes)
}

/// How many changes of shape may stand between a product and what reads its rows.
const DEPTH: usize = 8;

/// What products must share to become one.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    left: ValueId,
    depth: usize,
    transposed: bool,
    alpha: u32,
}

/// The positions of products that become one, at least two each.
fn groups(ir: &Ir, body: &Body, uses: &[u32]) -> Vec<Vec<usize>> {
    let m = Matcher::new(ir, body, uses);
    let readers = Readers::new(body, uses);
    let mut by_key: HashMap<Key, Vec<usize>> = HashMap::new();
    for (at, node) in body.nodes.iter().enumerate() {
        if let Some(key) = key(&m, node)
            && node.output(0).is_some_and(|id| readers.take_rows(id, DEPTH))
        {
            by_key.entry(key).or_default().push(at);
        }
    }
    let mut groups: Vec<_> = by_key.into_values().filter(|group| group.len() > 1).collect();
    groups.sort();
    groups
}

/// What a product shares with those that it can be joined to; nothing if it adds more than a bias.
fn key(m: &Matcher<'_>, node: &Node) -> Option<Key> {
    let a = &node.attributes;
    let is_fused = node.domain == "stead" && node.op_type == "MatMul";
    let (left, weight) = (node.input(0)?, node.input(1)?);
    let plain = (node.is("MatMul") || is_fused)
        && m.dtype(node.output(0)) == Some(DType::F32)
        && (3..node.inputs.len()).all(|index| node.input(index).is_none())
        && a.string("activation").ok()?.is_none()
        && !a.bool_or("transA", false).ok()?;
    // A weight that others read too would be held twice.
    let &[rows, cols] = m.constant(Some(weight))?.shape().dims() else { return None };
    let transposed = a.bool_or("transB", false).ok()?;
    let (depth, columns) = if transposed { (cols, rows) } else { (rows, cols) };
    let bias = node.input(2).is_none_or(|bias| {
        m.constant(Some(bias)).is_some_and(|bias| bias.shape().elements() == columns)
    });
    let is_own = m.is_read_once(Some(weight)) && m.constant(Some(left)).is_none();
    let alpha = a.float_or("alpha", 1.0).ok()?.to_bits();
    (plain && bias && is_own).then_some(Key { left, depth, transposed, alpha })
}

/// The nodes that read each value.
struct Readers<'a> {
    by: HashMap<ValueId, Vec<(&'a Node, usize)>>,
    uses: &'a [u32],
}

impl<'a> Readers<'a> {
    fn new(body: &'a Body, uses: &'a [u32]) -> Readers<'a> {
        let mut by: HashMap<_, Vec<_>> = HashMap::new();
        for node in &body.nodes {
            for (index, id) in node.inputs.iter().enumerate() {
                if let Some(id) = id {
                    by.entry(*id).or_default().push((node, index));
                }
            }
        }
        Readers { by, uses }
    }

    /// Whether all that read a value take rows that lie apart.
    fn take_rows(&self, id: ValueId, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let Some(readers) = self.by.get(&id) else { return false };
        // Outputs of the graph and the bodies of other nodes are not among the readers.
        readers.len() == self.uses[id.index()] as usize
            && readers.iter().all(|(node, index)| match node.op_type.as_str() {
                "Attention" => *index < 3,
                "MatMul" if node.domain.is_empty() || node.domain == "stead" => *index < 2,
                "Shape" => true,
                "Reshape" | "Transpose" | "Squeeze" | "Unsqueeze" => {
                    let result = node.output(0).filter(|_| node.domain.is_empty() && *index == 0);
                    result.is_some_and(|id| self.take_rows(id, depth))
                }
                _ => false,
            })
    }
}

/// One product in the place of several, and a Split that gives each result by its name.
fn joined(ir: &mut Ir, nodes: &[&Node]) -> Result<Option<Vec<Node>>, LoadError> {
    let Some(first) = nodes.first() else { return Ok(None) };
    let weights: Vec<ValueId> = nodes.iter().filter_map(|node| node.input(1)).collect();
    let transposed = first.attributes.bool_or("transB", false).unwrap_or_default();
    let (weight, sizes) = columns(ir, &weights, transposed)?;
    let bias = biases(ir, nodes, &sizes)?;
    // Their bytes are freed at once: while a model is loaded its weights need not be held twice.
    weights.iter().for_each(|id| ir.values[id.index()].constant = None);

    let mut inputs = vec![first.input(0), Some(ir.add_constant(weight))];
    if let Some(bias) = bias {
        inputs.push(Some(ir.add_constant(bias)));
    }
    let sums = ir.add_value(DType::F32);
    let attributes = copied_attributes(first);
    let mut product = ir.node(&first.label, ("MatMul", 1), inputs, sums, attributes);
    product.domain = "stead".to_owned();

    let mut maker = NodeMaker::new(ir, &first.label);
    let sizes: Vec<i64> = sizes.iter().map(|size| *size as i64).collect();
    let inputs = vec![Some(sums), Some(maker.ints(&sizes)?)];
    let mut attributes = maker.attributes();
    attributes.set("axis", AttributeValue::Int(-1));
    let mut split = maker.ir.node(&first.label, ("Split", 13), inputs, sums, attributes);
    split.outputs = nodes.iter().map(|node| node.output(0)).collect();
    Ok(Some(vec![product, split]))
}

/// Matrices of one depth side by side, and the columns of each. Transposed ones lie one above the other.
fn columns(
    ir: &Ir,
    weights: &[ValueId],
    transposed: bool,
) -> Result<(Tensor, Vec<usize>), LoadError> {
    let mut parts = Vec::with_capacity(weights.len());
    for tensor in weights.iter().filter_map(|id| ir.constant(Some(*id))) {
        let (rows, cols) = (tensor.shape()[0], tensor.shape()[1]);
        let (depth, n) = if transposed { (cols, rows) } else { (rows, cols) };
        parts.push((tensor.as_slice::<f32>()?, depth, n));
    }
    let sizes: Vec<usize> = parts.iter().map(|(.., n)| *n).collect();
    let (depth, all) = (parts.first().map_or(0, |part| part.1), sizes.iter().sum::<usize>());
    let dims = if transposed { [all, depth] } else { [depth, all] };
    let shape = Shape::new(&dims)?;
    let mut joined = AlignedBuf::passing(shape.byte_len(DType::F32))?;
    let mut to: &mut [f32] = bytemuck::cast_slice_mut(&mut joined);
    let rows = if transposed { 1 } else { depth };
    for row in 0..rows {
        for (values, _, n) in &parts {
            let len = if transposed { values.len() } else { *n };
            let (part, rest) = to.split_at_mut(len);
            part.copy_from_slice(&values[row * len..(row + 1) * len]);
            to = rest;
        }
    }
    Ok((Tensor::from_buffer(DType::F32, shape, joined)?, sizes))
}

/// The biases one behind the other, zeros where a product has none; nothing if none has one.
fn biases(ir: &Ir, nodes: &[&Node], sizes: &[usize]) -> Result<Option<Tensor>, LoadError> {
    let mut all = Vec::with_capacity(sizes.iter().sum());
    for (node, size) in nodes.iter().zip(sizes) {
        match ir.constant(node.input(2)) {
            Some(bias) => all.extend_from_slice(bias.as_slice::<f32>()?),
            None => all.resize(all.len() + size, 0.0),
        }
    }
    let has_any = nodes.iter().any(|node| node.input(2).is_some());
    Ok(if has_any { Some(Tensor::from_slice(&all, &[all.len()])?) } else { None })
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use stead_onnx::ModelBuilder;

    fn matrix(n: usize) -> Tensor {
        let values: Vec<f32> = (0..3 * n).map(|i| i as f32).collect();
        Tensor::from_slice(&values, &[3, n]).unwrap()
    }

    /// Products of `x` by matrices of these columns, as `p0`, `p1` and so on.
    fn products(columns: &[usize]) -> ModelBuilder {
        let mut model = ModelBuilder::new(17)
            .input("x", DType::F32, &["b", "n", "3"])
            .input("y", DType::F32, &["b", "4", "m"])
            .input("z", DType::F32, &["b", "n", "3"]);
        for (at, n) in columns.iter().enumerate() {
            let (w, p) = (format!("w{at}"), format!("p{at}"));
            model = model.init(&w, matrix(*n)).node("MatMul", &["x", &w], &[&p]);
        }
        model
    }

    #[test]
    fn before_and_after() {
        let read = |model: ModelBuilder, p: &str, to: &str| {
            model.node("MatMul", &[p, "y"], &[to]).output(to, DType::F32)
        };
        let two = read(read(products(&[4, 4]), "p0", "a"), "p1", "b");
        check("two", run, two, &["stead.MatMul", "Split", "MatMul", "MatMul"]);
        let apart = ["MatMul", "MatMul", "MatMul", "MatMul"];
        let output = read(products(&[4, 4]), "p0", "a").node("MatMul", &["p1", "y"], &["b"]);
        let output = output.output("b", DType::F32).output("p1", DType::F32);
        check("one is an output", run, output, &apart);
        let tied = products(&[4]).node("MatMul", &["x", "w0"], &["p1"]);
        check("of one weight", run, read(read(tied, "p0", "a"), "p1", "b"), &apart);
        let other = products(&[4]).init("w", matrix(4)).node("MatMul", &["z", "w"], &["p1"]);
        check("of two operands", run, read(read(other, "p0", "a"), "p1", "b"), &apart);
        let copied = read(products(&[4, 4]), "p0", "a").node("Relu", &["p1"], &["b"]);
        let copied = copied.output("b", DType::F32);
        check("one would be copied", run, copied, &["MatMul", "MatMul", "MatMul", "Relu"]);
        let shape = Tensor::from_slice(&[0i64, 0, 2, -1], &[4]).unwrap();
        let heads = read(products(&[4, 6]), "p0", "a").init("shape", shape);
        let heads = heads.node("Reshape", &["p1", "shape"], &["r"]);
        let turned = heads.node("Transpose", &["r"], &["t"]).attr("perm", vec![0i64, 2, 1, 3]);
        let fused = ["stead.MatMul", "Split", "MatMul", "Reshape", "Transpose", "MatMul"];
        let turned = turned.node("MatMul", &["t", "y"], &["b"]).output("b", DType::F32);
        check("through changes of shape", run, turned, &fused);
    }

    #[test]
    fn columns_lie_side_by_side() {
        let mut ir = Ir::default();
        let ids = [2, 1].map(|n| ir.add_constant(matrix(n)));
        let (joined, sizes) = columns(&ir, &ids, false).unwrap();
        assert_eq!((joined.shape().dims(), sizes), (&[3, 3][..], vec![2, 1]));
        let values = [0.0, 1.0, 0.0, 2.0, 3.0, 1.0, 4.0, 5.0, 2.0];
        assert_eq!(joined.as_slice::<f32>().unwrap(), values);
        let equal = [matrix(1), matrix(1)].map(|tensor| ir.add_constant(tensor));
        let (joined, sizes) = columns(&ir, &equal, true).unwrap();
        assert_eq!((joined.shape().dims(), sizes), (&[6, 1][..], vec![3, 3]));
        assert_eq!(joined.as_slice::<f32>().unwrap(), [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
    }
}

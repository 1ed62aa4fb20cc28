//! Makes a table of what element-wise functions make of single bytes.

use super::PassCx;
use super::dequantized::is_one;
use super::pattern::{Matcher, Replacement, attributes_for, rewrite};
use crate::compile::compile_node;
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use crate::ops::{self, PackCache};
use crate::plan::{Fact, Facts, fold_node};
use stead_kernels::Isa;
use stead_tensor::{DType, Tensor};

/// Nodes that a table may stand for: real chains have about six.
const MOST: usize = 32;

/// Bytes that a node may make of 256 numbers.
const FOLD_BYTES: usize = 1 << 16;

/// QuantizeLinear with one scale of element-wise functions of DequantizeLinear of one value of bytes, whatever is made bytes
/// and floats again in between: a table of 256 bytes, which the nodes themselves have computed.
///
/// It must come before passes that take up what stands between bytes node by node.
pub(super) fn run(ir: &mut Ir, cx: &mut PassCx) -> Result<usize, LoadError> {
    let isa = cx.isa;
    Ok(rewrite(ir, &|m, at, node| {
        let (bytes, table) = table(m, node, isa)?;
        Some(Replacement {
            at,
            domain: "stead",
            op_type: "ByteTable",
            opset: 1,
            inputs: vec![Some(bytes)],
            constants: vec![(1, table)],
            attributes: attributes_for(node),
        })
    }))
}

/// The value of bytes that a node depends on alone, and what it makes of each byte.
fn table(m: &Matcher<'_>, node: &Node, isa: Isa) -> Option<(ValueId, Tensor)> {
    if !node.is("QuantizeLinear") || !is_byte(m, node.output(0)) {
        return None;
    }
    let mut cone = Cone { m, nodes: Vec::new(), bytes: None };
    cone.take(node)?;
    let bytes = cone.bytes?;
    let all: Vec<u8> = (0..=u8::MAX).collect();
    let all = match m.dtype(Some(bytes))? {
        DType::U8 => Tensor::from_slice(&all, &[256]).ok()?,
        _ => Tensor::from_slice(bytemuck::cast_slice::<u8, i8>(&all), &[256]).ok()?,
    };
    let mut facts = Facts::new(vec![0; m.ir.values.len()], [].into());
    facts.set(bytes, Fact::constant(all));
    for node in cone.nodes {
        for id in node.inputs.iter().flatten() {
            if let Some(constant) = m.constant(Some(*id)) {
                facts.set(*id, Fact::constant(constant.clone()));
            }
        }
        let compiled = compile_node(node, m.ir, &PackCache::default(), isa).ok()?;
        fold_node(&mut facts, &compiled, isa, FOLD_BYTES).ok().filter(|folded| *folded)?;
    }
    let table = facts.get(node.output(0)?)?.known()?.clone();
    (table.shape().dims() == [256]).then_some((bytes, table))
}

fn is_byte(m: &Matcher<'_>, id: Option<ValueId>) -> bool {
    matches!(m.dtype(id), Some(DType::U8 | DType::I8))
}

/// Nodes that depend on one value of bytes, each behind those that it reads.
struct Cone<'a, 'm> {
    m: &'m Matcher<'a>,
    nodes: Vec<&'m Node>,
    bytes: Option<ValueId>,
}

impl<'a: 'm, 'm> Cone<'a, 'm> {
    /// Takes up a node and what it reads; `None` if that is anything else than bytes and numbers, and then what was taken up
    /// may be too much.
    fn take(&mut self, node: &'m Node) -> Option<()> {
        if self.nodes.iter().any(|known| std::ptr::eq(*known, node)) {
            return Some(());
        }
        let is_single = node.outputs.iter().skip(1).all(Option::is_none);
        if self.nodes.len() >= MOST || !is_single || !node.domain.is_empty() {
            return None;
        }
        let scaled = matches!(node.op_type.as_str(), "QuantizeLinear" | "DequantizeLinear");
        if scaled {
            let blocked = node.attributes.int_or("block_size", 0).ok()? != 0;
            let (scale, zero) = (node.input(1), node.input(2));
            let one = scale.is_some() && is_one(self.m, scale) && is_one(self.m, zero);
            if blocked || !one {
                return None;
            }
        } else if !ops::is_elementwise(&node.op_type) {
            return None;
        }
        let inputs = node.inputs.iter().take(if scaled { 1 } else { usize::MAX });
        for id in inputs.flatten() {
            match self.m.constant(Some(*id)) {
                // A constant of another rank could be that of the result.
                Some(constant) if constant.shape().rank() == 0 => {}
                Some(_) => return None,
                None if node.op_type == "DequantizeLinear" => self.take_bytes(*id)?,
                None => self.take(self.m.maker(Some(*id))?)?,
            }
        }
        self.nodes.push(node);
        Some(())
    }

    /// Takes up a value of bytes: with what makes it of others, or as the one that all depends on.
    fn take_bytes(&mut self, id: ValueId) -> Option<()> {
        if self.bytes == Some(id) {
            return Some(());
        }
        let (nodes, bytes) = (self.nodes.len(), self.bytes);
        if let Some(maker) = self.m.made_by(Some(id), "QuantizeLinear") {
            if self.take(maker).is_some() {
                return Some(());
            }
            self.nodes.truncate(nodes);
            self.bytes = bytes;
        }
        if self.bytes.is_some() || !is_byte(self.m, Some(id)) {
            return None;
        }
        self.bytes = Some(id);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};

    /// The bytes `x` as the floats `f`.
    fn floats() -> ModelBuilder {
        ModelBuilder::new(17)
            .input("x", DType::U8, &["n", "m"])
            .init("scale", Tensor::scalar(0.05f32).unwrap())
            .init("scales", Tensor::from_slice(&[0.05f32, 0.1], &[2]).unwrap())
            .init("row", Tensor::from_slice(&[2.0f32], &[1]).unwrap())
            .init("zero", Tensor::scalar(100u8).unwrap())
            .node("DequantizeLinear", &["x", "scale", "zero"], &["f"])
    }

    fn quantized(b: ModelBuilder, from: &str, to: &str) -> ModelBuilder {
        b.node("QuantizeLinear", &[from, "scale", "zero"], &[to])
    }

    #[test]
    fn before_and_after() {
        let one = ["stead.ByteTable"];
        let out = |b: ModelBuilder| b.output("y", DType::U8);
        let run = super::run;
        check(
            "a function",
            run,
            out(quantized(floats().node("Tanh", &["f"], &["t"]), "t", "y")),
            &one,
        );
        let gate = quantized(floats().node("HardSigmoid", &["f"], &["h"]), "h", "b")
            .node("DequantizeLinear", &["b", "scale", "zero"], &["g"])
            .node("DequantizeLinear", &["x", "scale", "zero"], &["again"])
            .node("Mul", &["again", "g"], &["s"]);
        check("by other bytes", run, out(quantized(gate, "s", "y")), &one);
        let scaled = floats().node("Mul", &["f", "scale"], &["s"]);
        check("a number", run, out(quantized(scaled, "s", "y")), &one);
        let as_is = |op: &'static str| ["DequantizeLinear", op, "QuantizeLinear"];
        let row = floats().node("Mul", &["f", "row"], &["s"]);
        check("another rank", run, out(quantized(row, "s", "y")), &as_is("Mul"));
        let softmax = floats().node("Softmax", &["f"], &["s"]);
        check("of rows", run, out(quantized(softmax, "s", "y")), &as_is("Softmax"));
        let columns = floats()
            .node("Tanh", &["f"], &["t"])
            .init("zeros", Tensor::from_slice(&[0u8, 1], &[2]).unwrap())
            .node("QuantizeLinear", &["t", "scales", "zeros"], &["y"]);
        check("scales of columns", run, out(columns), &as_is("Tanh"));
        let two = floats()
            .input("z", DType::U8, &["n", "m"])
            .node("DequantizeLinear", &["z", "scale", "zero"], &["g"])
            .node("Mul", &["f", "g"], &["s"]);
        let want = ["DequantizeLinear", "DequantizeLinear", "Mul", "QuantizeLinear"];
        check("two values", run, out(quantized(two, "s", "y")), &want);
    }
}

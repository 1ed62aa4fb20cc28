//! Keeps weights of recurrent layers that were quantised in 8 bits.

use super::PassCx;
use super::dequantized::dequantized;
use super::pattern::{Matcher, Replacement, copied_attributes, rewrite};
use crate::error::LoadError;
use crate::ir::{Ir, ValueId};
use stead_tensor::{DType, Tensor};

/// Positions of input weights and recurrent weights, and of their scales in the operator of the engine.
const WEIGHTS: [(usize, usize); 2] = [(1, 8), (2, 9)];

/// RNN, GRU or LSTM whose weights come from DequantizeLinear of constant bytes, with a scale for each row, becomes the layer
/// of `stead` that takes bytes and scales. Steps then read a quarter of the memory, and are bound by it.
///
/// It must come before constants are folded.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    Ok(rewrite(ir, &|m, at, node| {
        let op_type = ["RNN", "GRU", "LSTM"].into_iter().find(|op| node.is(op))?;
        if m.dtype(node.input(0)) != Some(DType::F32) {
            return None;
        }
        let mut inputs = node.inputs.clone();
        let mut constants = vec![];
        for (weight, scale) in WEIGHTS {
            if let Some(rows) = rows(m, node.input(weight)) {
                inputs[weight] = None;
                constants.extend([(weight, rows.bytes), (scale, rows.scales)]);
            }
        }
        (!constants.is_empty()).then(|| Replacement {
            at,
            domain: "stead",
            op_type,
            opset: 1,
            inputs,
            constants,
            attributes: copied_attributes(node),
        })
    }))
}

/// Weights as `scale * byte`.
struct Rows {
    /// `[directions, rows, k]`.
    bytes: Tensor,
    /// `[directions, rows]`.
    scales: Tensor,
}

/// The weights of a layer, if they are constant bytes that only it reads: of all directions with the same scales, or, reshaped,
/// with scales of their own.
fn rows(m: &Matcher<'_>, id: Option<ValueId>) -> Option<Rows> {
    let reshaped = m.only_made_by(id, "Reshape");
    let source = reshaped.map_or(id, |node| node.input(0));
    let from = dequantized(m, source).filter(|_| m.is_read_once(source))?;
    let tensor = m.constant(from.bytes)?;
    let rank = i64::try_from(tensor.shape().rank()).ok()?;
    let (directions, rows, k) = match (reshaped, tensor.shape().dims()) {
        (None, &[directions, rows, k]) => (directions, rows, k),
        (Some(node), &[all, k]) => {
            let shape = m.constant(node.input(1))?.as_slice::<i64>().ok()?;
            let &[directions, rows, last] = shape else { return None };
            let [directions, rows, last] =
                [directions, rows, last].map(|n| usize::try_from(n).ok());
            let (directions, rows) = (directions?, rows?);
            let same = directions.checked_mul(rows) == Some(all) && last == Some(k);
            same.then_some((directions, rows, k))?
        }
        _ => return None,
    };
    let scales = m.constant(from.scale)?.as_slice::<f32>().ok()?;
    let axis = rank.checked_sub(2)?;
    let along = scales.len() == tensor.shape().dims()[rank as usize - 2];
    if tensor.shape().elements() == 0
        || !(scales.len() == 1 || along && from.axis.rem_euclid(rank) == axis)
    {
        return None;
    }
    let zeros = match from.zero {
        Some(zero) => {
            let zero = m.constant(Some(zero))?;
            let fits = [1, scales.len()].contains(&zero.shape().elements());
            fits.then(|| integers(zero))??
        }
        None => vec![0],
    };
    // Bytes without zero points: of most tools they are so, or 128 from it.
    let moved = |(at, value): (usize, i16)| {
        let row = at / k;
        i8::try_from(value - zeros[row % zeros.len()]).ok()
    };
    let bytes: Option<Vec<i8>> = integers(tensor)?.into_iter().enumerate().map(moved).collect();
    let scales: Vec<f32> = (0..directions * rows).map(|row| scales[row % scales.len()]).collect();
    Some(Rows {
        bytes: Tensor::from_slice(&bytes?, &[directions, rows, k]).ok()?,
        scales: Tensor::from_slice(&scales, &[directions, rows]).ok()?,
    })
}

/// Bytes of either sign.
fn integers(tensor: &Tensor) -> Option<Vec<i16>> {
    Some(match tensor.dtype() {
        DType::I8 => tensor.as_slice::<i8>().ok()?.iter().map(|&x| x.into()).collect(),
        DType::U8 => tensor.as_slice::<u8>().ok()?.iter().map(|&x| x.into()).collect(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};

    /// A GRU of 2 inputs and a state of 1, whose weights `w` have scales along `axis` and this zero point.
    fn model(axis: i64, zero: u8) -> ModelBuilder {
        let scales = if axis == 1 { vec![0.5f32, 0.25, 1.0] } else { vec![0.5f32, 0.25] };
        ModelBuilder::new(17)
            .input("x", DType::F32, &["t", "n", "2"])
            .init("w", Tensor::from_slice(&[1u8, 255, 200, 2, 3, 4], &[1, 3, 2]).unwrap())
            .init("w_scale", Tensor::from_slice(&scales, &[scales.len()]).unwrap())
            .init("zero", Tensor::from_slice(&vec![zero; scales.len()], &[scales.len()]).unwrap())
            .init("r", Tensor::from_slice(&[0.5f32; 3], &[1, 3, 1]).unwrap())
            .node("DequantizeLinear", &["w", "w_scale", "zero"], &["wide"])
            .attr("axis", axis)
            .node("GRU", &["x", "wide", "r"], &["y"])
            .attr("hidden_size", 1i64)
            .output("y", DType::F32)
    }

    #[test]
    fn before_and_after() {
        let all = ["DequantizeLinear", "GRU"];
        check("a scale for each row", super::run, model(1, 128), &["stead.GRU"]);
        check("a zero point far from the middle", super::run, model(1, 3), &all);
        check("scales along k", super::run, model(2, 128), &all);
        let twice = model(1, 128).output("wide", DType::F32);
        check("read twice", super::run, twice, &all);
        let reshaped = ModelBuilder::new(17)
            .input("x", DType::F32, &["t", "n", "1"])
            .init("w", Tensor::from_slice(&[1i8, 2, 3, 4], &[4, 1]).unwrap())
            .init("scale", Tensor::from_slice(&[0.5f32, 1.0, 2.0, 3.0], &[4]).unwrap())
            .init("shape", Tensor::from_slice(&[2i64, 2, 1], &[3]).unwrap())
            .init("r", Tensor::from_slice(&[0.5f32; 8], &[2, 2, 2]).unwrap())
            .node("DequantizeLinear", &["w", "scale"], &["rows"])
            .attr("axis", 0i64)
            .node("Reshape", &["rows", "shape"], &["wide"])
            .node("RNN", &["x", "wide", "r"], &["y"])
            .attr("direction", "bidirectional")
            .output("y", DType::F32);
        check("scales of each direction", super::run, reshaped, &["stead.RNN"]);
    }
}

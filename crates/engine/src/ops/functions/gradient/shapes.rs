//! Shapes of gradients, by arithmetic that a plan does once: no rank is known when a model is loaded.

use super::rules::Step;
use crate::error::LoadError;
use crate::ir::ValueId;
use crate::ops::functions::maths::Maths;
use stead_onnx::AttributeValue;
use stead_tensor::Tensor;

type Made = Result<ValueId, LoadError>;

fn shape(m: &mut Maths<'_, '_>, of: ValueId) -> Made {
    m.0.call("Shape", &[of], &[])
}

/// The rank of a value of this shape, a vector of one element.
fn rank(m: &mut Maths<'_, '_>, shape_of: ValueId) -> Made {
    shape(m, shape_of)
}

/// So many ones; `count` is a vector of one element.
fn ones(m: &mut Maths<'_, '_>, count: ValueId) -> Made {
    let one = AttributeValue::Tensor(Tensor::from_slice(&[1i64], &[1])?);
    m.0.call("ConstantOfShape", &[count], &[("value", one)])
}

fn joined(m: &mut Maths<'_, '_>, parts: &[ValueId]) -> Made {
    m.0.call("Concat", parts, &[("axis", AttributeValue::Int(0))])
}

/// The sum of a gradient over what broadcasting has added to `input`, in the shape of that.
pub(super) fn summed(m: &mut Maths<'_, '_>, gradient: ValueId, input: ValueId) -> Made {
    let (wide, own) = (shape(m, gradient)?, shape(m, input)?);
    let (wide_rank, own_rank) = (rank(m, wide)?, rank(m, own)?);
    let added = m.sub(wide_rank, own_rank)?;
    let front = ones(m, added)?;
    let padded = joined(m, &[front, own])?;
    let same = m.0.call("Equal", &[padded, wide], &[])?;
    let differs = m.0.call("Not", &[same], &[])?;
    let places = m.0.call("NonZero", &[differs], &[])?;
    let flat = m.0.ints(&[-1])?;
    let axes = m.0.call("Reshape", &[places, flat], &[])?;
    let one = AttributeValue::Int(1);
    let attributes = [("keepdims", one.clone()), ("noop_with_empty_axes", one.clone())];
    let sum = m.0.call("ReduceSum", &[gradient, axes], &attributes)?;
    m.0.call("Reshape", &[sum, own], &[("allowzero", one)])
}

/// The gradient of a reduction, the same for all elements that were reduced to one.
pub(super) fn expanded(m: &mut Maths<'_, '_>, s: &Step<'_>, at: usize) -> Made {
    let attributes = &s.node.attributes;
    let input = s.node.input(at).ok_or_else(|| m.0.refuse("nothing is reduced"))?;
    let wide = shape(m, input)?;
    if attributes.bool_or("keepdims", true)? {
        return m.0.call("Expand", &[s.gradient, wide], &[]);
    }
    // Where the dimensions are gone they are put back by the axes.
    let axes: Vec<i64> = match s.node.input(1) {
        Some(axes) => match m.0.constant(axes) {
            Some(axes) => axes.as_slice::<i64>()?.to_vec(),
            None => return Err(m.0.refuse("axes of a reduction that are no constant")),
        },
        None => attributes.ints("axes")?.unwrap_or_default().to_vec(),
    };
    let kept = match axes.is_empty() {
        true if attributes.bool_or("noop_with_empty_axes", false)? => return Ok(s.gradient),
        true => {
            let rank = rank(m, wide)?;
            ones(m, rank)?
        }
        false => {
            let (places, ones) = (m.0.ints(&axes)?, m.0.ints(&vec![1; axes.len()])?);
            m.0.call("ScatterElements", &[wide, places, ones], &[])?
        }
    };
    let gradient =
        m.0.call("Reshape", &[s.gradient, kept], &[("allowzero", AttributeValue::Int(1))])?;
    m.0.call("Expand", &[gradient, wide], &[])
}

/// The shapes of the operands of MatMul and of its result with the dimension that vectors lack.
pub(super) fn product_shapes(
    m: &mut Maths<'_, '_>,
    a: ValueId,
    b: ValueId,
    y: ValueId,
) -> Result<[ValueId; 3], LoadError> {
    let [a, b, y] = [shape(m, a)?, shape(m, b)?, shape(m, y)?];
    let (two, zero) = (m.0.ints(&[2])?, m.0.ints(&[0])?);
    let mut lacks = |of: ValueId| {
        let rank = rank(m, of)?;
        let few = m.0.call("Min", &[rank, two], &[])?;
        m.sub(two, few)
    };
    let (lack_a, lack_b) = (lacks(a)?, lacks(b)?);
    let (front, behind) = (ones(m, lack_a)?, ones(m, lack_b)?);
    let (a, b) = (joined(m, &[front, a])?, joined(m, &[b, behind])?);
    // Batches are what stands in front of rows and columns, of which a vector gives none.
    let rank_y = rank(m, y)?;
    let mut batches = m.add(rank_y, lack_a)?;
    batches = m.add(batches, lack_b)?;
    batches = m.sub(batches, two)?;
    let batches = m.0.call("Slice", &[y, zero, batches], &[])?;
    let mut dim = |of: ValueId, from: i64, to: i64| {
        let (from, to) = (m.0.ints(&[from])?, m.0.ints(&[to])?);
        m.0.call("Slice", &[of, from, to], &[])
    };
    let (rows, columns) = (dim(a, -2, -1)?, dim(b, -1, i64::MAX)?);
    Ok([a, b, joined(m, &[batches, rows, columns])?])
}

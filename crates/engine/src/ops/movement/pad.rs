//! Pad: a constant around the elements, or elements repeated beyond the edges.

use super::{axes_of, dim_of, width_of};
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, types};
use stead_kernels::movement::{Layout, copy_by_tables, copy_layout, fill};
use stead_tensor::{DType, Shape, Tensor};

const X: Param = Param::required(1, types::ANY);
const PADS: Param = Param::required(0, types::I64_ONLY);
const VALUE: Param = Param::optional(1, types::ANY);
const AXES: Param = Param::optional(0, types::INDEX);

/// Pad.
pub const OPS: &[OpDef] = &[
    OpDef::new("Pad", &[Param::required(1, types::FLOAT)], &[Out::Like(0)], by_attributes)
        .until(10),
    OpDef::new("Pad", &[X, PADS, VALUE], &[Out::Like(0)], by_inputs).since(11).until(17),
    OpDef::new("Pad", &[X, PADS, VALUE, AXES], &[Out::Like(0)], by_inputs).since(18),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Constant,
    Edge,
    Reflect,
    Wrap,
}

fn mode(spec: &NodeSpec<'_>) -> Result<Mode, BuildError> {
    Ok(match spec.attributes().string_or("mode", "constant")? {
        "constant" => Mode::Constant,
        "edge" => Mode::Edge,
        "reflect" => Mode::Reflect,
        "wrap" if spec.opset() >= 19 => Mode::Wrap,
        other => return Err(BuildError::unsupported(format!("mode \"{other}\" of Pad"))),
    })
}

fn by_attributes(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let (mode, attributes) = (mode(spec)?, spec.attributes());
    let pads = attributes.ints("pads")?.ok_or_else(|| attributes.missing("pads"))?.to_vec();
    let value = attributes.float_or("value", 0.0)?;
    let value = match spec.dtype()? {
        DType::F32 => Tensor::scalar(value)?,
        DType::F64 => Tensor::scalar(f64::from(value))?,
        DType::F16 => Tensor::scalar(half::f16::from_f32(value))?,
        _ => Tensor::scalar(half::bf16::from_f32(value))?,
    };
    plan_fn(move |cx| {
        let axes: Vec<usize> = (0..cx.shape(0)?.rank()).collect();
        pad(cx, mode, &pads, &axes, Some(value.clone()))
    })
}

fn by_inputs(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let mode = mode(spec)?;
    plan_fn(move |cx| {
        let rank = cx.shape(0)?.rank();
        let axes = match cx.has_input(3) {
            true => axes_of(&cx.ints(3)?, rank)?,
            false => (0..rank).collect(),
        };
        let pads = cx.ints(1)?;
        pad(cx, mode, &pads, &axes, None)
    })
}

/// What happens along one axis.
#[derive(Clone, Copy)]
struct Side {
    /// Elements of the input that are left when negative pads are taken off.
    kept: usize,
    /// The first of them.
    first: usize,
    /// Elements added before and after.
    before: usize,
    after: usize,
}

impl Side {
    fn new(dim: usize, before: i64, after: i64) -> Result<Side, PlanError> {
        let fail = || PlanError::shape(format!("pads {before} and {after} of an axis of {dim}"));
        let cut = |pad: i64| if pad < 0 { pad.unsigned_abs() as usize } else { 0 };
        let add = |pad: i64| dim_of(pad.max(0));
        let removed = cut(before).checked_add(cut(after)).ok_or_else(fail)?;
        let kept = dim.checked_sub(removed).ok_or_else(fail)?;
        let side = Side { kept, first: cut(before), before: add(before)?, after: add(after)? };
        side.before.checked_add(side.after).and_then(|n| n.checked_add(kept)).ok_or_else(fail)?;
        Ok(side)
    }

    fn extent(&self) -> usize {
        self.before + self.kept + self.after
    }

    /// The position in the input of each position in the output.
    fn table(&self, mode: Mode) -> Result<Vec<usize>, PlanError> {
        let n = self.kept as isize;
        let total = self.extent();
        if n == 0 && total > 0 {
            return Err(PlanError::shape("an empty axis cannot be padded with its own elements"));
        }
        let position = |to: usize| {
            let at = to as isize - self.before as isize;
            let at = match mode {
                Mode::Reflect if n > 1 => {
                    let turn = at.rem_euclid(2 * (n - 1));
                    turn.min(2 * (n - 1) - turn)
                }
                Mode::Wrap => at.rem_euclid(n),
                _ => at.clamp(0, n - 1),
            };
            self.first + at as usize
        };
        Ok((0..total).map(position).collect())
    }
}

fn pad(
    cx: &mut PlanCx<'_>,
    mode: Mode,
    pads: &[i64],
    axes: &[usize],
    value: Option<Tensor>,
) -> Result<(), PlanError> {
    let from = cx.shape(0)?;
    if pads.len() != axes.len() * 2 {
        return Err(PlanError::shape(format!(
            "{} pads for {} axes; two for each are expected",
            pads.len(),
            axes.len()
        )));
    }
    let mut sides = Vec::with_capacity(from.rank());
    for (axis, &dim) in from.iter().enumerate() {
        sides.push(match axes.iter().position(|&a| a == axis) {
            Some(at) => Side::new(dim, pads[at], pads[at + axes.len()])?,
            None => Side { kept: dim, first: 0, before: 0, after: 0 },
        });
    }
    let dims: Vec<usize> = sides.iter().map(Side::extent).collect();
    let shape = Shape::new(&dims)?;
    if mode == Mode::Constant {
        return surround(cx, &sides, shape, value);
    }
    repeat(cx, mode, &sides, shape)
}

fn surround(
    cx: &mut PlanCx<'_>,
    sides: &[Side],
    shape: Shape,
    value: Option<Tensor>,
) -> Result<(), PlanError> {
    let width = width_of(cx.dtype(0)?);
    let lies = cx.strided(0)?;
    let to_strides = shape.strides();
    let kept: Vec<usize> = sides.iter().map(|s| s.kept).collect();
    let (mut from, mut to) = (lies.offset as isize, 0);
    for (axis, side) in sides.iter().enumerate() {
        from += side.first as isize * lies.strides[axis];
        to += side.before * to_strides[axis] as usize;
    }
    let mut operands = vec![lies.operand];
    if value.is_none() && cx.has_input(2) {
        if cx.shape(2)?.elements() != 1 {
            return Err(PlanError::shape("one constant value is expected"));
        }
        operands.push(cx.input(2)?);
    }
    let by_input = operands.len() == 2;
    let slot = cx.output(0, shape)?;
    cx.step("pad", &operands, &[slot], move |a| {
        let dst = a.write_bytes()?;
        let zero = [0u8; 16];
        let pattern = match &value {
            Some(value) => value.bytes(),
            None if by_input => a.read_bytes(1)?,
            None => zero.get(..width).unwrap_or(&zero),
        };
        fill(dst, pattern);
        let from = Layout { offset: from as usize, strides: &lies.strides };
        let to = Layout { offset: to, strides: &to_strides };
        copy_layout(width, &kept, a.read_bytes(0)?, from, dst, to);
        Ok(())
    });
    Ok(())
}

fn repeat(cx: &mut PlanCx<'_>, mode: Mode, sides: &[Side], shape: Shape) -> Result<(), PlanError> {
    let from = cx.shape(0)?;
    let strides = from.strides();
    let width = width_of(cx.dtype(0)?);
    // Axes at the end that stay as they are make the blocks larger.
    let changed = (0..from.rank()).rev().find(|&axis| shape[axis] != from[axis]);
    let outer = changed.map_or(0, |axis| axis + 1);
    let block = super::count(&from[outer..]);
    let mut tables = Vec::new();
    // Where nothing is written the other axes may have any size.
    for (axis, side) in sides.iter().enumerate().take(outer).filter(|_| shape.elements() > 0) {
        let step = strides[axis] / block.max(1) as isize;
        cx.table(side.extent(), 1)?;
        tables.extend(side.table(mode)?.into_iter().map(|at| at as isize * step));
    }
    let x = cx.input(0)?;
    let slot = cx.output(0, shape)?;
    cx.step("pad", &[x], &[slot], move |a| {
        let (src, dst) = (a.read_bytes(0)?, a.write_bytes()?);
        let Some(outside) = src.get(..block * width).filter(|_| !dst.is_empty()) else {
            return Ok(());
        };
        copy_by_tables(block * width, src, &shape[..outer], &tables, outside, dst);
        Ok(())
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_repeat_elements_beyond_the_edges() {
        let cases: [(&str, Mode, usize, [i64; 2], &[usize]); 7] = [
            ("edge", Mode::Edge, 3, [2, 1], &[0, 0, 0, 1, 2, 2]),
            ("reflect", Mode::Reflect, 3, [2, 2], &[2, 1, 0, 1, 2, 1, 0]),
            ("reflect far", Mode::Reflect, 2, [3, 2], &[1, 0, 1, 0, 1, 0, 1]),
            ("reflect one", Mode::Reflect, 1, [1, 1], &[0, 0, 0]),
            ("wrap", Mode::Wrap, 3, [1, 4], &[2, 0, 1, 2, 0, 1, 2, 0]),
            ("cut and wrap", Mode::Wrap, 4, [-1, 1], &[1, 2, 3, 1]),
            ("cut all", Mode::Edge, 3, [-3, 0], &[]),
        ];
        for (label, mode, dim, [before, after], expected) in cases {
            let side = Side::new(dim, before, after).unwrap();
            assert_eq!(side.table(mode).unwrap(), expected, "{label}");
        }
        for [before, after] in [[-4, 0], [i64::MIN, 0], [i64::MAX, i64::MAX], [i64::MIN, i64::MIN]]
        {
            assert!(Side::new(3, before, after).is_err(), "{before} {after}");
        }
    }
}

//! Transpose: a view with its strides in another order; packed elements are moved byte by byte in between.

use super::{axes_of, permuted};
use crate::error::{BuildError, PlanError};
use crate::ops::cast::cast_step;
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, TypeSet, plan_fn, types};
use stead_kernels::movement::copy_strided;
use stead_tensor::{DType, Shape};

const MOVED: TypeSet = types::ANY.or(types::PACKED);

/// Transpose.
pub const OPS: &[OpDef] =
    &[OpDef::new("Transpose", &[Param::required(1, MOVED)], &[Out::Like(0)], transpose)];

fn transpose(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let perm = spec.attributes().ints("perm")?.map(<[i64]>::to_vec);
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let order = match &perm {
            Some(perm) => axes_of(perm, shape.rank())?,
            None => (0..shape.rank()).rev().collect(),
        };
        if order.len() != shape.rank() {
            return Err(PlanError::shape(format!(
                "perm has {} axes, the input {shape} has {}",
                order.len(),
                shape.rank()
            )));
        }
        let dims: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
        let target = Shape::new(&dims)?;
        if types::PACKED.contains(cx.dtype(0)?) {
            return packed(cx, target, &order);
        }
        let lies = cx.strided(0)?;
        cx.alias_view(0, 0, target, lies.offset, permuted(&lies.strides, &order))
    })
}

/// Strides cannot point into a byte: the elements get one each, are moved, and are packed again.
fn packed(cx: &mut PlanCx<'_>, target: Shape, order: &[usize]) -> Result<(), PlanError> {
    let (from, count) = (cx.shape(0)?, target.elements());
    // As unsigned numbers all patterns of so many bits come back as they were.
    let bits = if cx.dtype(0)?.bits() == 2 { DType::U2 } else { DType::U4 };
    let (x, out) = (cx.input(0)?, cx.output(0, target)?);
    let (wide, moved) = (cx.temp_of::<u8>(count), cx.temp_of::<u8>(count));
    cast_step(cx, x, bits, wide, DType::U8, count)?;
    let wide = cx.read_back(wide);
    let strides = permuted(&from.strides(), order);
    cx.step("transpose", &[wide], &[moved], move |a| {
        let (src, dst) = (a.read_bytes(0)?, a.write_bytes()?);
        copy_strided(1, src, 0, &strides, &target, dst);
        Ok(())
    });
    let moved = cx.read_back(moved);
    cast_step(cx, moved, DType::U8, out, bits, count)
}

//! MaxPool, AveragePool, LpPool.

use super::SINGLE;
use super::precision;
use super::window::WindowAttributes;
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, Slot, TypeSet, plan_fn};
use stead_kernels::Window;
use stead_kernels::pool::{self, Addend, AverageCount, Ordered};
use stead_tensor::{DType, Element, Shape};

const FLOAT: TypeSet = SINGLE.or(TypeSet::of(&[DType::F64]));
const ORDERED: TypeSet = FLOAT.or(TypeSet::of(&[DType::I8, DType::U8]));

/// MaxPool, AveragePool, LpPool.
pub const OPS: &[OpDef] = &[
    OpDef::new(
        "MaxPool",
        &[Param::required(1, ORDERED)],
        &[Out::Like(0), Out::Fixed(DType::I64)],
        max,
    ),
    // MaxPool of `[batch, spatial..., channels]`, of which there is no position.
    OpDef::new(
        "MaxPoolLast",
        &[Param::required(1, TypeSet::of(&[DType::I8, DType::U8]))],
        &[Out::Like(0)],
        max_last,
    )
    .domain("stead"),
    OpDef::new("AveragePool", &[Param::required(1, FLOAT)], &[Out::Like(0)], average),
    OpDef::new("LpPool", &[Param::required(1, FLOAT)], &[Out::Like(0)], lp),
];

/// A pool over concrete shapes.
struct Pool {
    window: Window,
    /// Padding at the ends.
    ends: [usize; 3],
    planes: usize,
    output: Shape,
}

fn resolve(cx: &PlanCx<'_>, attributes: &WindowAttributes) -> Result<Pool, PlanError> {
    let x = cx.shape(0)?;
    let &[batch, channels, ref spatial @ ..] = x.dims() else {
        return Err(PlanError::shape(format!(
            "a pool over {x}; batch and channels expected first"
        )));
    };
    let kernel = attributes.kernel(None)?;
    let (window, ends) = attributes.resolve(spatial, &kernel)?;
    let mut dims = vec![batch, channels];
    dims.extend_from_slice(&window.output[3 - spatial.len()..]);
    let output = Shape::new(&dims)?;
    Ok(Pool { window, ends, planes: batch * channels, output })
}

fn max(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = WindowAttributes::read(spec.attributes())?;
    let column_major = spec.attributes().bool_or("storage_order", false)?;
    let dtype = spec.dtype()?;
    plan_fn(move |cx| {
        let pool = resolve(cx, &attributes)?;
        match dtype {
            DType::F64 => max_of::<f64>(cx, pool, column_major),
            DType::I8 => max_of::<i8>(cx, pool, column_major),
            DType::U8 => max_of::<u8>(cx, pool, column_major),
            _ => {
                let x = precision::input(cx, 0)?;
                let y = precision::output(cx, 0, pool.output)?;
                emit_max::<f32>(cx, pool, column_major, x, y.slot)?;
                y.finish(cx);
                Ok(())
            }
        }
    })
}

fn max_of<T: Ordered + Element>(
    cx: &mut PlanCx<'_>,
    pool: Pool,
    column_major: bool,
) -> Result<(), PlanError> {
    let x = cx.input(0)?;
    let y = cx.output(0, pool.output)?;
    emit_max::<T>(cx, pool, column_major, x, y)
}

fn emit_max<T: Ordered + Element>(
    cx: &mut PlanCx<'_>,
    pool: Pool,
    column_major: bool,
    x: Operand,
    y: Slot,
) -> Result<(), PlanError> {
    let Pool { window, planes, output, .. } = pool;
    let count = output.elements();
    if !cx.wants(1) {
        cx.step("max pool", &[x], &[y], move |a| {
            let (x, y) = (a.read::<T>(0)?, a.write::<T>()?);
            pool::max(a.isa, a.parallel, &window, planes, x, &mut y[..count]);
            Ok(())
        });
        return Ok(());
    }
    let indices = cx.output(1, output)?;
    cx.step("max pool with positions", &[x], &[y, indices], move |a| {
        let (x, y, indices) = (a.read::<T>(0)?, a.write::<T>()?, a.write::<i64>()?);
        let (y, indices) = (&mut y[..count], &mut indices[..count]);
        pool::max_indices(a.parallel, &window, planes, column_major, x, y, indices);
        Ok(())
    });
    Ok(())
}

fn max_last(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = WindowAttributes::read(spec.attributes())?;
    plan_fn(move |cx| {
        let x = cx.shape(0)?;
        let &[batch, ref spatial @ .., channels] = x.dims() else {
            return Err(PlanError::shape(format!("a pool over {x}; batch expected first")));
        };
        let (window, _) = attributes.resolve(spatial, &attributes.kernel(None)?)?;
        let mut dims = vec![batch];
        dims.extend_from_slice(&window.output[3 - spatial.len()..]);
        dims.push(channels);
        let shape = Shape::new(&dims)?;
        match cx.dtype(0)? {
            DType::U8 => emit_last::<u8>(cx, window, [batch, channels], shape),
            _ => emit_last::<i8>(cx, window, [batch, channels], shape),
        }
    })
}

fn emit_last<T: Ordered + Element>(
    cx: &mut PlanCx<'_>,
    window: Window,
    [batch, channels]: [usize; 2],
    shape: Shape,
) -> Result<(), PlanError> {
    let (x, y) = (cx.input(0)?, cx.output(0, shape)?);
    let count = shape.elements();
    cx.step("max pool of last", &[x], &[y], move |a| {
        let (x, y) = (a.read::<T>(0)?, a.write::<T>()?);
        pool::max_last(a.isa, a.parallel, &window, [batch, channels], x, &mut y[..count]);
        Ok(())
    });
    Ok(())
}

/// The pools that sum.
#[derive(Clone, Copy)]
enum Sum {
    Average { count_padding: bool },
    Norm(u32),
}

fn average(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let count_padding = spec.attributes().bool_or("count_include_pad", false)?;
    sum(spec, Sum::Average { count_padding })
}

fn lp(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let p = spec.attributes().int_or("p", 2)?;
    let p = u32::try_from(p)
        .ok()
        .filter(|&p| p > 0)
        .ok_or_else(|| BuildError::unsupported(format!("p of {p}; supported: 1 and more")))?;
    sum(spec, Sum::Norm(p))
}

fn sum(spec: &NodeSpec<'_>, sum: Sum) -> Result<OpPlan, BuildError> {
    let attributes = WindowAttributes::read(spec.attributes())?;
    let dtype = spec.dtype()?;
    plan_fn(move |cx| {
        let pool = resolve(cx, &attributes)?;
        if dtype == DType::F64 {
            let (x, y) = (cx.input(0)?, cx.output(0, pool.output)?);
            emit_sum::<f64>(cx, pool, sum, x, y);
        } else {
            let x = precision::input(cx, 0)?;
            let y = precision::output(cx, 0, pool.output)?;
            emit_sum::<f32>(cx, pool, sum, x, y.slot);
            y.finish(cx);
        }
        Ok(())
    })
}

fn emit_sum<T: Addend + Element>(cx: &mut PlanCx<'_>, pool: Pool, sum: Sum, x: Operand, y: Slot) {
    let Pool { window, ends, planes, output } = pool;
    let count = output.elements();
    let name = if matches!(sum, Sum::Norm(_)) { "lp pool" } else { "average pool" };
    cx.step(name, &[x], &[y], move |a| {
        let (x, y) = (a.read::<T>(0)?, &mut a.write::<T>()?[..count]);
        match sum {
            Sum::Average { count_padding } => {
                let counts = match count_padding {
                    true => AverageCount::Padded(ends),
                    false => AverageCount::Inside,
                };
                pool::average(a.isa, a.parallel, &window, counts, planes, x, y);
            }
            Sum::Norm(p) => pool::lp(a.isa, a.parallel, &window, p, planes, x, y),
        }
        Ok(())
    });
}

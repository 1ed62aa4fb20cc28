//! Softmax, LogSoftmax and Hardmax.

use super::axes::{around, axis_of};
use super::cast::cast_step;
use super::dispatch::{for_float, no_kernel};
use super::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, types};
use crate::error::{BuildError, PlanError};
use stead_kernels::along::{hardmax, softmax_f64};
use stead_kernels::softmax::{Softmax, softmax};
use stead_tensor::{DType, Shape};

const FLOAT: &[Param] = &[Param::required(1, types::FLOAT)];
const LIKE: &[Out] = &[Out::Like(0)];

/// Hardmax, LogSoftmax, Softmax: up to opset 12 over all dimensions from the axis on, since then along it.
pub const OPS: &[OpDef] = &[
    OpDef::new("Softmax", FLOAT, LIKE, |s| flattened(s, Form::Soft(Softmax::Normal))).until(12),
    OpDef::new("Softmax", FLOAT, LIKE, |s| along(s, Form::Soft(Softmax::Normal))).since(13),
    OpDef::new("LogSoftmax", FLOAT, LIKE, |s| flattened(s, Form::Soft(Softmax::Log))).until(12),
    OpDef::new("LogSoftmax", FLOAT, LIKE, |s| along(s, Form::Soft(Softmax::Log))).since(13),
    OpDef::new("Hardmax", FLOAT, LIKE, |s| flattened(s, Form::Hard)).until(12),
    OpDef::new("Hardmax", FLOAT, LIKE, |s| along(s, Form::Hard)).since(13),
];

#[derive(Clone, Copy)]
enum Form {
    Soft(Softmax),
    Hard,
}

fn flattened(spec: &NodeSpec<'_>, form: Form) -> Result<OpPlan, BuildError> {
    let axis = spec.attributes().int_or("axis", 1)?;
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        // The axis may stand behind the last dimension: rows of one element then.
        let axis = match axis {
            a if a == shape.rank() as i64 => shape.rank(),
            a => axis_of(a, shape.rank())?,
        };
        let product = |dims: &[usize]| dims.iter().product::<usize>();
        let dims = (product(&shape[..axis]), product(&shape[axis..]), 1);
        plan(cx, form, shape, dims)
    })
}

fn along(spec: &NodeSpec<'_>, form: Form) -> Result<OpPlan, BuildError> {
    let axis = spec.attributes().int_or("axis", -1)?;
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        // Of a scalar there is one row of one element.
        let dims = match shape.rank() {
            0 => (1, 1, 1),
            rank => around(&shape, axis_of(axis, rank)?),
        };
        plan(cx, form, shape, dims)
    })
}

fn plan(
    cx: &mut PlanCx<'_>,
    form: Form,
    shape: Shape,
    dims: (usize, usize, usize),
) -> Result<(), PlanError> {
    let dtype = cx.dtype(0)?;
    let (x, slot) = (cx.input(0)?, cx.output(0, shape)?);
    let form = match form {
        Form::Soft(form) => form,
        Form::Hard => {
            return for_float!(dtype, T => {
                let values: [T; 2] = [T::default(), of_one()];
                cx.step("hardmax", &[x], &[slot], move |a| {
                    hardmax(dims, values, a.read::<T>(0)?, a.write::<T>()?);
                    Ok(())
                });
                Ok(())
            }, _ => Err(no_kernel(dtype)));
        }
    };
    match dtype {
        DType::F32 => cx.step("softmax", &[x], &[slot], move |a| {
            let (x, out) = (a.read::<f32>(0)?, a.write::<f32>()?);
            softmax(a.isa, a.parallel, form, dims, x, out);
            Ok(())
        }),
        DType::F64 => cx.step("softmax", &[x], &[slot], move |a| {
            softmax_f64(form, dims, a.read::<f64>(0)?, a.write::<f64>()?);
            Ok(())
        }),
        half => {
            let (wide, result) =
                (cx.temp_of::<f32>(shape.elements()), cx.temp_of::<f32>(shape.elements()));
            cast_step(cx, x, half, wide, DType::F32, shape.elements())?;
            let wide = cx.read_back(wide);
            cx.step("softmax", &[wide], &[result], move |a| {
                let (x, out) = (a.read::<f32>(0)?, a.write::<f32>()?);
                softmax(a.isa, a.parallel, form, dims, x, out);
                Ok(())
            });
            let result = cx.read_back(result);
            return cast_step(cx, result, DType::F32, slot, half, shape.elements());
        }
    }
    Ok(())
}

/// 1 as a float of any width.
fn of_one<T>() -> T
where
    i8: stead_kernels::cast::Cast<T>,
{
    stead_kernels::cast::Cast::<T>::cast(1i8)
}

//! Unique.
//!
//! How many parts are different is known only when they are found: as for [NonMaxSuppression](super::detection) an
//! operator of the engine's own writes results that are as long as they can become, and the number of parts. Strings are
//! compared by their places in the order of all of them, and what is different is taken from the input in the end.

use super::axes::{around, axis_of};
use super::dispatch::{for_number, no_kernel};
use super::{Args, NodeSpec, OpDef, OpPlan, Out, Param, TypeSet, plan_fn, types};
use crate::error::{BuildError, LoadError, RunError};
use crate::ir::FunctionBody;
use std::cmp::Ordering;
use stead_kernels::along::{UniqueParts, unique};
use stead_onnx::AttributeValue;
use stead_tensor::{DType, Element, Shape};

const X: &[Param] = &[Param::required(0, COMPARED)];
const COMPARED: TypeSet = types::NUMERIC.or(types::BOOL);
const PLACES: Out = Out::Fixed(DType::I64);

/// Unique, and the operators that it becomes.
pub const OPS: &[OpDef] = &[
    OpDef::function(
        "Unique",
        &[Param::required(0, COMPARED.or(types::STRING))],
        &[Out::Like(0), PLACES, PLACES, PLACES],
        write,
    )
    .since(11),
    OpDef::new("Unique", X, &[Out::Like(0), PLACES, PLACES, PLACES, PLACES], build).domain("stead"),
    OpDef::new("Ranks", &[Param::required(0, types::STRING)], &[PLACES], ranks).domain("stead"),
];

fn write(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    if f.dtype(f.input(0)?) == DType::String {
        return write_strings(f);
    }
    let axis = f.attributes().int_or("axis", 0)?;
    let results = f.own("Unique", &[true; 5])?;
    let [Some(parts), Some(first), Some(inverse), Some(counts), Some(number)] = results[..] else {
        return Err(f.refuse("no different parts"));
    };
    let (start, along, zero) = (f.ints(&[0])?, f.ints(&[axis])?, f.ints(&[0])?);
    let parts = f.call("Slice", &[parts, start, number, along], &[])?;
    f.give(0, parts);
    f.give(2, inverse);
    for (output, places) in [(1, first), (3, counts)] {
        if f.wants(output) {
            let places = f.call("Slice", &[places, start, number, zero], &[])?;
            f.give(output, places);
        }
    }
    Ok(())
}

fn write_strings(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let x = f.input(0)?;
    let ranks = f.call_of(("stead", "Ranks"), vec![Some(x)], &[])?;
    let sorted = f.attributes().int_or("sorted", 1)?;
    let mut attributes = vec![("sorted", AttributeValue::Int(sorted))];
    let axis = f.attributes().int("axis")?;
    attributes.extend(axis.map(|axis| ("axis", AttributeValue::Int(axis))));
    let wanted = [false, true, f.wants(2), f.wants(3)];
    let places = f.call_for("Unique", vec![Some(ranks)], &attributes, &wanted)?;
    let [_, Some(first), inverse, counts] = places[..] else {
        return Err(f.refuse("no different parts"));
    };
    let source = match axis {
        Some(_) => x,
        None => {
            let flat = f.ints(&[-1])?;
            f.call("Reshape", &[x, flat], &[])?
        }
    };
    let along = ("axis", AttributeValue::Int(axis.unwrap_or(0)));
    let parts = f.call("Gather", &[source, first], &[along])?;
    f.give(0, parts);
    f.give(1, first);
    for (output, places) in [(2, inverse), (3, counts)] {
        if let Some(places) = places {
            f.give(output, places);
        }
    }
    Ok(())
}

/// The place of each string in the order of their bytes; strings that are equal have the same.
fn ranks(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let shape = cx.shape(0)?;
        let (x, slot) = (cx.input(0)?, cx.output(0, shape)?);
        cx.step("ranks", &[x], &[slot], |a| {
            let (texts, out) = (a.strings(0)?, a.write::<i64>()?);
            let mut order: Vec<(&[u8], usize)> = texts.iter().map(Vec::as_slice).zip(0..).collect();
            order.sort_unstable();
            let (mut rank, mut before) = (-1, None);
            for (text, at) in order {
                rank += i64::from(before != Some(text));
                before = Some(text);
                if let Some(place) = out.get_mut(at) {
                    *place = rank;
                }
            }
            Ok(())
        });
        Ok(())
    })
}

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let axis = spec.attributes().int("axis")?;
    let sorted = spec.attributes().bool_or("sorted", true)?;
    plan_fn(move |cx| {
        let (shape, dtype) = (cx.shape(0)?, cx.dtype(0)?);
        // Without an axis the elements are compared in row-major order.
        let (axis, seen) = match axis {
            Some(axis) => (axis_of(axis, shape.rank())?, shape),
            None => (0, Shape::new(&[shape.elements()])?),
        };
        let dims = around(&seen, axis);
        let (places, one) = (Shape::new(&[dims.1])?, Shape::new(&[1])?);
        let x = cx.input(0)?;
        let slots = [
            cx.output(0, seen)?,
            cx.output(1, places)?,
            cx.output(2, places)?,
            cx.output(3, places)?,
            cx.output(4, one)?,
            cx.temp_of::<i64>(dims.1),
        ];
        let dtype = if dtype == DType::Bool { DType::U8 } else { dtype };
        for_number!(dtype, T => {
            cx.step("unique", &[x], &slots, move |a| find::<T>(a, dims, sorted));
            Ok(())
        }, _ => Err(no_kernel(dtype)))
    })
}

/// No numbers are equal to each other and come last, as NumPy has them.
fn compare<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    let is_number = |x: &T| x.partial_cmp(x).is_some();
    a.partial_cmp(b).unwrap_or_else(|| is_number(b).cmp(&is_number(a)))
}

fn find<T: Element + PartialOrd>(
    a: &mut Args<'_>,
    dims: (usize, usize, usize),
    sorted: bool,
) -> Result<(), RunError> {
    let x = a.read::<T>(0)?;
    let parts = a.write::<T>()?;
    let (first, inverse, counts) = (a.write::<i64>()?, a.write::<i64>()?, a.write::<i64>()?);
    let (number, order) = (a.write::<i64>()?, a.write::<i64>()?);
    let order = order.get_mut(..dims.1).unwrap_or_default();
    let places = UniqueParts { first, inverse, counts, order };
    let found = unique(dims, x, sorted, compare, places);
    number.fill(found as i64);
    // Rows behind the last part are those of the first, and nobody reads them.
    let (outer, axis, inner) = dims;
    for row in 0..outer * axis {
        let part = first.get(row % axis).copied().unwrap_or(0) as usize;
        let from = (row / axis * axis + part) * inner;
        if let (Some(to), Some(from)) =
            (parts.get_mut(row * inner..(row + 1) * inner), x.get(from..from + inner))
        {
            to.copy_from_slice(from);
        }
    }
    Ok(())
}

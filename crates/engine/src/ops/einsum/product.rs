//! Contractions that are batched matrix products.

use super::{Axis, Factor, Label, PlanCx, Slot, extent};
use crate::error::PlanError;
use crate::ops::product_flops;
use stead_kernels::gemm::{Epilogue, Lhs, MatRef, Rhs, gemm, gemm_scratch_len};
use stead_kernels::movement::{MAX_DIMS, copy_strided};

/// What the labels of a product are for.
struct Roles {
    /// In both factors and the result.
    batch: Vec<Label>,
    /// In the first factor and the result.
    rows: Vec<Label>,
    /// In the second factor and the result.
    cols: Vec<Label>,
    /// In both factors only.
    depth: Vec<Label>,
}

/// Sorts the labels; `None` if one is in no role, such as one that only one factor has and that is summed.
fn roles(a: &Factor, b: &Factor, keep: &[Label], summed: &[Label]) -> Option<Roles> {
    // Dimensions of one element that stand for more are repeated, which no product does.
    let same = |label: Label| match (a.axis(label), b.axis(label)) {
        (Some(Axis { dim: x, .. }), Some(Axis { dim: y, .. })) => x == y,
        _ => true,
    };
    let mut roles = Roles { batch: vec![], rows: vec![], cols: vec![], depth: vec![] };
    for &label in keep {
        match (a.axis(label).is_some(), b.axis(label).is_some()) {
            (true, true) if same(label) => roles.batch.push(label),
            (true, false) => roles.rows.push(label),
            (false, true) => roles.cols.push(label),
            _ => return None,
        }
    }
    for &label in summed {
        if !same(label) || a.axis(label).is_none() || b.axis(label).is_none() {
            return None;
        }
        roles.depth.push(label);
    }
    Some(roles)
}

/// Emits a product as copies into order and a matrix product for each batch entry; tells whether it did.
pub(super) fn emit(
    cx: &mut PlanCx<'_>,
    a: &Factor,
    b: &Factor,
    keep: &[Label],
    summed: &[Label],
    slot: Slot,
) -> Result<bool, PlanError> {
    let Some(Roles { batch, rows, cols, depth }) = roles(a, b, keep, summed) else {
        return Ok(false);
    };
    let size = |labels: &[Label]| {
        labels.iter().try_fold(1usize, |n, &l| Ok::<_, PlanError>(n * extent(l, a, Some(b))?))
    };
    let (count, m, n, k) = (size(&batch)?, size(&rows)?, size(&cols)?, size(&depth)?);
    if count * m * n * k == 0 || batch.len() + rows.len() + cols.len() > MAX_DIMS {
        return Ok(false);
    }
    let left = ordered(cx, a, &[&batch, &rows, &depth].map(|l| l.as_slice()).concat());
    let right = ordered(cx, b, &[&batch, &depth, &cols].map(|l| l.as_slice()).concat());
    let made = [batch, rows, cols].concat();
    let in_order = made == keep;
    let target = if in_order { slot } else { cx.temp_of::<f32>(count * m * n) };
    let sample = (Lhs::Strided(MatRef::rows(&[], k)), Rhs::Strided(MatRef::rows(&[], n)));
    let len = gemm_scratch_len(cx.isa, m, n, k, &sample.0, &sample.1);
    let scratch = cx.temp_of::<f32>(len);
    cx.step("einsum product", &[left, right], &[target, scratch], move |x| {
        let (a, b) = (x.read::<f32>(0)?, x.read::<f32>(1)?);
        let (c, scratch) = (x.write::<f32>()?, x.write::<f32>()?);
        let parts = a.chunks_exact(m * k).zip(b.chunks_exact(k * n)).zip(c.chunks_exact_mut(m * n));
        for ((a, b), c) in parts {
            let (a, b) = (Lhs::Strided(MatRef::rows(a, k)), Rhs::Strided(MatRef::rows(b, n)));
            gemm(x.isa, x.parallel, m, n, k, a, b, c, n, &Epilogue::default(), scratch);
        }
        Ok(())
    });
    cx.count(product_flops([count, m, n, k]), 0);
    if !in_order {
        let dims = made.iter().map(|&l| extent(l, a, Some(b))).collect::<Result<Vec<_>, _>>()?;
        reorder(cx, &made, &dims, keep, target, slot);
    }
    Ok(true)
}

/// A factor as contiguous elements in this order of labels.
fn ordered(cx: &mut PlanCx<'_>, factor: &Factor, labels: &[Label]) -> super::Operand {
    let axes: Vec<Axis> = labels.iter().filter_map(|&l| factor.axis(l)).copied().collect();
    let dims: Vec<usize> = axes.iter().map(|axis| axis.dim).collect();
    let strides: Vec<isize> = axes.iter().map(|axis| axis.stride).collect();
    let slot = cx.temp_of::<f32>(dims.iter().product());
    let offset = factor.offset;
    cx.step("einsum order", std::slice::from_ref(&factor.operand), &[slot], move |a| {
        let (src, dst) = (a.read_bytes(0)?, a.write_bytes()?);
        copy_strided(size_of::<f32>(), src, offset, &strides, &dims, dst);
        Ok(())
    });
    cx.read_back(slot)
}

/// Copies elements in the order `made` to the order `keep`.
fn reorder(
    cx: &mut PlanCx<'_>,
    made: &[Label],
    dims: &[usize],
    keep: &[Label],
    from: Slot,
    to: Slot,
) {
    let mut strides = vec![1isize; made.len()];
    for i in (1..made.len()).rev() {
        strides[i - 1] = strides[i] * dims[i] as isize;
    }
    let places: Vec<usize> =
        keep.iter().filter_map(|label| made.iter().position(|l| l == label)).collect();
    let dims: Vec<usize> = places.iter().map(|&at| dims[at]).collect();
    let strides: Vec<isize> = places.iter().map(|&at| strides[at]).collect();
    let src = cx.read_back(from);
    cx.step("einsum order", &[src], &[to], move |a| {
        let (src, dst) = (a.read_bytes(0)?, a.write_bytes()?);
        copy_strided(size_of::<f32>(), src, 0, &strides, &dims, dst);
        Ok(())
    });
}

//! Powers of e over their sum, as Vespa has it: nothing is subtracted first.

use stead_kernels::Serial;
use stead_kernels::along::softmax_f64;
use stead_kernels::softmax as kernels;
use stead_kernels::vector::Widen;

use super::super::column::Column;
use super::super::numbers::isa;
use super::super::operand::Blocks;
use super::super::pool::Pool;
use super::super::size::TooLarge;
use super::{each_float, each_kernel_cell, placed, places};
use crate::ir::Softmax;
use crate::types::{CellType, TensorType};
use crate::value::Cells;

/// Up to here powers, their sum and its inverse are f32 of full precision, whatever the number of cells.
const MAX_FLOAT: f32 = 60.0;

/// The softmax of each block of `list`.
pub(super) fn compute(
    form: Softmax,
    out: &TensorType,
    list: &Blocks<'_>,
    rows: usize,
    pool: &mut Pool,
) -> Result<Column<'static>, TooLarge> {
    let (at, count) = places(out, list, rows, list.size, pool)?;
    let cells = if out.cell() == CellType::Double {
        let (mut of, mut result) = (pool.doubles(), pool.doubles());
        each_kernel_cell!(list.cells, cells => for row in 0..rows {
            of.extend(cells[list.range(&list.of_row(row))].iter().map(|x| Widen::<f64>::wide(*x)));
        }, else ());
        debug_assert_eq!(of.len(), count, "cells of all blocks");
        result.resize(count, 0.0);
        along(form, count, |dims| {
            softmax_f64(kernels::Softmax::Unshifted, dims, &of, &mut result);
        });
        pool.recycle_cells(Cells::Double(of.into()));
        Cells::Double(result.into())
    } else {
        let (mut of, mut result) = (pool.floats(), pool.floats());
        each_float!(list.cells, cells => for row in 0..rows {
            of.extend(cells[list.range(&list.of_row(row))].iter().map(|x| Widen::<f32>::wide(*x)));
        });
        debug_assert_eq!(of.len(), count, "cells of all blocks");
        result.resize(count, 0.0);
        // Not-a-number is not in it either.
        if of.iter().all(|x| x.abs() <= MAX_FLOAT) {
            along(form, count, |dims| {
                let form = kernels::Softmax::Unshifted;
                kernels::softmax(isa(), &Serial, form, dims, &of, &mut result);
            });
        } else {
            cell_by_cell(form, &of, &mut result);
        }
        pool.recycle_cells(Cells::Float(of.into()));
        Cells::Float(result.into())
    };
    Ok(placed(at, rows, cells))
}

/// Calls with the dimensions of all blocks together, if there are any.
fn along(form: Softmax, count: usize, call: impl FnOnce((usize, usize, usize))) {
    let Softmax { axis, inner } = form;
    if count > 0 {
        call((count / (axis * inner), axis, inner));
    }
}

/// The same where a float is at its limits: powers and sums are rounded to floats one by one, as the steps do that this one
/// stands for.
fn cell_by_cell(form: Softmax, of: &[f32], result: &mut [f32]) {
    let Softmax { axis, inner } = form;
    for (of, result) in of.chunks_exact(axis * inner).zip(result.chunks_exact_mut(axis * inner)) {
        for lane in 0..inner {
            let mut sum = 0.0;
            for at in (lane..axis * inner).step_by(inner) {
                result[at] = f64::from(of[at]).exp() as f32;
                sum += f64::from(result[at]);
            }
            let sum = f64::from(sum as f32);
            for at in (lane..axis * inner).step_by(inner) {
                result[at] = (f64::from(result[at]) / sum) as f32;
            }
        }
    }
}

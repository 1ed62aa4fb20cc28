//! Sums of numbers, and of products of cells with labels.

use std::cmp::Ordering;

use stead_kernels::vector as kernels;
use stead_kernels::vector::Widen;

use super::super::attribute::Rows;
use super::super::column::Column;
use super::super::dense::Real;
use super::super::list::Numbers;
use super::super::numbers::isa;
use super::super::operand::{Blocks, Operand};
use super::super::pool::Pool;
use super::each_kernel_cell;
use crate::each_number;
use crate::ir::Term;
use crate::types::CellType;
use crate::value::Label;

/// The sum of the products of the cells that both have, for each row.
pub(super) fn sparse_dot(
    a: &Blocks<'_>,
    b: &Blocks<'_>,
    rows: usize,
    pool: &mut Pool,
) -> Column<'static> {
    // Where no double is, the product of two cells is a float.
    let cells = [a.cells, b.cells].map(crate::value::Cells::cell_type);
    let is_wide = cells.contains(&CellType::Double);
    let mut sums = pool.doubles();
    for row in 0..rows {
        let (blocks_a, blocks_b) = (a.of_row(row), b.of_row(row));
        let (labels_a, labels_b) = (a.labels(&blocks_a), b.labels(&blocks_b));
        let (range_a, range_b) = (a.range(&blocks_a), b.range(&blocks_b));
        let sum = each_kernel_cell!(a.cells, x => each_kernel_cell!(b.cells, y => {
            let left = Side { labels: labels_a, cells: &x[range_a], count: blocks_a.len() };
            let right = Side { labels: labels_b, cells: &y[range_b], count: blocks_b.len() };
            common(&left, &right, a.size, is_wide)
        }, else 0.0), else 0.0);
        sums.push(sum);
    }
    Column::numbers(sums)
}

struct Side<'s, T> {
    labels: &'s [Label],
    cells: &'s [T],
    count: usize,
}

/// The sum over the blocks that both have, which stand in the order of their labels.
fn common<A: Real, B: Real>(a: &Side<'_, A>, b: &Side<'_, B>, size: usize, is_wide: bool) -> f64 {
    if a.count == 0 || b.count == 0 {
        return 0.0;
    }
    let width = a.labels.len() / a.count;
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.count && j < b.count {
        let order = match width {
            1 => a.labels[i].cmp(&b.labels[j]),
            _ => a.labels[i * width..][..width].cmp(&b.labels[j * width..][..width]),
        };
        if order == Ordering::Equal {
            let (x, y) = (&a.cells[i * size..][..size], &b.cells[j * size..][..size]);
            for (x, y) in x.iter().zip(y) {
                let product = x.wide() * y.wide();
                sum += if is_wide { product } else { f64::from(product as f32) };
            }
        }
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
    }
    sum
}

/// The sum of the terms for each row, from the first to the last.
pub(super) fn weighted(
    terms: &[Term],
    operands: &[Operand<'_>],
    rows: usize,
    pool: &mut Pool,
) -> Column<'static> {
    let mut sums = pool.doubles();
    sums.resize(rows, 0.0);
    let mut gathered = pool.doubles();
    let mut rest = operands.iter();
    for (at, term) in terms.iter().enumerate() {
        let number = rest.next().and_then(|o| o.numbers().map(|n| (n, o.rows())));
        let weight = match term.is_weighted {
            true => rest.next().and_then(|o| o.numbers()).and_then(first),
            false => Some(1.0),
        };
        // To subtract is to add the negative, and a product with a negative weight is the negative product.
        let weight = weight.map(|w| if term.is_subtracted { -w } else { w });
        let (Some(((numbers, of), count)), Some(weight)) = (number, weight) else {
            debug_assert!(false, "terms of a sum are numbers");
            continue;
        };
        // The first term begins the sums: 0 and -0 stay apart.
        let is_first = at == 0;
        if count == 1 && rows != 1 {
            let one = first((numbers, of)).unwrap_or(0.0) * weight;
            sums.iter_mut().for_each(|sum| *sum = if is_first { one } else { *sum + one });
            continue;
        }
        each_number!(numbers, list => match of.index {
            None => add(weight, &list[of.begin..of.begin + rows], &mut sums, is_first),
            Some(index) => {
                gathered.clear();
                gathered.extend(index.iter().map(|i| Widen::<f64>::wide(list[*i as usize])));
                add(weight, &gathered, &mut sums, is_first);
            }
        });
    }
    pool.recycle(Column::numbers(gathered));
    Column::numbers(sums)
}

fn add<T: Widen<f64>>(weight: f64, list: &[T], sums: &mut [f64], is_first: bool) {
    if !is_first {
        return kernels::add_scaled(isa(), weight, list, sums);
    }
    kernels::widen(isa(), list, sums);
    if weight != 1.0 {
        sums.iter_mut().for_each(|sum| *sum *= weight);
    }
}

/// The number of the first row.
fn first((numbers, rows): (Numbers<'_>, Rows<'_>)) -> Option<f64> {
    if rows.count == 0 { None } else { numbers.get(rows.place(0)) }
}

//! Products of matrices; those of the vectors of many documents with one matrix are one product.

use stead_kernels::Serial;
use stead_kernels::gemm::{
    Epilogue, Lhs, MatRef, Rhs, gemm, gemm_scratch_len, pack_b, packed_b_len,
};

use super::super::column::Column;
use super::super::numbers::isa;
use super::super::operand::Blocks;
use super::super::pool::Pool;
use super::super::size::{TooLarge, check};
use super::Prepared;
use crate::ir::Product;
use crate::types::TensorType;
use crate::value::Cells;

/// The right matrix as the kernel wants it.
pub(super) fn prepare(product: &Product, column: &Column<'_>) -> Option<Prepared> {
    let Cells::Float(cells) = &column.cells else { return None };
    let Product { n, k, b, .. } = *product;
    let mut packed = vec![0.0; packed_b_len(isa(), k, n)];
    let matrix = MatRef { data: &cells[..], row_stride: b[0], col_stride: b[1] };
    pack_b(isa(), k, n, matrix, &mut packed);
    Some(Prepared::Floats(packed))
}

/// The product for each row.
pub(super) fn compute(
    product: &Product,
    out: &TensorType,
    (left, right): (&Blocks<'_>, &Blocks<'_>),
    rows: usize,
    prepared: Option<&Prepared>,
    pool: &mut Pool,
) -> Result<Column<'static>, TooLarge> {
    let size = out.block_size();
    let mut result = pool.floats();
    result.resize(check(rows, size)?, 0.0);
    let mut scratch = pool.floats();
    let (Cells::Float(a), Cells::Float(b)) = (left.cells, right.cells) else {
        return Err(TooLarge);
    };
    let Product { m, n, k, a: [a_row, a_col], b: [b_row, b_col], c } = *product;
    let mut run = |m: usize, a: MatRef<'_>, b: Rhs<'_>, c: usize, to: &mut [f32]| {
        let a = Lhs::Strided(a);
        scratch.resize(gemm_scratch_len(isa(), m, n, k, &a, &b), 0.0);
        gemm(isa(), &Serial, m, n, k, a, b, to, c, &Epilogue::default(), &mut scratch);
    };
    let packed = match prepared {
        Some(Prepared::Floats(packed)) => Some(Rhs::Packed(packed)),
        _ => None,
    };
    let right_of = |row: usize| {
        let data = &b[right.range(&right.of_row(row))];
        packed.unwrap_or(Rhs::Strided(MatRef { data, row_stride: b_row, col_stride: b_col }))
    };
    match left.of_all(rows) {
        // The documents are the rows of one matrix.
        Some(blocks) if m == 1 && right.is_one => {
            let data = &a[left.range(&blocks)];
            let documents = MatRef { data, row_stride: left.size, col_stride: a_col };
            run(rows, documents, right_of(0), size, &mut result);
        }
        _ => {
            for (row, to) in result.chunks_exact_mut(size).enumerate() {
                let data = &a[left.range(&left.of_row(row))];
                let matrix = MatRef { data, row_stride: a_row, col_stride: a_col };
                run(m, matrix, right_of(row), c, to);
            }
        }
    }
    pool.recycle_cells(Cells::Float(scratch.into()));
    Ok(Column::dense(rows, Cells::Float(result.into())))
}

//! How a batched product falls apart into products of two matrices.

use super::super::Strided;
use crate::error::PlanError;
use stead_tensor::{MAX_RANK, Shape};

/// One operand of a product as matrices: strides of rows and columns, and of the batch dimensions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrices {
    pub offset: usize,
    pub row_stride: usize,
    pub col_stride: usize,
    batch: [isize; MAX_RANK],
}

/// A batched product `[batch.., m, k] x [batch.., k, n]`.
#[derive(Debug, Clone)]
pub(super) struct Batched {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    /// The output in ONNX's terms: dimensions of one that 1-D operands add are gone again.
    pub output: Shape,
    pub a: Matrices,
    pub b: Matrices,
    /// First elements of each pair of matrices; outputs follow each other.
    pub offsets: Box<[(usize, usize)]>,
}

/// Sizes and strides of an operand as a stack of matrices: a 1-D operand becomes a row (`A`) or column (`B`).
struct Stack {
    dims: Vec<usize>,
    strides: Vec<isize>,
}

fn stack(shape: &Shape, strided: &Strided, is_left: bool, transposed: bool) -> Stack {
    let mut dims = shape.to_vec();
    let mut strides = strided.strides[..dims.len()].to_vec();
    if dims.len() == 1 {
        let at = usize::from(!is_left);
        dims.insert(at, 1);
        strides.insert(at, 0);
    } else if transposed {
        let rank = dims.len();
        dims.swap(rank - 1, rank - 2);
        strides.swap(rank - 1, rank - 2);
    }
    Stack { dims, strides }
}

/// Whether the last two strides suit a matrix kernel, which counts forward only.
pub(super) fn suits(shape: &Shape, strided: &Strided) -> bool {
    shape.rank() > 0 && strided.strides[..shape.rank()].iter().rev().take(2).all(|&s| s >= 0)
}

/// Resolves a product by numpy's rules for `matmul`, with the last two dimensions of an operand swapped where
/// asked.
pub(super) fn resolve(
    a_shape: &Shape,
    b_shape: &Shape,
    a: &Strided,
    b: &Strided,
    transposed: (bool, bool),
) -> Result<Batched, PlanError> {
    let fail = || PlanError::shape(format!("cannot multiply {a_shape} by {b_shape}"));
    if a_shape.rank() == 0 || b_shape.rank() == 0 {
        return Err(fail());
    }
    let left = stack(a_shape, a, true, transposed.0);
    let right = stack(b_shape, b, false, transposed.1);
    let (la, lb) = (left.dims.len() - 2, right.dims.len() - 2);
    let (m, k, n) = (left.dims[la], left.dims[la + 1], right.dims[lb + 1]);
    if right.dims[lb] != k {
        return Err(fail());
    }
    let rank = la.max(lb);
    let mut batch = Vec::with_capacity(rank);
    let mut strides = ([0isize; MAX_RANK], [0isize; MAX_RANK]);
    for axis in 0..rank {
        let dim = |stack: &Stack, own: usize| match (axis + own).checked_sub(rank) {
            Some(at) => (stack.dims[at], stack.strides[at]),
            None => (1, 0),
        };
        let ((da, sa), (db, sb)) = (dim(&left, la), dim(&right, lb));
        if da != db && da != 1 && db != 1 {
            return Err(fail());
        }
        batch.push(if da == 1 { db } else { da });
        strides.0[axis] = if da == 1 { 0 } else { sa };
        strides.1[axis] = if db == 1 { 0 } else { sb };
    }
    let matrices = |stack: &Stack, offset, batch| Matrices {
        offset,
        row_stride: stack.strides[stack.dims.len() - 2].unsigned_abs(),
        col_stride: stack.strides[stack.dims.len() - 1].unsigned_abs(),
        batch,
    };
    let mut output = batch.clone();
    if a_shape.rank() > 1 {
        output.push(m);
    }
    if b_shape.rank() > 1 {
        output.push(n);
    }
    let (a, b) = (matrices(&left, a.offset, strides.0), matrices(&right, b.offset, strides.1));
    let mut product = Batched { m, n, k, output: Shape::new(&output)?, a, b, offsets: [].into() };
    collapse(&mut product, &mut batch);
    product.offsets = offsets(&batch, &product.a, &product.b);
    Ok(product)
}

/// Joins the batch with the rows where all share one right matrix and the left rows follow each other: one
/// large product instead of many small ones.
fn collapse(product: &mut Batched, batch: &mut Vec<usize>) {
    while let Some(&last) = batch.last() {
        let axis = batch.len() - 1;
        let follows = product.a.batch[axis] == (product.m * product.a.row_stride) as isize;
        if product.b.batch[axis] != 0 || !(follows || product.m == 1 || last == 1) {
            return;
        }
        if product.m == 1 && last != 1 {
            let Ok(stride) = usize::try_from(product.a.batch[axis]) else { return };
            product.a.row_stride = stride;
        }
        product.m *= last;
        batch.pop();
    }
}

fn offsets(batch: &[usize], a: &Matrices, b: &Matrices) -> Box<[(usize, usize)]> {
    let count: usize = batch.iter().product();
    let at = |index: usize, matrices: &Matrices| {
        let mut rest = index;
        let mut offset = matrices.offset as isize;
        for (axis, &dim) in batch.iter().enumerate().rev() {
            offset += (rest % dim) as isize * matrices.batch[axis];
            rest /= dim;
        }
        offset as usize
    };
    (0..count).map(|i| (at(i, a), at(i, b))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Operand;
    use crate::plan::Source;
    use stead_tensor::DType;

    fn row_major(dims: &[usize]) -> (Shape, Strided) {
        let shape = Shape::new(dims).unwrap();
        let operand = Operand { source: Source::Input(0, 0..0), ty: (DType::F32, shape) };
        (shape, Strided { operand, offset: 0, strides: shape.strides() })
    }

    #[test]
    fn products_resolve_by_numpy_rules() {
        let cases: [(&[usize], &[usize], Option<(&[usize], usize, usize)>); 9] = [
            (&[2, 3], &[3, 4], Some((&[2, 4], 2, 1))),
            (&[5, 2, 3], &[3, 4], Some((&[5, 2, 4], 10, 1))),
            (&[5, 2, 3], &[5, 3, 4], Some((&[5, 2, 4], 2, 5))),
            (&[2, 3], &[5, 3, 4], Some((&[5, 2, 4], 2, 5))),
            (&[3], &[3, 4], Some((&[4], 1, 1))),
            (&[2, 3], &[3], Some((&[2], 2, 1))),
            (&[3], &[3], Some((&[], 1, 1))),
            (&[6, 1, 2, 3], &[1, 7, 3, 4], Some((&[6, 7, 2, 4], 2, 42))),
            (&[2, 3], &[4, 3], None),
        ];
        for (a, b, expected) in cases {
            let (a, b) = (row_major(a), row_major(b));
            let got = resolve(&a.0, &b.0, &a.1, &b.1, (false, false)).ok();
            let got = got.as_ref().map(|p| (p.output.dims(), p.m, p.offsets.len()));
            assert_eq!(got, expected, "{} x {}", a.0, b.0);
        }
    }
}

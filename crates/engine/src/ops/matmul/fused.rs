//! The product that passes make of MatMul or Gemm and what follows it.

use super::super::broadcasting::{aligned, broadcast_shape};
use super::super::movement::{reshape_target, split_strides};
use super::super::{NodeSpec, OpPlan, Operand, PlanCx, Slot, plan_fn};
use super::batch::Batched;
use super::inner;
use super::normal::{Form, Normal};
use super::product::{Added, Addend, Product, bias, emit, operands, pack};
use crate::error::{BuildError, PlanError};
use stead_kernels::broadcast::Broadcast;
use stead_kernels::elementwise::{BinaryOp, Lane, Run};
use stead_kernels::gemm::{Activation, activate_slice};
use stead_kernels::movement::copy_strided;
use stead_tensor::{DType, MAX_RANK, Shape};

/// The input that is added before the activation.
const RESIDUAL: usize = 3;
/// The shape that the product is seen in before the residual is added.
const SHAPE: usize = 6;

/// Bias (input 2) and residual (input 3) are added, the activation applied and rows normalised in the step of the product.
///
/// Between the product and the residual there may be a change of shape (input 6) and then one of the order of dimensions
/// (attribute `perm`).
pub(super) fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let transposed = (attributes.bool_or("transA", false)?, attributes.bool_or("transB", false)?);
    let product = Product {
        transposed,
        alpha: attributes.float_or("alpha", 1.0)?,
        activation: crate::ops::activation::from_attributes(attributes)?,
        packed: pack(spec, transposed.1)?,
    };
    let form = Form::of(spec)?;
    let inner_form = inner::Form::of(spec)?;
    let allow_zero = attributes.bool_or("allowzero", false)?;
    let perm = attributes.ints("perm")?.map(<[i64]>::to_vec);
    plan_fn(move |cx| {
        let mut added = Added::default();
        let (batched, operands) = match &inner_form {
            None => operands(cx, &product)?,
            Some(form) => {
                let (inner, batched) = form.plan(cx, &product)?;
                let x = inner.x.clone();
                added.inner = Some(inner);
                (batched, (x, None))
            }
        };
        added.bias_col = bias(cx, 2, batched.n)?;
        let mut seen = Seen::plain(batched.output);
        if cx.has_input(SHAPE) {
            seen = Seen::plain(reshape_target(&batched.output, &cx.ints(SHAPE)?, allow_zero)?);
        }
        if let Some(perm) = &perm {
            seen = seen.permuted(perm)?;
        }
        if cx.has_input(RESIDUAL) {
            added.residual = addend(cx, &batched, &seen)?;
        }
        let adds_apart = cx.has_input(RESIDUAL) && added.residual.is_none();
        // The rows that are normalised must be those of the product.
        let has_rows = seen.shape.last() == Some(&batched.n) && seen.keeps_last();
        let is_apart = adds_apart || form.is_some() && !has_rows;
        let operands = match added.inner.take() {
            Some(inner) if is_apart || !inner.has_rows_of(&batched) => (inner.apart(cx), None),
            inner => {
                added.inner = inner;
                operands
            }
        };
        if is_apart {
            return apart(cx, &product, batched, operands, added, (&seen, form));
        }
        added.normal = form.map(|form| form.plan(cx, batched.n)).transpose()?;
        let output = match seen.is_plain() {
            true => cx.output(0, seen.shape)?,
            false => cx.output_view(0, seen.shape, seen.strides)?,
        };
        emit(cx, &product, batched, operands, added, output);
        Ok(())
    })
}

/// How the elements of a product are seen by what follows it.
struct Seen {
    shape: Shape,
    strides: [isize; MAX_RANK],
    /// The shape before its dimensions were put in another order, and where each of `shape` was in it.
    from: Shape,
    order: Vec<usize>,
}

impl Seen {
    /// In a shape, row by row.
    fn plain(shape: Shape) -> Seen {
        Seen { shape, strides: shape.strides(), from: shape, order: (0..shape.rank()).collect() }
    }

    /// With the dimensions in another order.
    fn permuted(self, perm: &[i64]) -> Result<Seen, PlanError> {
        let rank = self.shape.rank();
        let order: Vec<usize> =
            perm.iter().filter_map(|axis| usize::try_from(*axis).ok()).collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if sorted != (0..rank).collect::<Vec<_>>() {
            let from = self.shape;
            return Err(PlanError::shape(format!(
                "cannot order the dimensions of {from} by {perm:?}"
            )));
        }
        let dims: Vec<usize> = order.iter().map(|axis| self.shape[*axis]).collect();
        let mut strides = [0; MAX_RANK];
        for (to, axis) in strides.iter_mut().zip(&order) {
            *to = self.strides[*axis];
        }
        Ok(Seen { shape: Shape::new(&dims)?, strides, from: self.shape, order })
    }

    /// Whether the elements lie in the order of the shape.
    fn is_plain(&self) -> bool {
        self.strides == self.shape.strides()
    }

    /// Whether the last dimension was the last one before too.
    fn keeps_last(&self) -> bool {
        self.order.last().is_some_and(|last| last + 1 == self.order.len())
    }

    /// Strides of a tensor of this shape in the order of the dimensions before.
    fn before(&self, strides: &[isize; MAX_RANK]) -> [isize; MAX_RANK] {
        let mut before = [0; MAX_RANK];
        for (stride, axis) in strides.iter().zip(&self.order) {
            before[*axis] = *stride;
        }
        before
    }
}

/// The residual as the kernel adds it to the rows of the product; nothing if it has another shape, or rows that lie unevenly.
fn addend(
    cx: &mut PlanCx<'_>,
    batched: &Batched,
    seen: &Seen,
) -> Result<Option<Addend>, PlanError> {
    let (residual, n) = (cx.shape(RESIDUAL)?, batched.n);
    if seen.is_plain() && residual == seen.shape && seen.shape.last() == Some(&n) {
        return Ok(Some(Addend::new(cx.input(RESIDUAL)?, n, 1.0)));
    }
    let is_row = residual.elements() == n
        && residual.last() == Some(&n)
        && residual.rank() <= seen.shape.rank()
        && seen.shape.last() == Some(&n)
        && seen.keeps_last();
    if is_row {
        // One row for all, such as the half of a layer that was computed before.
        return Ok(Some(Addend::new(cx.input(RESIDUAL)?, 0, 1.0)));
    }
    if residual != seen.shape || batched.offsets.len() != 1 {
        return Ok(None);
    }
    let lies = cx.strided(RESIDUAL)?;
    let matrix = Shape::new(&[batched.m, n])?;
    let rows = split_strides(&seen.from, &seen.before(&lies.strides), &matrix);
    let row = rows.filter(|rows| n == 1 || rows[1] == 1).map(|rows| rows[0]);
    let row = row.and_then(|row| usize::try_from(row).ok());
    Ok(row.map(|row_stride| Addend {
        operand: lies.operand,
        offset: lies.offset,
        // One row has no next one, and its stride is not said to be more than 0.
        row_stride: if batched.m == 1 { n } else { row_stride },
        scale: 1.0,
    }))
}

/// The fused form where the residual has another shape than the product and one is broadcast to the other, or rows are not
/// those of the product: passes do not know shapes. What follows the product are steps of their own then.
fn apart(
    cx: &mut PlanCx<'_>,
    product: &Product,
    batched: Batched,
    operands: (Operand, Option<Operand>),
    added: Added,
    (seen, form): (&Seen, Option<Form>),
) -> Result<(), PlanError> {
    let elements = batched.output.elements();
    let mut slot = cx.temp_of::<f32>(elements);
    let adds = cx.has_input(RESIDUAL) && added.residual.is_none();
    let activation = if adds { Activation::None } else { product.activation };
    emit(cx, &Product { activation, ..product.clone() }, batched, operands, added, slot);
    if !seen.is_plain() {
        let from = cx.read_back(slot);
        let (shape, strides) = (seen.shape, seen.strides);
        slot = cx.temp_of::<f32>(elements);
        cx.step("copy", &[from], &[slot], move |args| {
            let (from, to) = (args.read_bytes(0)?, args.write_bytes()?);
            copy_strided(DType::F32.size(), from, 0, &strides, &shape, to);
            Ok(())
        });
    }
    let Some(form) = form else {
        return added_to(cx, slot, seen.shape, RESIDUAL, product.activation);
    };
    let mut shape = seen.shape;
    if adds {
        shape = broadcast_shape(&shape, &cx.shape(RESIDUAL)?)?;
        let sum = cx.temp_of::<f32>(shape.elements());
        sum_into(cx, slot, seen.shape, RESIDUAL, product.activation, (sum, shape))?;
        slot = sum;
    }
    let n = shape.last().copied().ok_or_else(|| PlanError::shape("a number has no rows"))?;
    let normal = form.plan(cx, n)?;
    let from = cx.read_back(slot);
    let output = cx.output(0, shape)?;
    normalised(cx, normal, n, from, output);
    Ok(())
}

/// A step that normalises the rows of `from`.
fn normalised(cx: &mut PlanCx<'_>, normal: Normal, n: usize, from: Operand, output: Slot) {
    let mut reads = vec![from];
    let normal = normal.read_by(&mut |operand| {
        reads.push(operand?);
        Some(reads.len() - 1)
    });
    cx.step("layer norm", &reads, &[output], move |args| {
        let (from, normal) = (args.read::<f32>(0)?, normal.of(args)?);
        let to = args.write::<f32>()?;
        to.copy_from_slice(&from[..to.len()]);
        normal.rows(args.isa, args.parallel, n, to);
        Ok(())
    });
}

/// The output as the sum of a product of shape `from` and an input, one of which is broadcast to the other, and what the
/// activation makes of it.
pub(super) fn added_to(
    cx: &mut PlanCx<'_>,
    product: Slot,
    from: Shape,
    input: usize,
    activation: Activation,
) -> Result<(), PlanError> {
    let shape = broadcast_shape(&from, &cx.shape(input)?)?;
    let output = cx.output(0, shape)?;
    sum_into(cx, product, from, input, activation, (output, shape))
}

/// As [`added_to`], to a slot.
fn sum_into(
    cx: &mut PlanCx<'_>,
    product: Slot,
    from: Shape,
    input: usize,
    activation: Activation,
    (output, shape): (Slot, Shape),
) -> Result<(), PlanError> {
    let residual = cx.shape(input)?;
    let strides = [
        aligned(&from, &from.strides(), &shape)?,
        aligned(&residual, &residual.strides(), &shape)?,
    ];
    let plan = Broadcast::new(&shape, std::array::from_fn(|k| &strides[k][..]), [0, 0]);
    let reads = [cx.read_back(product), cx.input(input)?];
    cx.step("add", &reads, &[output], move |args| {
        let (x, y, out) = (args.read::<f32>(0)?, args.read::<f32>(1)?, args.write::<f32>()?);
        let run = Run { isa: args.isa, parallel: args.parallel, plan: &plan };
        Lane::binary(run, BinaryOp::Add, x, y, out);
        activate_slice(args.isa, activation, out);
        Ok(())
    });
    Ok(())
}

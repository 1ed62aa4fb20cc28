//! Half precision at the edges of operators that compute in single precision.

use crate::error::{BuildError, PlanError};
use crate::ops::{Operand, PlanCx, Slot};
use half::{bf16, f16};
use stead_kernels::Isa;
use stead_kernels::convert::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// An input as contiguous `f32`; half precision is widened by a step of its own.
///
/// # Errors
/// [`PlanError::Shape`] when it is absent or of another type.
pub(in crate::ops) fn input(cx: &mut PlanCx<'_>, index: usize) -> Result<Operand, PlanError> {
    let dtype = cx.dtype(index)?;
    if dtype == DType::F32 {
        return cx.input(index);
    }
    let count = cx.shape(index)?.elements();
    let source = cx.input(index)?;
    let slot = cx.temp_of::<f32>(count);
    match dtype {
        DType::F16 => cx.step("widen", &[source], &[slot], |a| {
            let x = a.read::<f16>(0)?;
            let wide = a.write::<f32>()?;
            f16_to_f32(a.isa, x, &mut wide[..x.len()]);
            Ok(())
        }),
        DType::BF16 => cx.step("widen", &[source], &[slot], |a| {
            let x = a.read::<bf16>(0)?;
            let wide = a.write::<f32>()?;
            bf16_to_f32(a.isa, x, &mut wide[..x.len()]);
            Ok(())
        }),
        other => {
            return Err(PlanError::shape(format!("input {index}: a float expected, got {other}")));
        }
    }
    Ok(cx.read_back(slot))
}

/// An optional input, as [`input`].
///
/// # Errors
/// As [`input`].
pub(super) fn optional(cx: &mut PlanCx<'_>, index: usize) -> Result<Option<Operand>, PlanError> {
    cx.has_input(index).then(|| input(cx, index)).transpose()
}

/// An output that is computed as `f32`.
#[must_use = "finish() makes the output of half precision"]
pub(super) struct Output {
    /// Where the kernel writes.
    pub slot: Slot,
    narrow: Option<(Slot, DType, usize)>,
}

/// Declares output `index`. Call [`Output::finish`] when the step that writes it has been emitted.
///
/// # Errors
/// As [`PlanCx::output`].
pub(super) fn output(cx: &mut PlanCx<'_>, index: usize, shape: Shape) -> Result<Output, PlanError> {
    if !cx.wants(index) {
        return Ok(Output { slot: cx.temp_of::<f32>(shape.elements()), narrow: None });
    }
    let dtype = cx.output_type(index)?;
    let slot = cx.output(index, shape)?;
    if dtype == DType::F32 {
        return Ok(Output { slot, narrow: None });
    }
    let count = shape.elements();
    Ok(Output { slot: cx.temp_of::<f32>(count), narrow: Some((slot, dtype, count)) })
}

impl Output {
    /// Emits the step that narrows, if one is needed.
    pub(super) fn finish(self, cx: &mut PlanCx<'_>) {
        let Some((slot, dtype, count)) = self.narrow else { return };
        let wide = cx.read_back(self.slot);
        cx.step("narrow", &[wide], &[slot], move |a| {
            let x = &a.read::<f32>(0)?[..count];
            if dtype == DType::F16 {
                f32_to_f16(a.isa, x, &mut a.write::<f16>()?[..count]);
            } else {
                f32_to_bf16(a.isa, x, &mut a.write::<bf16>()?[..count]);
            }
            Ok(())
        });
    }
}

/// Numbers that live as long as the session, in single precision and aligned for vectors.
pub(super) struct Numbers(AlignedBuf);

impl Numbers {
    /// `count` zeros.
    ///
    /// # Errors
    /// [`BuildError::Tensor`] when memory is short.
    pub(super) fn zeros(count: usize) -> Result<Numbers, BuildError> {
        let bytes = count.saturating_mul(size_of::<f32>());
        Ok(Numbers(AlignedBuf::lasting(bytes)?))
    }

    /// A float tensor, widened.
    ///
    /// # Errors
    /// [`BuildError::Tensor`] when memory is short, [`BuildError::Unsupported`] for other types.
    pub(super) fn of(isa: Isa, tensor: &Tensor) -> Result<Numbers, BuildError> {
        let mut numbers = Numbers::zeros(tensor.shape().elements())?;
        let wide = numbers.as_mut_slice();
        match tensor.dtype() {
            DType::F32 => wide.copy_from_slice(tensor.as_slice::<f32>()?),
            DType::F16 => f16_to_f32(isa, tensor.as_slice()?, wide),
            DType::BF16 => bf16_to_f32(isa, tensor.as_slice()?, wide),
            other => return Err(BuildError::unsupported(format!("a weight of type {other}"))),
        }
        Ok(numbers)
    }

    pub(super) fn as_slice(&self) -> &[f32] {
        bytemuck::cast_slice(&self.0)
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [f32] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

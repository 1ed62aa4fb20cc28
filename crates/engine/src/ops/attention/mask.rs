//! What is added to the scores: the mask input, and what windows and padding hide.

use super::operands::widened;
use super::{Job, MASK_INPUT, Operand, Options, PlanCx, Sizes};
use crate::error::PlanError;
use stead_kernels::attention::{HeadLayout, Heads, Hide, write_bias};
use stead_tensor::{DType, Shape};

/// A bias in f32 and where its rows lie; one for all heads or batch entries has the stride 0.
pub(super) struct Bias {
    pub operand: Operand,
    pub at: HeadLayout,
}

/// The mask input as it was given, in f32.
struct Given {
    bias: Bias,
    /// Batch entries, heads, queries and keys.
    dims: [usize; 4],
}

fn strides_of([batches, heads, queries, keys]: [usize; 4]) -> HeadLayout {
    let step = |n: usize, step: usize| if n > 1 { step } else { 0 };
    HeadLayout {
        offset: 0,
        batch: step(batches, heads * queries * keys),
        head: step(heads, queries * keys),
        row: step(queries, keys),
    }
}

fn given(cx: &mut PlanCx<'_>, job: &Job) -> Result<Option<Given>, PlanError> {
    if !cx.has_input(MASK_INPUT) {
        return Ok(None);
    }
    let shape = cx.shape(MASK_INPUT)?;
    let Sizes { queries, keys, .. } = job.sizes;
    let fail = || {
        PlanError::shape(format!(
            "a mask of shape {shape} for scores of [{},{},{queries},{keys}]",
            job.batches, job.heads
        ))
    };
    let mut dims = [1; 4];
    let skip = dims.len().checked_sub(shape.rank()).ok_or_else(fail)?;
    dims[skip..].copy_from_slice(&shape);
    let wanted = [job.batches, job.heads, queries];
    let fits = dims.iter().zip(wanted).all(|(&d, w)| d == w || d == 1);
    if shape.rank() == 0 || !fits || dims[3] > keys {
        return Err(fail());
    }
    let dtype = cx.dtype(MASK_INPUT)?;
    let whole = cx.input(MASK_INPUT)?;
    let operand = widened(cx, whole, dtype, shape.elements());
    Ok(Some(Given { bias: Bias { operand, at: strides_of(dims) }, dims }))
}

/// What the attention step needs: it hides keys after the causal frontier and beyond the length of a batch
/// entry by itself.
pub(super) fn plan(
    cx: &mut PlanCx<'_>,
    job: &Job,
    options: &Options,
    past: usize,
    lens: Option<Operand>,
) -> Result<Option<Bias>, PlanError> {
    let given = given(cx, job)?;
    let window = options.left.is_some() || options.right.is_some();
    let Sizes { queries, keys, .. } = job.sizes;
    match given {
        None if !window => Ok(None),
        Some(Given { bias, dims }) if !window && dims[3] == keys => Ok(Some(bias)),
        given => {
            let mut dims = given.as_ref().map_or([1; 4], |g| g.dims);
            dims[3] = keys;
            if window {
                dims[2] = queries;
                dims[0] = if lens.is_some() { job.batches } else { dims[0] };
            }
            let lens = lens.filter(|_| window);
            let hide = Windows {
                first: past as isize,
                causal: false,
                left: options.left,
                right: options.right,
            };
            write(cx, dims, given, hide, lens).map(Some)
        }
    }
}

/// Everything that is added to the scores, with minus infinity for whatever is hidden.
pub(super) fn plan_whole(
    cx: &mut PlanCx<'_>,
    job: &Job,
    options: &Options,
    past: usize,
    lens: Option<Operand>,
) -> Result<Bias, PlanError> {
    let given = given(cx, job)?;
    let Sizes { queries, keys, .. } = job.sizes;
    let mut dims = given.as_ref().map_or([1; 4], |g| g.dims);
    dims[2..].copy_from_slice(&[queries, keys]);
    if lens.is_some() {
        dims[0] = job.batches;
    }
    let hide = Windows {
        first: past as isize,
        causal: options.causal,
        left: options.left,
        right: options.right,
    };
    write(cx, dims, given, hide, lens)
}

/// [`Hide`] without the lengths, which are read when the plan runs.
#[derive(Debug, Clone, Copy)]
struct Windows {
    first: isize,
    causal: bool,
    left: Option<isize>,
    right: Option<isize>,
}

fn write(
    cx: &mut PlanCx<'_>,
    dims: [usize; 4],
    given: Option<Given>,
    hide: Windows,
    lens: Option<Operand>,
) -> Result<Bias, PlanError> {
    let mut reads = Vec::new();
    let mask = given.map(|given| {
        reads.push(given.bias.operand);
        (given.bias.at, given.dims[3])
    });
    let lens_read = lens.map(|lens| {
        reads.push(lens);
        reads.len() - 1
    });
    let bytes = Shape::new(&dims)?.byte_len(DType::F32);
    let slot = cx.temp(bytes);
    cx.step("attention bias", &reads, &[slot], move |a| {
        let lens = lens_read.map(|at| a.read::<i64>(at)).transpose()?;
        let Windows { first, causal, left, right } = hide;
        let hide = Hide { first, lens, causal, left, right };
        let (mask, mask_keys) = match mask {
            Some((at, keys)) => (Some(Heads { data: a.read(0)?, at }), keys),
            None => (None, 0),
        };
        write_bias(dims, mask, mask_keys, hide, a.write::<f32>()?);
        Ok(())
    });
    Ok(Bias { operand: cx.read_back(slot), at: strides_of(dims) })
}

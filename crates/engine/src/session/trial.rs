//! Inputs of trial runs, by which it is seen whether a model computes each row of a batch for itself.
//!
//! Two rows must differ in everything that a model may tell apart, and in how large they are: what is scaled by the
//! largest of all elements is another for two rows than for each of them alone. What whole numbers mean is not known:
//! ids of a vocabulary, types of which there are two, masks. So it is tried out which numbers a run accepts.

use super::Session;
use crate::error::RunError;
use crate::model::{Dim, IoSpec};
use half::{bf16, f16};
use stead_tensor::{AlignedBuf, Bool, DType, Element, Shape, Tensor, TensorError};

/// What dimensions that are free are in a trial.
const OTHER: usize = 16;

/// The most elements of an input of a trial.
const MAX_SAMPLE: usize = 1 << 28;

/// Numbers below which all whole numbers of a trial are, the first that every input accepts. Masks and types of
/// tokens are below 2.
const BELOW: [i64; 2] = [2, 1];

/// Numbers below which those of one input may be, the first that it accepts: ids of vocabularies and categories.
const RAISED: [i64; 3] = [1000, 100, 10];

/// The inputs of a trial.
pub(crate) struct Trial<'t> {
    /// The axes along which rows stand, as input and axis.
    pub(crate) axes: &'t [(usize, usize)],
    /// The shapes of inputs, if they are known.
    pub(crate) shapes: &'t [Vec<usize>],
}

/// By input, what its whole numbers are below.
pub(crate) type Below = Vec<i64>;

impl Trial<'_> {
    /// The axis of an input along which rows stand.
    pub(crate) fn axis_of(&self, input: usize) -> Option<usize> {
        self.axes.iter().find(|(of, _)| *of == input).map(|(_, axis)| *axis)
    }

    /// What inputs may be: whole numbers that every input accepts first, and then such that are as large as it gets.
    ///
    /// # Errors
    /// When no run succeeds.
    pub(crate) fn accepted(&self, session: &Session) -> Result<Vec<Below>, RunError> {
        let specs = session.model.inputs();
        let runs = |below: &Below| (0..2).try_for_each(|row| self.run_one(session, row, below));
        let mut found = Err(RunError::Internal("a trial without inputs"));
        for bound in BELOW {
            let below = vec![bound; specs.len()];
            found = runs(&below).map(|()| below);
            if found.is_ok() {
                break;
            }
        }
        let small = found?;
        let mut large = small.clone();
        for (at, spec) in specs.iter().enumerate() {
            if spec.optional || limit(spec.dtype).is_none() {
                continue;
            }
            for bound in RAISED {
                let mut raised = large.clone();
                raised[at] = bound;
                if runs(&raised).is_ok() {
                    large = raised;
                    break;
                }
            }
        }
        Ok(if large == small { vec![small] } else { vec![small, large] })
    }

    fn run_one(&self, session: &Session, row: usize, below: &Below) -> Result<(), RunError> {
        let inputs = self.row(session.model.inputs(), row, below)?;
        let views: Vec<_> = inputs.iter().map(|t| t.as_ref().map(Tensor::view)).collect();
        session.run_with(&views, &super::RunContext::default(), |_| ())
    }

    /// A value for each input, another for each `row` where the input has rows; none for an optional one.
    ///
    /// # Errors
    /// When there is no memory for so much.
    pub(crate) fn row(
        &self,
        specs: &[IoSpec],
        row: usize,
        below: &Below,
    ) -> Result<Vec<Option<Tensor>>, TensorError> {
        let value = |(at, spec): (usize, &IoSpec)| {
            let row = if self.axis_of(at).is_some() { row } else { 0 };
            self.value(at, spec, row, below.get(at).copied().unwrap_or(1))
        };
        specs.iter().enumerate().map(value).collect()
    }

    fn value(
        &self,
        input: usize,
        spec: &IoSpec,
        row: usize,
        below: i64,
    ) -> Result<Option<Tensor>, TensorError> {
        if spec.optional {
            return Ok(None);
        }
        let axis = self.axis_of(input);
        let size =
            |(i, d): (usize, &Dim)| if Some(i) == axis { 1 } else { d.known().unwrap_or(OTHER) };
        let dims: Vec<usize> = match self.shapes.get(input) {
            Some(shape) => shape.clone(),
            None => spec.dims.iter().flatten().enumerate().map(size).collect(),
        };
        let shape = Shape::new(&dims)?;
        if shape.elements() > MAX_SAMPLE {
            return Err(TensorError::OutOfMemory(shape.byte_len(spec.dtype)));
        }
        let scale = if row == 0 { 1.0 } else { 3.0 };
        let seed = 131 * input + 7919 * row;
        let real = |i: usize| (((i * 37 + seed) % 251) as f32 / 251.0 - 0.5) * scale;
        let below = below.min(limit(spec.dtype).unwrap_or(2)).max(1) as u64;
        let whole = |i: usize| (mixed(i as u64, seed as u64) % below) as i64;
        let tensor = match spec.dtype {
            DType::F32 => filled(shape, real),
            DType::F64 => filled(shape, |i| f64::from(real(i))),
            DType::F16 => filled(shape, |i| f16::from_f32(real(i))),
            DType::BF16 => filled(shape, |i| bf16::from_f32(real(i))),
            DType::I8 => filled(shape, |i| whole(i) as i8),
            DType::I16 => filled(shape, |i| whole(i) as i16),
            DType::I32 => filled(shape, |i| whole(i) as i32),
            DType::I64 => filled(shape, whole),
            DType::U8 => filled(shape, |i| whole(i) as u8),
            DType::U16 => filled(shape, |i| whole(i) as u16),
            DType::U32 => filled(shape, |i| whole(i) as u32),
            DType::U64 => filled(shape, |i| whole(i) as u64),
            DType::Bool => filled(shape, |i| Bool(whole(i) as u8)),
            other => Tensor::zeros(other, shape),
        };
        tensor.map(Some)
    }
}

/// One more than the largest number of a type of whole numbers, or than what a trial wants of it.
fn limit(dtype: DType) -> Option<i64> {
    use DType::{Bool, I8, I16, I32, I64, U8, U16, U32, U64};
    match dtype {
        I8 => Some(1 << 7),
        U8 => Some(1 << 8),
        I16 | I32 | I64 | U16 | U32 | U64 => Some(i64::from(i16::MAX)),
        Bool => Some(2),
        _ => None,
    }
}

/// A number without any order in `i`.
fn mixed(i: u64, seed: u64) -> u64 {
    let x = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed << 17);
    (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
}

fn filled<T: Element>(shape: Shape, value: impl Fn(usize) -> T) -> Result<Tensor, TensorError> {
    let mut buf = AlignedBuf::zeroed(shape.byte_len(T::DTYPE))?;
    for (i, room) in buf.chunks_exact_mut(size_of::<T>()).enumerate() {
        room.copy_from_slice(bytemuck::bytes_of(&value(i)));
    }
    Tensor::from_buffer(T::DTYPE, shape, buf)
}

/// Two tensors of one type, one behind the other along an axis of size 1.
pub(super) fn joined(a: &Tensor, b: &Tensor, axis: usize) -> Result<Tensor, TensorError> {
    let mut shape = a.shape().to_vec();
    let inner: usize = shape.iter().skip(axis + 1).product();
    if let Some(dim) = shape.get_mut(axis) {
        *dim *= 2;
    }
    let block = (inner * a.dtype().size()).max(1);
    let mut buf = AlignedBuf::zeroed(a.bytes().len() + b.bytes().len())?;
    let sources = a.bytes().chunks_exact(block).zip(b.bytes().chunks_exact(block));
    for (both, (a, b)) in buf.chunks_exact_mut(2 * block).zip(sources) {
        let (first, second) = both.split_at_mut(block);
        first.copy_from_slice(a);
        second.copy_from_slice(b);
    }
    Tensor::from_buffer(a.dtype(), Shape::new(&shape)?, buf)
}

//! From bytes to records. Nothing is taken on trust: a length is checked against what is there before memory is taken.

use super::{Alive, Answer, Ending, Event, Record, StateValues, VERSION};
use crate::SequenceId;
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// Why bytes are no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A newer stead wrote it.
    #[error("a record of states has format version {0}, expected {VERSION}")]
    Version(u8),
    /// Something in it is not as it was written.
    #[error("a record of states is damaged: {0}")]
    Damaged(&'static str),
}

use DecodeError::Damaged;

/// Reads a record; `None` for one that says nothing.
///
/// # Errors
/// [`DecodeError`].
pub fn decode(bytes: &[u8]) -> Result<Option<Record>, DecodeError> {
    let mut rest = Reader(bytes);
    match rest.u8()? {
        VERSION => {}
        other => return Err(DecodeError::Version(other)),
    }
    let kind = rest.u8()?;
    if kind == 0 {
        return rest.end(None);
    }
    let model = rest.text()?.into();
    let (version, fingerprint) = (rest.u64()?, rest.u64()?);
    let id = match rest.u8()? {
        0 => SequenceId::from_number(rest.u64()?),
        1 => SequenceId::from_text(&rest.text()?).map_err(|_| Damaged("an id is too long"))?,
        _ => None,
    };
    let id = id.ok_or(Damaged("no such form of an id"))?;
    let at = rest.u64()?;
    let event = match kind {
        1 => Event::Alive(rest.alive()?),
        2 => Event::Ended(if rest.flag()? { Some(rest.ending()?) } else { None }),
        3 => Event::Gone,
        _ => return Err(Damaged("no such kind")),
    };
    rest.end(Some(Record { model, version, fingerprint, id, at, event }))
}

/// Reads a state that was written alone.
///
/// # Errors
/// [`DecodeError`].
pub fn decode_state(bytes: &[u8]) -> Result<StateValues, DecodeError> {
    let mut rest = Reader(bytes);
    let state = rest.values()?;
    rest.end(state)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn end<T>(&self, value: T) -> Result<T, DecodeError> {
        if self.0.is_empty() { Ok(value) } else { Err(Damaged("something follows its end")) }
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (head, tail) = self.0.split_at_checked(len).ok_or(Damaged("it is cut short"))?;
        self.0 = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (head, tail) = self.0.split_first_chunk().ok_or(Damaged("it is cut short"))?;
        self.0 = tail;
        Ok(*head)
    }

    fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array().map(u8::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    fn flag(&mut self) -> Result<bool, DecodeError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Damaged("a flag is neither 0 nor 1")),
        }
    }

    fn len(&mut self) -> Result<usize, DecodeError> {
        usize::try_from(self.u32()?).map_err(|_| Damaged("a length is too large"))
    }

    /// The length of a list whose items take at least `least` bytes each.
    fn count(&mut self, least: usize) -> Result<usize, DecodeError> {
        let count = self.len()?;
        if count > self.0.len() / least {
            return Err(Damaged("a list is longer than the record"));
        }
        Ok(count)
    }

    fn text(&mut self) -> Result<String, DecodeError> {
        let len = self.len()?;
        let text = std::str::from_utf8(self.take(len)?).map_err(|_| Damaged("a text is not UTF-8"));
        text.map(str::to_owned)
    }

    fn alive(&mut self) -> Result<Alive, DecodeError> {
        let (step, began, request) = (self.u64()?, self.u64()?, self.text()?);
        let flags = self.u8()?;
        if flags > 3 {
            return Err(Damaged("no such flags"));
        }
        let keep = self.u32()?;
        // A step and a count.
        let answers = (0..self.count(12)?).map(|_| Ok((self.u64()?, self.answer()?)));
        let answers = answers.collect::<Result<Vec<_>, DecodeError>>()?;
        let (auto, fresh) = (flags & 1 == 1, flags & 2 == 2);
        Ok(Alive { step, began, request, auto, fresh, keep, answers, state: self.values()? })
    }

    fn values(&mut self) -> Result<StateValues, DecodeError> {
        let values = self.count(1)?;
        let state = (0..values).map(|_| self.flag()?.then(|| self.tensor()).transpose());
        state.collect::<Result<Vec<_>, DecodeError>>().map(Into::into)
    }

    fn ending(&mut self) -> Result<Ending, DecodeError> {
        let (step, request, start) = (self.u64()?, self.text()?, self.text()?);
        Ok(Ending { step, request, start, answer: self.answer()? })
    }

    fn answer(&mut self) -> Result<Answer, DecodeError> {
        // The length of a name, type and rank.
        let count = self.count(6)?;
        let outputs = (0..count).map(|_| Ok((self.text()?, self.tensor()?)));
        outputs.collect::<Result<Vec<_>, DecodeError>>().map(Into::into)
    }

    fn tensor(&mut self) -> Result<Tensor, DecodeError> {
        let dtype = DType::from_onnx_number(i32::from(self.u8()?));
        let dtype = dtype.ok_or(Damaged("no such element type"))?;
        let rank = usize::from(self.u8()?);
        let dim = |_| usize::try_from(self.u64()?).map_err(|_| Damaged("a dimension is too large"));
        let dims = (0..rank).map(dim).collect::<Result<Vec<usize>, DecodeError>>()?;
        let shape = Shape::new(&dims).map_err(|_| Damaged("a shape is too large"))?;
        let elements = shape.elements();
        let made = if dtype == DType::String {
            if elements > self.0.len() / 4 {
                return Err(Damaged("a tensor is larger than the record"));
            }
            let string = |_| {
                let len = self.len()?;
                self.take(len).map(<[u8]>::to_vec)
            };
            let strings = (0..elements).map(string).collect::<Result<Vec<_>, DecodeError>>()?;
            Tensor::from_strings(strings, &dims)
        } else {
            let len = dtype.byte_len(elements).ok_or(Damaged("a tensor is too large"))?;
            let bytes = self.take(len)?;
            if dtype == DType::Bool && bytes.iter().any(|b| *b > 1) {
                return Err(Damaged("a truth value is neither 0 nor 1"));
            }
            AlignedBuf::copy_of(bytes).and_then(|buf| Tensor::from_buffer(dtype, shape, buf))
        };
        made.map_err(|_| Damaged("a tensor cannot be made"))
    }
}

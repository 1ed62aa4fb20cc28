//! Values in the body of a frame: a tag and, for what has one, a length, all numbers little-endian.
//!
//! | tag | then |
//! |---|---|
//! | `N` `T` `F` | nothing |
//! | `i` | i64 |
//! | `f` | f64 |
//! | `s` `b` | u32 length, UTF-8 or bytes |
//! | `l` | u32 count, values |
//! | `d` | u32 count, pairs of an `s` without its tag and a value |
//! | `S` | u8 rank, u64 for each dimension, u32 length and bytes of each string |
//! | `t` | u8 length and name of the type in numpy, u8 rank, u64 for each dimension, u64 offset in the segment |

use stead_tensor::{DType, Shape, Tensor};

use super::segment::{Builder, Segment};
use crate::value::{MAX_DEPTH, from_numpy_name, no_numpy_type, numpy_name};
use crate::{CallError, Value};

/// Writes a value; its tensors go to the segment. `place` names it in errors.
///
/// # Errors
/// [`CallError::Argument`], [`CallError::TooLarge`].
pub(super) fn write<'v>(
    body: &mut Vec<u8>,
    segment: &mut Builder<'v>,
    value: &'v Value,
    place: &str,
    depth: usize,
) -> Result<(), CallError> {
    if depth > MAX_DEPTH {
        return Err(CallError::Argument(format!("{place} is nested deeper than {MAX_DEPTH}")));
    }
    match value {
        Value::None => body.push(b'N'),
        Value::Bool(value) => body.push(if *value { b'T' } else { b'F' }),
        Value::Int(value) => {
            body.push(b'i');
            body.extend(value.to_le_bytes());
        }
        Value::Float(value) => {
            body.push(b'f');
            body.extend(value.to_le_bytes());
        }
        Value::Str(text) => {
            body.push(b's');
            bytes(body, text.as_bytes())?;
        }
        Value::Bytes(value) => {
            body.push(b'b');
            bytes(body, value)?;
        }
        Value::List(items) => {
            body.push(b'l');
            count(body, items.len())?;
            for item in items {
                write(body, segment, item, place, depth + 1)?;
            }
        }
        Value::Dict(items) => {
            body.push(b'd');
            count(body, items.len())?;
            for (key, value) in items {
                bytes(body, key.as_bytes())?;
                write(body, segment, value, place, depth + 1)?;
            }
        }
        Value::Tensor(tensor) if tensor.dtype() == DType::String => {
            body.push(b'S');
            let shape = tensor.shape();
            body.push(shape.rank() as u8);
            shape.iter().for_each(|&dim| body.extend((dim as u64).to_le_bytes()));
            tensor.view().strings().iter().try_for_each(|string| bytes(body, string))?;
        }
        Value::Tensor(tensor) => {
            let dtype = tensor.dtype();
            let name = numpy_name(dtype);
            let name = name.ok_or_else(|| CallError::Argument(no_numpy_type(place, dtype)))?;
            let offset = segment.add(tensor.bytes());
            let shape = tensor.shape();
            body.push(b't');
            body.push(name.len() as u8);
            body.extend(name.as_bytes());
            body.push(shape.rank() as u8);
            let dims = shape.iter().map(|&dim| dim as u64);
            dims.chain([offset]).for_each(|number| body.extend(number.to_le_bytes()));
        }
    }
    Ok(())
}

/// A text without a tag.
///
/// # Errors
/// [`CallError::TooLarge`].
pub(super) fn bytes(body: &mut Vec<u8>, bytes: &[u8]) -> Result<(), CallError> {
    count(body, bytes.len())?;
    body.extend(bytes);
    Ok(())
}

/// A count of what follows.
///
/// # Errors
/// [`CallError::TooLarge`].
pub(super) fn count(body: &mut Vec<u8>, count: usize) -> Result<(), CallError> {
    let limit = u64::from(u32::MAX);
    let small = u32::try_from(count);
    body.extend(
        small.map_err(|_| CallError::TooLarge { bytes: count as u64, limit })?.to_le_bytes(),
    );
    Ok(())
}

/// What is left of a body. Errors say what a worker did wrong.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    segment: &'a Segment,
}

impl<'a> Reader<'a> {
    pub(super) fn new(body: &'a [u8], segment: &'a Segment) -> Reader<'a> {
        Reader { rest: body, segment }
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or("a value is cut short")?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.take(N)?.try_into().map_err(|_| "a value is cut short".to_owned())
    }

    fn count(&mut self) -> Result<usize, String> {
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    fn number(&mut self) -> Result<usize, String> {
        usize::try_from(u64::from_le_bytes(self.array()?)).map_err(|_| "a size is too large".into())
    }

    /// A text without a tag.
    pub(super) fn text(&mut self) -> Result<String, String> {
        let len = self.count()?;
        let bytes = self.take(len)?.to_vec();
        String::from_utf8(bytes).map_err(|_| "a text is not UTF-8".to_owned())
    }

    /// The rest: a value, and nothing behind it.
    pub(super) fn whole(mut self) -> Result<Value, String> {
        let value = self.value(0)?;
        if self.rest.is_empty() { Ok(value) } else { Err("bytes behind the value".to_owned()) }
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err("a value is nested too deep".to_owned());
        }
        let [tag] = self.array()?;
        Ok(match tag {
            b'N' => Value::None,
            b'T' => Value::Bool(true),
            b'F' => Value::Bool(false),
            b'i' => Value::Int(i64::from_le_bytes(self.array()?)),
            b'f' => Value::Float(f64::from_le_bytes(self.array()?)),
            b's' => Value::Str(self.text()?),
            b'b' => {
                let len = self.count()?;
                Value::Bytes(self.take(len)?.to_vec())
            }
            b'l' => {
                // Grown as values come: the count is a claim.
                let count = self.count()?;
                let mut items = Vec::new();
                for _ in 0..count {
                    items.push(self.value(depth + 1)?);
                }
                Value::List(items)
            }
            b'd' => {
                let count = self.count()?;
                let mut items = Vec::new();
                for _ in 0..count {
                    items.push((self.text()?, self.value(depth + 1)?));
                }
                Value::Dict(items)
            }
            b't' => Value::Tensor(self.tensor()?),
            b'S' => Value::Tensor(self.strings()?),
            other => return Err(format!("no value begins with {other:#x}")),
        })
    }

    fn dims(&mut self) -> Result<Vec<usize>, String> {
        let [rank] = self.array()?;
        (0..rank).map(|_| self.number()).collect()
    }

    fn strings(&mut self) -> Result<Tensor, String> {
        let dims = self.dims()?;
        let shape = Shape::new(&dims).map_err(|e| e.to_string())?;
        let mut strings = Vec::new();
        for _ in 0..shape.elements() {
            let len = self.count()?;
            strings.push(self.take(len)?.to_vec());
        }
        Tensor::from_strings(strings, &dims).map_err(|e| e.to_string())
    }

    fn tensor(&mut self) -> Result<Tensor, String> {
        let [len] = self.array()?;
        let name = std::str::from_utf8(self.take(len.into())?).map_err(|e| e.to_string())?;
        let dtype: DType = from_numpy_name(name).ok_or_else(|| format!("no type {name:?}"))?;
        let dims = self.dims()?;
        let offset = self.number()?;
        let shape = Shape::new(&dims).map_err(|e| e.to_string())?;
        let end = offset.checked_add(shape.byte_len(dtype)).ok_or("a tensor is too large")?;
        let bytes = self.segment.range(offset..end).ok_or("a tensor lies outside its segment")?;
        Tensor::from_shared(dtype, shape, bytes).map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &Value) -> (Vec<u8>, Segment) {
        let (mut body, mut builder) = (Vec::new(), Builder::default());
        write(&mut body, &mut builder, value, "0", 0).unwrap();
        let mut inline = Vec::new();
        builder.parts().for_each(|part| inline.extend_from_slice(part));
        (body, Segment::inline(&inline).unwrap())
    }

    fn sample() -> Value {
        let tensor = |values: &[f32]| Tensor::from_slice(values, &[values.len()]).unwrap();
        Value::Dict(vec![
            ("none".into(), Value::None),
            ("list".into(), vec![true.into(), (-5i64).into(), 2.5.into()].into()),
            ("bytes".into(), Value::Bytes(vec![0, 255])),
            ("tensors".into(), vec![tensor(&[1.0, 2.0]).into(), tensor(&[]).into()].into()),
            ("scalar".into(), Tensor::scalar(7i64).unwrap().into()),
            (
                "strings".into(),
                Tensor::from_strings(vec![b"a".to_vec(), vec![0, 255]], &[2, 1]).unwrap().into(),
            ),
            ("bf16".into(), Tensor::zeros(DType::BF16, Shape::new(&[3]).unwrap()).unwrap().into()),
        ])
    }

    #[test]
    fn values_come_back() {
        let (body, segment) = written(&sample());
        assert_eq!(Reader::new(&body, &segment).whole(), Ok(sample()));
    }

    /// Every prefix, and every byte changed in turn, is a value or an error.
    #[test]
    fn hostile_bodies_are_errors() {
        let (body, segment) = written(&sample());
        for cut in 0..body.len() {
            assert!(Reader::new(&body[..cut], &segment).whole().is_err(), "{cut}");
        }
        for at in 0..body.len() {
            for flip in [0xff, 0x80, 1] {
                let mut changed = body.clone();
                changed[at] ^= flip;
                let _ = Reader::new(&changed, &segment).whole();
            }
        }
        let deep = [b'l', 1, 0, 0, 0].repeat(100);
        let error = Reader::new(&deep, &segment).whole().unwrap_err();
        assert!(error.contains("too deep"), "{error}");
    }

    #[test]
    fn what_has_no_form_is_refused() {
        let mut deep = Value::None;
        for _ in 0..=MAX_DEPTH {
            deep = vec![deep].into();
        }
        let f8 = Tensor::zeros(DType::F8E5M2, Shape::SCALAR).unwrap().into();
        for (value, text) in [(deep, "nested deeper"), (f8, "no arrays of f8e5m2")] {
            let mut builder = Builder::default();
            let error = write(&mut Vec::new(), &mut builder, &value, "0", 0).unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}

//! Bytes to values.

use stead_expr::codec::binary::{self, BinaryError};

use super::{
    ARRAY, BYTES, DOUBLE, FALSE, FLOAT, INTEGER, MAP, MAX_DEPTH, POSITION, STRUCT, TENSOR, TEXT,
    TRUE, WEIGHTED,
};
use crate::position::Position;
use crate::value::FieldValue;

/// Why bytes are no value or no document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// Another version of the format.
    #[error("version {0} of documents is not known")]
    Version(u8),
    /// The bytes end too early.
    #[error("the bytes end in the middle of a value")]
    Short,
    /// Bytes are left.
    #[error("{0} bytes follow the value")]
    Long(usize),
    /// A number that is too large, or written in too many bytes.
    #[error("a number is out of range")]
    Number,
    /// An unknown kind of value.
    #[error("unknown kind of value {0}")]
    Tag(u8),
    /// Text that is no UTF-8.
    #[error("a text is not valid UTF-8")]
    Text,
    /// Values within values.
    #[error("values nest deeper than {MAX_DEPTH}")]
    Depth,
    /// Fields that do not ascend.
    #[error("fields are not in order")]
    Order,
    /// A tensor that is none.
    #[error(transparent)]
    Tensor(#[from] BinaryError),
}

/// Bytes that are read from the front.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes<'b> {
    rest: &'b [u8],
}

impl<'b> Bytes<'b> {
    pub(crate) fn new(rest: &'b [u8]) -> Bytes<'b> {
        Bytes { rest }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'b [u8], BodyError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(BodyError::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], BodyError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(BodyError::Short)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, BodyError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn number(&mut self) -> Result<u64, BodyError> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 || shift > 0 && byte == 0 {
                return Err(BodyError::Number);
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(BodyError::Number)
    }

    pub(crate) fn signed(&mut self) -> Result<i64, BodyError> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// A number of things in memory.
    pub(crate) fn length(&mut self) -> Result<usize, BodyError> {
        usize::try_from(self.number()?).map_err(|_| BodyError::Number)
    }

    /// What is left.
    pub(crate) fn rest(&self) -> &'b [u8] {
        self.rest
    }

    fn bytes(&mut self) -> Result<&'b [u8], BodyError> {
        let count = self.length()?;
        self.take(count)
    }

    pub(crate) fn text(&mut self) -> Result<&'b str, BodyError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| BodyError::Text)
    }
}

/// The value that some bytes are.
pub(crate) fn value(bytes: &[u8]) -> Result<FieldValue, BodyError> {
    let mut bytes = Bytes::new(bytes);
    let value = one(&mut bytes, 0)?;
    match bytes.rest.len() {
        0 => Ok(value),
        left => Err(BodyError::Long(left)),
    }
}

fn one(bytes: &mut Bytes<'_>, depth: usize) -> Result<FieldValue, BodyError> {
    if depth == MAX_DEPTH {
        return Err(BodyError::Depth);
    }
    Ok(match bytes.byte()? {
        FALSE => FieldValue::Bool(false),
        TRUE => FieldValue::Bool(true),
        INTEGER => FieldValue::Integer(bytes.signed()?),
        FLOAT => FieldValue::Number(f64::from(f32::from_le_bytes(bytes.array()?))),
        DOUBLE => FieldValue::Number(f64::from_le_bytes(bytes.array()?)),
        TEXT => FieldValue::Text(bytes.text()?.to_owned()),
        BYTES => FieldValue::Bytes(bytes.bytes()?.to_vec()),
        POSITION => {
            let latitude = i32::from_le_bytes(bytes.array()?);
            let longitude = i32::from_le_bytes(bytes.array()?);
            FieldValue::Position(Position { latitude, longitude })
        }
        TENSOR => FieldValue::Tensor(binary::decode(bytes.bytes()?)?),
        ARRAY => FieldValue::Array(list(bytes, |bytes| one(bytes, depth + 1))?),
        WEIGHTED => FieldValue::Weighted(list(bytes, |bytes| {
            let value = one(bytes, depth + 1)?;
            let weight = i32::try_from(bytes.signed()?).map_err(|_| BodyError::Number)?;
            Ok((value, weight))
        })?),
        MAP => FieldValue::Map(list(bytes, |bytes| {
            Ok((one(bytes, depth + 1)?, one(bytes, depth + 1)?))
        })?),
        STRUCT => FieldValue::Struct(list(bytes, |bytes| {
            Ok((bytes.text()?.to_owned(), one(bytes, depth + 1)?))
        })?),
        other => return Err(BodyError::Tag(other)),
    })
}

/// A number of elements, each of which takes a byte at least, and the elements.
fn list<'b, T>(
    bytes: &mut Bytes<'b>,
    mut read: impl FnMut(&mut Bytes<'b>) -> Result<T, BodyError>,
) -> Result<Vec<T>, BodyError> {
    let count = bytes.length()?;
    if count > bytes.rest.len() {
        return Err(BodyError::Short);
    }
    // Grows with what is really there.
    let mut list = Vec::new();
    for _ in 0..count {
        list.push(read(bytes)?);
    }
    Ok(list)
}

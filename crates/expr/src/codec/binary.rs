//! Vespa's typed binary format of tensors.
//!
//! A tag (bit 0: has mapped dimensions, bit 1: has indexed dimensions, bit 2: has a cell type), the cell type if
//! there is one (0 double, 1 float, 2 bfloat16, 3 int8; of stead, far from what Vespa may add: 16 float16, 17 int16, 18 int32,
//! 19 int64, 20 uint8, 21 bool), the mapped dimensions (count, names), the indexed dimensions
//! (count, name and size of each), the number of blocks where there are mapped dimensions or no indexed ones, and for each block its labels and its
//! cells, big-endian. Counts and lengths take one byte below 128, else four with the highest bit set.
//! The order of the dimensions is that of their names. (Vespa, `eval/src/vespa/eval/eval/value_codec.cpp`.)

use half::{bf16, f16};

use crate::types::{CellType, Dimension, TensorType, TypeError};
use crate::value::{Cells, Inexact, Labels, MAX_LABEL, Value, ValueError};

/// Why bytes are no tensor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BinaryError {
    /// The bytes end too early.
    #[error("the tensor ends after {0} bytes in the middle of {1}")]
    Short(usize, &'static str),
    /// Bytes are left.
    #[error("{0} bytes follow the tensor")]
    Long(usize),
    /// A number without a meaning.
    #[error("unknown {what} {number}")]
    Unknown {
        /// What it should tell.
        what: &'static str,
        /// The number.
        number: usize,
    },
    /// A name or label that is no UTF-8 or too long.
    #[error("a {0} is not valid UTF-8 or longer than {MAX_LABEL} bytes")]
    Text(&'static str),
    /// A type that there is not.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// Blocks that do not fit.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A cell that its type does not have.
    #[error(transparent)]
    Inexact(#[from] Inexact),
}

const MAPPED: usize = 1;
const INDEXED: usize = 2;
const CELL_TYPE: usize = 4;
const CELLS: [(usize, CellType); 10] = [
    (0, CellType::Double),
    (1, CellType::Float),
    (2, CellType::BFloat16),
    (3, CellType::Int8),
    (16, CellType::Float16),
    (17, CellType::Int16),
    (18, CellType::Int32),
    (19, CellType::Int64),
    (20, CellType::UInt8),
    (21, CellType::Bool),
];

/// A tensor from its bytes.
///
/// # Errors
/// When the bytes are no tensor, with what is wrong; nothing is allocated beyond what the bytes can fill.
pub fn decode(bytes: &[u8]) -> Result<Value, BinaryError> {
    let mut reader = Reader { bytes, at: 0 };
    let tag = reader.count("the tag")?;
    if tag > (MAPPED | INDEXED | CELL_TYPE) {
        return Err(BinaryError::Unknown { what: "tag", number: tag });
    }
    let mut cell = CellType::Double;
    if tag & CELL_TYPE != 0 {
        let number = reader.count("the cell type")?;
        let known = CELLS.iter().find(|(n, _)| *n == number);
        cell = known.ok_or(BinaryError::Unknown { what: "cell type", number })?.1;
    }
    let mut dimensions = Vec::new();
    if tag & MAPPED != 0 {
        for _ in 0..reader.count("the mapped dimensions")? {
            dimensions.push(Dimension::mapped(reader.text("dimension")?));
        }
    }
    let mapped = dimensions.len();
    if tag & INDEXED != 0 {
        for _ in 0..reader.count("the indexed dimensions")? {
            let name = reader.text("dimension")?;
            dimensions.push(Dimension::indexed(name, reader.count("the size of a dimension")?));
        }
    }
    let is_single = mapped == 0 && tag & INDEXED != 0;
    let blocks = if is_single { 1 } else { reader.count("the number of blocks")? };
    let kind = TensorType::new(cell, dimensions)?;
    let (block, mut labels, mut cells) = (kind.block_size(), Labels::default(), Vec::new());
    // A number of type float would be one of type double: its cells still have their own size.
    for _ in 0..blocks {
        for _ in 0..mapped {
            labels.push(reader.text("label")?);
        }
        let size = block * cell.size();
        cells.extend_from_slice(reader.take(size, "the cells of a block")?);
        // A number may be sent with any number of blocks; the last would win. It has one or, as 0, none.
    }
    if mapped == 0 && blocks == 0 {
        cells.resize(block * cell.size(), 0);
    }
    match reader.bytes.len() - reader.at {
        0 => {
            let cells = from_bytes(cell, &cells)?.convert(kind.cell(), false)?;
            Ok(Value::new(kind, labels, cells)?)
        }
        rest => Err(BinaryError::Long(rest)),
    }
}

/// The bytes of a tensor, with a cell type only where it is not double.
#[must_use]
pub fn encode(value: &Value) -> Vec<u8> {
    let kind = value.kind();
    let (mapped, indexed) = (kind.mapped_count(), kind.indexed().count());
    let has_type = kind.cell() != CellType::Double;
    let has_blocks = mapped > 0 || indexed == 0;
    let tag = if has_blocks { MAPPED } else { 0 } | if indexed > 0 { INDEXED } else { 0 };
    let mut bytes = Vec::new();
    count(tag | if has_type { CELL_TYPE } else { 0 }, &mut bytes);
    if has_type {
        let number = CELLS.iter().find(|(_, c)| *c == kind.cell());
        count(number.map_or(0, |(n, _)| *n), &mut bytes);
    }
    if has_blocks {
        count(mapped, &mut bytes);
        kind.mapped().for_each(|d| text(&d.name, &mut bytes));
    }
    if indexed > 0 {
        count(indexed, &mut bytes);
        for (dimension, size) in kind.indexed() {
            text(&dimension.name, &mut bytes);
            count(size, &mut bytes);
        }
    }
    if has_blocks {
        count(value.blocks(), &mut bytes);
    }
    let block = kind.block_size();
    for at in 0..value.blocks() {
        value.labels()[at * mapped..][..mapped].iter().for_each(|l| text(&l.text(), &mut bytes));
        to_bytes(value.cells(), at * block..(at + 1) * block, &mut bytes);
    }
    bytes
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    fn take(&mut self, size: usize, what: &'static str) -> Result<&'b [u8], BinaryError> {
        let end = self.at.checked_add(size);
        let part = end.and_then(|end| self.bytes.get(self.at..end));
        let part = part.ok_or(BinaryError::Short(self.bytes.len(), what))?;
        self.at += size;
        Ok(part)
    }

    fn count(&mut self, what: &'static str) -> Result<usize, BinaryError> {
        let first = self.take(1, what)?[0];
        if first < 0x80 {
            return Ok(usize::from(first));
        }
        let rest = self.take(3, what)?;
        let number = u32::from_be_bytes([first & 0x7f, rest[0], rest[1], rest[2]]);
        Ok(number as usize)
    }

    fn text(&mut self, what: &'static str) -> Result<&'b str, BinaryError> {
        let size = self.count(what)?;
        if size > MAX_LABEL {
            return Err(BinaryError::Text(what));
        }
        std::str::from_utf8(self.take(size, what)?).map_err(|_| BinaryError::Text(what))
    }
}

fn count(number: usize, bytes: &mut Vec<u8>) {
    if number < 0x80 {
        bytes.push(number as u8);
    } else {
        bytes.extend((number as u32 | 0x8000_0000).to_be_bytes());
    }
}

fn text(text: &str, bytes: &mut Vec<u8>) {
    count(text.len(), bytes);
    bytes.extend(text.as_bytes());
}

fn from_bytes(cell: CellType, bytes: &[u8]) -> Result<Cells<'static>, BinaryError> {
    fn each<const N: usize, T>(bytes: &[u8], read: fn([u8; N]) -> T) -> Vec<T> {
        let (whole, rest) = bytes.as_chunks::<N>();
        debug_assert!(rest.is_empty(), "cells are whole");
        whole.iter().map(|b| read(*b)).collect()
    }
    Ok(match cell {
        CellType::Double => Cells::Double(each(bytes, f64::from_be_bytes).into()),
        CellType::Float => Cells::Float(each(bytes, f32::from_be_bytes).into()),
        CellType::BFloat16 => Cells::BFloat16(each(bytes, bf16::from_be_bytes).into()),
        CellType::Int8 => Cells::Int8(each(bytes, i8::from_be_bytes).into()),
        CellType::Float16 => Cells::Float16(each(bytes, f16::from_be_bytes).into()),
        CellType::Int16 => Cells::Int16(each(bytes, i16::from_be_bytes).into()),
        CellType::Int32 => Cells::Int32(each(bytes, i32::from_be_bytes).into()),
        CellType::Int64 => Cells::Int64(each(bytes, i64::from_be_bytes).into()),
        CellType::UInt8 => Cells::UInt8(bytes.to_vec().into()),
        CellType::Bool => match bytes.iter().find(|byte| **byte > 1) {
            Some(byte) => {
                return Err(Inexact { number: byte.to_string(), cell }.into());
            }
            None => Cells::Bool(bytes.to_vec().into()),
        },
    })
}

fn to_bytes(cells: &Cells<'_>, range: std::ops::Range<usize>, bytes: &mut Vec<u8>) {
    crate::each_cell!(cells, a => for cell in &a[range] {
        bytes.extend(cell.to_be_bytes());
    });
}

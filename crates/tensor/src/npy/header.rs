//! The header of a `.npy` file.

use super::NpyError;
use crate::{DType, Shape};
use std::io::Read;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header: NumPy itself refuses more than 10 000 characters.
const MAX_HEADER: usize = 10_000;

/// Where the data begins is a multiple of this.
const ALIGN: usize = 64;

/// An element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    Number(DType),
    /// Byte strings, padded with zeros to this many bytes.
    Bytes(usize),
    /// UTF-32 strings, padded with zeros to this many characters.
    Unicode(usize),
}

impl Item {
    /// Bytes of one element; the largest number when they overflow, which is above every limit.
    pub(super) const fn bytes(self) -> usize {
        match self {
            Item::Number(dtype) => dtype.size(),
            Item::Bytes(width) => width,
            Item::Unicode(width) => width.saturating_mul(4),
        }
    }

    /// Bytes of one number, of which a complex element has two and a string one for each character.
    pub(super) const fn number_bytes(self) -> usize {
        match self {
            Item::Number(DType::C64 | DType::C128) => self.bytes() / 2,
            Item::Number(dtype) => dtype.size(),
            Item::Bytes(_) => 1,
            Item::Unicode(_) => 4,
        }
    }

    /// Bytes of memory for one element besides its data.
    pub(super) const fn entry_bytes(self) -> usize {
        match self {
            Item::Number(_) => 0,
            Item::Bytes(_) | Item::Unicode(_) => size_of::<Vec<u8>>(),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) item: Item,
    /// Whether the bytes of each number stand the other way round.
    pub(super) big_endian: bool,
    pub(super) fortran_order: bool,
    pub(super) dims: Vec<usize>,
}

/// NumPy's name of a type, if it has one.
pub(super) const fn descr(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::F16 => "<f2",
        DType::Bool => "|b1",
        DType::U8 => "|u1",
        DType::I8 => "|i1",
        DType::U16 => "<u2",
        DType::I16 => "<i2",
        DType::U32 => "<u4",
        DType::I32 => "<i4",
        DType::U64 => "<u8",
        DType::I64 => "<i8",
        DType::C64 => "<c8",
        DType::C128 => "<c16",
        _ => return None,
    })
}

/// The element type of a name such as `<f4`, and whether it is big-endian.
fn item_of(text: &str) -> Option<(Item, bool)> {
    let (order, name) = text.split_at_checked(1)?;
    // `=` is the writer's own order, which is little-endian on every machine that stead runs on; `|` says
    // that there is none.
    let big_endian = match order {
        "<" | "=" | "|" => false,
        ">" => true,
        _ => return None,
    };
    let is_named = |&&dtype: &&DType| descr(dtype).and_then(|d| d.get(1..)) == Some(name);
    let item = if let Some(&dtype) = DType::ALL.iter().find(is_named) {
        Item::Number(dtype)
    } else {
        let (kind, width) = name.split_at_checked(1)?;
        let width = width.parse().ok()?;
        match kind {
            "S" => Item::Bytes(width),
            "U" => Item::Unicode(width),
            _ => return None,
        }
    };
    Some((item, big_endian))
}

/// Magic, version, header and padding up to the data.
pub(super) fn format(descr: &str, shape: &Shape) -> Vec<u8> {
    let mut dims: String = shape.iter().map(|d| format!("{d}, ")).collect();
    if shape.rank() > 1 {
        dims.truncate(dims.len() - 2);
    } else if shape.rank() == 1 {
        dims.truncate(dims.len() - 1);
    }
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
    let start = MAGIC.len() + 4;
    let padded = (start + text.len() + 1).next_multiple_of(ALIGN) - start;
    text.extend(std::iter::repeat_n(' ', padded - text.len() - 1));
    text.push('\n');
    let mut out = MAGIC.to_vec();
    out.extend([1, 0]);
    // At most eight dimensions of twenty digits: always below 64 KiB.
    out.extend((text.len() as u16).to_le_bytes());
    out.extend(text.into_bytes());
    out
}

impl Header {
    /// Reads up to the first byte of data.
    pub(super) fn read(reader: &mut impl Read) -> Result<Header, NpyError> {
        let mut start = [0u8; 8];
        reader.read_exact(&mut start)?;
        let [magic @ .., major, minor] = start;
        if &magic != MAGIC {
            return Err(NpyError::NotNpy);
        }
        let len = match major {
            1 => {
                let mut len = [0; 2];
                reader.read_exact(&mut len)?;
                usize::from(u16::from_le_bytes(len))
            }
            2 | 3 => {
                let mut len = [0; 4];
                reader.read_exact(&mut len)?;
                usize::try_from(u32::from_le_bytes(len)).unwrap_or(usize::MAX)
            }
            _ => return Err(NpyError::Version(major, minor)),
        };
        if len > MAX_HEADER {
            return Err(NpyError::Header("at most 10000 bytes of header", len));
        }
        let mut text = vec![0; len];
        reader.read_exact(&mut text)?;
        parse(&text)
    }
}

/// Parses the dictionary: three keys in any order, values of one form each.
fn parse(text: &[u8]) -> Result<Header, NpyError> {
    let mut cursor = Cursor { text, at: 0 };
    let (mut item, mut fortran_order, mut dims) = (None, None, None);
    cursor.expect(b'{', "{")?;
    while !cursor.eat(b'}') {
        let key = cursor.string()?;
        cursor.expect(b':', ":")?;
        match key.as_str() {
            "descr" if cursor.peek() == Some(b'[') => {
                return Err(NpyError::UnsupportedType("record".to_owned()));
            }
            "descr" => {
                let text = cursor.string()?;
                item = Some(item_of(&text).ok_or(NpyError::UnsupportedType(text))?);
            }
            "fortran_order" => fortran_order = Some(cursor.boolean()?),
            "shape" => dims = Some(cursor.tuple()?),
            _ => return Err(NpyError::Header("descr, fortran_order or shape", cursor.at)),
        }
        if !cursor.eat(b',') && cursor.peek() != Some(b'}') {
            return Err(NpyError::Header(", or }", cursor.at));
        }
    }
    let (item, big_endian) = item.ok_or(NpyError::MissingKey("descr"))?;
    Ok(Header {
        item,
        big_endian,
        fortran_order: fortran_order.ok_or(NpyError::MissingKey("fortran_order"))?,
        dims: dims.ok_or(NpyError::MissingKey("shape"))?,
    })
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    /// The next byte that is no white space, not taken.
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), NpyError> {
        if self.eat(byte) { Ok(()) } else { Err(NpyError::Header(what, self.at)) }
    }

    /// A string in single or double quotes without escapes, of which type names have none.
    fn string(&mut self) -> Result<String, NpyError> {
        let wrong = |at| NpyError::Header("string", at);
        let quote = self.peek().filter(|q| matches!(q, b'\'' | b'"')).ok_or(wrong(self.at))?;
        let rest = self.text.get(self.at + 1..).unwrap_or_default();
        let len = rest.iter().position(|&b| b == quote).ok_or(wrong(self.at))?;
        self.at += len + 2;
        let text = std::str::from_utf8(rest.get(..len).unwrap_or_default());
        text.map(str::to_owned).map_err(|_| wrong(self.at))
    }

    fn boolean(&mut self) -> Result<bool, NpyError> {
        self.peek();
        let rest = self.text.get(self.at..).unwrap_or_default();
        for (word, value) in [("True", true), ("False", false)] {
            if rest.starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(NpyError::Header("True or False", self.at))
    }

    /// `()`, `(1,)`, `(1, 2)`; Python 2 wrote an `L` behind large numbers.
    fn tuple(&mut self) -> Result<Vec<usize>, NpyError> {
        self.expect(b'(', "(")?;
        let mut dims = Vec::new();
        while !self.eat(b')') {
            self.peek();
            let digits = self.text.get(self.at..).unwrap_or_default();
            let len = digits.iter().take_while(|b| b.is_ascii_digit()).count();
            let number = std::str::from_utf8(digits.get(..len).unwrap_or_default()).ok();
            let number = number.and_then(|digits| digits.parse().ok());
            dims.push(number.ok_or(NpyError::Header("dimension", self.at))?);
            self.at += len;
            self.eat(b'L');
            if !self.eat(b',') && self.peek() != Some(b')') {
                return Err(NpyError::Header(", or )", self.at));
            }
        }
        Ok(dims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_that_numpy_reads() {
        let cases: [(&str, &[usize]); 5] = [
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (), }   \n", &[]),
            ("{'shape': (3,), 'fortran_order': False, 'descr': '<f4'}", &[3]),
            ("{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(2,3)}", &[2, 3]),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (10L, 2L), }", &[10, 2]),
            ("{'descr': '=f4', 'fortran_order': False, 'shape': (0, 7)}", &[0, 7]),
        ];
        for (text, dims) in cases {
            let header = parse(text.as_bytes()).unwrap();
            assert_eq!(header.item, Item::Number(DType::F32), "{text}");
            assert_eq!(header.dims, dims, "{text}");
        }
    }

    #[test]
    fn written_headers_are_spelled_as_numpy_does() {
        let cases: [(&[usize], &str); 3] = [(&[], "()"), (&[3], "(3,)"), (&[2, 3], "(2, 3)")];
        for (dims, expected) in cases {
            let bytes = format("<f4", &Shape::new(dims).unwrap());
            let text = String::from_utf8_lossy(&bytes[10..]).into_owned();
            let start =
                format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {expected}, }}");
            assert!(text.starts_with(&start), "{text}");
        }
    }
}

//! Huffman codes (T.81, annexes C and F.2.2.3).

use super::bits::Bits;
use crate::ImageError;

/// Bits that are looked up at once.
const LOOKUP: u32 = 9;

/// A table of codes.
#[derive(Debug, Clone)]
pub struct Huffman {
    /// By the next bits: length and symbol of a code; 0 where it is longer.
    lookup: Box<[(u8, u8)]>,
    /// For each length: the first code behind those of it, shifted to 16 bits; and what is added to a code to find its symbol.
    ends: [(u32, i32); 17],
    symbols: Vec<u8>,
}

impl Huffman {
    /// Of the number of codes of each length from 1 on, and the symbols in the order of codes.
    ///
    /// # Errors
    /// [`ImageError::Damaged`]: more codes than a length has.
    pub fn new(counts: &[u8; 16], symbols: &[u8]) -> Result<Huffman, ImageError> {
        let mut lookup = vec![(0, 0); 1 << LOOKUP].into_boxed_slice();
        let mut ends = [(0, 0); 17];
        let (mut code, mut at) = (0_u32, 0_usize);
        for (length, count) in (1_u32..).zip(counts) {
            let first = code;
            for symbol in symbols.iter().skip(at).take(usize::from(*count)) {
                if length <= LOOKUP {
                    let step = 1 << (LOOKUP - length);
                    let from = (code << (LOOKUP - length)) as usize;
                    let entries = lookup.get_mut(from..from + step).unwrap_or_default();
                    entries.fill((length as u8, *symbol));
                }
                code += 1;
            }
            if code > 1 << length {
                return Err(ImageError::Damaged("a table has too many codes".to_owned()));
            }
            if let Some(end) = ends.get_mut(length as usize) {
                *end = (code << (16 - length), at as i32 - first as i32);
            }
            at += usize::from(*count);
            code <<= 1;
        }
        Ok(Huffman { lookup, ends, symbols: symbols.to_vec() })
    }

    /// The symbol of the next code; nothing where the next bits are none.
    pub fn next(&self, bits: &mut Bits<'_>) -> Option<u8> {
        let short = bits.peek(LOOKUP) as usize;
        if let Some((length @ 1.., symbol)) = self.lookup.get(short).copied() {
            bits.skip(length.into());
            return Some(symbol);
        }
        let long = bits.peek(16);
        for (length, (end, offset)) in (0_u32..).zip(self.ends).skip(LOOKUP as usize + 1) {
            if long < end {
                bits.skip(length);
                let at = (long >> (16 - length)) as i32 + offset;
                return self.symbols.get(usize::try_from(at).ok()?).copied();
            }
        }
        None
    }
}

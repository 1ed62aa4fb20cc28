//! The sizes that a WebP file says, in all places where it says them: its decoder allocates by each of them, and compares them later.

use crate::{ImageError, check_size};

/// Bytes of the header of a chunk: its name and its length.
const HEADER: usize = 8;

/// Bytes of the head of a frame, in front of the chunks that it is made of.
const FRAME: usize = 16;

/// Refuses a file of which any part says that it has more pixels.
pub fn check_sizes(bytes: &[u8], most: u64) -> Result<(), ImageError> {
    let mut rest = bytes.get(12..).unwrap_or_default();
    while let Some((name, length)) = header(rest) {
        let body = rest.get(HEADER..).unwrap_or_default();
        if let Some((width, height)) = size(name, body) {
            check_size(width, height, most)?;
        }
        // The chunks of a frame follow its head as if they stood for themselves.
        let step = match name {
            b"ANMF" => FRAME,
            _ => length.saturating_add(length & 1),
        };
        rest = body.get(step..).unwrap_or_default();
    }
    Ok(())
}

fn header(bytes: &[u8]) -> Option<(&[u8; 4], usize)> {
    let (name, rest) = bytes.split_first_chunk::<4>()?;
    Some((name, u32::from_le_bytes(*rest.first_chunk::<4>()?) as usize))
}

/// Columns and rows that a chunk says.
fn size(name: &[u8; 4], body: &[u8]) -> Option<(u32, u32)> {
    let wide = |at: usize| {
        let [a, b, c] = *body.get(at..)?.first_chunk::<3>()?;
        Some(u32::from_le_bytes([a, b, c, 0]) + 1)
    };
    match name {
        b"VP8X" => Some((wide(4)?, wide(7)?)),
        b"ANMF" => Some((wide(6)?, wide(9)?)),
        // Behind a tag of three bytes and a code of three; the two upper bits scale.
        b"VP8 " => {
            let [a, b, c, d] = *body.get(6..)?.first_chunk::<4>()?;
            let side = |low: u8, high: u8| u32::from(u16::from_le_bytes([low, high]) & 0x3fff);
            Some((side(a, b), side(c, d)))
        }
        // Behind a byte, 14 bits each.
        b"VP8L" => {
            let bits = u32::from_le_bytes(*body.get(1..)?.first_chunk::<4>()?);
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        _ => None,
    }
}

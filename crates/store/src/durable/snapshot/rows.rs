//! The piece of a block that tells which rows have documents, and the ids of these: `u64` words, as many as it takes for a bit for each
//! row, bit `b` of word `i` for row `64 * i + b`; the end of each id among the bytes of all, `u32`; the ids behind each other. Rows without
//! a document have an empty id.

use stead_tensor::Bits;

use crate::columns::Pieces;
use crate::live::{Block, Directory};

pub(super) fn write(block: &Block, out: &mut Vec<u8>) {
    let mut words = block.alive().words().to_vec();
    words.resize(block.rows().div_ceil(64), 0);
    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    block.ids().write(out);
}

/// What the piece of a block with so many rows says, and for each document the hash of its id and its row.
pub(super) fn read(rows: usize, bytes: &[u8]) -> Option<(Bits, Pieces, Vec<(u32, u32)>)> {
    let (words, ids) = bytes.split_at_checked(rows.div_ceil(64).checked_mul(8)?)?;
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let alive = Bits::from_words(words.as_chunks::<8>().0.iter().map(word).collect(), rows)?;
    let ids = Pieces::read(rows, ids)?;
    let hash = |row: usize| {
        let id = std::str::from_utf8(ids.get(row)?).ok()?;
        Some((Directory::hash(id), row as u32))
    };
    let hashes = alive.iter().map(hash).collect::<Option<_>>()?;
    Some((alive, ids, hashes))
}

//! Operators that compute with strings. Their steps allocate: strings lie beside the arena, in slots of the run.

use super::OpDef;
use crate::error::RunError;
use stead_kernels::broadcast::Broadcast;

mod concat;
mod matching;
pub mod moved;
mod normalize;
pub mod numbers;
mod pick;
mod re2;
mod split;
mod tf_idf;
mod tokenizer;

/// The tables of this folder.
pub(super) const TABLES: [&[OpDef]; 7] = [
    concat::OPS,
    matching::OPS,
    normalize::OPS,
    pick::OPS,
    split::OPS,
    tf_idf::OPS,
    tokenizer::OPS,
];

/// The most memory that the strings of one result may take: broadcasting and padding multiply what a request holds.
const MAX_BYTES: usize = 1 << 30;

/// Whether strings of so many bytes in all may be made.
///
/// # Errors
/// [`RunError::Value`]: they would take too much.
pub fn fits(count: usize, bytes: usize) -> Result<(), RunError> {
    let total = count.saturating_mul(size_of::<Vec<u8>>()).saturating_add(bytes);
    if total <= MAX_BYTES {
        return Ok(());
    }
    let text = format!("{count} strings of {bytes} bytes in all; at most {MAX_BYTES} bytes can be");
    Err(RunError::value(text))
}

/// The strings that meet in each element of a result.
pub(super) fn pairs<'a>(
    plan: &'a Broadcast<2>,
    x: &'a [Vec<u8>],
    y: &'a [Vec<u8>],
) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
    let [dx, dy] = plan.row_strides().map(isize::unsigned_abs);
    let at = |strings: &'a [Vec<u8>], i: usize| strings.get(i).map_or(&[][..], Vec::as_slice);
    plan.rows(0..plan.elements()).flat_map(move |row| {
        let [from_x, from_y] = row.at;
        (0..row.len).map(move |i| (at(x, from_x + i * dx), at(y, from_y + i * dy)))
    })
}

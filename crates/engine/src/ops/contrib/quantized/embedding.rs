//! QEmbedLayerNormalization.

use super::{BYTES, MICROSOFT, SCALE, real_of};
use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::contrib::norm::{along_last, lengths, position_rows, rows};
use crate::ops::{OpDef, Out, Param, TypeSet, types};
use stead_tensor::DType;

const IDS: TypeSet = TypeSet::of(&[DType::I32, DType::I64]);
const ID: Param = Param::required(1, IDS);
const MAYBE_ID: Param = Param::optional(1, IDS);
const BYTE: Param = Param::required(2, BYTES);
const MAYBE: Param = Param::optional(2, BYTES);
const MAYBE_SCALE: Param = Param::optional(0, types::F32_ONLY);

/// QEmbedLayerNormalization: ids, segments, five tables (words, positions, segments, scale and bias of the normalisation), a
/// mask, and scales and zero points of the tables in the same order.
pub const OPS: &[OpDef] = &[OpDef::function(
    "QEmbedLayerNormalization",
    &[
        ID,
        MAYBE_ID,
        BYTE,
        BYTE,
        MAYBE,
        BYTE,
        BYTE,
        MAYBE_ID,
        SCALE,
        SCALE,
        MAYBE_SCALE,
        SCALE,
        SCALE,
        BYTE,
        BYTE,
        MAYBE,
        BYTE,
        BYTE,
    ],
    &[Out::Fixed(DType::F32), Out::Like(0)],
    embed,
)
.domain(MICROSOFT)];

/// Inputs with the tables, their scales and their zero points.
const TABLES: [usize; 3] = [2, 8, 13];

/// Bytes of table `table` as numbers.
fn numbers(f: &mut FunctionBody<'_>, x: ValueId, table: usize) -> Result<ValueId, LoadError> {
    let (scale, zero) = (f.input(TABLES[1] + table)?, f.optional(TABLES[2] + table));
    real_of(f, x, scale, zero)
}

fn embed(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let ids = f.input(0)?;
    let words = f.input(2)?;
    let words = rows(f, words, ids)?;
    let words = numbers(f, words, 0)?;
    let positions = f.input(3)?;
    let positions = position_rows(f, positions, ids)?;
    let positions = numbers(f, positions, 1)?;
    let mut sum = f.call("Add", &[words, positions], &[])?;
    match (f.optional(1), f.optional(4)) {
        (Some(segments), Some(table)) => {
            let segments = rows(f, table, segments)?;
            let segments = numbers(f, segments, 2)?;
            sum = f.call("Add", &[sum, segments], &[])?;
        }
        (None, None) => {}
        _ => return Err(f.refuse("segment ids and their embeddings come together or not at all")),
    }
    let (scale, bias) = (f.input(5)?, f.input(6)?);
    let (scale, bias) = (numbers(f, scale, 3)?, numbers(f, bias, 4)?);
    let attributes = along_last(f)?;
    let y = f.call("LayerNormalization", &[sum, scale, bias], &attributes)?;
    f.give(0, y);
    if f.wants(1) {
        let lengths = lengths(f, ids)?;
        f.give(1, lengths);
    }
    Ok(())
}

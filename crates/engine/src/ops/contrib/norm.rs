//! Normalisations with the sums before them: SkipLayerNormalization, SimplifiedLayerNormalization,
//! SkipSimplifiedLayerNormalization and EmbedLayerNormalization.

use super::MICROSOFT;
use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::{OpDef, Out, Param, TypeSet};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

const REAL: TypeSet = TypeSet::of(&[DType::F32, DType::F16, DType::BF16]);
const X: Param = Param::required(1, REAL);
const ADDED: Param = Param::optional(1, REAL);
/// Token ids; ONNX Runtime takes those of 32 bits.
const IDS: TypeSet = TypeSet::of(&[DType::I32, DType::I64]);
const F32: Out = Out::Fixed(DType::F32);

/// SkipLayerNormalization, SkipSimplifiedLayerNormalization, EmbedLayerNormalization, and SimplifiedLayerNormalization, which
/// ONNX Runtime has in the domain `ai.onnx`.
pub const OPS: &[OpDef] = &[
    OpDef::function(
        "SkipLayerNormalization",
        &[X, X, X, ADDED, ADDED],
        &[Out::Like(0), F32, F32, Out::Like(0)],
        skip,
    )
    .domain(MICROSOFT),
    OpDef::function(
        "SkipSimplifiedLayerNormalization",
        &[X, X, X, ADDED],
        &[Out::Like(0), F32, F32, Out::Like(0)],
        skip_simplified,
    )
    .domain(MICROSOFT),
    OpDef::function(
        "SimplifiedLayerNormalization",
        &[Param::required(0, REAL), Param::required(0, REAL)],
        &[Out::Like(1)],
        simplified,
    ),
    OpDef::function(
        "EmbedLayerNormalization",
        &[
            Param::required(2, IDS),
            Param::optional(2, IDS),
            X,
            X,
            ADDED,
            X,
            X,
            Param::optional(2, IDS),
            Param::optional(2, IDS),
        ],
        &[Out::Like(2), Out::Like(0), Out::Like(2)],
        embed,
    )
    .domain(MICROSOFT),
];

/// What ONNX Runtime's fused normalisations have where the file says nothing.
const EPSILON: f32 = 1e-12;

fn sum(f: &mut FunctionBody<'_>, bias: usize) -> Result<ValueId, LoadError> {
    let (x, skip) = (f.input(0)?, f.input(1)?);
    let sum = f.call("Add", &[x, skip], &[])?;
    match f.optional(bias) {
        Some(bias) => f.call("Add", &[sum, bias], &[]),
        None => Ok(sum),
    }
}

pub(super) fn along_last(
    f: &FunctionBody<'_>,
) -> Result<[(&'static str, AttributeValue); 2], LoadError> {
    let epsilon = f.attributes().float_or("epsilon", EPSILON)?;
    Ok([("axis", AttributeValue::Int(-1)), ("epsilon", AttributeValue::Float(epsilon))])
}

/// Gives the outputs that were computed and are wanted, and the sum as output 3.
fn give(f: &mut FunctionBody<'_>, computed: Vec<Option<ValueId>>, sum: ValueId) {
    for (output, value) in computed.into_iter().enumerate() {
        if let Some(value) = value {
            f.give(output, value);
        }
    }
    f.give(3, sum);
}

fn skip(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let sum = sum(f, 4)?;
    let attributes = along_last(f)?;
    let inputs = vec![Some(sum), f.optional(2), f.optional(3)];
    let wanted = [f.wants(0), f.wants(1), f.wants(2)];
    let computed = f.call_for("LayerNormalization", inputs, &attributes, &wanted)?;
    give(f, computed, sum);
    Ok(())
}

fn skip_simplified(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    if f.wants(1) || f.wants(2) {
        return Err(f.refuse("mean and inverse deviation are for training and not supported"));
    }
    let sum = sum(f, 3)?;
    let attributes = along_last(f)?;
    let scale = f.input(2)?;
    let y = f.call("RMSNormalization", &[sum, scale], &attributes)?;
    give(f, vec![Some(y)], sum);
    Ok(())
}

fn simplified(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let (x, scale) = (f.input(0)?, f.input(1)?);
    let y = super::product::with_attributes(
        f,
        "RMSNormalization",
        vec![Some(x), Some(scale)],
        &["axis", "epsilon", "stash_type"],
    )?;
    f.give(0, y);
    Ok(())
}

/// Rows of a table.
pub(super) fn rows(
    f: &mut FunctionBody<'_>,
    table: ValueId,
    ids: ValueId,
) -> Result<ValueId, LoadError> {
    f.call("Gather", &[table, ids], &[("axis", AttributeValue::Int(0))])
}

/// The first rows of the table of positions, as many as there are tokens.
pub(super) fn position_rows(
    f: &mut FunctionBody<'_>,
    table: ValueId,
    ids: ValueId,
) -> Result<ValueId, LoadError> {
    let ends = [("start", AttributeValue::Int(1)), ("end", AttributeValue::Int(2))];
    let (first, axis) = (f.ints(&[0])?, f.ints(&[0])?);
    let tokens = f.call("Shape", &[ids], &ends)?;
    f.call("Slice", &[table, first, tokens, axis], &[])
}

fn embed(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let (ids, words, positions) = (f.input(0)?, f.input(2)?, f.input(3)?);
    let words = rows(f, words, ids)?;
    let positions = match f.optional(8) {
        Some(at) => rows(f, positions, at)?,
        None => position_rows(f, positions, ids)?,
    };
    let mut sum = f.call("Add", &[words, positions], &[])?;
    match (f.optional(1), f.optional(4)) {
        (Some(segments), Some(table)) => {
            let segments = rows(f, table, segments)?;
            sum = f.call("Add", &[sum, segments], &[])?;
        }
        (None, None) => {}
        _ => return Err(f.refuse("segment ids and their embeddings come together or not at all")),
    }
    let attributes = along_last(f)?;
    let (scale, bias) = (f.input(5)?, f.input(6)?);
    let y = f.call("LayerNormalization", &[sum, scale, bias], &attributes)?;
    f.give(0, y);
    f.give(2, sum);
    if f.wants(1) {
        let lengths = lengths(f, ids)?;
        f.give(1, lengths);
    }
    Ok(())
}

/// How many tokens of each text the mask has; 0 without a mask.
pub(super) fn lengths(f: &mut FunctionBody<'_>, ids: ValueId) -> Result<ValueId, LoadError> {
    let to = AttributeValue::Int(f.dtype(ids).onnx_number().into());
    let seen = match f.optional(7) {
        Some(mask) => {
            let one = f.number(1.0, mask)?;
            f.call("Equal", &[mask, one], &[])?
        }
        // No id is another than itself.
        None => {
            let same = f.call("Equal", &[ids, ids], &[])?;
            f.call("Not", &[same], &[])?
        }
    };
    let seen = f.call("Cast", &[seen], &[("to", to)])?;
    let axis = f.ints(&[1])?;
    f.call("ReduceSum", &[seen, axis], &[("keepdims", AttributeValue::Int(0))])
}

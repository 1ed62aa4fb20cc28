//! Operators of language models: GroupQueryAttention and RotaryEmbedding, with the caches that they bring along, networks of
//! experts, and weights of few bits.

mod bnb4;
mod cache;
mod experts;
mod gather_blocks;
mod group_query;
mod rotary;
mod states;

use crate::ops::{OpDef, TypeSet};
use stead_tensor::DType;

use super::MICROSOFT;

/// The tables of this folder.
pub const TABLES: [&[OpDef]; 9] = [
    bnb4::OPS,
    cache::OPS,
    experts::OPS,
    experts::PRODUCTS,
    experts::QUANTIZED,
    gather_blocks::OPS,
    group_query::OPS,
    rotary::OPS,
    states::OPS,
];

const REAL: TypeSet = TypeSet::of(&[DType::F32, DType::F16, DType::BF16]);
/// The domain of the engine's own operators.
const OWN: &str = "stead";

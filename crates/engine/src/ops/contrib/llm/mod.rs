//! Operators of language models: GroupQueryAttention, SparseAttention and RotaryEmbedding, with the caches that they bring along, networks of
//! experts, and weights of few bits.

mod bnb4;
mod cache;
mod experts;
mod fpq4;
mod gather_blocks;
mod group_query;
mod grouped;
mod rotary;
mod sparse;
mod states;

use crate::ops::{OpDef, TypeSet};
use stead_tensor::DType;

use super::MICROSOFT;

/// The tables of this folder.
pub const TABLES: [&[OpDef]; 11] = [
    bnb4::OPS,
    cache::OPS,
    experts::OPS,
    experts::PRODUCTS,
    experts::QUANTIZED,
    fpq4::OPS,
    gather_blocks::OPS,
    group_query::OPS,
    rotary::OPS,
    sparse::OPS,
    states::OPS,
];

const REAL: TypeSet = TypeSet::of(&[DType::F32, DType::F16, DType::BF16]);
/// The domain of the engine's own operators.
const OWN: &str = "stead";

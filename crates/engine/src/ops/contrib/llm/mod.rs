//! Operators of language models: GroupQueryAttention and RotaryEmbedding, with the caches that they bring along.

mod cache;
mod group_query;
mod rotary;

use crate::ops::{OpDef, TypeSet};
use stead_tensor::DType;

use super::MICROSOFT;

/// The tables of this folder.
pub const TABLES: [&[OpDef]; 3] = [cache::OPS, group_query::OPS, rotary::OPS];

const REAL: TypeSet = TypeSet::of(&[DType::F32, DType::F16, DType::BF16]);
/// The domain of the engine's own operators.
const OWN: &str = "stead";

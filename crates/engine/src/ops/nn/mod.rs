//! Operators of neural nets that look at neighbourhoods, channels or time: convolutions, pools,
//! normalisations, recurrent layers, quantised products.

mod batch_norm;
mod blocked;
mod causal;
mod col2im;
mod conv;
pub(super) mod conv_integer;
mod conv_transpose;
mod deform_conv;
mod global_pool;
mod group_norm;
mod max_unpool;
mod other_norms;
mod pool;
pub(super) mod precision;
mod recurrent;
mod recurrent_functions;
mod recurrent_weights;
mod row_norm;
mod window;

use super::{OpDef, TypeSet};
use stead_tensor::DType::*;

pub(super) use blocked::TABLES as BLOCKED;

/// Types that are computed in single precision.
const SINGLE: TypeSet = TypeSet::of(&[F32, F16, BF16]);

/// The tables of this family.
pub const TABLES: [&[OpDef]; 14] = [
    batch_norm::OPS,
    causal::OPS,
    col2im::OPS,
    conv::OPS,
    conv_integer::OPS,
    conv_transpose::OPS,
    deform_conv::OPS,
    global_pool::OPS,
    group_norm::OPS,
    max_unpool::OPS,
    other_norms::OPS,
    pool::OPS,
    recurrent::OPS,
    row_norm::OPS,
];

//! Operators of neural nets that look at neighbourhoods, channels or time: convolutions, pools,
//! normalisations, recurrent layers, quantised products.

mod conv;
mod conv_transpose;
mod global_pool;
mod pool;
mod precision;
mod recurrent;
mod recurrent_functions;
mod window;

use super::{OpDef, TypeSet};
use stead_tensor::DType::*;

/// Types that are computed in single precision.
const SINGLE: TypeSet = TypeSet::of(&[F32, F16, BF16]);

/// The tables of this family.
pub const TABLES: [&[OpDef]; 5] =
    [conv::OPS, conv_transpose::OPS, global_pool::OPS, pool::OPS, recurrent::OPS];

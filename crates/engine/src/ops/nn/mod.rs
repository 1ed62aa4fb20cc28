//! Operators of neural nets that look at neighbourhoods, channels or time: convolutions, pools,
//! normalisations, recurrent layers, quantised products.

pub mod conv;
pub mod conv_transpose;
mod precision;
mod window;

use super::TypeSet;
use stead_tensor::DType::*;

/// Types that are computed in single precision.
const SINGLE: TypeSet = TypeSet::of(&[F32, F16, BF16]);

//! The bodies of `:predict`, in row and in column format.

mod read;
mod values;
mod write;

pub use read::parse_predict;
pub use write::{encode_predict, rows_of};

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use stead_tensor::Tensor;

/// Base64 as clients write it: with and without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How a request lists its tensors; the answer does it the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `instances`: a list of examples.
    Row,
    /// `inputs`: a list of tensors.
    Column,
}

/// A parsed body.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictBody {
    /// The format.
    pub format: Format,
    /// The inputs.
    pub inputs: Vec<(String, Tensor)>,
}

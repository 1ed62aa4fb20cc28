//! Tensors to and from the forms that both protocols use: raw little-endian bytes and JSON values.

mod json;
mod raw;

pub use json::{append_json_flat, append_json_nested, tensor_from_json_flat};
pub use raw::{append_raw, raw_bytes, raw_len, shape_of, tensor_from_raw};

/// Calls `$body` with `$t` standing for the Rust type of `$dtype`; `$other` for types without one.
macro_rules! for_dtype {
    ($dtype:expr, $t:ident => $body:expr, _ => $other:expr) => {{
        use stead_tensor::DType;
        match $dtype {
            DType::F32 => {
                type $t = f32;
                $body
            }
            DType::F64 => {
                type $t = f64;
                $body
            }
            DType::F16 => {
                type $t = half::f16;
                $body
            }
            DType::BF16 => {
                type $t = half::bf16;
                $body
            }
            DType::I8 => {
                type $t = i8;
                $body
            }
            DType::I16 => {
                type $t = i16;
                $body
            }
            DType::I32 => {
                type $t = i32;
                $body
            }
            DType::I64 => {
                type $t = i64;
                $body
            }
            DType::U8 => {
                type $t = u8;
                $body
            }
            DType::U16 => {
                type $t = u16;
                $body
            }
            DType::U32 => {
                type $t = u32;
                $body
            }
            DType::U64 => {
                type $t = u64;
                $body
            }
            DType::Bool => {
                type $t = stead_tensor::Bool;
                $body
            }
            _ => $other,
        }
    }};
}
pub(crate) use for_dtype;

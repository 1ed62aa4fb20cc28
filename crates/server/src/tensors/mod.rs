//! Tensors to and from the forms that both protocols use: raw little-endian bytes and JSON values.

mod json;
mod raw;

pub use json::{append_json_flat, append_json_nested, check_json, is_json, tensor_from_json_flat};
pub use raw::{append_raw, raw_bytes, raw_len, shape_of, tensor_from_raw};

/// Calls `$body` with `$t` standing for the Rust type of `$dtype`; `$other` for types without one.
macro_rules! for_dtype {
    ($dtype:expr, $t:ident => $body:expr, _ => $other:expr) => {
        $crate::tensors::for_dtype!(@rows $dtype, $t, $body, $other;
            F32 f32, F64 f64, F16 half::f16, BF16 half::bf16,
            I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64,
            Bool stead_tensor::Bool)
    };
    (@rows $dtype:expr, $t:ident, $body:expr, $other:expr; $($name:ident $rust:ty),+) => {
        match $dtype {
            $(stead_tensor::DType::$name => {
                type $t = $rust;
                $body
            })+
            _ => $other,
        }
    };
}
pub(crate) use for_dtype;

//! One arm for each element type.

/// Evaluates an expression with `$t` bound to the Rust type of an element type; the last expression for
/// types that are not listed.
macro_rules! for_type {
    ($dtype:expr, [$($name:ident),*], $t:ident => $body:expr, _ => $else:expr) => {{
        match $dtype { $(
            stead_tensor::DType::$name => {
                type $t = $crate::ops::dispatch::rust_type!($name);
                $body
            }
        )* _ => $else }
    }};
}

/// The Rust type of an element type.
macro_rules! rust_type {
    (F32) => {
        f32
    };
    (F64) => {
        f64
    };
    (F16) => {
        half::f16
    };
    (BF16) => {
        half::bf16
    };
    (I8) => {
        i8
    };
    (I16) => {
        i16
    };
    (I32) => {
        i32
    };
    (I64) => {
        i64
    };
    (U8) => {
        u8
    };
    (U16) => {
        u16
    };
    (U32) => {
        u32
    };
    (U64) => {
        u64
    };
}

/// As [`for_type`] for all numbers.
macro_rules! for_number {
    ($dtype:expr, $t:ident => $body:expr, _ => $else:expr) => {
        $crate::ops::dispatch::for_type!(
            $dtype,
            [F32, F64, F16, BF16, I8, I16, I32, I64, U8, U16, U32, U64],
            $t => $body,
            _ => $else
        )
    };
}

/// As [`for_type`] for all integers.
macro_rules! for_integer {
    ($dtype:expr, $t:ident => $body:expr, _ => $else:expr) => {
        $crate::ops::dispatch::for_type!(
            $dtype, [I8, I16, I32, I64, U8, U16, U32, U64], $t => $body, _ => $else
        )
    };
}

/// As [`for_type`] for all floats.
macro_rules! for_float {
    ($dtype:expr, $t:ident => $body:expr, _ => $else:expr) => {
        $crate::ops::dispatch::for_type!(
            $dtype, [F32, F64, F16, BF16], $t => $body, _ => $else
        )
    };
}

pub(crate) use {for_float, for_integer, for_number, for_type, rust_type};

use crate::error::PlanError;
use stead_tensor::DType;

/// The error of a kernel that has no arm for a type. The tables of operators keep such types out, so that
/// nobody should see it.
pub(super) fn no_kernel(dtype: DType) -> PlanError {
    PlanError::Evaluation(format!("no kernel for element type {dtype}"))
}

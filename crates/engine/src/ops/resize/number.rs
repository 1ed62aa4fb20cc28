//! Elements of any type to and from the floats that interpolation works in.

use super::Args;
use crate::error::RunError;
use half::{bf16, f16};
use stead_kernels::convert::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use stead_tensor::{DType, Element};

macro_rules! by_integer {
    ($dtype:expr, $f:ident, $a:expr) => {
        match $dtype {
            DType::I8 => $f::<i8>($a, |v| v.into(), |v| v as i8),
            DType::I16 => $f::<i16>($a, |v| v.into(), |v| v as i16),
            DType::I32 => $f::<i32>($a, |v| v.into(), |v| v as i32),
            DType::I64 => $f::<i64>($a, |v| v as f64, |v| v as i64),
            DType::U8 => $f::<u8>($a, |v| v.into(), |v| v as u8),
            DType::U16 => $f::<u16>($a, |v| v.into(), |v| v as u16),
            DType::U32 => $f::<u32>($a, |v| v.into(), |v| v as u32),
            _ => $f::<u64>($a, |v| v as f64, |v| v as u64),
        }
    };
}

fn to_f64<T: Element>(
    a: &mut Args<'_>,
    to: impl Fn(T) -> f64,
    _: impl Fn(f64) -> T,
) -> Result<(), RunError> {
    let (src, dst) = (a.read::<T>(0)?, a.write::<f64>()?);
    dst.iter_mut().zip(src).for_each(|(d, &s)| *d = to(s));
    Ok(())
}

/// Rounds to the nearest, ties to even; casts saturate.
fn from_f64<T: Element>(
    a: &mut Args<'_>,
    _: impl Fn(T) -> f64,
    from: impl Fn(f64) -> T,
) -> Result<(), RunError> {
    let (src, dst) = (a.read::<f64>(0)?, a.write::<T>()?);
    dst.iter_mut().zip(src).for_each(|(d, &s)| *d = from(s.round_ties_even()));
    Ok(())
}

/// Operand 0 to f32, integers to f64.
pub(super) fn widen(a: &mut Args<'_>, dtype: DType) -> Result<(), RunError> {
    match dtype {
        DType::F16 => f16_to_f32(a.isa, a.read::<f16>(0)?, a.write::<f32>()?),
        DType::BF16 => bf16_to_f32(a.isa, a.read::<bf16>(0)?, a.write::<f32>()?),
        _ => return by_integer!(dtype, to_f64, a),
    }
    Ok(())
}

/// Operand 0 back to its type.
pub(super) fn narrow(a: &mut Args<'_>, dtype: DType) -> Result<(), RunError> {
    match dtype {
        DType::F16 => f32_to_f16(a.isa, a.read::<f32>(0)?, a.write::<f16>()?),
        DType::BF16 => f32_to_bf16(a.isa, a.read::<f32>(0)?, a.write::<bf16>()?),
        _ => return by_integer!(dtype, from_f64, a),
    }
    Ok(())
}

/// A number as one element.
pub(super) fn bytes_of(value: f32, dtype: DType) -> Vec<u8> {
    let integer = f64::from(value).round_ties_even();
    match dtype {
        DType::F32 => value.to_le_bytes().to_vec(),
        DType::F64 => f64::from(value).to_le_bytes().to_vec(),
        DType::F16 => f16::from_f32(value).to_le_bytes().to_vec(),
        DType::BF16 => bf16::from_f32(value).to_le_bytes().to_vec(),
        DType::I8 => (integer as i8).to_le_bytes().to_vec(),
        DType::I16 => (integer as i16).to_le_bytes().to_vec(),
        DType::I32 => (integer as i32).to_le_bytes().to_vec(),
        DType::I64 => (integer as i64).to_le_bytes().to_vec(),
        DType::U16 => (integer as u16).to_le_bytes().to_vec(),
        DType::U32 => (integer as u32).to_le_bytes().to_vec(),
        DType::U64 => (integer as u64).to_le_bytes().to_vec(),
        DType::Bool => vec![u8::from(value != 0.0)],
        _ => vec![integer as u8],
    }
}

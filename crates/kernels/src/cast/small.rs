//! Types of one byte and less: floats of 8 and 4 bits, integers of 4 and 2 bits.
//!
//! Formats as in the ONNX documents "Float stored in 8 bits" and "4 bit floating point", which follow
//! Micikevicius et al., "FP8 Formats for Deep Learning", 2022, and the OCP microscaling specification.

use super::{Cast, cast};
use crate::elementwise::CHUNK;

/// A type of one byte or less. Several share a byte, the first in the lowest bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Small {
    /// 4 exponent and 3 mantissa bits, no infinities
    F8E4M3FN,
    /// The same with a bias of 8, one NaN and no negative zero
    F8E4M3FNUZ,
    /// 5 exponent and 2 mantissa bits
    F8E5M2,
    /// The same with a bias of 16, one NaN, no infinities and no negative zero
    F8E5M2FNUZ,
    /// A power of two
    F8E8M0,
    /// 2 exponent bits and 1 mantissa bit
    F4E2M1,
    /// Signed, 4 bits
    I4,
    /// Unsigned, 4 bits
    U4,
    /// Signed, 2 bits
    I2,
    /// Unsigned, 2 bits
    U2,
}

/// What happens to numbers out of range of an 8-bit float.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saturation {
    /// They become the largest number.
    Limit,
    /// They become infinite, or NaN where there is no infinity.
    Overflow,
}

/// How numbers become powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum E8Rounding {
    /// To the next above
    Up,
    /// To the next below
    Down,
    /// To the nearest, ties up
    Nearest,
}

impl Small {
    /// The width in bits.
    pub const fn bits(self) -> usize {
        match self {
            Small::I4 | Small::U4 | Small::F4E2M1 => 4,
            Small::I2 | Small::U2 => 2,
            _ => 8,
        }
    }

    /// Whether it is an integer type.
    pub const fn is_int(self) -> bool {
        matches!(self, Small::I4 | Small::U4 | Small::I2 | Small::U2)
    }

    /// Mantissa bits, bias, code of the largest number, of infinity if there is one, and of NaN.
    const fn layout(self) -> (u32, i32, u32, Option<u32>, u32) {
        match self {
            Small::F8E4M3FN => (3, 7, 0x7e, None, 0x7f),
            Small::F8E4M3FNUZ => (3, 8, 0x7f, None, 0x80),
            Small::F8E5M2 => (2, 15, 0x7b, Some(0x7c), 0x7e),
            Small::F8E5M2FNUZ => (2, 16, 0x7f, None, 0x80),
            // No NaN: negative zero takes its place.
            _ => (1, 1, 0x7, None, 0x8),
        }
    }

    /// Whether the only NaN stands in the place of negative zero.
    const fn unsigned_zero(self) -> bool {
        matches!(self, Small::F8E4M3FNUZ | Small::F8E5M2FNUZ)
    }

    /// The number with this code.
    fn decode(self, code: u8) -> f32 {
        let sign_extended = |bits: u32| f32::from((code << (8 - bits)) as i8 >> (8 - bits));
        match self {
            Small::U4 | Small::U2 => return code.into(),
            Small::I4 => return sign_extended(4),
            Small::I2 => return sign_extended(2),
            Small::F8E8M0 if code == 0xff => return f32::NAN,
            Small::F8E8M0 if code == 0 => return power_of_two(-126) * 0.5,
            Small::F8E8M0 => return f32::from_bits(u32::from(code) << 23),
            _ => {}
        }
        let (mantissa, bias, largest, infinity, nan) = self.layout();
        let code = u32::from(code);
        let sign_bit = 1 << (self.bits() - 1);
        let magnitude = code & (sign_bit - 1);
        let sign = if code & sign_bit != 0 { -1.0 } else { 1.0 };
        if self.unsigned_zero() && code == nan {
            return f32::NAN;
        }
        if magnitude > largest {
            return if Some(magnitude) == infinity { sign * f32::INFINITY } else { f32::NAN };
        }
        let (exponent, fraction) = (magnitude >> mantissa, magnitude & ((1 << mantissa) - 1));
        let whole = fraction | u32::from(exponent > 0) << mantissa;
        sign * whole as f32 * power_of_two(exponent.max(1) as i32 - bias - mantissa as i32)
    }

    /// The code of the number nearest to `x`, ties to even.
    fn encode(self, x: f32, saturation: Saturation, rounding: E8Rounding) -> u8 {
        if self == Small::F8E8M0 {
            return encode_power(x, saturation, rounding);
        }
        let (mantissa, bias, largest, infinity, nan) = self.layout();
        let sign_bit = 1 << (self.bits() - 1);
        let sign = if x.is_sign_negative() { sign_bit } else { 0 };
        if x.is_nan() {
            return (if nan >= sign_bit { nan } else { nan | sign }) as u8;
        }
        let least = 1 - bias;
        let exponent = (((x.to_bits() >> 23) & 0xff) as i32 - 127).max(least);
        // In units of the last place, where adding and taking away 2^23 rounds to even. A carry moves the
        // code to the next exponent by itself.
        let units = (x.abs() * power_of_two(mantissa as i32 - exponent)).min(1024.0);
        let units = ((units + 8_388_608.0) - 8_388_608.0) as u32;
        let code = (((exponent - least) as u32) << mantissa) + units;
        if code > largest {
            return match infinity {
                _ if self == Small::F4E2M1 || saturation == Saturation::Limit => largest | sign,
                Some(infinity) => infinity | sign,
                None if nan >= sign_bit => nan,
                None => nan | sign,
            } as u8;
        }
        if code == 0 && self.unsigned_zero() { 0 } else { (code | sign) as u8 }
    }
}

/// 2^n for normal results.
fn power_of_two(n: i32) -> f32 {
    f32::from_bits(((n + 127) as u32) << 23)
}

fn encode_power(x: f32, saturation: Saturation, rounding: E8Rounding) -> u8 {
    const NAN: u8 = 0xff;
    const LARGEST: u32 = 0xfe;
    let over = if saturation == Saturation::Limit { LARGEST as u8 } else { NAN };
    if x.is_nan() {
        return NAN;
    }
    if x.is_infinite() {
        return over;
    }
    let bits = x.to_bits() & 0x7fff_ffff;
    if bits == 0 {
        return if saturation == Saturation::Limit { 0 } else { NAN };
    }
    // Below 2^-126 code 0 stands for 2^-127, which as f32 has the fraction 2^22.
    let (exponent, below) = (bits >> 23, bits >> 23 == 0);
    let fraction = bits & 0x7f_ffff;
    let up = match (rounding, below) {
        (E8Rounding::Down, _) => false,
        (E8Rounding::Up, false) => fraction > 0,
        (E8Rounding::Up, true) => fraction > 1 << 22,
        (E8Rounding::Nearest, false) => fraction >= 1 << 22,
        (E8Rounding::Nearest, true) => fraction >= 3 << 21,
    };
    let code = exponent + u32::from(up);
    if code > LARGEST { over } else { code as u8 }
}

/// Widens elements of a small type to any number type.
///
/// # Panics
/// When `src` has fewer elements than `dst`.
pub fn from_small<B>(small: Small, src: &[u8], dst: &mut [B])
where
    f32: Cast<B>,
{
    let (per_byte, bits) = (8 / small.bits(), small.bits());
    let mask = 0xffu8 >> (8 - bits);
    for (i, y) in dst.iter_mut().enumerate() {
        let code = src[i / per_byte] >> (i % per_byte * bits) & mask;
        *y = small.decode(code).cast();
    }
}

/// Narrows to a small type: integers keep their lower bits, floats are rounded.
///
/// # Panics
/// When `dst` has another size than the elements of `src` take.
pub fn to_small<A: Cast<f32> + Cast<i32>>(
    small: Small,
    saturation: Saturation,
    rounding: E8Rounding,
    src: &[A],
    dst: &mut [u8],
) {
    let (per_byte, bits) = (8 / small.bits(), small.bits());
    assert_eq!(dst.len(), src.len().div_ceil(per_byte), "the destination has another size");
    let mask = 0xffu8 >> (8 - bits);
    let (mut floats, mut ints) = ([0f32; CHUNK], [0i32; CHUNK]);
    for (src, dst) in src.chunks(CHUNK).zip(dst.chunks_mut(CHUNK / per_byte)) {
        dst.fill(0);
        let n = src.len();
        if small.is_int() {
            cast(src, &mut ints[..n]);
            for (i, &v) in ints[..n].iter().enumerate() {
                dst[i / per_byte] |= (v as u8 & mask) << (i % per_byte * bits);
            }
        } else {
            cast(src, &mut floats[..n]);
            for (i, &v) in floats[..n].iter().enumerate() {
                let code = small.encode(v, saturation, rounding) & mask;
                dst[i / per_byte] |= code << (i % per_byte * bits);
            }
        }
    }
}

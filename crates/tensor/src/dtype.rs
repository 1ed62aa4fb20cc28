//! Element types and their sizes, names and ONNX numbers.

use std::fmt;

macro_rules! dtypes {
    ($($(#[$doc:meta])* $variant:ident = ($onnx:literal, $bits:literal, $name:literal),)*) => {
        /// The type of a tensor's elements: every type of the ONNX standard (IR 14).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DType { $($(#[$doc])* $variant,)* }

        impl DType {
            /// All types, in the order of their ONNX numbers.
            pub const ALL: &'static [DType] = &[$(DType::$variant,)*];

            /// The number of this type in `TensorProto.DataType`.
            pub const fn onnx_number(self) -> i32 {
                match self { $(DType::$variant => $onnx,)* }
            }

            /// Bits of one element; 0 for strings, which have no fixed size.
            pub const fn bits(self) -> usize {
                match self { $(DType::$variant => $bits,)* }
            }

            /// The short lower-case name used on the command line and in messages, such as `f32`.
            pub const fn name(self) -> &'static str {
                match self { $(DType::$variant => $name,)* }
            }
        }
    };
}

dtypes! {
    /// IEEE 754 single precision.
    F32 = (1, 32, "f32"),
    /// Unsigned 8-bit integer.
    U8 = (2, 8, "u8"),
    /// Signed 8-bit integer.
    I8 = (3, 8, "i8"),
    /// Unsigned 16-bit integer.
    U16 = (4, 16, "u16"),
    /// Signed 16-bit integer.
    I16 = (5, 16, "i16"),
    /// Signed 32-bit integer.
    I32 = (6, 32, "i32"),
    /// Signed 64-bit integer.
    I64 = (7, 64, "i64"),
    /// A string of bytes, UTF-8 by convention.
    String = (8, 0, "string"),
    /// One byte, 0 or 1.
    Bool = (9, 8, "bool"),
    /// IEEE 754 half precision.
    F16 = (10, 16, "f16"),
    /// IEEE 754 double precision.
    F64 = (11, 64, "f64"),
    /// Unsigned 32-bit integer.
    U32 = (12, 32, "u32"),
    /// Unsigned 64-bit integer.
    U64 = (13, 64, "u64"),
    /// Two `f32`: real and imaginary part.
    C64 = (14, 64, "complex64"),
    /// Two `f64`: real and imaginary part.
    C128 = (15, 128, "complex128"),
    /// The upper half of an `f32`.
    BF16 = (16, 16, "bf16"),
    /// 8-bit float, 4 exponent and 3 mantissa bits, no infinities.
    F8E4M3FN = (17, 8, "f8e4m3fn"),
    /// As `F8E4M3FN` with a bias of 8 and no negative zero.
    F8E4M3FNUZ = (18, 8, "f8e4m3fnuz"),
    /// 8-bit float, 5 exponent and 2 mantissa bits.
    F8E5M2 = (19, 8, "f8e5m2"),
    /// As `F8E5M2` with a bias of 16, no infinities and no negative zero.
    F8E5M2FNUZ = (20, 8, "f8e5m2fnuz"),
    /// Unsigned 4-bit integer, two to a byte, the first in the low half.
    U4 = (21, 4, "u4"),
    /// Signed 4-bit integer, packed like `U4`.
    I4 = (22, 4, "i4"),
    /// 4-bit float, 2 exponent and 1 mantissa bits, packed like `U4`.
    F4E2M1 = (23, 4, "f4e2m1"),
    /// 8-bit power of two, the scale of MX formats.
    F8E8M0 = (24, 8, "f8e8m0"),
    /// Unsigned 2-bit integer, four to a byte, the first in the lowest bits.
    U2 = (25, 2, "u2"),
    /// Signed 2-bit integer, packed like `U2`.
    I2 = (26, 2, "i2"),
}

impl DType {
    /// The type with this number in `TensorProto.DataType`, if there is one.
    pub fn from_onnx_number(number: i32) -> Option<DType> {
        Self::ALL.iter().copied().find(|t| t.onnx_number() == number)
    }

    /// The type with this [`name`](Self::name), if there is one.
    pub fn from_name(name: &str) -> Option<DType> {
        Self::ALL.iter().copied().find(|t| t.name() == name)
    }

    /// Bytes that `elements` elements take, `None` on overflow. Sub-byte types round up to whole bytes;
    /// strings count 0.
    pub fn byte_len(self, elements: usize) -> Option<usize> {
        match self.bits() {
            bits if bits >= 8 => elements.checked_mul(bits / 8),
            0 => Some(0),
            bits => Some(elements.div_ceil(8 / bits)),
        }
    }

    /// Bytes of one element for types of whole bytes; 0 for strings and sub-byte types.
    pub const fn size(self) -> usize {
        self.bits() / 8
    }

    /// Whether this is a floating-point type of any width.
    pub const fn is_float(self) -> bool {
        use DType::*;
        matches!(
            self,
            F32 | F64 | F16 | BF16 | F8E4M3FN | F8E4M3FNUZ | F8E5M2 | F8E5M2FNUZ | F4E2M1 | F8E8M0
        )
    }

    /// Whether this is an integer type of any width (`bool` is none).
    pub const fn is_int(self) -> bool {
        use DType::*;
        matches!(self, U8 | I8 | U16 | I16 | I32 | I64 | U32 | U64 | U4 | I4 | U2 | I2)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_unique_and_round_trip() {
        for &t in DType::ALL {
            assert_eq!(DType::from_onnx_number(t.onnx_number()), Some(t));
            assert_eq!(DType::from_name(t.name()), Some(t));
        }
        assert_eq!(DType::from_onnx_number(0), None);
    }

    #[test]
    fn byte_len_rounds_sub_byte_types_up() {
        let cases = [
            (DType::F32, 3, Some(12)),
            (DType::U4, 3, Some(2)),
            (DType::I2, 5, Some(2)),
            (DType::C128, 2, Some(32)),
            (DType::String, 7, Some(0)),
            (DType::I64, usize::MAX, None),
        ];
        for (t, n, expected) in cases {
            assert_eq!(t.byte_len(n), expected, "{t} x {n}");
        }
    }
}

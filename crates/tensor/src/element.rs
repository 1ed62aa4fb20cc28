//! The Rust types that stand for element types in typed slices.

use crate::DType;
use bytemuck::Pod;

/// A Rust type whose slices can view the bytes of a tensor.
pub trait Element: Pod + Send + Sync + 'static {
    /// The element type that this Rust type stands for.
    const DTYPE: DType;
}

/// One byte that holds a boolean. Producers write 0 or 1; consumers treat every non-zero byte as true,
/// since the bytes of a request are not checked one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Bool(pub u8);

impl Bool {
    /// The truth value.
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool {
    fn from(value: bool) -> Self {
        Bool(u8::from(value))
    }
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident),*) => {
        $(impl Element for $rust { const DTYPE: DType = DType::$dtype; })*
    };
}

elements! {
    f32 => F32, f64 => F64, half::f16 => F16, half::bf16 => BF16,
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64, Bool => Bool
}

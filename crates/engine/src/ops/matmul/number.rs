//! Choice of the Rust type for an element type of the generic product.

/// Runs a block with `T` as the Rust type of `dtype`; other types are a planning error.
macro_rules! with_number {
    ($dtype:expr, $t:ident => $body:block) => {
        match $dtype {
            stead_tensor::DType::F64 => {
                type $t = f64;
                $body
            }
            stead_tensor::DType::F16 => {
                type $t = half::f16;
                $body
            }
            stead_tensor::DType::BF16 => {
                type $t = half::bf16;
                $body
            }
            stead_tensor::DType::I32 => {
                type $t = i32;
                $body
            }
            stead_tensor::DType::I64 => {
                type $t = i64;
                $body
            }
            stead_tensor::DType::U32 => {
                type $t = u32;
                $body
            }
            stead_tensor::DType::U64 => {
                type $t = u64;
                $body
            }
            other => {
                return Err($crate::error::PlanError::shape(format!("no product of {other}")));
            }
        }
    };
}

pub(super) use with_number;

/// `alpha * x + beta * c`, in double precision for floats; integers wrap.
pub(super) trait ScaleAdd: Copy {
    /// See the trait.
    fn scale_add(self, alpha: f32, beta: f32, c: Self) -> Self;
}

macro_rules! float {
    ($($t:ty: $to:expr, $from:expr;)*) => {$(
        impl ScaleAdd for $t {
            fn scale_add(self, alpha: f32, beta: f32, c: Self) -> Self {
                let (x, c): (f64, f64) = ($to(self), $to(c));
                $from(f64::from(alpha) * x + f64::from(beta) * c)
            }
        }
    )*};
}

float! {
    f64: |v: f64| v, |v: f64| v;
    half::f16: |v: half::f16| v.to_f64(), half::f16::from_f64;
    half::bf16: |v: half::bf16| v.to_f64(), half::bf16::from_f64;
}

macro_rules! integer {
    ($($t:ty),*) => {$(
        impl ScaleAdd for $t {
            fn scale_add(self, alpha: f32, beta: f32, c: Self) -> Self {
                // Factors other than one only make sense for small integers, where f64 is exact.
                let scale = |v: $t, by: f32| {
                    if by == 1.0 { v } else { (v as f64 * f64::from(by)) as $t }
                };
                scale(self, alpha).wrapping_add(scale(c, beta))
            }
        }
    )*};
}

integer!(i32, i64, u32, u64);

//! Choice of the Rust type for an element type of the generic product.

/// Evaluates a block with `$t` as the Rust type of an element type that only the generic product computes;
/// other types are a planning error.
macro_rules! with_number {
    ($dtype:expr, $t:ident => $body:block) => {
        $crate::ops::dispatch::for_type!(
            $dtype, [F64, F16, BF16, I32, I64, U32, U64], $t => $body,
            _ => return Err($crate::ops::dispatch::no_kernel($dtype))
        )
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

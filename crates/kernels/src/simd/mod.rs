//! One vector interface over the instruction sets, and the way into each of them.
//!
//! A kernel is a struct that holds its operands and implements [`SimdOp`]; its `eval` is written
//! once, generic over [`Simd`], and marked `#[inline(always)]` like everything that it calls with
//! vectors. [`dispatch`] calls it from a function compiled for the instruction set that was asked
//! for, into which all of it is inlined. Helpers that are not inlined are compiled for the
//! baseline and become slow, so no closures in inner loops.
//!
//! What is computed lane by lane is [`Arithmetic`], which a vector has and several of them [`Together`]: functions of numbers
//! are written over it.
//!
//! ```
//! use stead_kernels::Isa;
//! use stead_kernels::simd::{Simd, SimdOp, dispatch};
//!
//! struct Sum<'a>(&'a [f32]);
//!
//! impl SimdOp for Sum<'_> {
//!     type Output = f32;
//!     #[inline(always)]
//!     fn eval<S: Simd>(self, s: S) -> f32 {
//!         let mut acc = s.splat(0.0);
//!         let (whole, rest) = self.0.split_at(self.0.len() / S::LANES * S::LANES);
//!         for chunk in whole.chunks_exact(S::LANES) {
//!             acc = s.add(acc, s.load(chunk));
//!         }
//!         s.sum(s.add(acc, s.load_part(rest)))
//!     }
//! }
//! assert_eq!(dispatch(Isa::detect(), Sum(&[1.0; 37])), 37.0);
//! ```

use crate::Isa;

mod arithmetic;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
mod together;
mod vector;

pub use arithmetic::Arithmetic;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
pub use scalar::Scalar;
pub use together::{TOGETHER, Together};
pub(crate) use together::{map_row, sweep};
pub use vector::{PAIR, Simd};

/// Bytes in a line of the cache.
pub(crate) const LINE_BYTES: usize = 64;

/// f32 in a line of the cache.
pub(crate) const LINE: usize = LINE_BYTES / size_of::<f32>();

/// A computation that is compiled once per instruction set.
pub trait SimdOp {
    /// What [`dispatch`] returns.
    type Output;

    /// The computation. Mark the implementation `#[inline(always)]`.
    fn eval<S: Simd>(self, s: S) -> Self::Output;
}

/// Runs `op` compiled for `isa`; as [`Isa::Scalar`] if the machine lacks it.
#[inline]
pub fn dispatch<O: SimdOp>(isa: Isa, op: O) -> O::Output {
    if !isa.is_available() {
        return Scalar.call(op);
    }
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the machine has the level, checked above.
        Isa::Avx2 => unsafe { avx2::run(op) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the machine has the level, checked above.
        Isa::Avx512 | Isa::Amx => unsafe { avx512::run(op) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: the machine has the level, checked above.
        Isa::Neon => unsafe { neon::run(op) },
        _ => Scalar.call(op),
    }
}

/// As [`dispatch`], with instructions for products of bytes where the machine has them ([`Isa::has_dot4`]) and `dot4` asks
/// for them: for kernels that live by [`Simd::dot4`].
#[inline]
pub(crate) fn dispatch_bytes<O: SimdOp>(isa: Isa, dot4: bool, op: O) -> O::Output {
    #[cfg(target_arch = "x86_64")]
    if dot4 && isa.has_dot4() {
        // SAFETY: the machine has the level and VNNI, checked above.
        return unsafe { avx512::run_vnni(op) };
    }
    let _ = dot4;
    dispatch(isa, op)
}

#[cfg(test)]
mod tests;

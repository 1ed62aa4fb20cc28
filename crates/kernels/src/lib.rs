//! Compute kernels on slices, for the instruction set that the machine has.
//!
//! A linear layer with GELU, its weights packed once:
//!
//! ```
//! use stead_kernels::gemm::{
//!     Activation, Epilogue, Lhs, MatRef, Rhs, gemm, gemm_scratch_len, pack_b, packed_b_len,
//! };
//! use stead_kernels::{Isa, Serial};
//!
//! let isa = Isa::detect();
//! let (batch, inputs, outputs) = (2, 3, 2);
//! // Once: the weights, as the columns of a matrix.
//! let weights = [1.0, 0.0, -1.0, 1.0, 0.0, 0.0];
//! let mut packed = vec![0.0; packed_b_len(isa, inputs, outputs)];
//! pack_b(isa, inputs, outputs, MatRef::rows(&weights, outputs), &mut packed);
//!
//! // For each request: memory from the caller, nothing allocated.
//! let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
//! let (a, b) = (Lhs::Strided(MatRef::rows(&x, inputs)), Rhs::Packed(&packed));
//! let epilogue = Epilogue {
//!     bias_col: Some(&[0.5, 0.5]),
//!     activation: Activation::GeluErf,
//!     ..Epilogue::default()
//! };
//! let mut scratch = vec![0.0; gemm_scratch_len(isa, batch, outputs, inputs, &a, &b)];
//! let mut y = [0.0; 4];
//! gemm(isa, &Serial, batch, outputs, inputs, a, b, &mut y, outputs, &epilogue, &mut scratch);
//! // The first output is 1 - 2 + 0.5 = -0.5 before GELU.
//! assert!((y[0] + 0.154_268_77).abs() < 1e-6);
//! ```
//!
//! Every kernel takes the instruction set as a value ([`Isa`]), memory as slices, and threads, where
//! it can use them, as a [`Parallel`]. What needs room to work in says how much and takes it from
//! the caller.
//!
//! The crate is *not* a tensor library: no shapes, graphs or broadcasting, no heap (`no_std`
//! without `alloc`), no threads of its own, and no errors: operands whose lengths do not fit
//! together are a bug of the caller and panic.
#![no_std]
#![allow(unsafe_code)]

pub mod along;
#[cfg(target_arch = "x86_64")]
mod amx;
pub mod attention;
pub mod blocked;
pub mod broadcast;
pub mod cast;
mod chunks;
pub mod contract;
pub mod conv;
pub mod convert;
pub mod detect;
pub mod determinant;
pub mod elementwise;
pub mod forest;
pub mod gemm;
mod guided;
mod isa;
pub mod math;
pub mod ml;
pub mod movement;
pub mod norm;
mod par;
pub mod pool;
pub mod quantize;
pub mod random;
pub mod reduce;
pub mod requantize;
pub mod resample;
pub mod rnn;
pub mod sample;
pub mod scalar_math;
pub mod signal;
pub mod simd;
pub mod softmax;
pub mod split;
pub mod unary;
pub mod vector;
mod window;

pub use isa::Isa;
pub use par::{Parallel, Serial};
pub use window::Window;

//! Compute kernels on slices, for the instruction set that the machine has.
//!
//! ```
//! use stead_kernels::{Isa, Parallel, Serial};
//! let isa = Isa::detect();
//! assert!(isa.is_available());
//! assert_eq!(Serial.threads(), 1);
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
pub mod attention;
pub mod broadcast;
pub mod cast;
mod chunks;
pub mod conv;
pub mod convert;
pub mod elementwise;
pub mod gemm;
mod isa;
pub mod math;
pub mod movement;
pub mod norm;
mod par;
pub mod quantize;
pub mod reduce;
pub mod resample;
pub mod rnn;
pub mod scalar_math;
pub mod simd;
pub mod softmax;
pub mod split;
pub mod unary;
mod window;

pub use isa::Isa;
pub use par::{Parallel, Serial};
pub use window::Window;

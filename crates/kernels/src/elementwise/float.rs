//! Functions of one float, for all float types.

use super::lane::map_half;
use super::shaped::{Shaped, shaped_f32, shaped_f64};
use crate::split::split;
use crate::unary::{UnaryOp, map_f32, map_f64};
use crate::{Isa, Parallel};
use half::{bf16, f16};

/// A function of one float, by the way in which it is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FloatOp {
    /// One of the general functions.
    Unary(UnaryOp),
    /// An activation that stands apart.
    Shaped(Shaped),
}

/// A float type.
pub trait FloatLane: Copy + Send + Sync + 'static {
    /// `out[i] = op(x[i])`; halves are computed in f32.
    ///
    /// # Panics
    /// When the lengths differ.
    fn map(isa: Isa, parallel: &dyn Parallel, op: FloatOp, x: &[Self], out: &mut [Self]);
}

fn one_f32(isa: Isa, op: FloatOp, x: &[f32], out: &mut [f32]) {
    match op {
        FloatOp::Unary(op) => map_f32(isa, op, x, out),
        FloatOp::Shaped(op) => shaped_f32(isa, op, x, out),
    }
}

impl FloatLane for f32 {
    fn map(isa: Isa, parallel: &dyn Parallel, op: FloatOp, x: &[f32], out: &mut [f32]) {
        assert_eq!(x.len(), out.len(), "lengths of source and destination");
        split(parallel, out, &|start, out| one_f32(isa, op, &x[start..][..out.len()], out));
    }
}

impl FloatLane for f64 {
    fn map(_: Isa, parallel: &dyn Parallel, op: FloatOp, x: &[f64], out: &mut [f64]) {
        assert_eq!(x.len(), out.len(), "lengths of source and destination");
        split(parallel, out, &|start, out| {
            let x = &x[start..][..out.len()];
            match op {
                FloatOp::Unary(op) => map_f64(op, x, out),
                FloatOp::Shaped(op) => shaped_f64(op, x, out),
            }
        });
    }
}

macro_rules! halves {
    ($($t:ty)*) => {$(
        impl FloatLane for $t {
            fn map(isa: Isa, parallel: &dyn Parallel, op: FloatOp, x: &[$t], out: &mut [$t]) {
                map_half(isa, parallel, x, out, &|x, out| one_f32(isa, op, x, out));
            }
        }
    )*};
}

halves! { f16 bf16 }

//! Convolutions over one to three spatial dimensions.
//!
//! Inputs and outputs are planes, `[batch, channels, spatial...]` row-major. [`conv`] is the f32
//! convolution: channels that stand alone go through [`depthwise`](self) loops, all others become matrix
//! products of the packed weights ([`pack_weights`]) and columns of the input. [`integer`] does the same with bytes,
//! [`direct`] computes any element type by the definition, [`transpose`] scatters, [`fold`] sums columns, and [`causal`]
//! carries what was before from call to call.

mod causal;
mod columns;
mod depthwise;
pub mod direct;
mod few;
mod fold;
pub mod integer;
mod product;
mod taps;
pub mod transpose;

pub use causal::{Causal, causal};
pub use fold::fold;
pub use product::{Weights, conv, conv_scratch_len, pack_weights};

use crate::window::Window;

/// The sizes of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvShape {
    /// Images.
    pub batch: usize,
    /// Groups of channels that do not mix.
    pub groups: usize,
    /// Input channels of a group.
    pub in_channels: usize,
    /// Output channels of a group.
    pub out_channels: usize,
    /// The geometry.
    pub window: Window,
}

impl ConvShape {
    /// Products summed for an output.
    pub fn depth(&self) -> usize {
        self.in_channels * self.window.taps()
    }

    /// Numbers in the input.
    pub fn input_len(&self) -> usize {
        self.batch * self.groups * self.in_channels * self.window.input_len()
    }

    /// Numbers in the weights, `[groups * out_channels, in_channels, kernel...]`.
    pub fn weights_len(&self) -> usize {
        self.groups * self.out_channels * self.depth()
    }

    /// Numbers in the output.
    pub fn output_len(&self) -> usize {
        self.batch * self.groups * self.out_channels * self.window.output_len()
    }

    /// Multiply-adds for one output plane.
    fn plane_work(&self) -> usize {
        self.depth().saturating_mul(self.window.output_len())
    }
}

/// Whether a convolution of these groups is computed plane by plane rather than as matrix products, whose
/// tiles would be mostly padding.
fn is_depthwise(groups: usize, in_channels: usize) -> bool {
    groups > 1 && in_channels == 1
}

#[cfg(test)]
mod tests;

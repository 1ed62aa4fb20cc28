//! Images in blocks of channels: `[batch, blocks, height, width, BLOCK]`, in which the channels of a pixel that
//! are computed together lie side by side.
//!
//! A block has the same size on every instruction set: one vector, two or four. Where the channels do not fill
//! the last block its other lanes hold *anything*: whoever reads them only computes what lies in the same lanes
//! again, and only [`from_blocks`] and [`global_average`] tell the end of the channels.
//!
//! [`conv`] is the convolution of all channels, [`depthwise`] that of each alone; [`max_pool`] and
//! [`average_pool`], [`affine`] with a factor for each channel, and [`to_blocks`].

mod affine;
mod conv;
mod convert;
mod depthwise;
mod pool;
mod row_tile;
mod source;
mod sums;
mod tile;
mod weights;

pub use affine::{Factors, affine};
pub use conv::{Conv, conv, conv_scratch_len};
pub use convert::{from_blocks, to_blocks};
pub use depthwise::{Depthwise, depthwise, pack_depthwise};
pub use pool::{average_pool, global_average, max_pool};
pub use source::Source;
pub use weights::{pack_weights, packed_len};

/// Channels in a block.
pub const BLOCK: usize = 16;

/// Blocks that hold so many channels.
pub fn blocks(channels: usize) -> usize {
    channels.div_ceil(BLOCK)
}

#[cfg(test)]
mod tests;

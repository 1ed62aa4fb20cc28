//! The tests of sessions as one program, but for those that count what is allocated or run out of memory.
#![allow(clippy::unwrap_used)] // a panic in a test is its report

mod blocks;
mod branches;
mod byte_tables;
mod contrib;
mod earlier_opsets;
mod functions;
mod fused_products;
mod gradient;
mod hoist;
mod hostile;
mod images;
mod lift;
mod lists;
mod maps;
mod ml;
mod nbits;
mod owned;
mod packed;
mod pause;
mod precision;
mod quantized;
mod quantized_convolutions;
mod quantized_layers;
mod random;
mod strings;
mod towers;
mod untied;

//! The protocols of stead.
#![forbid(unsafe_code)]

pub mod json;
pub mod proto;

//! The protocols of stead.
#![forbid(unsafe_code)]

pub mod proto;

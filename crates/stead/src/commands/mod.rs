//! The subcommands, one file each.

pub mod bench;
pub mod conformance;
pub mod demo;
pub mod inspect;
pub mod run;

mod prepare;

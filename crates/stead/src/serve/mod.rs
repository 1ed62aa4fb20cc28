//! `stead serve`: flags, and what they start.

pub mod flags;
mod model;
pub mod options;

use clap::ArgMatches;

use crate::failure::Failure;

/// Runs the command.
pub fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let options = options::resolve(matches)?;
    Err(Failure::failed(format!("cannot serve {:?} yet", options.source)))
}

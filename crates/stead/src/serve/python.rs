//! The flags of `stead serve` that tell which Python runs components.

use std::path::PathBuf;

use clap::ArgMatches;
use stead_node::PythonSettings;

use super::flags::text;
use super::values::{number, switch};
use crate::failure::Failure;

/// Which Python runs the components of an application. How it is tried is not said here.
///
/// # Errors
/// [`Failure::Usage`] for flags without an application, and numbers out of range.
pub(super) fn settings(
    matches: &ArgMatches,
    has_application: bool,
) -> Result<PythonSettings, Failure> {
    const FLAGS: [&str; 5] = [
        "python",
        "python_environments",
        "python_interpreters",
        "python_contain_crashes",
        "development",
    ];
    if let Some(flag) = FLAGS.iter().find(|flag| !has_application && text(matches, flag).is_some())
    {
        return Err(Failure::usage(format!(
            "--{flag} needs --data, an application, or components in stead.toml"
        )));
    }
    let interpreters = number(matches, "python_interpreters", 1, 256)?.map(|n| n as usize);
    Ok(PythonSettings {
        python: text(matches, "python").map(PathBuf::from),
        environments: text(matches, "python_environments").map(PathBuf::from),
        interpreters,
        self_test: None,
        contain_crashes: switch(matches, "python_contain_crashes")?,
        development: switch(matches, "development")?,
    })
}

//! Values of single flags, from text.

use clap::ArgMatches;
use stead_node::{Cores, Pinning};

use super::flags::text;
use crate::failure::Failure;

/// A whole number between two bounds.
pub(super) fn number(
    matches: &ArgMatches,
    name: &str,
    min: u64,
    max: u64,
) -> Result<Option<u64>, Failure> {
    let Some(text) = text(matches, name) else { return Ok(None) };
    match text.parse::<u64>() {
        Ok(n) if (min..=max).contains(&n) => Ok(Some(n)),
        Ok(n) if n < min => Err(Failure::usage(format!("--{name}: {n} is below {min}"))),
        Ok(n) => Err(Failure::usage(format!("--{name}: {n} is above {max}"))),
        Err(_) => Err(Failure::usage(format!("--{name}: `{text}` is not a whole number"))),
    }
}

/// A switch, off unless given.
pub(super) fn switch(matches: &ArgMatches, name: &str) -> Result<bool, Failure> {
    match text(matches, name).map(str::to_ascii_lowercase).as_deref() {
        None | Some("false" | "0") => Ok(false),
        Some("true" | "1") => Ok(true),
        Some(other) => Err(Failure::usage(format!("--{name}: `{other}` is not true or false"))),
    }
}

/// The lowest level of the log.
pub(super) fn level(text: &str) -> Result<tracing::Level, Failure> {
    match text.to_ascii_uppercase().as_str() {
        "TRACE" => Ok(tracing::Level::TRACE),
        "DEBUG" => Ok(tracing::Level::DEBUG),
        "INFO" => Ok(tracing::Level::INFO),
        "WARNING" => Ok(tracing::Level::WARN),
        "ERROR" => Ok(tracing::Level::ERROR),
        _ => Err(Failure::usage(format!(
            "--log_level: `{text}` is not one of TRACE, DEBUG, INFO, WARNING, ERROR"
        ))),
    }
}

/// Where threads that compute run, of the cores that there are.
pub(super) fn pinning(
    text: Option<&str>,
    cores: &Cores,
    threads: Option<usize>,
) -> Result<Pinning, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::usage(format!("--cpu_pinning: {error}"));
    let text = text.unwrap_or("none");
    let pinning: Pinning = text.parse().map_err(|error| {
        let hint = if text.starts_with(|c: char| c.is_ascii_digit()) {
            ""
        } else {
            "; write none, cores or a list"
        };
        Failure::usage(format!("--cpu_pinning: {error}{hint}"))
    })?;
    pinning.places(cores, threads).map_err(|error| wrong(&error))?;
    Ok(pinning)
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::options;
    use super::*;
    use stead_node::write_list;

    #[test]
    fn threads_are_pinned_to_cpus_that_there_are() {
        let made = |line: &str| options(line).map(|made| (made.pinning, made.threads));
        assert_eq!(made("m"), Ok((Pinning::None, None)));
        assert_eq!(made("m --cpu_pinning cores"), Ok((Pinning::Cores, None)));
        let cores = Cores::of_this_process();
        let cpus = cores.cpus();
        let (first, all) = (cpus[0], write_list(&cpus));
        let list = format!("m --cpu_pinning {first} --threads 1");
        assert_eq!(made(&list), Ok((Pinning::List(vec![first]), Some(1))));
        for (line, expected) in [
            (
                "m --cpu_pinning 8191".to_owned(),
                format!("--cpu_pinning: this process has no CPU 8191; it may use {all}"),
            ),
            (
                format!("m --cpu_pinning {first} --threads 2"),
                "--cpu_pinning: 2 threads do not fit on 1 pinned cores: each wants one of its own"
                    .to_owned(),
            ),
        ] {
            assert_eq!(made(&line), Err(Failure::usage(expected)), "{line}");
        }
    }
}

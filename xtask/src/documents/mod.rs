//! `cargo xtask bench documents`: what it costs to rank documents where they are stored, and what it costs to send them to a
//! model, in tables of `bench/RESULTS.md`.

mod blog;
mod clients;
mod cross_encoder;
mod experiment;
mod feed;
mod footprint;
mod link;
mod network;
mod passages;
mod slopes;
pub mod store;
mod sweep;

use std::process::Command;

use crate::context::Context;
use crate::results::{self, Section};
use crate::{Outcome, process};

/// What can be measured on its own, in the order of the tables.
pub const PARTS: [&str; 9] = [
    "experiment",
    "sweep",
    "link",
    "slopes",
    "feed",
    "cross-encoder",
    "tokens",
    "footprint",
    "many",
];

const SECTION: Section = Section {
    title: "Documents",
    task: "documents",
    about: "Written by `cargo xtask bench documents`; a part named behind it (`... documents sweep`) replaces its own table only. \
            Servers and clients share two cores. Goals are those for a quiet machine.",
    parts: &PARTS,
    by_processor: false,
};

/// Builds the programs, measures the named parts, or all, and replaces their tables. A part that cannot be measured says so
/// in its table and does not stop the others; it is false then.
pub fn run(parts: &[&str], quick: bool) -> Outcome {
    let context = Context::new("bench-documents", quick)?;
    results::each_part(&SECTION, parts, quick, |part| match part {
        "experiment" => experiment::table(&context),
        "sweep" => sweep::table(&context),
        "link" => link::table(&context),
        "slopes" => slopes::table(&context),
        "feed" => feed::table(&context),
        "cross-encoder" => cross_encoder::threads(&context),
        "tokens" => cross_encoder::tokens(&context),
        "footprint" => footprint::table(&context),
        _ => footprint::many(&context),
    })
}

/// An example program of a package, built for release when it runs; its arguments follow.
fn example(package: &str, name: &str) -> Command {
    let mut cargo = process::cargo();
    cargo.args(["run", "--release", "--quiet", "--package", package, "--example", name, "--"]);
    cargo
}

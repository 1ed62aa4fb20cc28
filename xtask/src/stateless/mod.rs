//! `cargo xtask bench stateless`: embedding and evaluation of models without stored state, in tables of `bench/RESULTS.md`.

mod beside_feed;
mod burst;
mod dialogue;
mod embedding;
mod load;
mod networks;
mod passages;
mod peers;
mod run_size;
mod serving;

use crate::Outcome;
use crate::context::Context;
use crate::results::{self, Section};

/// What can be measured on its own, in the order of the tables.
pub const PARTS: [&str; 6] = ["embedding", "run-size", "beside-feed", "serving", "burst", "peers"];

const SECTION: Section = Section {
    title: "Stateless",
    task: "stateless",
    about: "Written by `cargo xtask bench stateless`; a part named behind it (`... stateless serving`) replaces its own table only. \
            Servers and clients share two cores. Goals are those for a quiet machine; tables of processors without AMX stand behind, by \
            the newest instructions that they have.",
    parts: &PARTS,
    by_processor: true,
};

/// Builds the programs, measures the named parts, or all, and replaces their tables. A part that cannot be measured says so
/// in its table and does not stop the others; it is false then.
pub fn run(parts: &[&str], quick: bool) -> Outcome {
    let context = Context::new("bench-stateless", quick)?;
    results::each_part(&SECTION, parts, quick, |part| match part {
        "embedding" => embedding::table(&context),
        "run-size" => run_size::table(&context),
        "beside-feed" => beside_feed::table(&context),
        "serving" => serving::table(&context),
        "burst" => burst::table(&context),
        _ => peers::table(&context),
    })
}

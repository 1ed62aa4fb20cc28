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

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::results::{self, Section};
use crate::server::Server;
use crate::{Outcome, bench, paths, process};

/// What can be measured on its own, in the order of the tables.
pub const PARTS: [&str; 6] = ["embedding", "run-size", "beside-feed", "serving", "burst", "peers"];

const SECTION: Section = Section {
    title: "Stateless",
    task: "stateless",
    about: "Written by `cargo xtask bench stateless`; a part named behind it (`... stateless serving`) replaces its own table only. \
            Servers and clients share two cores. Goals are those for a quiet machine.",
    parts: &PARTS,
};

/// What all parts share.
struct Context {
    /// Less time, for a first look.
    quick: bool,
    /// The release binary.
    stead: PathBuf,
    /// The program of ONNX Runtime.
    peers: PathBuf,
    /// For packages, requests and logs.
    folder: PathBuf,
}

/// Builds the programs, measures the named parts, or all, and replaces their tables. A part that cannot be measured says so
/// in its table and does not stop the others; it is false then.
pub fn run(parts: &[&str], quick: bool) -> Outcome {
    let mut build = process::cargo();
    process::run(build.args(["build", "--release", "--package", "stead"]), "cargo build")?;
    let folder = paths::target().join("bench-stateless");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let context =
        Context { quick, stead: paths::stead("release"), peers: bench::peers(false)?, folder };
    results::each_part(&SECTION, parts, quick, |part| match part {
        "embedding" => embedding::table(&context),
        "run-size" => run_size::table(&context),
        "beside-feed" => beside_feed::table(&context),
        "serving" => serving::table(&context),
        "burst" => burst::table(&context),
        _ => peers::table(&context),
    })
}

impl Context {
    /// `stead serve` of a package.
    fn serve(&self, package: &Path, more: &[&str]) -> Result<Server, String> {
        let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut command = process::command(&self.stead, ["serve"]);
        command.arg(package).args(more);
        let ports = |command: &mut Command, rest: &str, grpc: &str| {
            command.args(["--rest_port", rest, "--port", grpc]);
        };
        Server::start(
            command,
            ports,
            &self.folder.join(format!("{name}.log")),
            &["HTTP on", "gRPC on"],
        )
    }

    /// A file of the folder with a text.
    fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    }

    /// A copy of a file in the folder.
    fn copy(&self, from: &Path, name: &str) -> Result<(), String> {
        let to = self.folder.join(name);
        let bad = |e: std::io::Error| format!("{}: {e}", from.display());
        fs::create_dir_all(to.parent().unwrap_or(&self.folder)).map_err(bad)?;
        fs::copy(from, &to).map(drop).map_err(bad)
    }
}

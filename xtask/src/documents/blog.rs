//! `examples/blog-recommendation`, fed to stores, and the searches of its readers.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::Context;
use super::clients::Work;
use super::store::Store;
use crate::server::Server;
use crate::{mlserver, paths, process};

/// Posts that the network orders, and those that are left.
pub const CANDIDATES: usize = 200;
pub const HITS: usize = 10;

/// How answers are made.
pub enum Kind<'a> {
    /// The store ranks by a profile.
    InPlace(&'a str),
    /// Vectors in a form, and nothing is done with them.
    Vectors(&'a str),
    /// ONNX Runtime in the process that merges: the form of vectors, and whether posts are ranked one by one.
    Merging(&'a str, bool),
    /// The same behind a server, by a protocol as `peers documents` names it.
    Served(&'a str, bool, &'a Server, &'a str),
}

/// The example's folder.
fn example() -> PathBuf {
    paths::root().join("examples/blog-recommendation")
}

/// The network.
fn network() -> PathBuf {
    example().join("app/models/recommend.onnx")
}

/// Deploys the example to a store and feeds its 1,000 posts.
///
/// # Errors
/// When the store does not take them.
pub fn feed(context: &Context, store: &Store) -> Result<(), String> {
    let mut feed = script(store.command(Path::new("python3")), "recommend.py");
    feed.args(["--target", &store.server.rest, "--deploy_target", store.deployments()])
        .args(["--reader", "0", "--stead"])
        .arg(&context.stead);
    process::capture(&mut feed, "recommend.py").map(drop)
}

/// MLServer with the network.
///
/// # Errors
/// When it cannot be installed or does not start.
pub fn mlserver(context: &Context) -> Result<Server, String> {
    mlserver::start("recommend", &network(), &context.folder.join("mlserver.log"))
}

/// The readers of the example.
pub struct Readers(Vec<(String, Value)>);

impl Readers {
    /// Their ids and vectors.
    ///
    /// # Errors
    /// When the script does not make them.
    pub fn new() -> Result<Readers, String> {
        let mut make = script(Command::new("python3"), "make_posts.py");
        let lines = process::capture(make.args(["--posts", "0", "-o", "-"]), "make_posts.py")?;
        let reader = |line: &str| {
            let operation: Value = serde_json::from_str(line).ok()?;
            let vector = operation["fields"]["embedding"]["values"].clone();
            Some((operation["put"].as_str()?.to_owned(), vector))
        };
        let readers: Option<Vec<_>> = lines.lines().map(reader).collect();
        let readers = readers.filter(|r| !r.is_empty());
        readers.map(Readers).ok_or_else(|| "make_posts.py made no readers".to_owned())
    }

    /// What clients do who ask for each of them.
    pub fn work(&self, kind: &Kind<'_>) -> Work {
        let asked = match kind {
            Kind::InPlace(profile) => {
                json!({"yql": "select title, topic from post where true", "ranking": profile, "hits": HITS})
            }
            Kind::Vectors(form) | Kind::Merging(form, _) | Kind::Served(form, ..) => {
                json!({"yql": "select embedding from post where true", "ranking": "nearest", "hits": CANDIDATES,
                    "presentation.summary": "vectors", "presentation.format.tensors": form})
            }
        };
        let rank = |ranker: Value, single: &bool| json!({"ranker": ranker, "single": single, "candidates": CANDIDATES, "hits": HITS});
        let rank = match kind {
            Kind::InPlace(_) | Kind::Vectors(_) => Value::Null,
            Kind::Merging(_, single) => rank(json!({"network": {"model": network()}}), single),
            Kind::Served(_, single, server, protocol) => {
                let address = if *protocol == "rest" { &server.rest } else { &server.grpc };
                let address = address.trim_start_matches("http://");
                rank(json!({"server": {"address": address, "protocol": protocol}}), single)
            }
        };
        let search = |(id, _): &(String, Value)| {
            let mut body = asked.clone();
            body["input.query(user_profile)"] = json!(format!("document({id}).embedding"));
            body.to_string()
        };
        Work {
            searches: self.0.iter().map(search).collect(),
            users: self.0.iter().map(|(_, vector)| vector.clone()).collect(),
            rank,
        }
    }
}

fn script(mut python: Command, name: &str) -> Command {
    python.arg(example().join(name)).env("PYTHONDONTWRITEBYTECODE", "1");
    python
}

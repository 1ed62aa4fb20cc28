//! `examples/blog-recommendation`, served and fed, and the searches of its readers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::Context;
use crate::server::Server;
use crate::{paths, process, python};

/// Posts that the network orders, and those that are left.
pub const CANDIDATES: usize = 200;
pub const HITS: usize = 10;

/// The example's folder.
pub fn example() -> PathBuf {
    paths::root().join("examples/blog-recommendation")
}

/// The network.
pub fn network() -> PathBuf {
    example().join("app/models/recommend.onnx")
}

/// A server of the example with its posts.
pub struct Blog {
    pub server: Server,
    /// The ids of the readers and their vectors.
    pub readers: Vec<(String, Value)>,
}

impl Blog {
    /// Serves the example with its 1,000 posts.
    pub fn start(context: &Context) -> Result<Blog, String> {
        let data = context.folder.join("blog");
        let _ = fs::remove_dir_all(&data); // absent the first time
        let mut command = process::command(&context.stead, ["serve", "--data"]);
        command.arg(&data);
        let ports = |command: &mut Command, rest: &str, deploy: &str| {
            command.args(["--rest_port", rest, "--deploy_port", deploy]);
        };
        let log = context.folder.join("stead.log");
        let server = Server::start(command, ports, &log, &["HTTP on", "deployments on"])?;
        // The second port is the one for deployments here.
        let mut feed = script("recommend.py");
        feed.args(["--target", &server.rest, "--deploy_target", &server.grpc, "--reader", "0"])
            .arg("--stead")
            .arg(&context.stead);
        process::capture(&mut feed, "recommend.py")?;
        Ok(Blog { server, readers: readers()? })
    }

    /// The bodies of searches, one for each reader, and the vectors of the readers.
    pub fn searches(&self, parameters: &Value) -> (Vec<String>, Vec<Value>) {
        let search = |(id, _): &(String, Value)| {
            let mut body =
                json!({"input.query(user_profile)": format!("document({id}).embedding")});
            if let (Some(body), Some(more)) = (body.as_object_mut(), parameters.as_object()) {
                body.extend(more.clone());
            }
            body.to_string()
        };
        let vectors = self.readers.iter().map(|(_, vector)| vector.clone()).collect();
        (self.readers.iter().map(search).collect(), vectors)
    }
}

/// What a client asks for ranked posts.
pub fn ranked(profile: &str) -> Value {
    json!({"yql": "select title, topic from post where true", "ranking": profile, "hits": HITS})
}

/// What one asks who ranks the candidates himself.
pub fn candidates(form: &str) -> Value {
    json!({"yql": "select embedding from post where true", "ranking": "nearest", "hits": CANDIDATES,
        "presentation.summary": "vectors", "presentation.format.tensors": form})
}

fn script(name: &str) -> Command {
    let mut python = Command::new("python3");
    python.arg(example().join(name)).env("PYTHONDONTWRITEBYTECODE", "1");
    python
}

fn readers() -> Result<Vec<(String, Value)>, String> {
    let mut make = script("make_posts.py");
    let lines = process::capture(make.args(["--posts", "0", "-o", "-"]), "make_posts.py")?;
    let reader = |line: &str| {
        let operation: Value = serde_json::from_str(line).ok()?;
        let vector = operation["fields"]["embedding"]["values"].clone();
        Some((operation["put"].as_str()?.to_owned(), vector))
    };
    let readers: Option<Vec<_>> = lines.lines().map(reader).collect();
    readers.filter(|r| !r.is_empty()).ok_or_else(|| "make_posts.py made no readers".to_owned())
}

/// MLServer with the network in ONNX Runtime on one thread.
pub fn mlserver(context: &Context) -> Result<Server, String> {
    let python = python::peer("sequences/mlserver")?;
    let mut command = process::command(python.with_file_name("mlserver"), ["start", "."]);
    command
        .current_dir(paths::root().join("bench/peers/documents/mlserver"))
        .env("NETWORK", network())
        // Nothing but results belongs into the source tree.
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let ports = |command: &mut Command, rest: &str, grpc: &str| {
        command.env("MLSERVER_HTTP_PORT", rest).env("MLSERVER_GRPC_PORT", grpc);
    };
    let log: &Path = &context.folder.join("mlserver.log");
    Server::start(command, ports, log, &["gRPC server running", "Loaded model"])
}

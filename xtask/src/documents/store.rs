//! `stead serve --data`: a store that clients of a benchmark ask.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Context;
use super::network::Namespace;
use crate::process;
use crate::server::Server;

/// A server with documents.
pub struct Store {
    pub server: Server,
    /// Where it runs, if not beside the clients.
    namespace: Option<Namespace>,
    stead: PathBuf,
}

impl Store {
    /// Starts one with an empty folder of this name.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(
        context: &Context,
        name: &str,
        namespace: Option<Namespace>,
    ) -> Result<Store, String> {
        let data = context.folder.join(name);
        let _ = fs::remove_dir_all(&data); // absent the first time
        Store::open(context, name, namespace)
    }

    /// Starts one with what the folder of this name has.
    ///
    /// # Errors
    /// When it does not start.
    pub fn open(
        context: &Context,
        name: &str,
        namespace: Option<Namespace>,
    ) -> Result<Store, String> {
        let mut command = within(namespace.as_ref(), &context.stead);
        command.args(["serve", "--data"]).arg(context.folder.join(name));
        if namespace.is_some() {
            command.args(["--rest_bind_address", "0.0.0.0"]);
        }
        let ports = |command: &mut Command, rest: &str, deploy: &str| {
            command.args(["--rest_port", rest, "--deploy_port", deploy]);
        };
        let log = context.folder.join(format!("{name}.log"));
        let server = Server::start(command, ports, &log, &["HTTP on", "deployments on"])?;
        Ok(Store { server, namespace, stead: context.stead.clone() })
    }

    /// Host and port, as clients see it.
    pub fn address(&self) -> String {
        let local = self.server.rest.trim_start_matches("http://");
        match &self.namespace {
            Some(namespace) => local.replace("127.0.0.1", &namespace.address),
            None => local.to_owned(),
        }
    }

    /// The port for deployments, which only its own machine reaches.
    pub fn deployments(&self) -> &str {
        // The second port of a server; the first is for queries.
        &self.server.grpc
    }

    /// Deploys an application.
    ///
    /// # Errors
    /// When it is refused.
    pub fn deploy(&self, app: &Path) -> Result<(), String> {
        let mut command = self.command(&self.stead);
        command.arg("deploy").arg(app).args(["--target", self.deployments()]);
        process::run(&mut command, "stead deploy")
    }

    /// Feeds the documents of a file, and what `stead feed --json` says of it.
    ///
    /// # Errors
    /// When one is refused.
    pub fn feed(&self, file: &Path, connections: usize) -> Result<serde_json::Value, String> {
        let mut command = self.command(&self.stead);
        command.arg("feed").arg(file).args(["--json", "--target", &self.server.rest]);
        command.args(["--connections", &connections.to_string()]);
        let told = process::capture(&mut command, "stead feed")?;
        let told: serde_json::Value =
            serde_json::from_str(&told).map_err(|e| format!("stead feed: {e}"))?;
        let (done, all) = (&told["feeder.ok.count"], &told["feeder.operation.count"]);
        if done == all { Ok(told) } else { Err(format!("stead feed: {done} of {all} documents")) }
    }

    /// A program on the machine of the store.
    pub fn command(&self, program: &Path) -> Command {
        within(self.namespace.as_ref(), program)
    }
}

fn within(namespace: Option<&Namespace>, program: &Path) -> Command {
    match namespace {
        Some(namespace) => namespace.command(program),
        None => Command::new(program),
    }
}

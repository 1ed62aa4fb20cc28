//! What the parts of a benchmark of servers share: programs, and a folder of files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::server::Server;
use crate::{bench, paths, process};

/// What all parts share.
pub struct Context {
    /// Less time, for a first look.
    pub quick: bool,
    /// The release binary.
    pub stead: PathBuf,
    /// The program of the peers, and of some clients.
    pub peers: PathBuf,
    /// For packages, documents, requests and logs.
    pub folder: PathBuf,
}

impl Context {
    /// Builds the programs; files are below `target` in a folder of this name.
    ///
    /// # Errors
    /// A build that fails, and a folder that cannot be made.
    pub fn new(name: &str, quick: bool) -> Result<Context, String> {
        let mut build = process::cargo();
        process::run(build.args(["build", "--release", "--package", "stead"]), "cargo build")?;
        let folder = paths::target().join(name);
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(Context { quick, stead: paths::stead("release"), peers: bench::peers(false)?, folder })
    }

    /// `stead serve` of a package.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn serve(&self, package: &Path, more: &[&str]) -> Result<Server, String> {
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
    ///
    /// # Errors
    /// The operating system's.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    }

    /// A copy of a file in the folder.
    ///
    /// # Errors
    /// The operating system's.
    pub fn copy(&self, from: &Path, name: &str) -> Result<(), String> {
        let to = self.folder.join(name);
        let bad = |e: std::io::Error| format!("{}: {e}", from.display());
        fs::create_dir_all(to.parent().unwrap_or(&self.folder)).map_err(bad)?;
        fs::copy(from, &to).map(drop).map_err(bad)
    }
}

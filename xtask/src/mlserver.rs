//! MLServer with `bench/peers/mlserver/runtime.py` around ONNX Runtime.

use std::path::Path;
use std::process::Command;

use crate::server::Server;
use crate::{paths, process, python};

/// As pinned in its requirements.
pub const VERSION: &str = "1.7.1";

/// Starts it, in one process, with a model by the name of its folder in `bench/peers/mlserver`.
///
/// # Errors
/// When it cannot be installed or does not start.
pub fn start(name: &str, model: &Path, log: &Path) -> Result<Server, String> {
    let python = python::peer("mlserver")?;
    let folder = paths::root().join("bench/peers/mlserver");
    let mut command = process::command(python.with_file_name("mlserver"), ["start", "."]);
    command
        .current_dir(folder.join(name))
        .env("PYTHONPATH", &folder)
        .env("MODEL", model)
        .env("MLSERVER_HOST", "127.0.0.1")
        .env("MLSERVER_DEBUG", "false")
        // More processes share the same cores, and answers go through one of them.
        .env("MLSERVER_PARALLEL_WORKERS", "0")
        .env("MLSERVER_METRICS_ENDPOINT", "")
        .env("MLSERVER_GZIP_ENABLED", "false")
        // Nothing but results belongs into the source tree.
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let ports = |command: &mut Command, rest: &str, grpc: &str| {
        command.env("MLSERVER_HTTP_PORT", rest).env("MLSERVER_GRPC_PORT", grpc);
    };
    Server::start(command, ports, log, &["gRPC server running", "Loaded model"])
}

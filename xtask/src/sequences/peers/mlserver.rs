//! MLServer with `bench/peers/sequences/mlserver/runtime.py` around ONNX Runtime.

use super::{Context, FIRST, Measured, load};
use crate::server::Server;
use crate::{models, paths, process, python};

/// As pinned in its requirements.
pub const VERSION: &str = "1.7.1";

/// The most streams whose state the client carries.
pub fn largest(context: &Context, protocol: &str) -> Measured {
    let python = python::peer("sequences/mlserver")?;
    let model = models::silero_batch()?;
    let mut command = process::command(python.with_file_name("mlserver"), ["start", "."]);
    command
        .current_dir(paths::root().join("bench/peers/sequences/mlserver"))
        .env("SILERO", &model)
        // Nothing but results belongs into the source tree.
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let ports = |command: &mut std::process::Command, rest: &str, grpc: &str| {
        command.env("MLSERVER_HTTP_PORT", rest).env("MLSERVER_GRPC_PORT", grpc);
    };
    let log = context.folder.join("mlserver.log");
    let server = Server::start(command, ports, &log, &["gRPC server running", "Loaded model"])?;
    let model = model.to_string_lossy().into_owned();
    let args = ["--carry", "state=stateN", "--expect", &model];
    load::largest(context, &server, protocol, FIRST, &args)
}

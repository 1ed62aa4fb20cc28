//! NVIDIA Triton as the `nvidia-pytriton` wheel bundles it.
//!
//! pytriton's own interface knows no sequences, so the server of its wheel is started directly. It looks for the stub
//! that runs Python models beside the backend, where the wheel does not have it: the backend is copied and the
//! stub of this Python's version put there, as pytriton does when it starts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::server::Server;
use crate::{paths, process, python};

/// As pinned in its requirements.
pub const VERSION: &str = "0.7.0";

/// Starts it with a model repository in `bench/peers` and variables for its models. `folder` is for its backends and its log.
///
/// # Errors
/// When it cannot be installed or does not start.
pub fn start(models: &str, variables: &[(&str, &Path)], folder: &Path) -> Result<Server, String> {
    let python = python::peer("sequences/triton")?;
    let script = "import sys, sysconfig; print(sysconfig.get_path('purelib')); print('%d.%d' % sys.version_info[:2])";
    let told = process::capture(&mut process::command(&python, ["-c", script]), "python")?;
    let (packages, version) = told.trim().split_once('\n').ok_or("python tells no folder")?;
    let packages = Path::new(packages);
    let triton = packages.join("pytriton/tritonserver");
    let backends = backends(folder, &triton, version)?;

    // The stub takes the packages of the first `python3`.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = python.parent().map(Path::to_owned).into_iter();
    let path = std::env::join_paths(first.chain(std::env::split_paths(&path)));
    let path = path.map_err(|e| format!("PATH: {e}"))?;

    let mut command = process::command(
        triton.join("bin/tritonserver"),
        ["--allow-metrics", "false", "--http-address", "127.0.0.1", "--grpc-address", "127.0.0.1"],
    );
    command
        .arg("--model-repository")
        .arg(paths::root().join("bench/peers").join(models))
        .arg("--backend-directory")
        .arg(&backends)
        .envs(variables.iter().copied())
        .env("LD_LIBRARY_PATH", packages.join("nvidia_pytriton.libs"))
        .env("PATH", path)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let ports = |command: &mut Command, rest: &str, grpc: &str| {
        command.args(["--http-port", rest, "--grpc-port", grpc]);
    };
    let signs = ["Started GRPCInferenceService", "Started HTTPService"];
    Server::start(command, ports, &folder.join("triton.log"), &signs)
}

/// The Python backend with its stub.
fn backends(folder: &Path, triton: &Path, version: &str) -> Result<PathBuf, String> {
    let folder = folder.join("triton-backends");
    let python = folder.join("python");
    fs::create_dir_all(&python).map_err(|e| format!("{}: {e}", python.display()))?;
    let stub = "triton_python_backend_stub";
    let copies = [
        (triton.join("backends/python/libtriton_python.so"), "libtriton_python.so"),
        (
            triton.join("backends/python/triton_python_backend_utils.py"),
            "triton_python_backend_utils.py",
        ),
        (triton.join("python_backend_stubs").join(version).join(stub), stub),
    ];
    for (from, name) in copies {
        fs::copy(&from, python.join(name)).map_err(|e| format!("{}: {e}", from.display()))?;
    }
    Ok(folder)
}

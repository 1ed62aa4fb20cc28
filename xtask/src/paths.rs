//! Where things lie in the workspace.

use std::path::PathBuf;

/// Root of the workspace.
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), PathBuf::from)
}

/// The build directory: `CARGO_TARGET_DIR`, or `target` in the root.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// Models that were fetched or built.
pub fn models() -> PathBuf {
    target().join("models")
}

/// The ONNX node tests, one folder per case.
pub fn node_tests() -> PathBuf {
    target().join("onnx-node-tests")
}

/// The `stead` binary of a profile (`debug` or `release`).
pub fn stead(profile: &str) -> PathBuf {
    target().join(profile).join(format!("stead{}", std::env::consts::EXE_SUFFIX))
}

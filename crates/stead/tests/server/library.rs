//! ONNX Runtime's library.

use std::path::PathBuf;

/// That of the wheel that `cargo xtask test data` installs; without it the tests say so.
pub fn onnxruntime() -> Option<String> {
    let Some(data) = std::env::var_os("STEAD_TEST_DATA") else {
        eprintln!("skipped: STEAD_TEST_DATA is not set (cargo xtask test sets it)");
        return None;
    };
    let pythons = std::fs::read_dir(PathBuf::from(data).join("py/onnx/lib")).ok()?;
    let folders = pythons.flatten().map(|p| p.path().join("site-packages/onnxruntime/capi"));
    let files = folders.filter_map(|f| std::fs::read_dir(f).ok()).flatten().flatten();
    let mut names = files.map(|f| f.path().to_str().unwrap().to_owned());
    let found = names.find(|n| n.contains("/libonnxruntime.so"));
    if found.is_none() {
        eprintln!("skipped: no onnxruntime wheel in target/py/onnx");
    }
    found
}

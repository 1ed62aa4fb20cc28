//! Running other programs.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// `cargo`, as the one that runs this task.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(crate::paths::root());
    command
}

/// What `cargo test` and [`build`] compile beside the default features. Cargo unites the features of what is selected, and
/// each other selection compiles most of the workspace once more: all steps of the tests share this one.
pub const SELECTION: [&str; 3] =
    ["--workspace", "--features", "stead/onnxruntime,stead-wheel/extension"];

/// Builds what tests of other languages run: the binary, the examples and the module of the wheel.
///
/// # Errors
/// A build that failed.
pub fn build() -> Result<(), String> {
    let mut build = cargo();
    build.args(["build", "--quiet"]).args(SELECTION).args(["--lib", "--bins", "--examples"]);
    run(&mut build, "cargo build")
}

/// Runs to the end, output to the terminal; an exit code other than 0 is an error that names `what`.
pub fn run(command: &mut Command, what: &str) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("{what}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{what} failed ({status})")) }
}

/// Runs to the end, shows standard output line by line and gives each line to `see`. True if the exit code was 0.
pub fn stream(
    command: &mut Command,
    what: &str,
    mut see: impl FnMut(&str),
) -> Result<bool, String> {
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|e| format!("{what}: {e}"))?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line.map_err(|e| format!("{what}: {e}"))?;
            println!("{line}");
            see(&line);
        }
    }
    Ok(child.wait().map_err(|e| format!("{what}: {e}"))?.success())
}

/// Runs to the end and returns standard output, whatever the exit code.
pub fn capture(command: &mut Command, what: &str) -> Result<String, String> {
    let output = command.stderr(Stdio::inherit()).output().map_err(|e| format!("{what}: {e}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A command with arguments, for places where a chain reads badly.
pub fn command<S: AsRef<OsStr>>(
    program: impl AsRef<Path>,
    args: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = Command::new(program.as_ref());
    command.args(args);
    command
}

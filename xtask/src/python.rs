//! Python environments below `target/py`, one per family of clients whose pins clash.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::paths;
use crate::process;

/// The interpreter of environment `family`, whose pins are `tests/python/requirements-<family>.txt` and, installed
/// without their dependencies, `requirements-<family>.nodeps.txt`. Installs only when a pin changed.
///
/// # Errors
/// A missing `python3` or its `venv` module, or a failed installation.
pub fn environment(family: &str) -> Result<PathBuf, String> {
    let pins = paths::root().join("tests/python");
    let with = pins.join(format!("requirements-{family}.txt"));
    installed(family, &with, &pins.join(format!("requirements-{family}.nodeps.txt")), "python3")
}

/// The interpreter of the environment of a peer in a folder of `bench/peers`, whose pins are in its `requirements.txt`
/// and, installed without their dependencies, its `nodeps.txt`.
///
/// # Errors
/// As [`environment`].
pub fn peer(path: &str) -> Result<PathBuf, String> {
    peer_by(path, "python3")
}

/// [`peer`] with the Python of a minor version such as `3.10`: that of `PATH`, or one of pyenv's.
///
/// # Errors
/// As there.
pub fn peer_of(path: &str, minor: &str) -> Result<PathBuf, String> {
    let named = format!("python{minor}");
    let runs = Command::new(&named).arg("--version").output().is_ok_and(|o| o.status.success());
    let program = if runs { None } else { pyenv(minor) };
    peer_by(path, &program.unwrap_or(named))
}

/// A Python of pyenv's that is of this minor version.
fn pyenv(minor: &str) -> Option<String> {
    let versions = PathBuf::from(std::env::var_os("HOME")?).join(".pyenv/versions");
    let of_minor = |name: &str| name.strip_prefix(minor).is_some_and(|rest| rest.starts_with('.'));
    let entries = fs::read_dir(versions).ok()?.filter_map(Result::ok);
    let mut found = entries.filter(|entry| entry.file_name().to_str().is_some_and(of_minor));
    Some(found.next()?.path().join("bin/python").to_str()?.to_owned())
}

fn peer_by(path: &str, program: &str) -> Result<PathBuf, String> {
    let folder = paths::root().join("bench/peers").join(path);
    let name = path.rsplit('/').next().unwrap_or(path);
    let (with, without) = (folder.join("requirements.txt"), folder.join("nodeps.txt"));
    installed(&format!("peer-{name}"), &with, &without, program)
}

fn installed(family: &str, with: &Path, without: &Path, program: &str) -> Result<PathBuf, String> {
    let folder = paths::target().join("py").join(family);
    let python = folder.join("bin").join("python");
    let stamp = folder.join("installed");
    let wanted = read(with)? + &read_if_there(without)?;
    if python.exists() && fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    println!("python environment {family}: installing");
    let _ = fs::remove_dir_all(&folder); // absent the first time
    create(program, &folder, &["--without-pip"])?;
    process::run(pip(&python, "install")?.arg("-r").arg(with), "pip install")?;
    if without.exists() {
        process::run(
            pip(&python, "install")?.args(["--no-deps", "-r"]).arg(without),
            "pip install",
        )?;
    }
    // Written last: an installation that was cut short is made anew.
    fs::write(&stamp, wanted).map_err(|e| format!("{}: {e}", stamp.display()))?;
    Ok(python)
}

/// Fetches one wheel by name and version and unpacks it into `folder`, unless it is there.
pub fn wheel(python: &Path, requirement: &str, folder: &Path) -> Result<(), String> {
    let stamp = folder.join("unpacked");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == requirement) {
        return Ok(());
    }
    println!("fetching {requirement}");
    let _ = fs::remove_dir_all(folder); // absent the first time
    let download = folder.join("download");
    fs::create_dir_all(&download).map_err(|e| format!("{}: {e}", download.display()))?;
    process::run(
        pip(python, "download")?
            .args(["--no-deps", "--only-binary", ":all:", "--dest"])
            .arg(&download)
            .arg(requirement),
        "pip download",
    )?;
    let entry =
        fs::read_dir(&download).ok().and_then(|mut entries| entries.next()).and_then(Result::ok);
    let entry = entry.ok_or_else(|| format!("pip downloaded nothing for {requirement}"))?;
    process::run(
        Command::new(python).args(["-m", "zipfile", "-e"]).arg(entry.path()).arg(folder),
        "unpacking the wheel",
    )?;
    let _ = fs::remove_dir_all(&download); // only disk space
    fs::write(&stamp, requirement).map_err(|e| format!("{}: {e}", stamp.display()))
}

/// Packs the wheel of `python/stead` around the module that [`process::build`] compiles, and installs it in an environment
/// that has maturin. Gives the file.
///
/// # Errors
/// A build or an installation that failed.
pub fn built(python: &Path) -> Result<PathBuf, String> {
    process::build()?;
    let out = paths::target().join("wheels");
    let _ = fs::remove_dir_all(&out); // absent the first time
    let module =
        format!("{}stead_wheel{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let mut pack = Command::new(python);
    pack.arg(paths::root().join("tests/python/tools/pack_wheel.py"));
    pack.arg(paths::target().join("debug").join(module)).arg(&out);
    process::run(&mut pack, "packing the wheel")?;
    let file = fs::read_dir(&out).ok().and_then(|mut files| files.next()).and_then(Result::ok);
    let file = file.ok_or("no wheel was packed")?.path();
    let install = ["--no-deps", "--no-index", "--force-reinstall"];
    process::run(pip(python, "install")?.args(install).arg(&file), "pip install")?;
    Ok(file)
}

/// Makes a virtual environment.
fn create(program: &str, folder: &Path, options: &[&str]) -> Result<(), String> {
    process::run(
        Command::new(program).args(["-m", "venv"]).args(options).arg(folder),
        &format!("{program} -m venv (Debian: apt install {program}-venv)"),
    )
}

/// `pip <verb>` for an environment, quiet; which index it asks is for the configuration of the machine to say.
///
/// One environment has pip and serves all: it takes a third of the time of a small one to install. Files are compiled when
/// they are imported, which few are.
fn pip(python: &Path, verb: &str) -> Result<Command, String> {
    let folder = paths::target().join("py/pip");
    let own = folder.join("bin/python");
    if !own.exists() {
        create("python3", &folder, &[])?;
    }
    let mut command =
        process::command(own, ["-m", "pip", "--disable-pip-version-check", "--python"]);
    command.arg(python).args([verb, "--quiet"]);
    if verb == "install" {
        command.arg("--no-compile");
    }
    Ok(command)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn read_if_there(path: &Path) -> Result<String, String> {
    if path.exists() { read(path) } else { Ok(String::new()) }
}

//! What Python this machine has, which way it would be run, and why.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Installation, Mode, StartOptions, Worker, WorkerLimits, tunables};

/// A program that runs [`self_test_here`](crate::self_test_here) for the Python whose path is its last argument, and ends
/// with status 0 when that succeeds. A self-test that fails may crash its process, so it has one of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelfTest {
    /// The program.
    pub program: PathBuf,
    /// Its arguments before the path.
    pub arguments: Vec<OsString>,
}

impl SelfTest {
    /// Runs it.
    ///
    /// # Errors
    /// How it ended and what it wrote.
    pub fn run(&self, python: &Installation) -> Result<(), String> {
        let output = Command::new(&self.program)
            .args(&self.arguments)
            .arg(&python.executable)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{}: {error}", self.program.display()))?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let last = text.trim().lines().last().unwrap_or_default();
        Err(format!("{}: {last}", output.status).trim_end_matches([':', ' ']).to_owned())
    }
}

/// The way in which a Python is run, and why it is not the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The way.
    pub mode: Mode,
    /// Why not inside the process.
    pub reason: Option<String>,
}

/// Chooses: inside the process if the build allows it and the self-test succeeds.
pub fn choose(python: &Installation, self_test: Option<&SelfTest>) -> Choice {
    let refused = match &python.library {
        Err(refusal) => Some(refusal.to_string()),
        Ok(_) => self_test
            .and_then(|test| test.run(python).err())
            .map(|text| format!("the self-test failed ({text})")),
    };
    Choice { mode: if refused.is_some() { Mode::Worker } else { Mode::InProcess }, reason: refused }
}

/// A report on one Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonReport {
    /// What is installed.
    pub python: Installation,
    /// How it would be run.
    pub choice: Choice,
    /// Whether a worker process of it starts.
    pub worker: Result<(), String>,
}

/// A report on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The architecture that stead was built for.
    pub architecture: &'static str,
    /// The version of the GNU C library, where there is one.
    pub glibc: Option<String>,
    /// The most interpreters inside one process, as this one was started.
    pub namespaces: usize,
    /// The same, once a process has started itself anew (see [`reexec_wanted`](crate::reexec_wanted)).
    pub namespaces_anew: usize,
    /// The Pythons, the one that would be used first.
    pub pythons: Vec<PythonReport>,
}

/// Looks at the Python that is named, or at all that are found, and tries each.
///
/// # Errors
/// That the named one is none.
pub fn doctor(named: Option<&Path>, self_test: &SelfTest) -> Result<Report, crate::ProbeError> {
    let mut found = match named {
        Some(python) => vec![Installation::of(python)?],
        None => crate::find_all(),
    };
    // As `find_default` chooses; the sort keeps the order.
    found.sort_by_key(|python| python.library.is_err());
    let pythons = found.into_iter().map(|python| {
        let started = Worker::start(&python, &StartOptions::default(), WorkerLimits::default());
        let worker = started.map(drop).map_err(|error| error.to_string());
        PythonReport { choice: choose(&python, Some(self_test)), worker, python }
    });
    let here = cfg!(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"));
    let namespaces = if here { tunables::namespace_limit() } else { 0 };
    Ok(Report {
        architecture: std::env::consts::ARCH,
        glibc: glibc_version(),
        namespaces,
        namespaces_anew: if here { tunables::MOST } else { 0 },
        pythons: pythons.collect(),
    })
}

/// The version, such as `2.36`.
#[cfg(target_env = "gnu")]
#[allow(unsafe_code)] // a function of the C library
fn glibc_version() -> Option<String> {
    // SAFETY: gives a text that lives as long as the program.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    Some(version.to_string_lossy().into_owned())
}

#[cfg(not(target_env = "gnu"))]
fn glibc_version() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NotInProcess, Version};

    #[test]
    fn what_fails_the_self_test_runs_as_a_worker() {
        let version = Version { major: 3, minor: 11, micro: 2 };
        let with = |library| Installation {
            executable: "/usr/bin/python3".into(),
            prefix: "/usr".into(),
            version,
            library,
        };
        let there = with(Ok("/lib/libpython3.11.so".into()));
        let test = |program: &str, arguments: &[&str]| SelfTest {
            program: program.into(),
            arguments: arguments.iter().map(OsString::from).collect(),
        };
        let says = ["-c", "echo first >&2; echo 'it is wrong' >&2; kill -SEGV $$"];
        let cases = [
            ("succeeds", &there, test("/bin/true", &[]), None),
            ("fails", &there, test("/bin/false", &[]), Some("(exit status: 1)")),
            ("crashes", &there, test("/bin/sh", &says), Some("SIGSEGV)")),
            ("tells", &there, test("/bin/sh", &says), Some(": it is wrong)")),
            ("is not there", &there, test("/nowhere", &[]), Some("/nowhere: No such file")),
            (
                "is not asked",
                &with(Err(NotInProcess::NotShared)),
                test("/bin/true", &[]),
                Some("--enable-shared"),
            ),
        ];
        for (label, python, self_test, expected) in cases {
            let choice = choose(python, Some(&self_test));
            let mode = if expected.is_some() { Mode::Worker } else { Mode::InProcess };
            assert_eq!(choice.mode, mode, "{label}");
            let reason = choice.reason.unwrap_or_default();
            assert!(reason.contains(expected.unwrap_or_default()), "{label}: {reason}");
        }
    }
}

//! A Python on this machine: where it is, what it is, and whether it can run inside this process.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A version of Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 3.
    pub major: u32,
    /// The one that wheels are built for.
    pub minor: u32,
    /// The one of corrections.
    pub micro: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.micro)
    }
}

/// The oldest Python that worker processes can be of: sockets that pass files.
const OLDEST_WORKER: u32 = 9;

/// The minor versions of Python 3 whose start is known.
pub(crate) const INSIDE: std::ops::RangeInclusive<u32> = 10..=14;

/// How long a Python may take to say what it is.
const PROBE_TIME: Duration = Duration::from_secs(20);

/// A Python that can be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// The program, of a virtual environment where it is one.
    pub executable: PathBuf,
    /// `sys.prefix`: the folder of the environment.
    pub prefix: PathBuf,
    /// The version.
    pub version: Version,
    /// The library to run inside this process, or why that cannot be; a worker process can have it in any case.
    pub library: Result<PathBuf, NotInProcess>,
}

/// Why a Python cannot run inside this process.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotInProcess {
    /// Namespaces of the loader, and the code that stead puts into them, are for glibc on x86-64.
    #[error("only glibc on x86-64 Linux has what this needs, and stead was built for {0}")]
    Platform(&'static str),
    /// Another implementation than CPython.
    #[error("it is {0}, not CPython")]
    Implementation(String),
    /// A version whose structures are not known.
    #[error("version {0} is not one of 3.10 to 3.14")]
    Version(Version),
    /// A build without the global lock, whose objects are laid out differently.
    #[error("it was built without the global interpreter lock")]
    FreeThreaded,
    /// A build for debugging, whose objects are laid out differently.
    #[error("it was built for debugging (Py_DEBUG)")]
    Debug,
    /// No libpython belongs to it.
    #[error("it was built without a shared library (--enable-shared)")]
    NotShared,
    /// The library that should belong to it is not installed.
    #[error("its library {name} is not in {}; Debian has it in the package {package}", folders.join(" or "))]
    LibraryMissing {
        /// The file's name.
        name: String,
        /// Where it was looked for.
        folders: Vec<String>,
        /// What to install.
        package: String,
    },
}

/// Why something is not a Python that can be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// Nothing is there.
    #[error("{0} is neither a program, a virtual environment nor a name on PATH")]
    Missing(PathBuf),
    /// It does not run, or says something else than Python would.
    #[error("{program} does not run as Python: {text}")]
    NotPython {
        /// The program.
        program: PathBuf,
        /// What it said.
        text: String,
    },
    /// Too old even for a worker process.
    #[error("{program} is Python {version}; 3.9 is the oldest that can be used")]
    TooOld {
        /// The program.
        program: PathBuf,
        /// Its version.
        version: Version,
    },
}

/// Prints one `key=value` a line. Debian keeps the library in a folder named after the architecture.
const PROBE: &str = "\
import sys, sysconfig
get = sysconfig.get_config_var
print('implementation=' + sys.implementation.name)
print('version=%d.%d.%d' % sys.version_info[:3])
print('executable=' + sys.executable)
print('prefix=' + sys.prefix)
print('base=' + sys.base_prefix)
for name in ('LIBDIR', 'INSTSONAME', 'MULTIARCH', 'Py_ENABLE_SHARED', 'Py_GIL_DISABLED', 'Py_DEBUG'):
    print(name + '=' + str(get(name) or ''))
";

impl Installation {
    /// The Python that `python` names: a program, the folder of a virtual environment, or a name on `PATH`. It is run
    /// once.
    ///
    /// # Errors
    /// [`ProbeError`].
    pub fn of(python: &Path) -> Result<Installation, ProbeError> {
        let program = program(python).ok_or_else(|| ProbeError::Missing(python.into()))?;
        let text = probe(&program)
            .map_err(|text| ProbeError::NotPython { program: program.clone(), text })?;
        let facts = Facts(&text);
        let version = facts.version().ok_or_else(|| ProbeError::NotPython {
            program: program.clone(),
            text: "it does not tell its version".to_owned(),
        })?;
        if version.major != 3 || version.minor < OLDEST_WORKER {
            return Err(ProbeError::TooOld { program, version });
        }
        let executable = match facts.get("executable") {
            "" => program,
            executable => executable.into(),
        };
        let library = facts.library(version);
        Ok(Installation { executable, prefix: facts.get("prefix").into(), version, library })
    }
}

/// The program behind a path, an environment or a name.
fn program(python: &Path) -> Option<PathBuf> {
    if python.is_dir() {
        return Some(python.join("bin").join("python")).filter(|program| program.is_file());
    }
    if python.components().count() > 1 || python.is_file() {
        return python.is_file().then(|| python.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(python)).find(|file| file.is_file())
}

/// What the program prints, or why it does not.
fn probe(program: &Path) -> Result<String, String> {
    let mut child = Command::new(program)
        .args(["-I", "-c", PROBE])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = out.map_or(Ok(0), |mut out| out.read_to_string(&mut text));
        // Nobody listens any more when the time has passed.
        let _ = send.send(read.map(|_| text));
    });
    let Ok(text) = receive.recv_timeout(PROBE_TIME) else {
        // It may have ended by itself.
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("it did not answer within {} s", PROBE_TIME.as_secs()));
    };
    let status = child.wait().map_err(|e| e.to_string())?;
    if status.success() {
        return text.map_err(|e| e.to_string());
    }
    let mut said = String::new();
    if let Some(mut err) = err {
        let _ = err.read_to_string(&mut said); // The status says enough where this is not text.
    }
    Err(format!("{status} {}", said.trim()))
}

/// The lines of the probe.
struct Facts<'a>(&'a str);

impl<'a> Facts<'a> {
    fn get(&self, key: &str) -> &'a str {
        let value = |line: &'a str| line.strip_prefix(key)?.strip_prefix('=');
        self.0.lines().find_map(value).unwrap_or_default()
    }

    fn version(&self) -> Option<Version> {
        let mut parts = self.get("version").split('.').map(|part| part.parse().ok());
        let mut next = || parts.next().flatten();
        Some(Version { major: next()?, minor: next()?, micro: next()? })
    }

    fn library(&self, version: Version) -> Result<PathBuf, NotInProcess> {
        if !cfg!(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")) {
            return Err(NotInProcess::Platform(std::env::consts::ARCH));
        }
        let implementation = self.get("implementation");
        if implementation != "cpython" {
            return Err(NotInProcess::Implementation(implementation.to_owned()));
        }
        if !INSIDE.contains(&version.minor) {
            return Err(NotInProcess::Version(version));
        }
        if self.get("Py_GIL_DISABLED") == "1" {
            return Err(NotInProcess::FreeThreaded);
        }
        if self.get("Py_DEBUG") == "1" {
            return Err(NotInProcess::Debug);
        }
        let name = self.get("INSTSONAME");
        if self.get("Py_ENABLE_SHARED") != "1" || !name.contains(".so") {
            return Err(NotInProcess::NotShared);
        }
        let folder = Path::new(self.get("LIBDIR"));
        // A Python that was moved after it was built says where it was built.
        let beside = Path::new(self.get("base")).join("lib");
        let folders = [folder.to_owned(), folder.join(self.get("MULTIARCH")), beside];
        let file = folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
        let missing = || NotInProcess::LibraryMissing {
            name: name.to_owned(),
            folders: folders[..2].iter().map(|f| f.display().to_string()).collect(),
            package: format!("libpython{}.{}", version.major, version.minor),
        };
        file.ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(changes: &[(&str, &str)]) -> String {
        let folder = std::env::temp_dir().display().to_string();
        let usual = [
            ("implementation", "cpython"),
            ("version", "3.11.2"),
            ("LIBDIR", folder.as_str()),
            ("INSTSONAME", "libpython3.11.so.1.0"),
            ("MULTIARCH", "x86_64-linux-gnu"),
            ("Py_ENABLE_SHARED", "1"),
            ("Py_GIL_DISABLED", ""),
            ("Py_DEBUG", "0"),
        ];
        let value = |&(key, value): &(&str, &str)| {
            let changed = changes.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
            format!("{key}={}\n", changed.unwrap_or(value))
        };
        usual.iter().map(value).collect()
    }

    #[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
    #[test]
    fn builds_that_cannot_run_inside_are_refused_by_name() {
        let cases: [(&str, &[(&str, &str)], &str); 7] = [
            ("pypy", &[("implementation", "pypy")], "it is pypy"),
            ("old", &[("version", "3.9.1")], "version 3.9.1 is not one of"),
            ("unknown", &[("version", "3.15.0")], "version 3.15.0 is not one of"),
            ("free-threaded", &[("Py_GIL_DISABLED", "1")], "without the global interpreter lock"),
            ("debug", &[("Py_DEBUG", "1")], "Py_DEBUG"),
            ("static", &[("Py_ENABLE_SHARED", "0")], "--enable-shared"),
            ("not installed", &[("LIBDIR", "/nowhere")], "in the package libpython3.11"),
        ];
        for (label, changes, expected) in cases {
            let text = facts(changes);
            let facts = Facts(&text);
            let refusal = facts.library(facts.version().unwrap()).unwrap_err().to_string();
            assert!(refusal.contains(expected), "{label}: {refusal}");
        }
    }

    #[test]
    fn what_is_no_python_is_told_apart() {
        let of = |path: &str| Installation::of(Path::new(path)).unwrap_err();
        assert!(matches!(of("/nowhere/python"), ProbeError::Missing(_)));
        assert!(matches!(of("no-such-name-on-path"), ProbeError::Missing(_)));
        assert!(matches!(of("/"), ProbeError::Missing(_)), "a folder without bin/python");
        assert!(matches!(of("/bin/true"), ProbeError::NotPython { .. }));
        let ProbeError::NotPython { text, .. } = of("/bin/false") else { panic!() };
        assert!(text.contains("exit status: 1"), "{text}");
    }
}

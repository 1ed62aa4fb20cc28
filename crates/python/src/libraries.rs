//! Whether a libpython that could run inside this process is on the machine, told by names of files alone: to run every
//! Python that there is takes longer than a server takes to start.

use std::path::{Path, PathBuf};

use crate::installation::INSIDE;

/// Where distributions put libraries.
const SYSTEM: [&str; 4] = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"];

/// Whether a library lies where the Pythons of `PATH`, of the active virtual environment, of pyenv and of the system have theirs.
pub fn library_in_sight() -> bool {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = std::env::split_paths(&path).flat_map(|folder| programs_of(&folder));
    let environment = variable("VIRTUAL_ENV").into_iter().map(|folder| folder.join("bin/python"));
    let pyenv = variable("PYENV_ROOT").or_else(|| Some(variable("HOME")?.join(".pyenv")));
    let versions = pyenv.and_then(|root| std::fs::read_dir(root.join("versions")).ok());
    let versions = versions.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    environment
        .chain(programs)
        .flat_map(|program| beside(&program))
        .chain(versions.map(|version| version.join("lib")))
        .chain(SYSTEM.map(PathBuf::from))
        .any(|folder| has_library(&folder))
}

fn programs_of(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let names = INSIDE.map(|minor| format!("python3.{minor}"));
    let names = ["python3".to_owned()].into_iter().chain(names);
    let folder = folder.to_owned();
    names.map(move |name| folder.join(name))
}

/// The folders of libraries that belong to a program.
fn beside(program: &Path) -> Option<PathBuf> {
    // The one of a virtual environment is a link to that which it was made of.
    let program = program.canonicalize().ok()?;
    Some(program.parent()?.parent()?.join("lib"))
}

fn has_library(folder: &Path) -> bool {
    INSIDE.into_iter().any(|minor| folder.join(format!("libpython3.{minor}.so.1.0")).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_lie_beside_programs() {
        let root = std::env::temp_dir().join(format!("stead-libraries-{}", std::process::id()));
        for folder in ["bin", "lib", "env/bin"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("bin/python3.12"), "").unwrap();
        let link = root.join("env/bin/python");
        std::os::unix::fs::symlink(root.join("bin/python3.12"), &link).unwrap();
        let lib = beside(&link).unwrap();
        assert!(lib.ends_with("lib") && !has_library(&lib));
        for (name, is_one) in [
            ("libpython3.9.so.1.0", false),
            ("libpython3.15.so.1.0", false),
            ("libpython3.so", false),
            ("libpython3.12.so.1.0", true),
        ] {
            std::fs::write(lib.join(name), "").unwrap();
            assert_eq!(has_library(&lib), is_one, "{name}");
        }
        assert!(programs_of(&root.join("bin")).any(|program| program.is_file()));
        assert_eq!(beside(&root.join("bin/python3")), None);
        std::fs::remove_dir_all(root).unwrap();
    }
}

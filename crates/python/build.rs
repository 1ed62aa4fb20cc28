//! Puts the Python modules that every interpreter has into one file for `src/library.rs`: `stead_package` and the module
//! `stead`.

use std::env;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no CARGO_MANIFEST_DIR")?);
    let mut modules = Vec::new();
    for package in ["stead", "stead_package", "stead_package.export"] {
        let first = package.split('.').next().unwrap_or_default();
        modules.extend(modules_of(package, &root.join("../../python").join(first).join("src"))?);
    }
    // Places count from the begin of the file; the first line tells them, so it is as long as it is with the largest.
    let index_of = |begin: usize| {
        let (mut index, mut at) = (String::new(), begin);
        for (name, source) in &modules {
            let separator = if index.is_empty() { "" } else { ";" };
            let _ = write!(index, "{separator}{name} {at:08} {:08}", at + source.len());
            at += source.len();
        }
        index
    };
    let index = index_of(index_of(0).len() + 1);
    if index.len() >= 1 << 16 {
        return Err("the index of the library is longer than bootstrap.py reads".into());
    }
    let sources: String = modules.iter().map(|(_, source)| source.as_str()).collect();
    let to = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?).join("library");
    fs::write(to, format!("{index}\n{sources}"))?;
    Ok(())
}

/// Names and sources of the modules of a package, without those of its folders.
fn modules_of(package: &str, folder: &Path) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let folder = folder.join(package.replace('.', "/")).canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(&folder)? {
        files.push(entry?.path());
    }
    files.sort();
    let mut modules = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "py")) {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let name = match &*name {
            "__main__" => continue,
            "__init__" => package.to_owned(),
            name => format!("{package}.{name}"),
        };
        modules.push((name, fs::read_to_string(file)?));
    }
    Ok(modules)
}

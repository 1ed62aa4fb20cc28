//! Lists the importing half of `stead_package` for `src/library.rs`.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no CARGO_MANIFEST_DIR")?);
    // The exporting half is a folder in it.
    let folder = root.join("../../python/stead_package/src/stead_package").canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(&folder)? {
        files.push(entry?.path());
    }
    files.sort();
    let mut list = "&[\n".to_owned();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "py")) {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        if name != "__main__" {
            writeln!(list, "    ({name:?}, include_str!({:?})),", file.display().to_string())?;
        }
    }
    list.push_str("]\n");
    let to = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?).join("library.in");
    fs::write(to, list)?;
    Ok(())
}

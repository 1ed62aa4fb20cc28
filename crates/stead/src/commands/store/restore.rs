//! `stead store restore`.

use std::fs;
use std::io;
use std::path::Path;

use stead_node::copy_folder;

use super::verify;
use crate::failure::Failure;

pub(super) fn run(backup: &Path, folder: &Path) -> Result<(), Failure> {
    let fail = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", backup.display()));
    if !backup.join("applications/active").is_file() || !backup.join("documents").is_dir() {
        return Err(fail(
            &"this is no backup: expected a folder that `stead store backup` has written",
        ));
    }
    let found = verify::read(backup)?;
    if let Some(problem) = found.problems().next() {
        return Err(fail(&format!("nothing is restored: {problem}")));
    }
    let is_empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    if !is_empty {
        let text = format!("{}: expected an empty folder, or none", folder.display());
        return Err(Failure::failed(text));
    }
    let copied = ["documents", "applications"]
        .into_iter()
        .try_for_each(|name| copy_folder(&backup.join(name), &folder.join(name)));
    copied.map_err(|e| Failure::failed(format!("{}: {e}", folder.display())))?;
    let documents = found.snapshots.first().into_iter().flat_map(|snapshot| &snapshot.documents);
    let count: usize = documents.map(|(_, count)| count).sum();
    println!(
        "restored {count} documents; start a server with: stead serve --data {}",
        folder.display()
    );
    Ok(())
}

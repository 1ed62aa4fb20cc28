//! What tells the code of a component apart from other code: states of sequences are gone on with by the code that made them, and by no
//! other.

use std::collections::BTreeSet;
use std::io::Read;

use stead_app::components::PythonSource;
use stead_app::package::PackageFiles;
use stead_python::Component;
use xxhash_rust::xxh3::Xxh3;

/// The content of a component's package, with its class and settings.
///
/// # Errors
/// Files that cannot be read, in words.
pub(super) fn identity(
    files: &PackageFiles,
    package: &str,
    source: Option<PythonSource>,
    component: &Component,
) -> Result<String, String> {
    let paths = match source {
        Some(PythonSource::Archive(path)) => vec![path],
        Some(PythonSource::Sources(paths)) => paths,
        None => Vec::new(),
    };
    let folder = format!("python/{package}");
    let all: BTreeSet<&str> =
        files.below(&folder).chain(paths.iter().map(String::as_str)).collect();
    let (mut hash, mut piece) = (Xxh3::new(), vec![0; 1 << 16]);
    for path in all {
        hash.update(path.as_bytes());
        let mut reader = files.reader(path).map_err(|error| error.to_string())?;
        loop {
            match reader.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => hash.update(piece.get(..length).unwrap_or_default()),
                Err(error) => return Err(format!("its code cannot be read: {error}")),
            }
        }
    }
    let Component { module, class, settings, .. } = component;
    Ok(format!("python {:032x} {module}:{class} {settings:?}", hash.digest128()))
}

//! How far files were fed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Which operations were answered for good. Few are, beyond the first that was not: connections go on beside each other.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Position {
    /// The files that it is of.
    files: Vec<PathBuf>,
    /// All operations with smaller numbers were.
    below: u64,
    /// And these.
    beyond: BTreeSet<u64>,
}

impl Position {
    /// The position that a file has, or the beginning where there is none.
    ///
    /// # Errors
    /// When it cannot be read, or is of other files.
    pub fn open(file: &Path, files: &[PathBuf]) -> Result<Position, Failure> {
        let fail = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", file.display()));
        let text = match std::fs::read(file) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Position { files: files.to_vec(), ..Position::default() });
            }
            Err(e) => return Err(fail(&e)),
        };
        let position: Position = serde_json::from_slice(&text)
            .map_err(|e| fail(&format!("expected the position of a feed: {e}")))?;
        match position.files == files {
            true => Ok(position),
            false => Err(fail(&"this is the position of other files")),
        }
    }

    /// Writes it, so that the file has it whole at any moment.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, file: &Path) -> Result<(), Failure> {
        let fail = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", file.display()));
        let text = serde_json::to_vec(self).map_err(|e| fail(&e))?;
        let mut beside = file.as_os_str().to_owned();
        beside.push(".new");
        std::fs::write(&beside, text)
            .and_then(|()| std::fs::rename(&beside, file))
            .map_err(|e| fail(&e))
    }

    /// Takes the file away at the end.
    ///
    /// # Errors
    /// When it stays.
    pub fn remove(file: &Path) -> Result<(), Failure> {
        match std::fs::remove_file(file) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(Failure::failed(format!("{}: {e}", file.display())))
            }
            _ => Ok(()),
        }
    }

    /// An operation was answered.
    pub fn done(&mut self, number: u64) {
        self.beyond.insert(number);
        while self.beyond.remove(&self.below) {
            self.below += 1;
        }
    }

    /// Whether it was.
    pub fn has(&self, number: u64) -> bool {
        number < self.below || self.beyond.contains(&number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_done_in_any_order() {
        let mut position = Position::default();
        for (done, below) in [(1, 0), (0, 2), (4, 2), (3, 2), (2, 5)] {
            position.done(done);
            assert_eq!(position.below, below, "{done}");
            assert!(position.has(done));
        }
        assert!(!position.has(5));
        assert!(position.beyond.is_empty());
    }

    #[test]
    fn positions_are_kept_in_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("position");
        let files = [PathBuf::from("a.jsonl")];
        let mut position = Position::open(&file, &files).unwrap();
        [0, 1, 5].into_iter().for_each(|number| position.done(number));
        position.save(&file).unwrap();
        assert_eq!(Position::open(&file, &files).unwrap(), position);
        let other = Position::open(&file, &[PathBuf::from("b.jsonl")]).unwrap_err().to_string();
        assert!(other.ends_with("this is the position of other files"), "{other}");
        std::fs::write(&file, "{}").unwrap();
        let broken = Position::open(&file, &files).unwrap_err().to_string();
        assert!(broken.contains("expected the position of a feed"), "{broken}");
        Position::remove(&file).unwrap();
        Position::remove(&file).unwrap();
    }
}

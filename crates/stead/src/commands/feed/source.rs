//! The operations of files.

use std::fs::File;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stead_store::Objects;

use super::operation::Operation;
use super::tally::Tally;
use crate::failure::Failure;
use crate::packed::unpacked;

/// The operations of files, one file after the other.
pub struct Source<'f> {
    files: &'f [PathBuf],
    tally: &'f Arc<Tally>,
    open: Option<(String, Objects<Box<dyn BufRead>>)>,
    next: u64,
}

impl<'f> Source<'f> {
    /// All of them, but for those that were done before.
    pub fn new(files: &'f [PathBuf], tally: &'f Arc<Tally>) -> Source<'f> {
        Source { files, tally, open: None, next: 0 }
    }

    /// The next operation that is to be sent. One that is none is counted as an error.
    ///
    /// # Errors
    /// When a file cannot be read, or what stands in it is no JSON that could be told apart.
    pub fn next(&mut self) -> Result<Option<Operation>, Failure> {
        loop {
            let Some((name, objects)) = &mut self.open else {
                let Some((first, rest)) = self.files.split_first() else { return Ok(None) };
                self.open = Some((first.display().to_string(), open(first, self.tally)?));
                self.files = rest;
                continue;
            };
            let object = objects.next().map_err(|e| Failure::failed(format!("{name}: {e}")))?;
            let Some((line, object)) = object else {
                self.open = None;
                continue;
            };
            let number = self.next;
            self.next += 1;
            if self.tally.was_done(number) {
                continue;
            }
            let place = format!("{name}:{line}");
            match Operation::read(number, place, object) {
                Ok(operation) => return Ok(Some(operation)),
                Err(text) => self.tally.refused(number, &format!("{name}:{line}: {text}")),
            }
        }
    }
}

/// A file, unpacked by its ending; the bar follows the bytes of the file itself.
fn open(path: &Path, tally: &Tally) -> Result<Objects<Box<dyn BufRead>>, Failure> {
    let fail = |e: std::io::Error| Failure::failed(format!("{}: {e}", path.display()));
    let file: Box<dyn Read> = match path.to_str() {
        Some("-") => Box::new(std::io::stdin()),
        _ => Box::new(File::open(path).map_err(fail)?),
    };
    let file = tally.bar().wrap_read(file);
    Ok(Objects::new(unpacked(path, file).map_err(fail)?))
}

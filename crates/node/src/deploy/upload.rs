//! A package that is arriving.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::{Code, Error};

/// The largest package, as a zip or tar.gz: that of Vespa Cloud is smaller.
const MAX_BYTES: u64 = 4 << 30;

/// The bytes of a package, on disk as they arrive. They are gone when it is dropped.
#[derive(Debug)]
pub struct Upload {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl Upload {
    pub(super) fn new(path: PathBuf) -> io::Result<Upload> {
        Ok(Upload { file: File::create(&path)?, path, bytes: 0 })
    }

    /// Adds the bytes that arrived.
    ///
    /// # Errors
    /// [`Code::PayloadTooLarge`]; when the disk takes no more.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        if self.bytes > MAX_BYTES {
            let text = format!("the application package has more than {MAX_BYTES} bytes");
            return Err(Error::new(Code::PayloadTooLarge, text));
        }
        self.file.write_all(bytes).map_err(|e| failed("keep the application package", &e))
    }

    pub(super) fn path(&self) -> &PathBuf {
        &self.path
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// What the disk refused; a full one in a class of its own.
pub(super) fn failed(what: &str, error: &io::Error) -> Error {
    let code = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Code::ResourceExhausted,
        _ => Code::Internal,
    };
    Error::new(code, format!("cannot {what}: {}", error.kind()))
}

//! ONNX Runtime in this process.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ort::session::Session;

use crate::{Result, variable};

/// Sessions of a model, as many as threads rank: a run has one for itself.
pub struct Sessions(Mutex<Vec<Session>>);

/// The threads of this program that rank.
pub const RANKING: usize = 2;

impl Sessions {
    /// Sessions whose runs take so many threads each.
    pub fn new(model: &Path, threads: usize) -> Result<Sessions> {
        let env = ort::init_from(variable("ORT_DYLIB_PATH")?)?.build()?;
        let mut sessions = Vec::new();
        for _ in 0..RANKING {
            let session = Session::builder(&env)?
                .with_intra_threads(threads)
                .map_err(|e| e.to_string())?
                .with_inter_threads(1)
                .map_err(|e| e.to_string())?
                .commit_from_file(model)?;
            sessions.push(session);
        }
        Ok(Sessions(Mutex::new(sessions)))
    }

    /// Does something with a session that nobody else uses.
    pub fn with<T>(&self, run: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        let sessions = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut session = sessions().pop().ok_or("more threads than sessions")?;
        let result = run(&mut session);
        sessions().push(session);
        result
    }
}

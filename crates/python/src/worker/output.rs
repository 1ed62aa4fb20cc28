//! The last lines that a worker wrote to its outputs, for the error that tells of its end.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, PipeReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lines that are kept, and bytes of each.
const LINES: usize = 20;
const WIDTH: u64 = 500;

/// How long the end of the output is waited for when the process has ended: others may have the pipe.
const DRAIN: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Kept {
    lines: VecDeque<String>,
    ended: bool,
}

/// The outputs of one worker.
#[derive(Clone, Default)]
pub(super) struct Output(Arc<(Mutex<Kept>, Condvar)>);

impl Output {
    /// Reads the pipe to its end on a thread.
    ///
    /// # Errors
    /// That there is no thread.
    pub(super) fn of(pipe: PipeReader) -> std::io::Result<Output> {
        let output = Output::default();
        let kept = output.clone();
        let thread = std::thread::Builder::new().name("python-output".to_owned());
        thread.spawn(move || kept.read(pipe))?;
        Ok(output)
    }

    fn read(&self, pipe: PipeReader) {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        loop {
            line.clear();
            // A longer line is several.
            let read = (&mut pipe).take(WIDTH).read_until(b'\n', &mut line);
            let mut kept = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
            if !read.is_ok_and(|read| read > 0) {
                kept.ended = true;
                drop(kept);
                return self.0.1.notify_all();
            }
            if kept.lines.len() == LINES {
                kept.lines.pop_front();
            }
            kept.lines.push_back(String::from_utf8_lossy(&line).trim_end().to_owned());
        }
    }

    /// Waits until nobody can write any more, for a while.
    pub(super) fn wait(&self) {
        drop(self.waited());
    }

    /// The last lines of a process that has ended.
    pub(super) fn last_lines(&self) -> String {
        let kept = self.waited();
        kept.lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    fn waited(&self) -> MutexGuard<'_, Kept> {
        let kept = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(kept, DRAIN, |kept| !kept.ended);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

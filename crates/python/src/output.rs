//! What code prints, by lines, with the name of the package or module that was called.
//!
//! Both kinds of interpreters write to a pipe. `bootstrap.py` writes the name of what is called next behind a control
//! character, so that every line behind it belongs to that.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, PipeReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lines that are kept, and bytes of each.
const LINES: usize = 20;
const WIDTH: u64 = 500;

/// Stands before the name of what is called (`bootstrap.py`).
const NAME: char = '\x1f';

/// How long the end of the output is waited for when the process has ended: others may have the pipe.
const DRAIN: Duration = Duration::from_secs(1);

/// A line that code printed to standard output or standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLine {
    /// The package, or the module without a package, whose call it was.
    pub of: String,
    /// The line, without its end.
    pub text: String,
}

#[derive(Default)]
struct Kept {
    lines: VecDeque<OutputLine>,
    ended: bool,
}

/// The outputs of one interpreter. Every line is an event of `tracing`; the last ones are kept.
#[derive(Clone, Default)]
pub(crate) struct Output(Arc<(Mutex<Kept>, Condvar)>);

impl Output {
    /// Reads the pipe to its end on a thread.
    ///
    /// # Errors
    /// That there is no thread.
    pub(crate) fn of(pipe: PipeReader) -> std::io::Result<Output> {
        let output = Output::default();
        let kept = output.clone();
        let thread = std::thread::Builder::new().name("python-output".to_owned());
        thread.spawn(move || kept.read(pipe))?;
        Ok(output)
    }

    fn read(&self, pipe: PipeReader) {
        let mut pipe = BufReader::new(pipe);
        let (mut line, mut of) = (Vec::new(), String::new());
        loop {
            line.clear();
            // A longer line is several.
            let read = (&mut pipe).take(WIDTH).read_until(b'\n', &mut line);
            if !read.is_ok_and(|read| read > 0) {
                self.lock().ended = true;
                return self.0.1.notify_all();
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.strip_suffix('\n').unwrap_or(&text);
            match text.split_once(NAME) {
                None => self.keep(&of, text),
                Some((before, name)) => {
                    // A line without an end.
                    if !before.is_empty() {
                        self.keep(&of, before);
                    }
                    name.clone_into(&mut of);
                }
            }
        }
    }

    fn keep(&self, of: &str, text: &str) {
        tracing::info!(of, "{text}");
        let mut kept = self.lock();
        if kept.lines.len() == LINES {
            kept.lines.pop_front();
        }
        kept.lines.push_back(OutputLine { of: of.to_owned(), text: text.to_owned() });
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last lines so far.
    pub(crate) fn lines(&self) -> Vec<OutputLine> {
        self.lock().lines.iter().cloned().collect()
    }

    /// Waits until nobody can write any more, for a while.
    pub(crate) fn wait(&self) {
        drop(self.waited());
    }

    /// The last lines of a process that has ended.
    pub(crate) fn last_lines(&self) -> String {
        let kept = self.waited();
        kept.lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    fn waited(&self) -> MutexGuard<'_, Kept> {
        let waited = self.0.1.wait_timeout_while(self.lock(), DRAIN, |kept| !kept.ended);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn lines_have_the_name_that_was_written_before_them() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let output = Output::of(reader).unwrap();
        writer.write_all(b"one\n\x1fa\ntwo\n\nno end\x1fb\n\xffthree").unwrap();
        drop(writer);
        output.wait();
        let found: Vec<_> = output.lines().into_iter().map(|line| (line.of, line.text)).collect();
        let expected =
            [("", "one"), ("a", "two"), ("a", ""), ("a", "no end"), ("b", "\u{fffd}three")];
        assert_eq!(found, expected.map(|(of, text)| (of.to_owned(), text.to_owned())));
    }

    #[test]
    fn long_output_is_cut_and_only_its_end_kept() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let output = Output::of(reader).unwrap();
        let lines: Vec<String> = (0..100).map(|i| format!("{i}\n")).collect();
        writer.write_all(lines.concat().as_bytes()).unwrap();
        writer.write_all(&[b'x'; 501]).unwrap();
        drop(writer);
        let lines = output.last_lines();
        assert!(lines.starts_with("82\n") && lines.ends_with("x\nx"), "{lines}");
    }
}

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

/// Bytes of a record, which `bootstrap.py` keeps below.
const RECORD: u64 = 4096;

/// Stands before the name of what is called (`bootstrap.py`).
const NAME: char = '\x1f';

/// Stands before a record of Python's `logging`: its level, logger and message follow, with signs between them.
const LOG: char = '\x1e';
const BETWEEN: char = '\x1d';
const NEWLINE: char = '\x1c';

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
            let mut read = (&mut pipe).take(WIDTH).read_until(b'\n', &mut line);
            if line.contains(&(LOG as u8)) && !line.ends_with(b"\n") {
                read = (&mut pipe).take(RECORD).read_until(b'\n', &mut line);
            }
            if !read.is_ok_and(|read| read > 0) {
                self.lock().ended = true;
                return self.0.1.notify_all();
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.strip_suffix('\n').unwrap_or(&text);
            let Some((before, sign, behind)) = signed(text) else {
                self.keep(&of, text);
                continue;
            };
            // A line without an end.
            if !before.is_empty() {
                self.keep(&of, before);
            }
            match sign {
                LOG => self.log(&of, behind),
                _ => behind.clone_into(&mut of),
            }
        }
    }

    fn keep(&self, of: &str, text: &str) {
        tracing::info!(of, "{text}");
        self.remember(of, text);
    }

    /// A record of `logging`.
    fn log(&self, of: &str, record: &str) {
        let (level, rest) = record.split_once(BETWEEN).unwrap_or_default();
        let (logger, message) = rest.split_once(BETWEEN).unwrap_or_default();
        let message = message.replace(NEWLINE, "\n");
        let name = match level.parse().unwrap_or(0) {
            40.. => {
                tracing::error!(of, logger, "{message}");
                "ERROR"
            }
            30..40 => {
                tracing::warn!(of, logger, "{message}");
                "WARN"
            }
            20..30 => {
                tracing::info!(of, logger, "{message}");
                "INFO"
            }
            _ => {
                tracing::debug!(of, logger, "{message}");
                "DEBUG"
            }
        };
        self.remember(of, &format!("{name} {logger}: {message}"));
    }

    fn remember(&self, of: &str, text: &str) {
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

/// A line at the first sign in it: what is before, the sign and what is behind.
fn signed(line: &str) -> Option<(&str, char, &str)> {
    let at = line.find([NAME, LOG])?;
    let (before, rest) = line.split_at(at);
    let mut signs = rest.chars();
    Some((before, signs.next()?, signs.as_str()))
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
    fn records_have_a_level_and_a_logger() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let output = Output::of(reader).unwrap();
        let long = "x".repeat(3000);
        writer
            .write_all(b"\x1fshop\n\x1e20\x1dshop.net\x1dtwo\x1clines\nno end\x1e45\x1dl\x1d\n")
            .unwrap();
        writer
            .write_all(format!("\x1e10\x1dl\x1d{long}\nbehind\n\x1ebroken\n").as_bytes())
            .unwrap();
        drop(writer);
        output.wait();
        let found: Vec<String> = output.lines().into_iter().map(|line| line.text).collect();
        let long = format!("DEBUG l: {long}");
        let expected =
            ["INFO shop.net: two\nlines", "no end", "ERROR l: ", &long, "behind", "DEBUG : "];
        assert_eq!(found, expected);
        assert!(output.lines().iter().all(|line| line.of == "shop"));
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

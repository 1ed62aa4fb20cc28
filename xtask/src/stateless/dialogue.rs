//! A program that does something for each line it is given, and answers with a line: two of them can take turns.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// One of them; it ends with this value.
pub struct Dialogue {
    process: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
    name: String,
}

impl Dialogue {
    /// Starts a program.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(mut command: Command, name: &str) -> Result<Dialogue, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|e| format!("{name}: {e}"))?;
        let none = || format!("{name}: no pipe");
        let ask = process.stdin.take().ok_or_else(none)?;
        let answers = BufReader::new(process.stdout.take().ok_or_else(none)?);
        Ok(Dialogue { process, ask, answers, name: name.to_owned() })
    }

    /// The answer to a line.
    ///
    /// # Errors
    /// When the program has ended, or answers no JSON.
    pub fn ask(&mut self, line: &str) -> Result<Value, String> {
        let bad = |e: std::io::Error| format!("{}: {e}", self.name);
        writeln!(self.ask, "{line}").and_then(|()| self.ask.flush()).map_err(bad)?;
        let mut answer = String::new();
        let read = self.answers.read_line(&mut answer);
        read.map_err(|e| format!("{}: {e}", self.name))?;
        serde_json::from_str(&answer).map_err(|_| format!("{} did not answer `{line}`", self.name))
    }

    /// An answer that is a number of seconds.
    ///
    /// # Errors
    /// As [`Dialogue::ask`].
    pub fn seconds(&mut self, line: &str) -> Result<f64, String> {
        let answer = self.ask(line)?;
        answer.as_f64().ok_or_else(|| format!("{} answered `{line}` with {answer}", self.name))
    }
}

impl Drop for Dialogue {
    fn drop(&mut self) {
        let _ = self.process.kill(); // it may have ended
        let _ = self.process.wait();
    }
}

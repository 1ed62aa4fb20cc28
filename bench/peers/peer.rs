//! A script of this folder that is measured in turn with a program of ours: for each line on its standard input it does
//! what the line names, and answers with milliseconds. The programs include this file.

use std::io::{BufRead, BufReader, Error, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// The process, if there is one.
pub struct Peer(Option<(Child, BufReader<ChildStdout>)>);

impl Peer {
    /// Starts `command... serve FOLDER` on one thread; no process without a command.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(command: &[String], folder: &Path) -> Result<Peer, Error> {
        let [program, words @ ..] = command else { return Ok(Peer(None)) };
        let mut child = Command::new(program)
            .args(words)
            .arg("serve")
            .arg(folder)
            .env("OMP_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or_else(|| Error::other("no standard output"))?;
        let mut output = BufReader::new(output);
        // It is ready when it says so.
        output.read_line(&mut String::new())?;
        Ok(Peer(Some((child, output))))
    }

    /// Lets it do what a name stands for.
    ///
    /// # Errors
    /// When it has ended, or answers with something else than a number.
    pub fn milliseconds(&mut self, name: &str) -> Result<Option<f64>, Error> {
        let Some((child, output)) = &mut self.0 else { return Ok(None) };
        let input = child.stdin.as_mut().ok_or_else(|| Error::other("no standard input"))?;
        writeln!(input, "{name}")?;
        let mut line = String::new();
        output.read_line(&mut line)?;
        let text = line.trim();
        text.parse().map(Some).map_err(|_| Error::other(format!("{name}: the peer said {text:?}")))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some((mut child, _)) = self.0.take() {
            // It ends with its input.
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

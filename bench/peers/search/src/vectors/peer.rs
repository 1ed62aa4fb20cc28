//! hnswlib, behind its Python package: a process that is given a command a line.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use super::{EXPLORE, HITS, LINKS, Shape};
use crate::Result;

/// The process.
pub struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    folder: PathBuf,
}

impl Peer {
    /// Starts it with an index without vectors; these are in files of the folder.
    pub fn start(python: &str, script: &str, folder: &Path, shape: Shape) -> Result<Peer> {
        let mut command = Command::new(python);
        command.arg(script).arg(folder);
        let numbers = [shape.size, shape.count, LINKS, EXPLORE, shape.threads];
        command.args(numbers.map(|number| number.to_string()));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(Peer { child, input, output, folder: folder.to_owned() })
    }

    /// Adds vectors of a range of numbers; the seconds that took.
    pub fn add(&mut self, from: usize, to: usize) -> Result<f64> {
        self.number(&format!("add {from} {to}"), "seconds")
    }

    /// Writes its index to a file (`save`), or goes on with one (`load`).
    pub fn keep(&mut self, verb: &str, file: &Path) -> Result<()> {
        self.number(&format!("{verb} {}", file.display()), "seconds").map(drop)
    }

    /// Searches for all queries and gives the seconds that took.
    pub fn search(&mut self, explore: usize) -> Result<f64> {
        self.number(&format!("search {explore} {HITS}"), "seconds")
    }

    /// What the last search found.
    pub fn found(&self) -> Result<Vec<Vec<u32>>> {
        self.ids("found.i64")
    }

    /// The nearest of all vectors, or of those that a file has a byte other than 0 for, by a look at each.
    pub fn truth(&mut self, mask: Option<&Path>) -> Result<Vec<Vec<u32>>> {
        let mask = mask.map_or(String::new(), |mask| mask.display().to_string());
        self.number(&format!("truth {HITS} {mask}"), "seconds")?;
        self.ids("truth.i64")
    }

    /// Bytes of its index.
    pub fn memory(&mut self) -> Result<f64> {
        self.number("memory", "bytes")
    }

    fn number(&mut self, command: &str, key: &str) -> Result<f64> {
        writeln!(self.input, "{command}")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let told: Option<Value> = serde_json::from_str(&line).ok();
        let number = told.and_then(|told| told[key].as_f64());
        number.ok_or_else(|| format!("hnswlib told nothing of `{command}`").into())
    }

    /// The numbers of a file, as many for each query; those below 0 are none.
    fn ids(&self, name: &str) -> Result<Vec<Vec<u32>>> {
        let bytes = fs::read(self.folder.join(name))?;
        let ids = bytes.as_chunks::<8>().0.iter().map(|bytes| i64::from_le_bytes(*bytes));
        let ids: Vec<i64> = ids.collect();
        let of_query = |ids: &[i64]| ids.iter().filter_map(|id| u32::try_from(*id).ok()).collect();
        Ok(ids.chunks(HITS).map(of_query).collect())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}

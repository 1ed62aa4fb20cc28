//! `kill -9` of a real process: the test itself, started with a folder in its environment. The store's test of the same uses it too.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Tells from the process that is killed that an operation is durable; operations have numbers from 1.
pub fn acknowledge(number: u64) {
    // Not println: the harness would keep it.
    let _ = writeln!(std::io::stdout(), "\nack {number}");
}

/// Kills the test `child` of this program in each of some rounds, with `variable` naming a folder, when it has acknowledged `step`
/// operations more than in the round before. `found` gives the last operation that the folder holds; it must be no earlier than what was
/// acknowledged.
pub fn rounds(variable: &str, rounds: u64, step: u64, mut found: impl FnMut(&Path) -> u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = 0;
    for round in 1..=rounds {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture"])
            .env(variable, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut acks = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("ack ").and_then(|n| n.parse::<u64>().ok()));
        // Between two batches or within one, as it happens.
        let target = acknowledged + step * round;
        while acknowledged < target {
            acknowledged = acks.next().expect("the child lives until it is killed");
        }
        child.kill().unwrap();
        acknowledged = acks.last().unwrap_or(acknowledged);
        child.wait().unwrap();
        let last = found(folder.path());
        assert!(last >= acknowledged, "{last} of {acknowledged}");
        acknowledged = last;
    }
}

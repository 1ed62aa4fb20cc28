//! `kill -9` of a real process on a real disk: what it acknowledged is found.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod killed;

use std::path::Path;
use std::sync::Arc;
use stead_log::{DiskIo, Log, LogError, LogOptions, SystemRng, tag};

const FOLDER: &str = "STEAD_LOG_KILL_FOLDER";
const ROUNDS: u64 = 4;

fn open(folder: &Path, seen: &mut Vec<u64>) -> Log {
    let options = LogOptions {
        tag: tag("kill"),
        segment_bytes: 64 << 10,
        max_record_bytes: 4096,
        ..LogOptions::default()
    };
    let io = Arc::new(DiskIo::new(folder).unwrap());
    let visit = |lsn: u64, payload: &[u8]| {
        assert_eq!(payload, payload_of(lsn));
        seen.push(lsn);
        Ok::<(), LogError>(())
    };
    Log::open(io, Arc::new(SystemRng), options, visit).expect("the log opens").0
}

fn payload_of(lsn: u64) -> Vec<u8> {
    lsn.to_le_bytes().repeat(1 + (lsn % 200) as usize)
}

/// The process that is killed: this very test, started with a folder in its environment.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let log = open(Path::new(&folder), &mut Vec::new());
    loop {
        let lsn = log.next_lsn();
        log.append(payload_of(lsn), |durable| killed::acknowledge(durable.unwrap())).unwrap();
    }
}

#[test]
fn a_killed_process_loses_nothing_acknowledged() {
    killed::rounds(FOLDER, ROUNDS, 150, |folder| {
        let mut seen = Vec::new();
        drop(open(folder, &mut seen));
        assert!(seen.iter().zip(1..).all(|(&lsn, expected)| lsn == expected));
        seen.len() as u64
    });
}

//! Ports for the servers of tests and benchmarks.
//!
//! A server of stead has no flag for "any port": 0 turns a port off, as with OpenVINO Model Server. A port that the kernel
//! gives for 0 and that is closed again is taken by a connection of another test now and then, because the kernel
//! gives outgoing connections numbers of the same range. So numbers come from below that range, and a locked file
//! keeps each of them from other processes and threads until this process ends.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Mutex;

/// Above what services have, below what connections have (Linux: from 32768, others: from 49152).
const RANGE: std::ops::Range<u16> = 12_000..32_000;

/// The ports of this process, with the next number to try.
static TAKEN: Mutex<(Option<u16>, Vec<File>)> = Mutex::new((None, Vec::new()));

/// What [`find`] finds, as an argument of a command.
///
/// # Panics
/// Where there is none.
pub fn free_port() -> String {
    find().unwrap_or_else(|e| panic!("no free port: {e}")).to_string()
}

/// A port of 127.0.0.1 that nobody listens on, and that no other process is given while this one lives.
///
/// # Errors
/// No folder for the locks, or no port that is free.
fn find() -> std::io::Result<u16> {
    let folder = std::env::temp_dir().join("stead-test-ports");
    fs::create_dir_all(&folder)?;
    let mut taken = TAKEN.lock().unwrap_or_else(|e| e.into_inner());
    // Processes begin far apart, so that few meet at a lock.
    let span = RANGE.end - RANGE.start;
    let mut next =
        taken.0.unwrap_or_else(|| RANGE.start + (std::process::id() * 97 % u32::from(span)) as u16);
    for _ in RANGE {
        let port = next;
        next = if port + 1 == RANGE.end { RANGE.start } else { port + 1 };
        let lock = File::options().create(true).append(true).open(folder.join(port.to_string()))?;
        if lock.try_lock().is_ok() && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            taken.0 = Some(next);
            taken.1.push(lock);
            return Ok(port);
        }
    }
    Err(std::io::Error::from(std::io::ErrorKind::AddrInUse))
}

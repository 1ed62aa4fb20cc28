//! Appends per second on a folder of your disk, beside the price of a bare `fdatasync`.
//!
//!     cargo run --release -p stead-log --example throughput [FOLDER]

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use stead_log::{DiskIo, Io, Log, LogError, LogOptions, SyncMode, SystemRng};

const RUN: Duration = Duration::from_secs(2);

fn main() -> Result<(), Box<dyn Error>> {
    let parent = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let folder = Path::new(&parent).join(format!("stead-log-{}", std::process::id()));
    let mut out = std::io::stdout();
    let result = measure(&folder, &mut out);
    std::fs::remove_dir_all(&folder)?;
    result
}

fn measure(folder: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut times = bare_syncs(&DiskIo::new(folder.join("bare"))?)?;
    times.sort_unstable();
    let at = |part: usize| times[times.len() * part / 100].as_micros();
    writeln!(out, "append 512 B and fdatasync: median {} us, p90 {} us", at(50), at(90))?;
    writeln!(
        out,
        "{:>7} {:>8} {:>9} {:>9} {:>11} {:>9}",
        "sync", "bytes", "in flight", "rec/s", "rec/batch", "MB/s"
    )?;
    for sync in [SyncMode::Batch, SyncMode::Never] {
        for (bytes, in_flight) in [(512, 1), (512, 64), (512, 4096), (4096, 1024), (1 << 20, 16)] {
            let (records, batches, time) = appends(folder, sync, bytes, in_flight)?;
            let rate = records as f64 / time.as_secs_f64();
            let (gathered, mb) = (records as f64 / batches as f64, rate * bytes as f64 / 1e6);
            writeln!(
                out,
                "{:>7} {bytes:>8} {in_flight:>9} {rate:>9.0} {gathered:>11.1} {mb:>9.1}",
                format!("{sync:?}")
            )?;
        }
    }
    Ok(())
}

fn bare_syncs(io: &DiskIo) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut file = io.create("bare")?;
    let mut times = Vec::new();
    for _ in 0..200 {
        let start = Instant::now();
        file.append(&[7; 512])?;
        file.sync_data()?;
        times.push(start.elapsed());
    }
    Ok(times)
}

/// Keeps `in_flight` records waiting for the disk.
fn appends(
    folder: &Path,
    sync: SyncMode,
    bytes: usize,
    in_flight: usize,
) -> Result<(u64, u64, Duration), Box<dyn Error>> {
    let folder = folder.join(format!("{sync:?}-{bytes}-{in_flight}"));
    let options = LogOptions { sync, queue_bytes: 64 << 20, ..LogOptions::default() };
    let io = Arc::new(DiskIo::new(&folder)?);
    let (log, _) = Log::open(io, Arc::new(SystemRng), options, |_, _| Ok::<(), LogError>(()))?;
    let (sender, done) = mpsc::channel();
    let start = Instant::now();
    for _ in 0..in_flight {
        let sender = sender.clone();
        log.append(vec![7; bytes], move |result| sender.send(result).unwrap_or_default())?;
    }
    while start.elapsed() < RUN {
        done.recv()??;
        let sender = sender.clone();
        log.append(vec![7; bytes], move |result| sender.send(result).unwrap_or_default())?;
        log.prune(log.next_lsn().saturating_sub(1))?;
    }
    log.flush()?;
    let time = start.elapsed();
    let stats = log.stats();
    drop(log);
    std::fs::remove_dir_all(&folder)?;
    Ok((stats.records, stats.batches, time))
}

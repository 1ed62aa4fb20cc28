//! How fast documents become durable through the Rust API, what memory they take and how fast a store opens again.
//!
//!     cargo run --release -p stead-store --example feed_speed -- FOLDER [DOCUMENTS] [WAITING] [TEXT]
//!     cargo run --release -p stead-store --example feed_speed -- FOLDER --reopen [TEXT]
//!
//! Documents have about 1 kB: a number, a price, a name, a tensor of 128 floats and a text of `TEXT` bytes. `WAITING` is how many may wait
//! for their acknowledgement. `--reopen` opens what is in FOLDER once more, in a process that has nothing else in memory. Ends with a line of JSON; FOLDER should be empty, on the disk that is to be measured.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_expr::{Cells, Labels, TensorType, Value, parse_type};
use stead_log::{DiskIo, SystemRng};
use stead_store::{Action, DocumentType, FieldValue, Operation, Store, StoreOptions};

/// The same that `cargo xtask bench documents feed` deploys to a server.
const SCHEMA: &str = include_str!("../../../bench/feed/schemas/post.sd");

/// Bytes of the text of a document, unless others are asked for.
const TEXT: usize = 464;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let folder =
        PathBuf::from(words.next().ok_or("usage: feed_speed FOLDER [DOCUMENTS] [WAITING] [TEXT]")?);
    let second = words.next();
    if second.as_deref() == Some("--reopen") {
        return reopen(&folder, words.next().map_or(Ok(TEXT), |word| word.parse())?);
    }
    let count: u64 = second.map_or(Ok(200_000), |word| word.parse())?;
    let waiting: usize = words.next().map_or(Ok(256), |word| word.parse())?;
    let text: usize = words.next().map_or(Ok(TEXT), |word| word.parse())?;
    let vectors = parse_type("tensor<float>(x[128])")?;

    let store = open(&folder)?;
    let room = Arc::new((Mutex::new(waiting), Condvar::new()));
    let latencies: Arc<Vec<AtomicU64>> = Arc::new((0..count).map(|_| AtomicU64::new(0)).collect());
    let begin = Instant::now();
    for at in 0..count {
        take(&room);
        let (room, latencies, sent) = (room.clone(), latencies.clone(), Instant::now());
        store.feed("post", put(at, &vectors, text)?, move |outcome| {
            let took = if outcome.is_ok() { sent.elapsed().as_micros() as u64 } else { u64::MAX };
            latencies[at as usize].store(took, Ordering::Relaxed);
            *room.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            room.1.notify_one();
        })?;
    }
    (0..waiting).for_each(|_| take(&room));
    let feed = begin.elapsed().as_secs_f64();
    let mut latencies: Vec<u64> = latencies.iter().map(|l| l.load(Ordering::Relaxed)).collect();
    latencies.sort_unstable();
    let view = store.reader("post")?.view();
    let memory = view.memory() as f64 / count as f64;
    let payload = payload(&put(count / 2, &vectors, text)?);
    let snapshots = store.snapshot_stats();
    let begin = Instant::now();
    drop(store);
    let close = begin.elapsed().as_secs_f64();

    let begin = Instant::now();
    let store = open(&folder)?;
    let start = begin.elapsed().as_secs_f64();
    let found = store.reader("post")?.view().len();
    println!(
        "{{\"documents\": {count}, \"waiting\": {waiting}, \"per_second\": {:.0}, \"p50_ms\": {:.2}, \"p99_ms\": {:.2}, \"payload_bytes\": {payload}, \"memory_bytes\": {memory:.0}, \"snapshots\": {}, \"snapshot_bytes\": {}, \"close_s\": {close:.2}, \"start_s\": {start:.2}, \"found\": {found}}}",
        count as f64 / feed,
        latencies[latencies.len() / 2] as f64 / 1e3,
        latencies[latencies.len() * 99 / 100] as f64 / 1e3,
        snapshots.written,
        snapshots.written_bytes,
    );
    Ok(())
}

/// Opens a folder of documents, and what memory that takes.
fn reopen(folder: &std::path::Path, text: usize) -> Result<(), Box<dyn Error>> {
    let before = resident()?;
    let begin = Instant::now();
    let store = open(folder)?;
    let start = begin.elapsed().as_secs_f64();
    let view = store.reader("post")?.view();
    let found = view.len().max(1);
    let vectors = parse_type("tensor<float>(x[128])")?;
    let payload = payload(&put(found as u64 / 2, &vectors, text)?);
    println!(
        "{{\"found\": {}, \"replayed\": {}, \"start_s\": {start:.2}, \"payload_bytes\": {payload}, \"memory_bytes\": {}, \"resident_bytes\": {}}}",
        view.len(),
        store.recovery().records,
        view.memory() / found,
        resident()?.saturating_sub(before) / found,
    );
    Ok(())
}

/// The memory that the process has, in bytes; 0 where the system does not tell.
fn resident() -> Result<usize, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()).map(str::parse::<usize>);
    Ok(kilobytes.transpose()?.unwrap_or(0) << 10)
}

fn open(folder: &std::path::Path) -> Result<Store, Box<dyn Error>> {
    let files = PackageFiles::from_texts([("schemas/post.sd", SCHEMA)])?;
    let (application, _) = Application::read(&files, ServicesOptions::default());
    let kind = DocumentType::new(application.schema("post").ok_or("the schema")?);
    let io = Arc::new(DiskIo::new(folder)?);
    Ok(Store::open(io, Arc::new(SystemRng), vec![kind], StoreOptions::default())?)
}

/// Waits until one more operation may be sent.
fn take(room: &(Mutex<usize>, Condvar)) {
    let mut left = room.0.lock().unwrap_or_else(PoisonError::into_inner);
    while *left == 0 {
        left = room.1.wait(left).unwrap_or_else(PoisonError::into_inner);
    }
    *left -= 1;
}

fn put(at: u64, vectors: &TensorType, text: usize) -> Result<Operation, Box<dyn Error>> {
    let cells: Vec<f32> = (0..128).map(|i| (at + i) as f32 / 7.0).collect();
    let tensor = Value::new(vectors.clone(), Labels::default(), Cells::Float(cells.into()))?;
    let fields = vec![
        (0, FieldValue::Integer(at as i64)),
        (1, FieldValue::Number(at as f64 / 3.0)),
        (2, FieldValue::Text(format!("name of {at}"))),
        (3, FieldValue::Tensor(tensor)),
        (4, FieldValue::Text("a text of words ".repeat(text / 16))),
    ];
    let document = format!("id:n:post::{at}");
    let action = Action::Put { fields, create: false };
    Ok(Operation { operation: 0, document, condition: None, action })
}

/// The bytes of what a document says.
fn payload(operation: &Operation) -> usize {
    let Action::Put { fields, .. } = &operation.action else { return 0 };
    let bytes = |(_, value): &(usize, FieldValue)| match value {
        FieldValue::Text(text) => text.len(),
        FieldValue::Tensor(tensor) => tensor.cells().len() * tensor.kind().cell().size(),
        FieldValue::Integer(_) => size_of::<i32>(),
        _ => size_of::<f64>(),
    };
    operation.document.len() + fields.iter().map(bytes).sum::<usize>()
}

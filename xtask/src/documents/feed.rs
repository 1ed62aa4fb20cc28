//! Documents made durable: by the Rust API beside fjall and SQLite, over HTTP, and whether queries see them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::store::Store;
use super::{Context, example};
use crate::results::{Table, goal, middle};
use crate::{paths, process};

/// Goals: documents a second by the Rust API and over HTTP, and the p99 of an acknowledgement.
const RUST: f64 = 40_000.0;
const HTTP: f64 = 12_000.0;
const P99_MS: f64 = 10.0;

/// Documents that may wait for their acknowledgement in process, and connections over HTTP.
const WAITING: usize = 256;
const CONNECTIONS: usize = 32;

/// Clients that put a document and search for it, beside a feed.
const SEEING: &str = "4";

/// What one turn of a side measured.
#[derive(Clone, Copy)]
struct Turn {
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
}

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let (rounds, documents) = if context.quick { (1, 20_000) } else { (5, 100_000) };
    let file = context.folder.join("feed.jsonl");
    write_documents(&file, documents)?;
    let names = ["stead, Rust API", "fjall 3.1.13", "SQLite 3, WAL", "stead, HTTP"];
    let mut turns: Vec<Vec<Option<Turn>>> = vec![Vec::new(); names.len()];
    let mut seen = None;
    for round in 0..rounds {
        for (side, (name, of_side)) in names.iter().zip(&mut turns).enumerate() {
            let peer = |engine| {
                let mut command = Command::new(&context.peers);
                command.args(["feed", engine]);
                command
            };
            let turn = match side {
                0 => in_process(context, example("stead-store", "feed_speed"), documents),
                1 => in_process(context, peer("fjall"), documents),
                2 => in_process(context, peer("sqlite"), documents),
                _ => {
                    let is_last = round + 1 == rounds;
                    over_http(context, &file, is_last).map(|(turn, found)| {
                        seen = found;
                        turn
                    })
                }
            };
            match &turn {
                Ok(turn) => println!("{name}: {:.0}/s, p99 {:.2} ms", turn.per_second, turn.p99_ms),
                Err(reason) => println!("{name}: {reason}"),
            }
            // One that cannot be measured must not take the others with it.
            of_side.push(turn.ok());
        }
    }
    let own = turns[0].clone();
    let row = |(side, (name, of_side)): (usize, (&&str, &Vec<Option<Turn>>))| {
        let median = |of: fn(&Turn) -> f64| middle(of_side.iter().flatten().map(of).collect());
        let (rate, p50) = (median(|t| t.per_second), median(|t| t.p50_ms));
        let p99 = median(|t| t.p99_ms);
        let (Some(rate), Some(p50), Some(p99)) = (rate, p50, p99) else {
            let mut row = vec![(*name).to_owned(), "not measured".to_owned()];
            row.resize(6, "-".to_owned());
            return row;
        };
        let pairs = own.iter().zip(of_side);
        let ratio = |(own, its): (&Option<Turn>, &Option<Turn>)| {
            Some((*own)?.per_second / (*its)?.per_second)
        };
        let over = middle(pairs.filter_map(ratio).collect());
        let wanted = |least: f64| {
            format!("{least:.0}/s {}; p99 {P99_MS} ms {}", goal(rate >= least), goal(p99 <= P99_MS))
        };
        vec![
            (*name).to_owned(),
            format!("{rate:.0}"),
            format!("{p50:.2}"),
            format!("{p99:.2}"),
            over.map_or("-".to_owned(), |over| format!("{over:.2}")),
            match side {
                0 => wanted(RUST),
                3 => wanted(HTTP),
                _ => "-".to_owned(),
            },
        ]
    };
    let mut rows: Vec<Vec<String>> = names.iter().zip(&turns).enumerate().map(row).collect();
    if let Some(seen) = seen {
        let number = |key: &str| seen[key].as_f64().unwrap_or(f64::NAN);
        let mut row = vec![
            format!("... {:.0} puts beside a feed, searched for when acknowledged", number("puts")),
            "-".to_owned(),
            format!("{:.2}", number("p50_ms")),
            format!("{:.2}", number("p99_ms")),
            "-".to_owned(),
        ];
        row.push(format!("{:.0} not seen: {}", number("misses"), goal(number("misses") == 0.0)));
        rows.push(row);
    }
    Ok(Table {
        title: "documents made durable".to_owned(),
        note: format!(
            "{documents} documents of 1 kB (`bench/feed`: three attributes, a tensor of 128 values, a text), {rounds} turns, medians; ratios are the \
             medians of the turns' ratios. In process one thread makes documents up, of which {WAITING} may wait for their \
             acknowledgement: `--example feed_speed` of stead-store, and `peers feed` with a thread that writes all that wait as one \
             group: in SQLite a transaction at `synchronous=full`, in fjall a batch with `PersistMode::SyncData`. All of them acknowledge a \
             group when it is synced. stead also keeps columns for queries in memory, which the others do not. Over HTTP: `stead feed` with \
             {CONNECTIONS} connections beside the server on the same two cores. Last, {SEEING} clients beside such a feed put a document \
             and, when it is acknowledged, search for it on another connection."
        ),
        header: vec!["what", "documents/s", "p50 ms", "p99 ms", "stead's Rust API over it", "goal"],
        rows,
    })
}

/// A program that feeds a folder, with FOLDER DOCUMENTS WAITING behind its other arguments.
fn in_process(context: &Context, mut command: Command, documents: usize) -> Result<Turn, String> {
    let folder = empty(&context.folder.join("feed"))?;
    command.arg(&folder).args([documents.to_string(), WAITING.to_string()]);
    let told = process::capture(&mut command, "feed")?;
    let told = told.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let told = told.ok_or("a feed gave no numbers")?;
    let _ = fs::remove_dir_all(&folder); // only disk space
    if told["found"].as_u64() != Some(documents as u64) {
        return Err(format!("{} of {documents} documents were found", told["found"]));
    }
    let number = |key: &str| told[key].as_f64().unwrap_or(f64::NAN);
    let (per_second, p50_ms, p99_ms) = (number("per_second"), number("p50_ms"), number("p99_ms"));
    Ok(Turn { per_second, p50_ms, p99_ms })
}

/// `stead feed` to an empty store; and if that is wanted once more, with what `peers visible` tells beside it.
fn over_http(
    context: &Context,
    file: &Path,
    with_seeing: bool,
) -> Result<(Turn, Option<Value>), String> {
    let store = Store::start(context, "feed", None)?;
    store.deploy(&paths::root().join("bench/feed"))?;
    let told = store.feed(file, CONNECTIONS)?;
    let number = |key: &str| told[key].as_f64().unwrap_or(f64::NAN);
    let turn = Turn {
        per_second: number("feeder.ok.rate"),
        p50_ms: number("http.response.latency.millis.p50"),
        p99_ms: number("http.response.latency.millis.p99"),
    };
    let seen = with_seeing.then(|| seeing(context, &store, file, number("feeder.seconds")));
    Ok((turn, seen.transpose()?))
}

fn seeing(context: &Context, store: &Store, file: &Path, seconds: f64) -> Result<Value, String> {
    let mut command = Command::new(&context.peers);
    // As long as the feed takes; the numbers are beyond those of the feed.
    let seconds = seconds.clamp(1.0, 20.0).to_string();
    command.args(["visible", &store.address(), SEEING, &seconds, "1000000000"]);
    let (told, fed) = std::thread::scope(|scope| {
        let feed = scope.spawn(|| store.feed(file, CONNECTIONS));
        let told = process::capture(&mut command, "peers visible");
        (told, feed.join())
    });
    fed.map_err(|_| "the feed panicked".to_owned())??;
    serde_json::from_str(&told?).map_err(|_| "peers visible gave no numbers".to_owned())
}

/// The documents of `feed_speed` as operations.
fn write_documents(file: &Path, count: usize) -> Result<(), String> {
    let mut text = String::new();
    for at in 0..count {
        let vector: Vec<f32> = (0..128).map(|i| (at + i) as f32 / 7.0).collect();
        let fields = json!({"number": at, "price": at as f64 / 3.0, "name": format!("name of {at}"),
            "vector": {"values": vector}, "text": "a text of words ".repeat(29)});
        let operation = json!({"put": format!("id:n:post::{at}"), "fields": fields});
        let _ = writeln!(text, "{operation}"); // a String takes everything
    }
    fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))
}

/// The folder, with nothing in it.
fn empty(folder: &Path) -> Result<PathBuf, String> {
    let _ = fs::remove_dir_all(folder); // absent the first time
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder.to_owned())
}

//! What documents, applications and the program itself take: time to start, memory and disk.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::store::Store;
use super::{Context, example};
use crate::results::{Table, goal, line, middle};
use crate::server::Server;
use crate::{paths, process};

const DOCUMENTS: usize = 1_000_000;
const SCHEMAS: usize = 39;

/// Of the text of a document of 1 kB, and how many documents wait for their acknowledgement.
const TEXT: usize = 464;
const WAITING: usize = 256;

/// Goals.
const START_SECONDS: f64 = 2.0;
const BYTES_BEYOND: f64 = 64.0;
const APPLICATION_MB: f64 = 60.0;
const BINARY_MB: f64 = 40.0;

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let documents = if context.quick { DOCUMENTS / 10 } else { DOCUMENTS };
    let mut rows = match of_documents(context, documents) {
        Ok(rows) => rows,
        // What cannot be measured must not take the rest with it.
        Err(reason) => {
            vec![row(
                &format!("start with {documents} documents"),
                format!("not measured: {}", line(&reason)),
                "-".to_owned(),
            )]
        }
    };
    let mut add = |what: &str, megabytes: f64, most: f64| {
        let wanted = format!("{most} MB {}", goal(megabytes <= most));
        rows.push(row(what, format!("{megabytes:.1} MB"), wanted));
    };
    let what = format!("empty application with {SCHEMAS} schemas, resident");
    add(&what, empty_application_mb(context)?, APPLICATION_MB);
    let idle = Store::start(context, "idle", None)?;
    let what = "`stead serve --data` before the first deployment, resident";
    add(what, resident_mb(idle.server.id())?, BINARY_MB);
    let binary = fs::metadata(&context.stead).map_err(|e| format!("stead: {e}"))?;
    add("release binary", binary.len() as f64 / 1e6, BINARY_MB);
    Ok(Table {
        title: "start, memory and size".to_owned(),
        note: format!(
            "Documents of `feed`, opened in a new process (`feed_speed --reopen`, median of three), their files in the memory of the system. \
             Resident memory is that of the process. The empty application has {SCHEMAS} schemas like that of `feed`, served without \
             documents."
        ),
        header: vec!["what", "measured", "goal"],
        rows,
    })
}

fn row(what: &str, measured: String, wanted: String) -> Vec<String> {
    vec![what.to_owned(), measured, wanted]
}

/// Rows of a store with so many documents.
fn of_documents(context: &Context, documents: usize) -> Result<Vec<Vec<String>>, String> {
    let stored = stored(context, documents, TEXT)?;
    let of = |key: &str| stored.middle(key);
    let (start, payload) = (of("start_s"), of("payload_bytes"));
    let memory = of("memory_bytes");
    let bytes = |bytes: f64| format!("{bytes:.0} bytes");
    Ok(vec![
        row(
            &format!("start with {documents} documents"),
            format!("{start:.2} s"),
            format!("{START_SECONDS} s {}", goal(start <= START_SECONDS)),
        ),
        row(
            &format!("memory of a document of {payload:.0} bytes, its text on disk"),
            bytes(memory),
            format!("payload + {} {}", bytes(BYTES_BEYOND), goal(memory - payload <= BYTES_BEYOND)),
        ),
        row("resident memory of a document", bytes(of("resident_bytes")), "-".to_owned()),
    ])
}

/// Texts of documents of 1.5 kB.
const LONG_TEXT: usize = 944;

/// The goal with many documents: "in seconds".
const MANY_SECONDS: f64 = 5.0;

/// The table of many documents.
pub fn many(context: &Context) -> Result<Table, String> {
    let documents = if context.quick { DOCUMENTS } else { 10 * DOCUMENTS };
    let stored = stored(context, documents, LONG_TEXT)?;
    let (payload, start) = (stored.middle("payload_bytes"), stored.middle("start_s"));
    let seconds = |what: &str, seconds: Option<f64>, wanted: String| {
        row(what, seconds.map_or("-".to_owned(), |seconds| format!("{seconds:.1} s")), wanted)
    };
    let wanted = format!("{MANY_SECONDS} s {}", goal(start <= MANY_SECONDS));
    let fed =
        stored.fed["per_second"].as_f64().map_or("-".to_owned(), |rate| format!("{rate:.0}/s"));
    Ok(Table {
        title: format!("start with {documents} documents of {payload:.0} bytes"),
        note: "As in `footprint`, with longer texts, which are on disk. Without the system's memory of the files (`/proc/sys/vm/drop_caches`, as root) \
               the disk is part of what is measured."
            .to_owned(),
        header: vec!["what", "measured", "goal"],
        rows: vec![
            row("fed by the Rust API, with snapshots", fed, "-".to_owned()),
            seconds("start", Some(start), wanted),
            seconds("start, files read from the disk", stored.cold, "-".to_owned()),
            row(
                "resident memory of a document",
                format!("{:.0} bytes", stored.middle("resident_bytes")),
                "-".to_owned(),
            ),
        ],
    })
}

/// What feeding and opening documents took.
struct Stored {
    fed: Value,
    opens: Vec<Value>,
    /// Seconds to open them from the disk; none where the system keeps files in its memory whatever we say.
    cold: Option<f64>,
}

impl Stored {
    /// Of the openings from the system's memory.
    fn middle(&self, key: &str) -> f64 {
        let found = self.opens.iter().filter_map(|open| open[key].as_f64());
        middle(found.collect()).unwrap_or(f64::NAN)
    }
}

/// Feeds so many documents with texts of so many bytes to a folder and opens it.
fn stored(context: &Context, documents: usize, text: usize) -> Result<Stored, String> {
    let folder = context.folder.join("many");
    let _ = fs::remove_dir_all(&folder); // absent the first time
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut feed = example("stead-store", "feed_speed");
    feed.arg(&folder).args([documents, WAITING, text].map(|number| number.to_string()));
    let fed = process::capture(&mut feed, "feed_speed").and_then(|told| numbers(&told));
    let opens = (0..3).map(|_| opened(&folder, text)).collect::<Result<Vec<Value>, String>>();
    let cold = forgotten().then(|| opened(&folder, text)).transpose();
    let _ = fs::remove_dir_all(&folder); // only disk space
    let (fed, opens, cold) = (fed?, opens?, cold?);
    if opens.iter().chain(&cold).any(|open| open["found"].as_u64() != Some(documents as u64)) {
        return Err("not all documents were found".to_owned());
    }
    let cold = cold.and_then(|open| open["start_s"].as_f64());
    Ok(Stored { fed, opens, cold })
}

/// Has the system forget the files that it keeps in memory; false where it may not.
fn forgotten() -> bool {
    fs::write("/proc/sys/vm/drop_caches", "3").is_ok()
}

/// Resident memory of a server of an application without documents.
fn empty_application_mb(context: &Context) -> Result<f64, String> {
    let app = context.folder.join("schemas");
    make_application(&app)?;
    let mut serve = process::command(&context.stead, ["serve"]);
    serve.arg(&app);
    let ports = |command: &mut Command, rest: &str, grpc: &str| {
        command.args(["--rest_port", rest, "--port", grpc]);
    };
    let server = Server::start(serve, ports, &context.folder.join("schemas.log"), &["HTTP on"])?;
    resident_mb(server.id())
}

/// Opens a folder of documents in a new process.
fn opened(folder: &Path, text: usize) -> Result<Value, String> {
    let mut command = example("stead-store", "feed_speed");
    command.arg(folder).arg("--reopen").arg(text.to_string());
    numbers(&process::capture(&mut command, "feed_speed --reopen")?)
}

fn numbers(told: &str) -> Result<Value, String> {
    serde_json::from_str(told).map_err(|_| "feed_speed gave no numbers".to_owned())
}

/// The resident memory of a process (`proc_pid_status(5)`).
fn resident_mb(process: u32) -> Result<f64, String> {
    let file = format!("/proc/{process}/status");
    let status = fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.map(|kb| kb * 1024.0 / 1e6).ok_or_else(|| format!("{file} tells no memory"))
}

/// An application with many schemas like that of `bench/feed`.
fn make_application(folder: &Path) -> Result<(), String> {
    let bad = |e: std::io::Error| format!("{}: {e}", folder.display());
    let feed = paths::root().join("bench/feed");
    let schema = fs::read_to_string(feed.join("schemas/post.sd")).map_err(bad)?;
    let services = fs::read_to_string(feed.join("services.xml")).map_err(bad)?;
    let _ = fs::remove_dir_all(folder); // absent the first time
    fs::create_dir_all(folder.join("schemas")).map_err(bad)?;
    let mut types = String::new();
    for at in 0..SCHEMAS {
        let text = schema.replace("post {", &format!("post{at} {{"));
        fs::write(folder.join(format!("schemas/post{at}.sd")), text).map_err(bad)?;
        let _ = write!(types, "<document type=\"post{at}\" mode=\"index\"/>"); // a String takes everything
    }
    let services = services.replace("<document type=\"post\" mode=\"index\"/>", &types);
    fs::write(folder.join("services.xml"), services).map_err(bad)
}

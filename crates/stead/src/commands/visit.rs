//! `stead visit`: all documents of a server, or those that a selection selects.

use std::fs::File;
use std::io::{BufRead, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::failure::Failure;
use crate::http_client::{AccessArgs, Target, segment};

/// Print the documents of a server, or those that a selection selects
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Prints a line of JSON for each document, {\"put\": id, \"fields\": {..}}, which `stead feed` takes. Documents \
    come as they are when the server comes to them; those that are put meanwhile may be there or not.\n\n\
    Examples:\n  stead visit > docs.jsonl\n  stead visit --selection 'music.year > 2000' --field-set music:title\n  \
    stead visit --slices 4 --output docs.jsonl.zst --target http://10.0.0.5:8080"
)]
pub struct VisitArgs {
    /// The query port of the server.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    target: Target,
    #[command(flatten)]
    access: AccessArgs,
    /// What selects documents, such as music.year > 2000.
    #[arg(long, value_name = "SELECTION")]
    selection: Option<String>,
    /// The fields: [document], [all], [id] or type:field,field.
    #[arg(long, value_name = "SET")]
    field_set: Option<String>,
    /// The content cluster, where the application has several.
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// Parts of the documents that are visited at the same time.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    slices: u16,
    /// Write to this file, packed if it ends in .gz or .zst.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// How often a visit goes on behind a connection that broke, without having come further.
const TRIES: u32 = 5;

/// Runs the command.
pub fn run(args: &VisitArgs) -> Result<(), Failure> {
    let output = Output::create(args.output.as_deref())?;
    let output = Mutex::new(output);
    let target = &args.access.reach(&args.target)?;
    let counts = std::thread::scope(|scope| {
        let slices: Vec<_> = (0..args.slices)
            .map(|slice| {
                let output = &output;
                scope.spawn(move || visit(args, target, slice, output))
            })
            .collect();
        let joined = slices.into_iter().map(|slice| {
            slice
                .join()
                .unwrap_or_else(|_| Err(Failure::failed("a visit ended in an internal error")))
        });
        joined.collect::<Result<Vec<u64>, Failure>>()
    })?;
    output.into_inner().unwrap_or_else(PoisonError::into_inner).finish()?;
    if args.output.is_some() {
        eprintln!("{} documents", counts.iter().sum::<u64>());
    }
    Ok(())
}

/// Visits a slice; how many documents it has.
fn visit(
    args: &VisitArgs,
    target: &Target,
    slice: u16,
    output: &Mutex<Output>,
) -> Result<u64, Failure> {
    let mut path = "/document/v1/?stream=true".to_owned();
    let mut parameter = |name: &str, value: &str| path += &format!("&{name}={}", segment(value));
    for (name, value) in
        [("selection", &args.selection), ("fieldSet", &args.field_set), ("cluster", &args.cluster)]
    {
        value.iter().for_each(|value| parameter(name, value));
    }
    if args.slices > 1 {
        parameter("slices", &args.slices.to_string());
        parameter("sliceId", &slice.to_string());
    }
    let (mut token, mut count, mut tries) = (None::<String>, 0, 0);
    loop {
        let from = token.as_ref().map_or_else(String::new, |t| format!("&continuation={t}"));
        let before = token.clone();
        let (status, answer) = target.open(&format!("{path}{from}"), "application/jsonl")?;
        if status != 200 {
            return Err(refused(status, answer));
        }
        if read(answer, &mut token, &mut count, output)? {
            return Ok(count);
        }
        tries = if token == before { tries + 1 } else { 0 };
        if tries == TRIES {
            let text = format!("the answer of {target} broke off {TRIES} times");
            return Err(Failure::failed(text));
        }
    }
}

/// Passes documents on. They are written up to where the server says how to go on behind them, so that a broken answer leaves none
/// that would come again. True at the end of all documents.
fn read(
    answer: impl BufRead,
    token: &mut Option<String>,
    count: &mut u64,
    output: &Mutex<Output>,
) -> Result<bool, Failure> {
    let (mut lines, mut waiting) = (Vec::new(), 0);
    for line in answer.lines() {
        // What is not whole comes again.
        let Ok(line) = line else { return Ok(false) };
        if line.starts_with("{\"put\"") || line.starts_with("{\"remove\"") {
            lines.extend_from_slice(line.as_bytes());
            lines.push(b'\n');
            waiting += 1;
            continue;
        }
        let Ok(json) = serde_json::from_str::<Value>(&line) else { return Ok(false) };
        if let Some(text) = json["message"]["text"].as_str() {
            eprintln!("{text}");
        }
        let Some(continuation) = json.get("continuation") else { continue };
        output.lock().unwrap_or_else(PoisonError::into_inner).write(&lines)?;
        lines.clear();
        *count += std::mem::take(&mut waiting);
        match continuation["token"].as_str() {
            Some(next) => *token = Some(next.to_owned()),
            None => return Ok(true),
        }
    }
    Ok(false)
}

fn refused(status: u16, mut answer: impl BufRead) -> Failure {
    let mut body = Vec::new();
    // What could be read of it is enough.
    let _ = answer.read_to_end(&mut body);
    let text = String::from_utf8_lossy(&body).into_owned();
    let json: Value = serde_json::from_str(&text).unwrap_or_default();
    Failure::failed(format!("{status}: {}", json["message"].as_str().unwrap_or(&text)))
}

/// Where documents go.
enum Output {
    Plain(Box<dyn Write + Send>),
    Gzip(flate2::write::GzEncoder<File>),
    Zstd(zstd::stream::write::Encoder<'static, File>),
}

impl Output {
    fn create(path: Option<&Path>) -> Result<Output, Failure> {
        let Some(path) = path else {
            return Ok(Output::Plain(Box::new(std::io::stdout())));
        };
        let fail = |e: std::io::Error| Failure::failed(format!("{}: {e}", path.display()));
        let file = File::create(path).map_err(fail)?;
        Ok(match path.extension().and_then(|e| e.to_str()) {
            Some("gz") => {
                Output::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::fast()))
            }
            Some("zst") => Output::Zstd(zstd::stream::write::Encoder::new(file, 3).map_err(fail)?),
            _ => Output::Plain(Box::new(BufWriter::new(file))),
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match self {
            Output::Plain(to) => to.write_all(bytes),
            Output::Gzip(to) => to.write_all(bytes),
            Output::Zstd(to) => to.write_all(bytes),
        };
        match written {
            // Nobody reads on, as behind `| head`.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
            written => written.map_err(|e| Failure::failed(format!("cannot write: {e}"))),
        }
    }

    fn finish(self) -> Result<(), Failure> {
        let finished = match self {
            Output::Plain(mut to) => to.flush(),
            Output::Gzip(to) => to.finish().map(drop),
            Output::Zstd(to) => to.finish().map(drop),
        };
        finished.map_err(|e| Failure::failed(format!("cannot write: {e}")))
    }
}

//! `stead feed`: sends the documents of files to a server, and goes on where it was interrupted.

mod latency;
mod operation;
mod position;
mod send;
mod source;
mod tally;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::failure::Failure;
use crate::http_client::{AccessArgs, Target};
use operation::Operation;
pub(super) use operation::path as document_path;
use position::Position;
use send::Sender;
use source::Source;
use tally::Tally;

/// Feed the documents of files to a server
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A file has operations as Vespa is fed with, one on each line or in an array: {\"put\": \"id:ns:type::1\", \
    \"fields\": {..}}, {\"update\": id, \"fields\": {\"f\": {\"assign\": 1}}, \"create\": true}, {\"remove\": id}, each with a \
    \"condition\" if it depends on the document. Files that end in .gz or .zst are unpacked; - is standard input. Operations \
    with the same document are done in their order. What a server is too busy for is sent again.\n\n\
    Examples:\n  stead feed docs.jsonl\n  stead feed docs.jsonl.zst --resume position.json\n  \
    zcat docs.json.gz | stead feed - --target http://10.0.0.5:8080 --json"
)]
pub struct FeedArgs {
    /// The files; - is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The query port of the server.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    target: Target,
    #[command(flatten)]
    access: AccessArgs,
    /// Connections, each with one operation at a time.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024))]
    connections: u16,
    /// Seconds that the server may take for an operation.
    #[arg(long, value_name = "SECONDS", default_value_t = 180)]
    timeout: u64,
    /// Seconds without any answer but "busy" after which this ends.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience: u64,
    /// Keep in this file how far the files were fed, and go on from there if it exists. It is removed at the end.
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Print what was done as JSON, with the keys of `vespa feed`.
    #[arg(long)]
    json: bool,
}

/// Runs the command. False if an operation was refused.
pub fn run(args: &FeedArgs) -> Result<bool, Failure> {
    let position = match &args.resume {
        Some(file) => Position::open(file, &args.files)?,
        None => Position::default(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Failure::failed(format!("no runtime: {e}")))?;
    let tally = Arc::new(Tally::new(&args.files, position));
    let sender = Sender {
        target: args.access.reach(&args.target)?,
        timeout: Duration::from_secs(args.timeout),
        patience: Duration::from_secs(args.patience),
        tally: Arc::clone(&tally),
    };
    let fed = runtime.block_on(async {
        let saver = tokio::spawn(save(Arc::clone(&tally), args.resume.clone()));
        let interrupted = tokio::signal::ctrl_c();
        let fed = tokio::select! {
            fed = feed(args, sender) => fed,
            _ = interrupted => Err(Failure::failed("interrupted")),
        };
        saver.abort();
        fed
    });
    // Reading standard input may wait for ever.
    runtime.shutdown_background();
    tally.finish_bar();
    match (&args.resume, &fed) {
        // What was refused is not sent again: it would be refused again.
        (Some(file), Ok(())) => Position::remove(file)?,
        (Some(file), Err(_)) => tally.position().save(file)?,
        (None, _) => {}
    }
    match args.json {
        true => println!("{:#}", tally.json()),
        false => eprintln!("{}", tally.text()),
    }
    fed.map(|()| tally.is_clean())
}

/// Saves the position now and then.
async fn save(tally: Arc<Tally>, file: Option<PathBuf>) {
    let Some(file) = file else { return };
    let mut every = tokio::time::interval(Duration::from_millis(250));
    loop {
        every.tick().await;
        // At the end it is tried again, and told if it fails.
        let _ = tally.position().save(&file);
    }
}

/// The operations that wait for a connection: as many as it takes that none of them idles.
const WAITING: usize = 16;

async fn feed(args: &FeedArgs, sender: Sender) -> Result<(), Failure> {
    let sender = Arc::new(sender);
    let mut queues = Vec::new();
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..args.connections {
        let (queue, operations) = tokio::sync::mpsc::channel::<Operation>(WAITING);
        queues.push(queue);
        workers.spawn(Arc::clone(&sender).run(operations));
    }
    let (files, tally) = (args.files.clone(), Arc::clone(&sender.tally));
    let reader = tokio::task::spawn_blocking(move || -> Result<(), Failure> {
        let mut source = Source::new(&files, &tally);
        while let Some(operation) = source.next()? {
            // The same document goes the same way, so that its operations stay in their order.
            let at = operation.document_hash() as usize % queues.len();
            if queues[at].blocking_send(operation).is_err() {
                // The worker has failed, and tells why.
                return Ok(());
            }
        }
        Ok(())
    });
    let mut failed = Ok(());
    while let Some(worker) = workers.join_next().await {
        let worker = worker.unwrap_or_else(|e| Err(Failure::failed(e)));
        if worker.is_err() {
            failed = worker;
            break;
        }
    }
    failed?;
    reader.await.map_err(Failure::failed)?
}

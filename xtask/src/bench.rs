//! `cargo xtask bench`: side-by-side measurements, written to `bench/RESULTS.md`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{
    Outcome, documents, engine, interpreters, kernels, load, models, paths, process, python,
    ranking, search, sequences, stateless,
};

/// Help text.
pub const HELP: &str = "side-by-side tables against ONNX Runtime, rten, tract and bare servers

Usage: cargo xtask bench [--quick] [server]
       cargo xtask bench engine [--quick] [models|bf16|bytes|cores|overhead ...] [MODEL ...]
       cargo xtask bench kernels [--quick] [elementwise|products|peaks|tiles ...]
       cargo xtask bench load [--quick] [time|memory]
       cargo xtask bench sequences [--quick] [streams|peers|batch|cost|growing|durability ...]
       cargo xtask bench ranking [--quick] [expressions|forests|network|sizes ...]
       cargo xtask bench documents [--quick] [experiment|sweep|link|slopes|feed|cross-encoder|tokens|footprint|many ...]
       cargo xtask bench python [--quick] [scaling|calls|pauses|http|memory|models ...]
       cargo xtask bench stateless [--quick] [embedding|run-size|beside-feed|serving|burst|peers ...]
       cargo xtask bench search [--quick] [text|vectors|many|million|hybrid ...]

Builds bench/peers (a workspace of its own) and the release binary, measures all sides in one
process and one run, interleaved, and writes medians and ratios with the machine and the commit to
bench/RESULTS.md. ONNX Runtime is the library of the onnxruntime wheel in target/py/onnx.

  server    only the HTTP and gRPC tables, start time, idle memory and binary size; without it the engine too
  --quick   less time, for a first look

  engine    the engine beside ONNX Runtime, rten and tract; a part replaces its own table only. A word of a model's title
            (`bench engine resnet minilm`) measures these and writes nothing:
    models      on one thread: ratios, the part of the arithmetic floor, peak memory, differences
    bf16        weights in bf16, beside ONNX Runtime in f32
    bytes       recurrent layers with weights of 8 bits, beside the same file in ONNX Runtime and f32
    cores       all cores for one run, beside ONNX Runtime's default threads
    overhead    an empty graph and one of 100 nodes

  kernels   models of one node beside ONNX Runtime, and only if it is named; a part replaces its own table only:
    elementwise Sigmoid, Tanh, Softmax and LayerNorm
    products    GEMM and GEMV with a constant matrix
    peaks       GEMM on AVX-512 and AVX2, as part of the multiply-adds of a core
    tiles       products of bf16 and of bytes by tiles of AMX, as part of what these reach in registers

  load      models of 440 MB, and only if it is named; a part replaces its own table only:
    time        to open them, over reading their bytes
    memory      of the process at its peak, over weights and arena

  sequences what sequences cost, and only if it is named; a part replaces its own table only:
    streams     the most real-time sequences by protocol
    peers       the same of NVIDIA Triton and MLServer around ONNX Runtime, of stead without its
                states, and a Python loop; each installed below target/py the first time. A peer
                that cannot be installed or started is a line that says why
    batch       silero at batch 32 on one thread, beside ONNX Runtime, rten and tract
    cost        a step of a sequence over Session::run
    growing     decode steps with a growing cache over steps of a fixed shape
    durability  memory of idle sequences, every_step over memory, fdatasync

  ranking   what rank profiles cost, and only if it is named; a part replaces its own table only:
    expressions dot products, best matches and sums beside numpy and a sum that only reads
    forests     GBDT of 300 and 3,000 trees beside XGBoost and LightGBM, installed below target/py
    network     a network over query and documents beside ONNX Runtime
    sizes       trained networks of several sizes, in bytes and in f32: time and nDCG

  documents what it costs to rank documents where they are stored, and only if it is named; a part replaces its own table:
    experiment  examples/blog-recommendation with 64 clients: ranked in place, by ONNX Runtime in the process that merges, and
                by MLServer behind gRPC and HTTP
    sweep       the same with 1 to 200 clients, drawn in bench/documents-*.svg
    link        the same with three stores in network namespaces, joined by links of 1 Gbit/s (Linux, as root, ip and tc)
    slopes      latency against the documents that are ranked and reranked, drawn in bench/documents-slopes-*.svg
    feed        documents made durable a second, by the Rust API and over HTTP, beside fjall and SQLite; what queries see of them
    cross-encoder  examples/cross-encoder with 1 to 64 clients and different numbers of threads, beside ONNX Runtime
    tokens      the same with passages of 32 to 512 tokens, padded and not
    footprint   start with a million documents, memory of documents and of an empty application, size of the binary
    many        start with ten million documents of 1.5 kB: takes 30 GB of disk, 8 GB of memory and ten minutes

  python    what private interpreters give and cost, and only if it is named; a part replaces its own table only:
    scaling     throughput of two and four interpreters over one, beside threads inside one and native threads
    calls       a call in process and of a worker over a bare hand-over between two threads
    http        a handler behind HTTP beside FastAPI and Triton's Python backend, installed below target/py
    memory      what each further interpreter takes, and what weights of 200 MB take in four of them
    models      three models in numpy: an interpreter for each thread, one for all, and the engine with the same as ONNX

  stateless what models cost that are evaluated for a request, and only if it is named; a part replaces its own table only:
    embedding   MiniLM on 10,000 passages, texts a second beside ONNX Runtime with one text a call and with its best batch
    run-size    the same by the ids and texts of a run
    beside-feed searches that embed their text while documents are embedded
    serving     networks of the structure of BERT-base and XtremeDistil with 1 to 64 clients, drawn in bench/stateless-*.svg
    burst       a thousand requests at once
    peers       beside MLServer and Triton's Python backend, installed below target/py

  search    what indexes cost, and only if it is named; a part replaces its own table only:
    text        queries of 1 to 5 words and feeds beside tantivy, of a million texts that are made up and of the manual pages of
                Debian's packages, fetched with apt-get the first time
    vectors     recall, queries and insertions beside hnswlib, and with filters beside usearch: 100,000 of 128 numbers; hnswlib is
                installed below target/py
    many        the same of 200,000 of 384: a quarter of an hour the first time
    million     the same of a million of 128: an hour the first time, 4 GB of memory and of disk
    hybrid      searches by words and vectors whose best 50 a network reads, with 1 to 64 clients, and the part of each phase";

/// A task with tables of its own: its name, its parts and what measures some of them, or all.
type Tables = (&'static str, &'static [&'static str], fn(&[&str], bool) -> Outcome);

const TABLES: [Tables; 8] = [
    ("kernels", &kernels::PARTS, kernels::run),
    ("load", &load::PARTS, load::run),
    ("sequences", &sequences::PARTS, sequences::run),
    ("ranking", &ranking::PARTS, ranking::run),
    ("documents", &documents::PARTS, documents::run),
    ("python", &interpreters::PARTS, interpreters::run),
    ("stateless", &stateless::PARTS, stateless::run),
    ("search", &search::PARTS, search::run),
];

/// Runs the task.
pub fn run(args: &[String]) -> Outcome {
    let named = |task: &str| args.iter().any(|a| a == task);
    if let Some(("engine", words)) = args.split_first().map(|(first, rest)| (first.as_str(), rest))
    {
        let words = words.iter().map(String::as_str).filter(|word| *word != "--quick");
        return engine::run(&words.collect::<Vec<_>>(), named("--quick"));
    }
    let tables = TABLES.iter().find(|(task, ..)| named(task));
    let parts = tables.map_or(&["server"] as &[&str], |(_, parts, _)| parts);
    let known = |name: &str| {
        name == "--quick" || parts.contains(&name) || tables.is_some_and(|(task, ..)| name == *task)
    };
    if let Some(unknown) = args.iter().find(|name| !known(name)) {
        return Err(format!("unknown argument `{unknown}`; see cargo xtask bench --help"));
    }
    if let Some((_, parts, run)) = tables {
        let wanted = args.iter().map(String::as_str).filter(|a| parts.contains(a));
        return run(&wanted.collect::<Vec<_>>(), named("--quick"));
    }
    let is_whole = named("server") || engine::run(&[], named("--quick"))?;
    process::run(
        process::cargo().args(["build", "--release", "--package", "stead"]),
        "cargo build",
    )?;
    let mut command = peers_command(&peers(true)?)?;
    command
        .arg("server")
        .args(args.iter().filter(|a| *a == "--quick"))
        .arg("--results")
        .arg(paths::root().join("bench/RESULTS.md"))
        .env("STEAD_BIN", paths::stead("release"))
        .env("STEAD_MLP", models::mlp()?);
    process::run(&mut command, "bench/peers")?;
    Ok(is_whole)
}

/// Builds the program of `bench/peers`, with the engines that it measures stead's against or without.
pub fn peers(with_engines: bool) -> Result<PathBuf, String> {
    let peers = paths::root().join("bench/peers");
    if !peers.exists() {
        return Err("bench/peers is missing".to_owned());
    }
    let mut build = process::cargo();
    build
        .current_dir(&peers)
        .args(["build", "--release"])
        .arg("--target-dir")
        .arg(paths::target().join("peers"));
    if !with_engines {
        build.arg("--no-default-features");
    }
    process::run(&mut build, "cargo build of bench/peers")?;
    Ok(paths::target().join("peers/release/peers"))
}

/// That program with the library of ONNX Runtime.
pub fn peers_command(program: &Path) -> Result<Command, String> {
    let mut command = Command::new(program);
    command.env("ORT_DYLIB_PATH", onnxruntime_library(&python::environment("onnx")?)?);
    Ok(command)
}

/// The shared library inside the onnxruntime wheel.
fn onnxruntime_library(python: &Path) -> Result<String, String> {
    let script = "import glob, os, onnxruntime; \
                  print(sorted(glob.glob(os.path.join(os.path.dirname(onnxruntime.__file__), 'capi', 'libonnxruntime.so*')))[0])";
    let path = process::capture(
        Command::new(python).args(["-c", script]),
        "finding the onnxruntime library",
    )?;
    Ok(path.trim().to_owned())
}

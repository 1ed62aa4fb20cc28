//! Times how long a model takes to open against reading its bytes once, and the memory at its peak.
//!
//! `cargo run --release -p stead-engine --example load make FOLDER` writes two models of 440 MB in which no weight is packed.
//! `... load time MODEL PAIRS` prints seconds as JSON, the medians of pairs of turns: to read the file and its data with
//! [`std::fs::read`], to read them into one buffer on huge pages, as large weights are, to read them through one buffer, and to open
//! the model until it can run.
//! `... load peak MODEL` opens a model and runs it once: bytes of its weights, of its arena, and of the process at its peak.
//!
//! External data is looked for in the file of the model's name that ends with `.data`. Open dimensions are 1, but for the
//! second of an input, which is 128: a text of 128 tokens.

#![allow(clippy::print_stdout, reason = "what it is for")]

use std::error::Error;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;
use stead_engine::{LoadOptions, Model, RunContext, Session, SessionOptions};
use stead_onnx::ModelBuilder;
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// Bytes of a file that is made.
const BYTES: usize = 440_000_000;

/// Columns of its tables.
const WIDTH: usize = 768;

/// Tokens of a text.
const TOKENS: usize = 128;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["make", folder] => {
            // As large as the tables of recommendation models, and as the weights of a small layer.
            for (name, tables) in [("tables4", 4), ("tables400", 400)] {
                let path = Path::new(folder).join(format!("{name}.onnx"));
                if fs::metadata(&path).is_ok_and(|found| found.len() > BYTES as u64 * 99 / 100) {
                    continue;
                }
                fs::write(path, summed(tables)?)?;
            }
            Ok(())
        }
        ["time", model, pairs] => time(Path::new(model), pairs.parse()?),
        ["peak", model] => peak(Path::new(model)),
        _ => Err("make FOLDER, time MODEL PAIRS or peak MODEL".into()),
    }
}

/// A model that sums the rows of `tables` tables for ids.
fn summed(tables: usize) -> Result<Vec<u8>, Box<dyn Error>> {
    let rows = BYTES / (tables * WIDTH * 4);
    let mut builder = ModelBuilder::new(17).input("ids", DType::I64, &["batch", "tokens"]);
    let mut state = 1u64;
    let mut sum = String::new();
    for table in 0..tables {
        let [weight, row, next] = ["table", "row", "sum"].map(|kind| format!("{kind}{table}"));
        let values = std::iter::repeat_with(|| {
            // Numbers of Knuth's MMIX generator; the upper bits are the random ones.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
        });
        let values: Vec<f32> = values.take(rows * WIDTH).collect();
        builder = builder.init(&weight, Tensor::from_slice(&values, &[rows, WIDTH])?);
        builder = builder.node("Gather", &[&weight, "ids"], &[&row]);
        if sum.is_empty() {
            sum = row;
        } else {
            builder = builder.node("Add", &[&sum, &row], &[&next]);
            sum = next;
        }
    }
    Ok(builder.output(&sum, DType::F32).bytes())
}

/// The file of a model and that of its data.
fn files(model: &Path) -> Vec<PathBuf> {
    let data = model.with_extension("data");
    let mut files = vec![model.to_owned()];
    files.extend(data.exists().then_some(data));
    files
}

/// All of a file in a buffer of its own.
fn on_huge_pages(path: &PathBuf) -> Result<AlignedBuf, Box<dyn Error>> {
    let file = File::open(path)?;
    let len = usize::try_from(file.metadata()?.len())?;
    Ok(AlignedBuf::filled(len, |room| room.read_file(&file))??)
}

fn open(path: &Path) -> Result<Session, Box<dyn Error>> {
    let model = Model::load(path, &LoadOptions::default())?;
    Ok(Session::new(model, &SessionOptions::default())?)
}

fn time(path: &Path, pairs: usize) -> Result<(), Box<dyn Error>> {
    let files = files(path);
    let mut through = vec![0u8; 1 << 20];
    let (mut whole, mut huge) = (Vec::new(), Vec::new());
    let (mut streamed, mut opened) = (Vec::new(), Vec::new());
    let mut ratios = [Vec::new(), Vec::new(), Vec::new()];
    // The first pair brings the files to memory.
    for pair in 0..=pairs {
        let start = Instant::now();
        let read = files.iter().map(fs::read).collect::<Result<Vec<_>, _>>()?;
        let whole_time = start.elapsed().as_secs_f64();
        drop(black_box(read));
        let start = Instant::now();
        let read = files.iter().map(on_huge_pages).collect::<Result<Vec<_>, _>>()?;
        let huge_time = start.elapsed().as_secs_f64();
        drop(black_box(read));
        let start = Instant::now();
        for file in &files {
            let mut file = File::open(file)?;
            while file.read(black_box(&mut through))? > 0 {}
        }
        let streamed_time = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let session = open(path)?;
        let opened_time = start.elapsed().as_secs_f64();
        drop(black_box(session));
        if pair > 0 {
            whole.push(whole_time);
            huge.push(huge_time);
            streamed.push(streamed_time);
            opened.push(opened_time);
            ratios[0].push(opened_time / whole_time);
            ratios[1].push(opened_time / huge_time);
            ratios[2].push(opened_time / streamed_time);
        }
    }
    let [over_read, over_huge, over_streamed] = ratios.map(middle);
    println!(
        r#"{{"read": {}, "huge": {}, "streamed": {}, "open": {}, "over_read": {over_read}, "over_huge": {over_huge}, "over_streamed": {over_streamed}}}"#,
        middle(whole),
        middle(huge),
        middle(streamed),
        middle(opened)
    );
    Ok(())
}

fn middle(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

fn peak(path: &Path) -> Result<(), Box<dyn Error>> {
    let before = status("VmRSS:")?;
    let session = open(path)?;
    let opened = status("VmHWM:")?;
    let inputs = session.model().inputs().iter().map(|input| {
        let dims = input.dims.iter().flatten().enumerate();
        let dims = dims.map(|(at, d)| d.known().unwrap_or(if at == 1 { TOKENS } else { 1 }));
        Tensor::zeros(input.dtype, Shape::new(&dims.collect::<Vec<_>>())?)
    });
    let inputs = inputs.collect::<Result<Vec<Tensor>, _>>()?;
    let views: Vec<_> = inputs.iter().map(|t| Some(t.view())).collect();
    session.run_with(&views, &RunContext::default(), |_| ())?;
    let peak = status("VmHWM:")?;
    let arena: usize = session.plan_view(&views)?.arena_bytes.iter().sum();
    let weights = session.model().info().parameter_bytes;
    println!(
        r#"{{"weights": {weights}, "arena": {arena}, "before": {before}, "opened": {opened}, "peak": {peak}}}"#
    );
    Ok(())
}

/// A line of `/proc/self/status` in bytes.
fn status(name: &str) -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib: u64 = line.and_then(|v| v.split_whitespace().next()).ok_or("no such line")?.parse()?;
    Ok(kib * 1024)
}

//! How long the network of a rank profile takes for the documents of a query, beside ONNX Runtime, in turn in one run.
//!
//!     python bench/peers/ranking/rankers.py make target/ranking-bench
//!     cargo run --release -p stead-search --example network_speed -- \
//!         target/ranking-bench [--rounds N] python bench/peers/ranking/rankers.py
//!
//! The network takes a concatenation of a vector of the query and one of the document. It is measured as the model
//! function of a profile, the query's half included: with the documents' halves computed, and with those kept, whose
//! documents come in another order than they were kept in. Scores are compared before anything is measured. Without the peer's
//! command only stead is measured. Ends with a line of JSON; times are medians in milliseconds.
#![allow(clippy::print_stdout)]

#[path = "../../../bench/peers/median.rs"]
mod median;
#[path = "../../../bench/peers/peer.rs"]
mod peer;

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::BufReader;
use std::path::Path;
use std::time::Instant;

use median::median;
use peer::Peer;
use stead_app::application::Application;
use stead_app::application::rank::{KeptOption, PackageModels};
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_engine::{Isa, Serial};
use stead_expr::{Attribute, Cells, Labels, Stored, Value, parse_type};
use stead_kernels::gemm::{
    Epilogue, Lhs, MatRef, Rhs, gemm, gemm_scratch_len, pack_b, packed_b_len,
};
use stead_search::models::{CellStamps, Column, Documents, Given, ModelFunction, Scratch};
use stead_tensor::{AlignedBuf, Tensor, npy};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mut rounds = 101;
    if let Some(at) = words.iter().position(|word| word == "--rounds") {
        rounds = words.get(at + 1).ok_or("--rounds needs a number")?.parse()?;
        words.drain(at..at + 2);
    }
    let [folder, command @ ..] = &words[..] else {
        return Err("usage: network_speed FOLDER [--rounds N] [PYTHON rankers.py]".into());
    };
    let folder = Path::new(folder);
    let model = load(&folder.join("package"), KeptOption::Off)?;
    let keeps = load(&folder.join("package"), KeptOption::Usual)?;
    for line in keeps.explain() {
        println!("{line}");
    }
    let user = array(&folder.join("user.npy"))?;
    let items = array(&folder.join("items.npy"))?;
    let (count, size) = (items.shape()[0], items.shape()[1]);
    let kind = parse_type(&format!("tensor<float>(d0[1],d1[{size}])"))?;
    let user =
        Value::new(kind, Labels::default(), Cells::Float(user.as_slice::<f32>()?.to_vec().into()))?;
    let items = items.as_slice::<f32>()?;
    let columns =
        [Column::Cells(Attribute::Dense { cells: Cells::Float(items.into()), stride: size })];
    let documents = Documents { count, index: None, columns: &columns };
    let mut scratch = Scratch::default();
    let mut score = || -> Result<Vec<f32>, Box<dyn Error>> {
        let bound = model.for_query(&[Given::Value(&user)])?;
        let scores = bound.run(&documents, &mut scratch)?;
        numbers(scores.first())
    };
    let expected = array(&folder.join("scores.npy"))?;
    compare(&score()?, expected.as_slice()?)?;
    // The best documents of a query come in any order.
    let order: Vec<usize> = (0..count).map(|at| at * 77 % count).collect();
    let stamps: Vec<CellStamps> = (1..=count as u64).map(|stamp| [stamp, 0]).collect();
    let shuffled: Vec<CellStamps> = order.iter().map(|at| stamps[*at]).collect();
    let mut scratch = Scratch::default();
    let mut kept = |stamps: &[CellStamps]| -> Result<Vec<f32>, Box<dyn Error>> {
        let bound = keeps.for_query(&[Given::Value(&user)])?;
        let known = keeps.known(stamps);
        let scores = bound.run_known(&documents, known, &Serial, &mut scratch)?;
        numbers(scores.first())
    };
    kept(&stamps)?;
    let found = kept(&shuffled)?;
    let expected = expected.as_slice::<f32>()?;
    compare(&found, &order.iter().map(|at| expected[*at]).collect::<Vec<_>>())?;

    let mut peer = Peer::start(command, folder)?;
    let mut products = products(count, size)?;
    let (mut own, mut known, mut floor) = (Vec::new(), Vec::new(), Vec::new());
    let (mut batch, mut one) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        own.push(time(|| score().map(black_box).map(|_| ()))?);
        known.push(time(|| kept(&shuffled).map(black_box).map(|_| ()))?);
        floor.push(time(|| {
            products();
            Ok(())
        })?);
        batch.extend(peer.milliseconds("network")?);
        if round % 10 == 0 {
            one.extend(peer.milliseconds("network-one")?);
        }
    }
    let [own, known, floor, batch, one] =
        [own, known, floor, batch, one].map(|mut times| median(&mut times));
    let number = |x: f64| if x.is_nan() { "null".to_owned() } else { format!("{x:.4}") };
    println!(
        "{{\"documents\": {count}, \"isa\": \"{}\", \"network_ms\": {}, \"kept_ms\": {}, \"products_ms\": {}, \"peer_ms\": {}, \"peer_one_by_one_ms\": {}}}",
        Isa::detect().name(),
        number(own),
        number(known),
        number(floor),
        number(batch),
        number(one)
    );
    Ok(())
}

/// Scores that are tensors of one number.
fn numbers(scores: Option<&Stored>) -> Result<Vec<f32>, Box<dyn Error>> {
    match scores.map(Stored::attribute) {
        Some(Attribute::Dense { cells, .. }) => Ok(cells.floats().into_owned()),
        _ => Err("scores are tensors of one number".into()),
    }
}

/// The model that the profile of a package names.
fn load(folder: &Path, kept: KeptOption) -> Result<ModelFunction, Box<dyn Error>> {
    let files = PackageFiles::open(folder)?;
    let (application, mut report) = Application::read(&files, ServicesOptions::default());
    let compiled = application.compile(&PackageModels::new(&files), &mut report);
    if let Some(wrong) = report.diagnostics().first() {
        return Err(wrong.to_string().into());
    }
    let model = compiled.values().flatten().flat_map(|profile| &profile.models).next();
    let mut model = model.ok_or("the package names no model")?.clone();
    model.options.kept = kept;
    Ok(ModelFunction::load(&model, &files)?)
}

/// The two large products of the documents alone, with nothing around them: what the machine can do.
fn products(rows: usize, size: usize) -> Result<impl FnMut(), Box<dyn Error>> {
    let isa = Isa::detect();
    let mut layers = Vec::new();
    for (k, n) in [(size, 512), (512, 128)] {
        let (x, w) = (vec![0.5_f32; rows * k], vec![0.25_f32; k * n]);
        let mut packed = AlignedBuf::zeroed(packed_b_len(isa, k, n) * size_of::<f32>())?;
        pack_b(isa, k, n, MatRef::rows(&w, n), bytemuck::cast_slice_mut(&mut packed));
        layers.push((k, n, x, packed, vec![0.0_f32; rows * n]));
    }
    let mut scratch = Vec::new();
    Ok(move || {
        for (k, n, x, packed, out) in &mut layers {
            let (k, n) = (*k, *n);
            let lhs = || Lhs::Strided(MatRef::rows(x, k));
            let rhs = || Rhs::Packed(bytemuck::cast_slice(packed));
            scratch.resize(gemm_scratch_len(isa, rows, n, k, &lhs(), &rhs()), 0.0);
            let epilogue = Epilogue::default();
            gemm(isa, &Serial, rows, n, k, lhs(), rhs(), out, n, &epilogue, &mut scratch);
            black_box(out);
        }
    })
}

fn time(mut run: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

fn array(path: &Path) -> Result<Tensor, Box<dyn Error>> {
    Ok(npy::read(&mut BufReader::new(fs::File::open(path)?), u64::MAX)?)
}

fn compare(found: &[f32], expected: &[f32]) -> Result<(), String> {
    let differs = |(a, b): (&f32, &f32)| (a - b).abs() > 1e-5 * b.abs().max(1.0);
    match found.iter().zip(expected).position(differs) {
        None if found.len() == expected.len() => Ok(()),
        None => Err(format!("{} scores instead of {}", found.len(), expected.len())),
        Some(i) => Err(format!("document {i}: {} is not {}", found[i], expected[i])),
    }
}

//! How long forests take beside XGBoost and LightGBM, one thread each, in turn in one run.
//!
//!     python bench/peers/trees/forests.py make target/trees-bench
//!     cargo run --release -p stead-trees --example forest_speed -- \
//!         target/trees-bench python bench/peers/trees/forests.py
//!
//! Prints a line of a table for each model: medians of both, their ratio, and the time for one
//! tree and one row. Scores are compared before anything is measured. Without the peer's command
//! only stead is measured.
#![allow(clippy::print_stdout)]

#[path = "../../../bench/peers/median.rs"]
mod median;
#[path = "../../../bench/peers/peer.rs"]
mod peer;

use std::error::Error;
use std::fs;
use std::io::BufReader;
use std::path::Path;
use std::time::Instant;

use median::median;
use peer::Peer;
use stead_kernels::Isa;
use stead_tensor::{Tensor, npy};
use stead_trees::{Forest, Mode, ReadOptions, Rows, Scratch, read};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let is_quick = words.iter().any(|word| word == "--quick");
    words.retain(|word| word != "--quick");
    let [folder, command @ ..] = &words[..] else {
        return Err("usage: forest_speed FOLDER [--quick] [PYTHON forests.py]".into());
    };
    let folder = Path::new(folder);
    let mut peer = Peer::start(command, folder)?;
    let isa = match std::env::var("STEAD_ISA") {
        Ok(name) => Isa::from_name(&name).ok_or("STEAD_ISA is not the name of a level")?,
        Err(_) => Isa::detect(),
    };
    let rows = array(&folder.join("rows.npy"))?;
    let features = rows.shape().dims()[1];
    let rows = Rows::of_f32(rows.as_slice()?, features);
    println!("{} rows, {features} f32 features, one thread, {}", rows.len(), isa.name());
    println!("| model | stead ms | peer ms | ratio | ns for a tree and row |");
    println!("|---|---|---|---|---|");
    for (library, ending) in [("xgboost", "ubj"), ("lightgbm", "txt")] {
        for trees in [300, 3000] {
            let file = fs::read(folder.join(format!("{library}-{trees}.{ending}")))?;
            let forest = Forest::new(&read(&file, &ReadOptions::default())?, Mode::Exact);
            let mut scores = vec![0.0; rows.len()];
            let mut scratch = Scratch::default();
            forest.predict_with(isa, &rows, &mut scratch, &mut scores)?;
            compare(&scores, array(&folder.join(format!("{library}-{trees}.npy")))?.as_slice()?)?;
            let (mut own, mut theirs) = (Vec::new(), Vec::new());
            let rounds = if trees == 300 { 21 } else { 7 };
            for _ in 0..if is_quick { 3 } else { rounds } {
                theirs.extend(peer.milliseconds(&format!("{library} {trees}"))?);
                let start = Instant::now();
                forest.predict_with(isa, &rows, &mut scratch, &mut scores)?;
                own.push(start.elapsed().as_secs_f64() * 1e3);
            }
            let (own, theirs) = (median(&mut own), median(&mut theirs));
            let each = own * 1e6 / (trees * rows.len()) as f64;
            let ratio = theirs / own;
            println!("| {library} {trees} | {own:.2} | {theirs:.1} | {ratio:.1} | {each:.2} |");
        }
    }
    Ok(())
}

fn array(path: &Path) -> Result<Tensor, Box<dyn Error>> {
    Ok(npy::read(&mut BufReader::new(fs::File::open(path)?), u64::MAX)?)
}

fn compare(found: &[f64], expected: &[f64]) -> Result<(), String> {
    let differs = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-6 * b.abs().max(1.0);
    match found.iter().zip(expected).position(differs) {
        None => Ok(()),
        Some(i) => Err(format!("row {i}: {} is not {}", found[i], expected[i])),
    }
}

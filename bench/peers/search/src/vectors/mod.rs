//! stead's graph of vectors beside hnswlib's, and with filters beside usearch's.

pub mod data;
mod filtered;
mod own;
mod peer;

use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use stead_ann::Hit;
use stead_tensor::Bits;

use crate::Result;
use crate::corpus::Random;
use crate::median::median;
use filtered::Filtered;
use own::Own;
use peer::Peer;

/// What all graphs are made with.
const LINKS: usize = 16;
const EXPLORE: usize = 200;

/// How many neighbours a query asks for.
const HITS: usize = 10;

const QUERIES: usize = 500;

/// With a filter there are fewer queries and sweeps: usearch goes through the whole graph where few vectors pass.
const QUERIES_FILTERED: usize = 100;
const SWEEPS_FILTERED: usize = 3;

/// How many hnswlib keeps while searching; stead keeps the fewest with which its recall is no less, at most as many.
const KEPT: [usize; 5] = [16, 32, 64, 128, 256];

/// With a filter: the fewest of these with which stead's recall is [`RECALL`], else the last.
const KEPT_FILTERED: [usize; 3] = [64, 128, 256];
const RECALL: f64 = 0.95;

/// The part of all vectors that passes, in percent.
const PASSING: [f64; 4] = [50.0, 10.0, 1.0, 0.1];

/// Turns in which the graphs are built: many, so that a machine that slows down does so for both.
const TURNS: usize = 20;

/// How many vectors of how many numbers, and how many threads build a graph.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub count: usize,
    pub size: usize,
    pub threads: usize,
    /// How many of them are in graphs of files when it begins; usearch, whose building is not compared, has all then.
    pub before: usize,
}

/// The files of graphs.
const OWN: &str = "own.links";
const HNSWLIB: &str = "hnswlib.bin";
const USEARCH: &str = "usearch.index";

/// The process of hnswlib: an interpreter that has it, and the script.
#[derive(Debug, Clone, Copy)]
pub struct Script<'s> {
    pub python: &'s str,
    pub path: &'s str,
}

/// Makes the graphs that [`measured`] goes on with, of those that are not there.
pub fn built(shape: Shape, folder: &Path, script: Script<'_>) -> Result<Value> {
    let cells = data::vectors(shape.count + QUERIES, shape.size);
    let base = &cells[..shape.count * shape.size];
    write(&folder.join("base.f32"), base)?;
    write(&folder.join("queries.f32"), &cells[base.len()..])?;
    let mut made = Vec::new();
    let is_wanted = |name: &str| shape.before > 0 && !folder.join(name).exists();
    if is_wanted(OWN) {
        let mut own = Own::new(shape)?;
        own.add(base, 0..shape.before)?;
        own.write(&folder.join(OWN))?;
        made.push(OWN);
    }
    if is_wanted(HNSWLIB) {
        let mut peer = Peer::start(script.python, script.path, folder, shape)?;
        peer.add(0, shape.before)?;
        peer.keep("save", &folder.join(HNSWLIB))?;
        made.push(HNSWLIB);
    }
    if !folder.join(USEARCH).exists() {
        let filtered = Filtered::new(shape)?;
        filtered.add(0, base, shape.threads)?;
        filtered.write(&folder.join(USEARCH))?;
        made.push(USEARCH);
    }
    Ok(json!({"made": made}))
}

/// Builds, or goes on with, and searches all graphs.
pub fn measured(shape: Shape, sweeps: usize, folder: &Path, script: Script<'_>) -> Result<Value> {
    let cells = data::vectors(shape.count + QUERIES, shape.size);
    let (base, queries) = cells.split_at(shape.count * shape.size);
    write(&folder.join("base.f32"), base)?;
    write(&folder.join("queries.f32"), queries)?;
    let queries: Vec<&[f32]> = queries.chunks_exact(shape.size).collect();
    let mut peer = Peer::start(script.python, script.path, folder, shape)?;
    let mut own = match shape.before {
        0 => Own::new(shape)?,
        _ => {
            peer.keep("load", &folder.join(HNSWLIB))?;
            Own::read(shape, &folder.join(OWN), base)?
        }
    };
    let filtered = Filtered::read(&folder.join(USEARCH), shape)?;

    let (mut seconds, mut ratios, added) = ([0.0; 2], Vec::new(), shape.count - shape.before);
    for turn in 0..TURNS {
        let at = |turn: usize| shape.before + added * turn / TURNS;
        let (from, to) = (at(turn), at(turn + 1));
        let mut of = [0.0; 2];
        // Each begins as often as the other.
        for side in [turn % 2, 1 - turn % 2] {
            let started = Instant::now();
            if side == 1 {
                // As it says: without the reading of a file.
                of[1] = peer.add(from, to)?;
                continue;
            }
            own.add(base, from..to)?;
            of[0] = started.elapsed().as_secs_f64();
        }
        ratios.push(of[1] / of[0]);
        seconds.iter_mut().zip(of).for_each(|(sum, of)| *sum += of);
    }
    let rates = seconds.map(|seconds| added as f64 / seconds);

    let truth = peer.truth(None)?;
    let mut found = Vec::new();
    for kept in KEPT {
        found.push(beside_hnswlib(&mut own, &mut peer, &queries, kept, sweeps, &truth)?);
    }
    let mut passing = Vec::new();
    for percent in PASSING {
        let mut random = Random(percent.to_bits());
        let mask: Vec<u8> =
            (0..shape.count).map(|_| u8::from(random.part() * 100.0 < percent)).collect();
        let file = folder.join("mask.u8");
        fs::write(&file, &mask)?;
        let truth = peer.truth(Some(&file))?;
        let some = &queries[..QUERIES_FILTERED];
        let sweeps = sweeps.min(SWEEPS_FILTERED);
        let truth = &truth[..QUERIES_FILTERED];
        let mut row = beside_usearch(&mut own, &filtered, some, &mask, sweeps, truth)?;
        row["percent"] = percent.into();
        passing.push(row);
    }
    // Lists of the lowest level have twice the links, and of those above there is one for 15 vectors.
    let vectors = 4.0 * (shape.count * shape.size) as f64;
    let links = 4.0 * (shape.count * 2 * LINKS) as f64
        + 4.0 * (shape.count * LINKS) as f64 / (LINKS - 1) as f64;
    Ok(
        json!({"count": shape.count, "size": shape.size, "threads": shape.threads, "before": shape.before, "rates": rates,
        "ratio": median(&mut ratios),
        "memory": own.memory()?, "least_memory": vectors + links, "peer_memory": peer.memory()?,
        "found": found, "passing": passing}),
    )
}

fn beside_hnswlib(
    own: &mut Own,
    peer: &mut Peer,
    queries: &[&[f32]],
    kept: usize,
    sweeps: usize,
    truth: &[Vec<u32>],
) -> Result<Value> {
    peer.search(kept)?;
    let (peer_kept, peer_recall) = (kept, recall(&peer.found()?, truth));
    let mut recall_of = |kept: usize| {
        let ours: Vec<Vec<u32>> =
            queries.iter().map(|query| ids(own.search(query, kept, None))).collect();
        recall(&ours, truth)
    };
    let (mut kept, mut own_recall) = (peer_kept, recall_of(peer_kept));
    for fewer in (HITS..kept).rev() {
        let found = recall_of(fewer);
        if found < peer_recall {
            break;
        }
        (kept, own_recall) = (fewer, found);
    }
    let times = turns(sweeps, |side| {
        if side == 1 {
            return peer.search(peer_kept);
        }
        let started = Instant::now();
        for query in queries {
            std::hint::black_box(own.search(query, kept, None));
        }
        Ok(started.elapsed().as_secs_f64())
    })?;
    Ok(told(
        times,
        queries.len(),
        json!({"kept": kept, "peer_kept": peer_kept, "recall": own_recall, "peer_recall": peer_recall}),
    ))
}

fn beside_usearch(
    own: &mut Own,
    filtered: &Filtered,
    queries: &[&[f32]],
    mask: &[u8],
    sweeps: usize,
    truth: &[Vec<u32>],
) -> Result<Value> {
    let mut filter = Bits::default();
    for at in (0..mask.len()).filter(|at| mask[*at] != 0) {
        filter.insert(at);
    }
    // usearch asks for each vector: a look into a table of bits as stead's.
    let passes = |key: u64| filter.contains(key as usize);
    let mut found = (KEPT_FILTERED[0], 0.0);
    for kept in KEPT_FILTERED {
        let ours: Vec<Vec<u32>> =
            queries.iter().map(|query| ids(own.search(query, kept, Some(&filter)))).collect();
        found = (kept, recall(&ours, truth));
        if found.1 >= RECALL {
            break;
        }
    }
    let (kept, own_recall) = found;
    let theirs: Result<Vec<Vec<u32>>> =
        queries.iter().map(|query| filtered.search(query, kept, passes)).collect();
    let theirs = theirs?;
    let times = turns(sweeps, |side| {
        let started = Instant::now();
        for query in queries {
            match side {
                0 => drop(std::hint::black_box(own.search(query, kept, Some(&filter)))),
                _ => drop(std::hint::black_box(filtered.search(query, kept, passes)?)),
            }
        }
        Ok(started.elapsed().as_secs_f64())
    })?;
    Ok(told(
        times,
        queries.len(),
        json!({"kept": kept, "recall": own_recall, "peer_recall": recall(&theirs, truth)}),
    ))
}

/// The seconds of both sides, turn by turn.
fn turns(sweeps: usize, mut side: impl FnMut(usize) -> Result<f64>) -> Result<Vec<[f64; 2]>> {
    let turn = |sweep: usize| {
        let mut of = [0.0; 2];
        for at in [sweep % 2, 1 - sweep % 2] {
            of[at] = side(at)?;
        }
        Ok(of)
    };
    (0..sweeps).map(turn).collect()
}

/// A row with what turns tell.
fn told(times: Vec<[f64; 2]>, queries: usize, mut row: Value) -> Value {
    let middle = |of: fn(&[f64; 2]) -> f64| median(&mut times.iter().map(of).collect::<Vec<_>>());
    row["per_second"] = (queries as f64 / middle(|of| of[0])).into();
    row["peer_per_second"] = (queries as f64 / middle(|of| of[1])).into();
    row["ratio"] = middle(|of| of[1] / of[0]).into();
    row
}

fn ids(hits: &[Hit]) -> Vec<u32> {
    hits.iter().map(|hit| hit.document).collect()
}

/// The part of what is true that was found.
fn recall(found: &[Vec<u32>], truth: &[Vec<u32>]) -> f64 {
    let good = found
        .iter()
        .zip(truth)
        .map(|(found, truth)| truth.iter().filter(|id| found.contains(id)).count());
    let wanted: usize = truth.iter().map(Vec::len).sum();
    good.sum::<usize>() as f64 / wanted.max(1) as f64
}

fn write(file: &Path, cells: &[f32]) -> Result<()> {
    let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
    fs::write(file, bytes).map_err(|e| format!("{}: {e}", file.display()).into())
}

#[cfg(test)]
mod tests {
    use super::recall;

    #[test]
    fn recall_is_a_part_of_what_is_true() {
        for (found, truth, expected) in [
            (vec![vec![1, 2], vec![3, 9]], vec![vec![1, 2], vec![3, 4]], 0.75),
            (vec![vec![7]], vec![vec![7, 8]], 0.5),
            (vec![vec![]], vec![vec![]], 0.0),
        ] {
            assert_eq!(recall(&found, &truth), expected, "{found:?}");
        }
    }
}

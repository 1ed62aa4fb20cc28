//! What the size of a run of an embedder's model is worth: ids and texts of a run, and how many texts are taken together.

use super::{Context, passages};
use crate::results::{Table, middle};

/// The most ids of a run.
const IDS: [usize; 6] = [256, 512, 1024, 2048, 4096, 8192];

/// The most texts of a run, and how many texts are taken together.
const TEXTS: [[usize; 2]; 5] = [[16, 64], [64, 64], [64, 128], [64, 256], [256, 256]];

/// Texts of a turn.
const TURN: usize = 256;

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let rounds = if context.quick { 1 } else { 3 };
    let mut rows = Vec::new();
    for (threads, list) in [(1, "0".to_owned()), (cores, format!("0-{}", cores - 1))] {
        println!("{threads} threads");
        let (mut stead, _) = passages::stead(context, &list)?;
        stead.seconds(&format!("run 2048 64 64 0 {TURN}"))?;
        let mut times = vec![vec![Vec::new(); TEXTS.len()]; IDS.len()];
        for round in 0..rounds {
            for (ids, row) in IDS.iter().zip(&mut times) {
                for ([texts, taken], cell) in TEXTS.iter().zip(row) {
                    let from = round * TURN % (passages::count(context) - TURN + 1);
                    let ask = format!("run {ids} {texts} {taken} {from} {TURN}");
                    cell.push(TURN as f64 / stead.seconds(&ask)?);
                }
            }
        }
        for (ids, row) in IDS.iter().zip(times) {
            let speeds = row.into_iter().map(|cell| middle(cell).unwrap_or(f64::NAN));
            let cells = speeds.map(|speed| format!("{speed:.1}"));
            rows.push([threads.to_string(), ids.to_string()].into_iter().chain(cells).collect());
        }
    }
    Ok(Table {
        title: "texts a second by the size of runs".to_owned(),
        note: format!(
            "The model of `embedding` alone, without tokenising, on {TURN} of its passages at a time, medians of {rounds} turns of each: texts taken together (what waits for an \
             embedder, at most `MAX_TEXTS` of `embedders/queue.rs`) are put into runs by `stead_embed::batches` with the most texts (`MAX_TEXTS` of `embedders/network.rs`) and ids (`MAX_IDS`) of \
             a run."
        ),
        header: vec![
            "threads",
            "ids of a run",
            "16 texts, of 64",
            "64, of 64",
            "64, of 128",
            "64, of 256",
            "256, of 256",
        ],
        rows,
    })
}

//! Rankings as runs of TREC, which `trec_eval` and its like read.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::failure::Failure;

/// The documents of a query by the names that judgements have for them, with their scores; the best first.
pub(super) struct Ranking {
    pub(super) query: String,
    pub(super) hits: Vec<(String, f64)>,
}

/// Writes rankings as `query Q0 document rank score tag`.
pub(super) fn write(path: &Path, tag: &str, rankings: &[Ranking]) -> Result<(), Failure> {
    let written = File::create(path).and_then(|file| {
        let mut file = BufWriter::new(file);
        rankings.iter().try_for_each(|ranking| lines(&mut file, tag, ranking))?;
        file.flush()
    });
    written.map_err(|e| Failure::failed(format!("{}: {e}", path.display())))
}

fn lines(file: &mut impl Write, tag: &str, ranking: &Ranking) -> std::io::Result<()> {
    let falls = falls(&ranking.hits);
    for (rank, (name, score)) in (1..).zip(&ranking.hits) {
        let score = if falls { *score } else { 1.0 / f64::from(rank) };
        let [query, name, tag] = [&ranking.query, name, tag].map(|text| {
            // Columns end with what is blank.
            text.split_whitespace().collect::<Vec<_>>().join("_")
        });
        writeln!(file, "{query} Q0 {name} {rank} {score} {tag}")?;
    }
    Ok(())
}

/// Whether scores alone tell the order: `trec_eval` has no regard for ranks, keeps scores in single precision, and puts documents of
/// the same score in the order of their names. Rankings by attributes have all the same score.
fn falls(hits: &[(String, f64)]) -> bool {
    let scores = || hits.iter().map(|(_, score)| *score as f32);
    scores().all(f32::is_finite) && scores().zip(scores().skip(1)).all(|(a, b)| a > b)
}

#[cfg(test)]
mod tests {
    use super::{Ranking, lines};

    #[test]
    fn runs_have_the_order_of_hits() {
        for (label, scores, expected) in [
            ("scores fall", [0.75, 0.5], ["0.75", "0.5"]),
            ("the same", [0.0, 0.0], ["1", "0.5"]),
            ("the same in single precision", [0.75 + 1e-12, 0.75], ["1", "0.5"]),
            ("no number", [f64::INFINITY, 1.0], ["1", "0.5"]),
        ] {
            let hits = vec![("d 1".to_owned(), scores[0]), ("d2".to_owned(), scores[1])];
            let mut file = Vec::new();
            lines(&mut file, "bm25", &Ranking { query: "q".to_owned(), hits }).unwrap();
            let [a, b] = expected;
            let expected = format!("q Q0 d_1 1 {a} bm25\nq Q0 d2 2 {b} bm25\n");
            assert_eq!(String::from_utf8(file).unwrap(), expected, "{label}");
        }
    }
}

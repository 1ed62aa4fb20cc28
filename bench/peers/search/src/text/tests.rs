//! Matches and scores beside tantivy's, of random texts and queries.

use super::own::Own;
use super::peer::Peer;
use super::{are_equal, is_near};
use crate::Result;
use crate::corpus::Random;

/// Random texts of few words, so that queries match many; from a length on that has a block of postings more than one.
fn texts(random: &mut Random) -> Vec<String> {
    let (count, vocabulary) = (1 + random.next() % 600, 2 + random.next() % 40);
    let word = |random: &mut Random| format!("w{}", random.rank((1.0, vocabulary as f64 + 1.0)));
    let text = |random: &mut Random| {
        let words: Vec<String> = (0..1 + random.next() % 40).map(|_| word(random)).collect();
        words.join(" ")
    };
    (0..count).map(|_| text(random)).collect()
}

/// How many seeds there are if nothing else is said; `STEAD_SEEDS` are so many from `STEAD_SEED` on (`cargo xtask soak texts`).
const SEEDS: u64 = 60;

#[test]
fn matches_and_scores_are_those_of_tantivy() -> Result<()> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, count) =
        (number("STEAD_SEED").unwrap_or(0), number("STEAD_SEEDS").unwrap_or(SEEDS));
    for seed in first..first + count {
        let mut random = Random(seed);
        let texts = texts(&mut random);
        let ((own, _), (peer, _)) = (Own::fed(&texts), Peer::fed(&texts)?);
        assert_eq!(own.words(), peer.words()?, "seed {seed}");
        for _ in 0..20 {
            let mut query: Vec<String> =
                (0..1 + random.next() % 5).map(|_| format!("w{}", random.next() % 45)).collect();
            query.sort();
            query.dedup();
            let label = format!("seed {seed}, {query:?}");
            for all in [false, true] {
                assert_eq!(own.matches(&query, all), peer.matches(&query, all)?, "{label}");
            }
            for wanted in [1, 10, texts.len()] {
                let (ours, theirs) = (own.top(&query, wanted), peer.scored(&query, wanted)?);
                assert!(are_equal(&ours, &theirs), "{label} {wanted}: {ours:?} {theirs:?}");
            }
            // Each document that matches has a score.
            assert_eq!(own.top(&query, texts.len()).len(), own.matches(&query, false).len());
        }
    }
    Ok(())
}

#[test]
fn what_is_not_equal_is_told() {
    let ours = [(1, 3.0), (2, 2.0), (3, 1.0)];
    for (label, theirs, expected) in [
        ("the same", vec![(1, 3.0), (2, 2.0), (3, 1.0)], true),
        ("another with the last score", vec![(1, 3.0), (2, 2.0), (4, 1.0)], true),
        ("another with a better one", vec![(1, 3.0), (4, 2.0), (3, 1.0)], false),
        ("another score", vec![(1, 3.0), (2, 2.1), (3, 1.0)], false),
        ("fewer", vec![(1, 3.0), (2, 2.0)], false),
        ("none", vec![], false),
    ] {
        assert_eq!(are_equal(&ours, &theirs), expected, "{label}");
    }
    assert!(are_equal(&[], &[]) && !are_equal(&[], &ours) && is_near(0.0, 0.0));
}

//! What is asked: words of the texts by their ranks among all.

use std::collections::{HashMap, HashSet};

use crate::corpus::Random;

/// Words by how many texts have them, the most frequent first, without capitals.
pub fn ranked(texts: &[String]) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for text in texts {
        let small = text.to_lowercase();
        for word in small.split(' ').collect::<HashSet<_>>() {
            match counts.get_mut(word) {
                Some(count) => *count += 1,
                None => drop(counts.insert(word.to_owned(), 1)),
            }
        }
    }
    let mut ranked: Vec<(usize, String)> = counts.into_iter().map(|(word, n)| (n, word)).collect();
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    ranked.into_iter().map(|(_, word)| word).collect()
}

/// Queries of so many different words, whose ranks are of a range and have uniform logarithms.
pub fn of(ranked: &[String], ranks: (f64, f64), terms: usize, count: usize) -> Vec<Vec<String>> {
    let mut random = Random(terms as u64);
    let ranks = (ranks.0, ranks.1.min(ranked.len() as f64));
    let query = |_| {
        let mut query: Vec<String> = Vec::new();
        // Where there are few words a query is shorter.
        for _ in 0..100 * terms {
            let word = ranked.get(random.rank(ranks));
            query.extend(word.filter(|word| query.len() < terms && !query.contains(word)).cloned());
        }
        query
    };
    (0..count).map(query).collect()
}

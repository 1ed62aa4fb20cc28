//! stead's index of a field, by its own interface: that which the operator `weakAnd` takes the best documents from.

use std::sync::mpsc;
use std::time::{Duration, Instant};

#[cfg(test)]
use stead_tensor::Bits;
use stead_text::{Analysis, Bm25, FieldIndex, FieldWriter, Language, Merge, Occurrence, Top, Unit};

use super::Scored;

/// An index of texts, whose numbers are their places.
pub struct Own {
    index: FieldIndex,
}

/// Words without capitals, as tantivy's tokenizer `default` has them.
const ANALYSIS: Analysis = Analysis {
    unit: Unit::Word,
    is_stemmed: false,
    drops_accents: false,
    is_cased: false,
    longest: 1000,
};

impl Own {
    /// Feeds texts, each published at once, and how long that took: with all joining of segments, that of large ones on a second thread, as
    /// the server does it.
    pub fn fed(texts: &[String]) -> (Own, Duration) {
        let started = Instant::now();
        let mut writer = FieldWriter::default();
        let (merges, to_do) = mpsc::channel::<Merge>();
        let (joined, done) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || to_do.iter().try_for_each(|merge| joined.send(merge.run())));
            let merge = |writer: &mut FieldWriter| writer.merge().map(|merge| merges.send(merge));
            for (lid, text) in texts.iter().enumerate() {
                let terms = ANALYSIS
                    .terms(text, Language::english())
                    .enumerate()
                    .map(|(at, term)| (term.text, Occurrence { element: 0, position: at as u32 }));
                writer.put(lid as u32, terms);
                std::hint::black_box(writer.publish());
                done.try_iter().for_each(|merged| writer.install(merged));
                merge(&mut writer);
            }
            // What is being joined, and what is better joined then, and while nothing changes.
            let rest = |writer: &mut FieldWriter| writer.rest().map(|merge| merges.send(merge));
            while writer.is_merging() || merge(&mut writer).or_else(|| rest(&mut writer)).is_some()
            {
                let Ok(merged) = done.recv() else { break };
                writer.install(merged);
            }
            drop(merges);
        });
        let index = writer.publish();
        (Own { index }, started.elapsed())
    }

    /// The best texts by BM25 and their scores, the best first.
    pub fn top(&self, query: &[String], wanted: usize) -> Vec<Scored> {
        let bm25 = Bm25::new(self.index.average_length());
        let documents = self.index.documents();
        let weight = |term| bm25.weight(Bm25::idf(documents, self.index.frequency(term)));
        let terms: Vec<(&str, f64)> =
            query.iter().map(|term| (term.as_str(), weight(term))).collect();
        let top = self.index.top(&Top { count: wanted, terms: &terms, bm25 }, |_| true);
        top.into_iter().map(|scored| (scored.lid, scored.score)).collect()
    }

    /// The texts that have all of the words, or one of them.
    #[cfg(test)]
    pub fn matches(&self, query: &[String], all: bool) -> Vec<u32> {
        let of = |term: &String| {
            let mut rows = Bits::default();
            self.index.rows(term, 0..u32::MAX, &mut rows);
            rows
        };
        let rows: Vec<Bits> = query.iter().map(of).collect();
        let end = rows.iter().flat_map(|rows| rows.iter()).max().map_or(0, |last| last + 1);
        let is_match = |document: &usize| match all {
            true => rows.iter().all(|rows| rows.contains(*document)),
            false => rows.iter().any(|rows| rows.contains(*document)),
        };
        (0..end).filter(is_match).map(|document| document as u32).collect()
    }

    /// How many words all texts have.
    pub fn words(&self) -> u64 {
        self.index.words()
    }

    /// How many segments there are.
    pub fn segments(&self) -> usize {
        self.index.segments()
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.index.memory()
    }
}

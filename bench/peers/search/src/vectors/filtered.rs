//! usearch: a graph that is searched with a filter.

use std::path::Path;

use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use super::{EXPLORE, HITS, LINKS, Shape};
use crate::Result;

/// A graph of vectors.
pub struct Filtered {
    index: Index,
    size: usize,
}

impl Filtered {
    /// One without vectors, for so many.
    pub fn new(shape: Shape) -> Result<Filtered> {
        let options = IndexOptions {
            dimensions: shape.size,
            metric: MetricKind::IP,
            quantization: ScalarKind::F32,
            connectivity: LINKS,
            expansion_add: EXPLORE,
            ..IndexOptions::default()
        };
        let index = Index::new(&options)?;
        index.reserve(shape.count)?;
        Ok(Filtered { index, size: shape.size })
    }

    /// One that was [written](Filtered::write).
    pub fn read(file: &Path, shape: Shape) -> Result<Filtered> {
        let filtered = Filtered::new(shape)?;
        filtered.index.load(&file.to_string_lossy())?;
        Ok(filtered)
    }

    /// Writes it to a file.
    pub fn write(&self, file: &Path) -> Result<()> {
        Ok(self.index.save(&file.to_string_lossy())?)
    }

    /// Adds vectors, the first of which has a number, by threads that take every so many-th.
    pub fn add(&self, first: usize, cells: &[f32], threads: usize) -> Result<()> {
        let work = |thread: usize| -> std::result::Result<(), String> {
            let rows = cells.chunks_exact(self.size).enumerate().skip(thread).step_by(threads);
            for (at, row) in rows {
                self.index.add((first + at) as u64, row).map_err(|e| e.to_string())?;
            }
            Ok(())
        };
        let ended: std::result::Result<Vec<()>, String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|t| scope.spawn(move || work(t))).collect();
            threads.into_iter().map(|t| t.join().map_err(|_| "a thread panicked")?).collect()
        });
        Ok(ended.map(drop)?)
    }

    /// The nearest that pass, while so many are kept.
    pub fn search(
        &self,
        query: &[f32],
        explore: usize,
        passes: impl Fn(u64) -> bool,
    ) -> Result<Vec<u32>> {
        self.index.change_expansion_search(explore);
        let found = self.index.filtered_search(query, HITS, passes)?;
        Ok(found.keys.into_iter().map(|key| key as u32).collect())
    }
}

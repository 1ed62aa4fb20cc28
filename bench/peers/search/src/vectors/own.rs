//! stead's graph, by its own interface.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use stead_ann::{Graph, Hit, Metric, Options, Query, Request, Rows, Scratch, Writer};
use stead_tensor::Bits;

use super::{EXPLORE, HITS, LINKS};
use crate::Result;

fn options() -> Options {
    let metric = Metric::PrenormalizedAngular;
    Options { max_links: LINKS, explore: EXPLORE, ..Options::new(metric) }
}

/// A graph of vectors that are elsewhere.
pub struct Own {
    writer: Writer,
    graph: Graph,
    scratch: Scratch,
    hits: Vec<Hit>,
}

impl Own {
    /// One without vectors.
    pub fn new() -> Own {
        Own::of(Writer::new(options()))
    }

    /// One that was [written](Own::write), of so many vectors at most.
    pub fn read(file: &Path, count: usize) -> Result<Own> {
        Ok(Own::of(Writer::of(Graph::read(&fs::read(file)?, options(), count as u32)?)))
    }

    /// Writes its links to a file.
    pub fn write(&self, file: &Path) -> Result<()> {
        Ok(self.graph.write_to(&mut fs::File::create(file)?)?)
    }

    fn of(writer: Writer) -> Own {
        let (graph, scratch) = (writer.publish(), Scratch::default());
        Own { writer, graph, scratch, hits: Vec::new() }
    }

    /// Adds vectors of a range of numbers.
    pub fn add(
        &mut self,
        rows: &Rows<'_, f32>,
        numbers: std::ops::Range<usize>,
        threads: usize,
    ) -> Result<()> {
        let several = |rounds: usize, body: &(dyn Fn(usize) + Sync)| {
            let next = AtomicUsize::new(0);
            let work = || {
                let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < rounds);
                std::iter::from_fn(take).for_each(body);
            };
            std::thread::scope(|scope| {
                for _ in 1..threads.min(rounds) {
                    scope.spawn(work);
                }
                work();
            });
        };
        let documents: Vec<u32> = numbers.map(|number| number as u32).collect();
        self.writer.put_all(rows, &documents, &several)?;
        self.graph = self.writer.publish();
        Ok(())
    }

    /// The nearest, of those that pass a filter, while so many are kept.
    pub fn search(
        &mut self,
        rows: &Rows<'_, f32>,
        query: &[f32],
        kept: usize,
        filter: Option<&Bits>,
    ) -> &[Hit] {
        let query: Vec<f64> = query.iter().map(|x| f64::from(*x)).collect();
        let query = Query::new(Metric::PrenormalizedAngular, &query);
        let request = Request { explore: kept - HITS, filter, ..Request::new(HITS) };
        self.graph.search(rows, &query, &request, &mut self.scratch, &mut self.hits);
        &self.hits
    }

    /// Bytes of its links and of what it knows of vectors.
    pub fn memory(&self) -> usize {
        self.graph.memory()
    }
}

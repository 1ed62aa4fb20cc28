//! The working memory of runs.

use crate::plan::{PlanNode, Texts};
use std::sync::Arc;
use stead_tensor::Blocks;

/// The working memory of one run.
#[derive(Default)]
pub(super) struct Scratch {
    pub blocks: Blocks,
    pub texts: Texts,
    pub path: Vec<Arc<PlanNode>>,
    /// Runs in a row that needed far less than the blocks hold.
    small_runs: u32,
}

impl Scratch {
    /// Where a run has left its results.
    pub fn results(&self) -> (&Blocks, &Texts) {
        (&self.blocks, &self.texts)
    }

    /// Notes the end of a run, and tells whether the memory should be given back: a few very large requests
    /// must not hold it for good, and a large one now and then must not make every run allocate.
    pub fn is_oversized(&mut self) -> bool {
        /// Below this nothing is worth giving back.
        const KEPT: usize = 16 << 20;
        /// So many small runs pay for one allocation many times over.
        const PATIENCE: u32 = 256;
        let needed: usize = self.path.iter().map(|node| node.segment.bytes()).sum();
        let held = self.blocks.byte_len();
        self.path.clear();
        self.small_runs = if held > KEPT.max(4 * needed) { self.small_runs + 1 } else { 0 };
        self.small_runs > PATIENCE
    }
}

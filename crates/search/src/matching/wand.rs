//! `wand`: the documents whose tokens add up to the most, the products of their weights and those of the query.
//!
//! Vespa lets documents pass while their sum is above that of the worst of the best so far, so that which ones are found depends on the
//! order in which it looks at them (`parallel_weak_and_search.cpp`). Here they are the best of those that pass everything beside
//! the operator in an `and`, of equal ones the first: the same whatever the threads.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

use stead_store::StoreError;
use stead_tensor::Bits;
use stead_text::Scored;

use super::value::passes;
use super::weak::{Kept, Search};
use crate::query::Tree;
use crate::rank::{Means, Ranges};

/// The blocks that a thread looks at at a time.
const BLOCKS: usize = 4;

/// What a thread has found.
#[derive(Default)]
struct Found {
    best: Kept,
    /// Blocks that were left out because it was late.
    late: Vec<usize>,
}

impl Search<'_> {
    /// The documents with the greatest sums of a term, as many as are wanted; `late` gets the blocks that there was no time for.
    pub(super) fn of_sums(
        &self,
        (threads, means): (usize, Means<'_>),
        late: &mut Vec<usize>,
    ) -> Result<Bits, StoreError> {
        let done: Mutex<Vec<Result<Found, StoreError>>> = Mutex::default();
        means.share(threads, (self.matcher.segments.len(), BLOCKS), &|taken| {
            let found = self.sums(taken, means);
            done.lock().unwrap_or_else(PoisonError::into_inner).push(found);
        });
        let mut all = Vec::new();
        for found in done.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let mut found = found?;
            all.extend(found.best.into_iter().map(|Reverse(scored)| scored));
            late.append(&mut found.late);
        }
        all.sort_unstable_by(|a, b| b.cmp(a));
        let mut found = Bits::default();
        all.iter().take(self.weak.target_hits).for_each(|scored| {
            found.insert(scored.lid as usize);
        });
        Ok(found)
    }

    fn sums(&self, taken: Ranges<'_>, means: Means<'_>) -> Result<Found, StoreError> {
        let mut found = Found::default();
        for block in taken.flatten() {
            match (means.is_late)() {
                true => found.late.push(block),
                false => self.sums_of_block(block, &mut found.best)?,
            }
        }
        Ok(found)
    }

    fn sums_of_block(&self, block: usize, best: &mut Kept) -> Result<(), StoreError> {
        let [part @ Tree::Term(number)] = self.weak.parts.as_slice() else { return Ok(()) };
        if self.matcher.is_ruled_out(part, block)? {
            return Ok(());
        }
        let among = self.among(block)?;
        let Some(work) = self.matcher.work(block).filter(|_| !among.is_empty()) else {
            return Ok(());
        };
        let rows = self.matcher.evaluate(part, &work, &among)?;
        let term = &self.matcher.tree().terms[*number];
        let column = match self.matcher.own(*number, &work).filter(|_| !rows.is_empty()) {
            Some(of) => work.column(of.number)?,
            None => None,
        };
        for row in rows.iter() {
            let score = match column {
                Some(column) => passes(&term.test, column, row),
                // A value of a parent.
                None => self.matcher.term(*number, block, row)?,
            };
            let Some(score) = score else { continue };
            self.keep(Scored { lid: self.view.lid(block, row), score }, best);
        }
        Ok(())
    }
}

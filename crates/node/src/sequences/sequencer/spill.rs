//! States of idle sequences that go to disk when all together take too much memory.

use super::{Sequencer, Stored};
use crate::sequences::state::State;
use crate::states::States;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use stead_sequence::durable::encode_state;
use stead_sequence::{Age, SequenceId, Weight};

/// States that are looked up while the table is locked.
const BATCH: usize = 64;

/// What a model may hold in memory, and what lies on disk.
pub(crate) struct Spilling {
    states: Option<Arc<States>>,
    /// Bytes; 0 for no limit.
    budget: AtomicU64,
    count: Arc<AtomicU64>,
    /// Up to where idle states are on disk already.
    passed: Mutex<Age>,
    /// Whether the disk has refused, which is told once.
    failed: AtomicBool,
}

impl Spilling {
    pub(crate) fn new(states: Option<Arc<States>>) -> Spilling {
        let (budget, count) = (AtomicU64::new(0), Arc::default());
        Spilling { states, budget, count, passed: Mutex::default(), failed: AtomicBool::new(false) }
    }

    pub(super) fn set_budget(&self, bytes: u64) {
        self.budget.store(bytes, Ordering::Relaxed);
    }

    /// States on disk.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Tells how much memory is taken now.
    pub(super) fn grown(&self, bytes: u64) {
        let budget = self.budget.load(Ordering::Relaxed);
        if let Some(states) = self.states.as_ref().filter(|_| budget > 0 && bytes > budget) {
            states.wake();
        }
    }
}

impl Sequencer {
    /// Puts states on disk, of the sequences longest without a step first, until the rest keeps to the budget. Steps
    /// go on meanwhile; a sequence that has one keeps its state in memory.
    pub(crate) fn spill_idle(&self) {
        let budget = self.spill.budget.load(Ordering::Relaxed);
        let Some(states) = self.spill.states.as_ref().filter(|_| budget > 0) else { return };
        let mut passed = self.spill.passed.lock().unwrap_or_else(PoisonError::into_inner);
        if self.lock().bytes() <= budget {
            return;
        }
        // A little more than is needed, so that not every step makes another one go.
        let aim = budget - budget / 16;
        loop {
            let (batch, end) = self.longest_idle(&mut passed, aim);
            for (id, state) in batch {
                let slot = match states.spill().put(&encode_state(&state.0), &self.spill.count) {
                    Ok(slot) => slot,
                    Err(error) => {
                        if !self.spill.failed.swap(true, Ordering::Relaxed) {
                            let why = error.kind();
                            tracing::error!(model = self.model, "states stay in memory: {why}");
                        }
                        *passed = Age::default();
                        return;
                    }
                };
                let mut table = self.lock();
                let is_same = matches!(table.state(&id), Ok((_, Stored::Here(now))) if Arc::ptr_eq(&now.0, &state.0));
                if is_same {
                    table.replace_state(&id, Stored::Away(Arc::new(slot)));
                }
            }
            if end {
                return;
            }
        }
    }

    /// The next states that are to go, and whether they are the last.
    fn longest_idle(&self, passed: &mut Age, aim: u64) -> (Vec<(SequenceId, State)>, bool) {
        let mut table = self.lock();
        let mut over = table.bytes().saturating_sub(aim);
        let mut batch = Vec::new();
        for (age, id, stored) in table.coldest(*passed) {
            if over == 0 {
                return (batch, true);
            }
            *passed = age;
            let Stored::Here(state) = stored else { continue };
            over = over.saturating_sub(stored.bytes());
            batch.push((id.clone(), state.clone()));
            if batch.len() == BATCH {
                return (batch, over == 0);
            }
        }
        // Those in which a step ran were passed by; they are found from the beginning.
        *passed = Age::default();
        (batch, true)
    }
}

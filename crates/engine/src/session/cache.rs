//! The bounded cache of plans, by input shapes.

use crate::compile::Program;
use crate::error::RunError;
use crate::plan::{Arranged, Growing, GrowingShape, PlanNode, start_plan};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use stead_tensor::{Shape, TensorView};

/// Counters of the plan cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlanStats {
    /// Plans held now.
    pub plans: usize,
    /// Runs that found their plan.
    pub hits: u64,
    /// Runs that had to make one.
    pub misses: u64,
    /// Plans dropped for newer ones.
    pub evictions: u64,
    /// How long making plans took, all of them together.
    pub planning: Duration,
}

/// What a plan is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub shapes: Vec<Option<Shape>>,
    /// How the tensors are arranged; nothing where each is an input.
    pub lists: Box<[Arranged]>,
    pub growing: Vec<GrowingShape>,
}

impl Key {
    pub fn of(inputs: &[Option<TensorView<'_>>], lists: &[Arranged], growing: &[Growing]) -> Key {
        let shapes = inputs.iter().map(|i| i.map(|v| v.shape())).collect();
        Key { shapes, lists: lists.into(), growing: growing.iter().map(shape_of).collect() }
    }

    fn hash(&self) -> u64 {
        hash_of(self.shapes.iter().copied(), &self.lists, self.growing.iter().copied())
    }
}

/// The plan for one set of input shapes.
pub(super) struct PlanEntry {
    pub key: Key,
    pub root: Arc<PlanNode>,
    /// How long the last run took; 0 when there was none.
    pub last_nanos: AtomicU64,
    last_used: AtomicU64,
}

/// Entries by the hash of their shapes, so that a look-up needs no key of its own. Every run looks for its plan, and
/// shapes that were chosen to collide share a bucket no longer than the cache is large: a quick hash will do.
type Entries = HashMap<u64, Vec<Arc<PlanEntry>>, FixedState>;

pub(super) struct PlanCache {
    entries: RwLock<Entries>,
    max_plans: usize,
    clock: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
    planning_nanos: AtomicU64,
}

impl PlanCache {
    pub fn new(max_plans: usize) -> PlanCache {
        PlanCache {
            entries: RwLock::default(),
            max_plans: max_plans.max(1),
            clock: AtomicU64::new(1),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
            planning_nanos: AtomicU64::new(0),
        }
    }

    /// The plan for these inputs if it is there; does not count as a use.
    fn peek(
        &self,
        inputs: &[Option<TensorView<'_>>],
        lists: &[Arranged],
        growing: &[Growing],
    ) -> Option<Arc<PlanEntry>> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let shapes = inputs.iter().map(|i| i.map(|v| v.shape()));
        let bucket = entries.get(&hash_of(shapes, lists, growing.iter().map(shape_of)))?;
        bucket.iter().find(|entry| entry.matches(inputs, lists, growing)).cloned()
    }

    /// The plan for these inputs, made outside of any lock when it is new.
    ///
    /// # Errors
    /// Those of planning, and [`RunError::NotQuick`] for a plan that is not known to run `within` this time.
    pub fn get(
        &self,
        program: &Program,
        inputs: &[Option<TensorView<'_>>],
        lists: &[Arranged],
        growing: &[Growing],
        within: Option<Duration>,
    ) -> Result<Arc<PlanEntry>, RunError> {
        let known = self.peek(inputs, lists, growing);
        let is_quick = |entry: &Arc<PlanEntry>, limit| entry.last().is_some_and(|t| t <= limit);
        if let Some(limit) = within
            && !known.as_ref().is_some_and(|entry| is_quick(entry, limit))
        {
            return Err(RunError::NotQuick);
        }
        let now = self.clock.fetch_add(1, Relaxed);
        if let Some(entry) = known {
            self.hits.fetch_add(1, Relaxed);
            entry.last_used.store(now, Relaxed);
            return Ok(entry);
        }
        self.misses.fetch_add(1, Relaxed);
        self.make(program, Key::of(inputs, lists, growing), now)
    }

    /// Makes a plan that a run may want soon, if it is not there.
    pub fn prepare(&self, program: &Program, key: Key) -> Result<(), RunError> {
        let known = {
            let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
            entries.get(&key.hash()).is_some_and(|bucket| bucket.iter().any(|e| e.key == key))
        };
        if !known {
            self.make(program, key, self.clock.fetch_add(1, Relaxed))?;
        }
        Ok(())
    }

    fn make(&self, program: &Program, key: Key, now: u64) -> Result<Arc<PlanEntry>, RunError> {
        let started = Instant::now();
        let root = Arc::new(start_plan(program, &key.shapes, &key.lists, &key.growing)?);
        self.planned(started.elapsed());
        let hash = key.hash();
        let entry = Arc::new(PlanEntry {
            root,
            key,
            last_nanos: AtomicU64::new(0),
            last_used: AtomicU64::new(now),
        });
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let bucket = entries.entry(hash).or_default();
        if let Some(other) = bucket.iter().find(|e| e.key == entry.key) {
            // Another caller was faster; one plan for all keeps its measured time in one place.
            return Ok(other.clone());
        }
        bucket.push(entry.clone());
        if entries.values().map(Vec::len).sum::<usize>() > self.max_plans {
            self.evict(&mut entries);
        }
        Ok(entry)
    }

    /// Adds the time that a plan, or the continuation of one, took to make.
    pub fn planned(&self, time: Duration) {
        let nanos = time.as_nanos().min(u128::from(u64::MAX)) as u64;
        self.planning_nanos.fetch_add(nanos, Relaxed);
    }

    /// Drops the plans that were not used for longest, some at a time: looking for them takes longer than making
    /// one. Callers that run one hold it until they are done.
    fn evict(&self, entries: &mut Entries) {
        let age = |entry: &Arc<PlanEntry>| entry.last_used.load(Relaxed);
        let mut ages: Vec<u64> = entries.values().flatten().map(age).collect();
        // What a run asks for between two searches stays below what the cache holds by this part.
        let some = (self.max_plans / 16).min(ages.len().saturating_sub(1));
        let Some((_, &mut oldest, _)) = (!ages.is_empty()).then(|| ages.select_nth_unstable(some))
        else {
            return;
        };
        let mut dropped = 0;
        entries.retain(|_, bucket| {
            let before = bucket.len();
            bucket.retain(|entry| age(entry) > oldest);
            dropped += (before - bucket.len()) as u64;
            !bucket.is_empty()
        });
        self.evictions.fetch_add(dropped, Relaxed);
    }

    pub fn stats(&self) -> PlanStats {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        PlanStats {
            plans: entries.values().map(Vec::len).sum(),
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            evictions: self.evictions.load(Relaxed),
            planning: Duration::from_nanos(self.planning_nanos.load(Relaxed)),
        }
    }
}

impl PlanEntry {
    /// How long the last run took, if there was one.
    pub fn last(&self) -> Option<Duration> {
        let nanos = self.last_nanos.load(Relaxed);
        (nanos > 0).then(|| Duration::from_nanos(nanos))
    }

    fn matches(
        &self,
        inputs: &[Option<TensorView<'_>>],
        arranged: &[Arranged],
        growing: &[Growing],
    ) -> bool {
        let Key { shapes, lists, growing: lengths } = &self.key;
        **lists == *arranged
            && shapes.len() == inputs.len()
            && shapes.iter().zip(inputs).all(|(a, b)| *a == b.map(|v| v.shape()))
            && lengths.len() == growing.len()
            && lengths.iter().zip(growing).all(|(a, b)| *a == shape_of(b))
    }
}

fn shape_of(growing: &Growing) -> GrowingShape {
    let Growing { input, output, growth } = growing;
    GrowingShape { input: *input, output: *output, axis: growth.axis(), shape: growth.shape() }
}

fn hash_of(
    shapes: impl Iterator<Item = Option<Shape>>,
    lists: &[Arranged],
    growing: impl Iterator<Item = GrowingShape>,
) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    shapes.for_each(|shape| shape.hash(&mut hasher));
    lists.iter().for_each(|arranged| arranged.hash(&mut hasher));
    growing.for_each(|state| state.hash(&mut hasher));
    hasher.finish()
}

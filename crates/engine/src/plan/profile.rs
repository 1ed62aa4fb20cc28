//! Steps that have run, summed by kernel and node: what a hook of [`RunContext::profile`](crate::RunContext::profile) notes.

use super::work::{StepRun, Work};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Sums over runs, which any number of threads may add to.
#[derive(Debug, Default)]
pub struct Profile(Mutex<Sums>);

#[derive(Debug, Default)]
struct Sums {
    /// In the order in which the steps ran first.
    rows: Vec<ProfileRow>,
    /// The row of a kernel and a node.
    places: HashMap<(&'static str, String), usize>,
}

/// What was summed for a kernel, or for a kernel at one node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfileRow {
    /// The kernel.
    pub kernel: &'static str,
    /// The node; empty for a kernel at all nodes.
    pub node: String,
    /// Steps.
    pub calls: u64,
    /// Their time.
    pub time: Duration,
    /// Their work.
    pub work: Work,
}

impl ProfileRow {
    fn add(&mut self, other: &ProfileRow) {
        self.calls += other.calls;
        self.time += other.time;
        self.work.flops += other.work.flops;
        self.work.bytes += other.work.bytes;
    }

    /// Operations a nanosecond, which are GFLOP/s; nothing where none were counted.
    pub fn gflops(&self) -> Option<f64> {
        self.rate(self.work.flops)
    }

    /// Bytes a nanosecond, which are GB/s.
    pub fn gigabytes_per_second(&self) -> Option<f64> {
        self.rate(self.work.bytes)
    }

    fn rate(&self, amount: u64) -> Option<f64> {
        let nanos = self.time.as_nanos() as f64;
        (amount > 0 && nanos > 0.0).then(|| amount as f64 / nanos)
    }
}

impl Profile {
    /// Takes up a step of a run.
    pub fn note(&self, step: &StepRun<'_>) {
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Sums { rows, places } = &mut *sums;
        let at = *places.entry((step.kernel, step.node.to_owned())).or_insert_with(|| {
            let (kernel, node) = (step.kernel, step.node.to_owned());
            rows.push(ProfileRow { kernel, node, ..ProfileRow::default() });
            rows.len() - 1
        });
        let (time, work) = (step.time, step.work);
        let one = ProfileRow { calls: 1, time, work, ..ProfileRow::default() };
        if let Some(row) = rows.get_mut(at) {
            row.add(&one);
        }
    }

    /// The sums of kernels, and those of kernels at nodes, the longest first.
    pub fn sums(&self) -> (Vec<ProfileRow>, Vec<ProfileRow>) {
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner).rows.clone();
        let mut kernels: Vec<ProfileRow> = Vec::new();
        for row in &nodes {
            match kernels.iter_mut().find(|sum| sum.kernel == row.kernel) {
                Some(sum) => sum.add(row),
                None => kernels.push(ProfileRow { node: String::new(), ..row.clone() }),
            }
        }
        for rows in [&mut kernels, &mut nodes] {
            rows.sort_by_key(|row| std::cmp::Reverse(row.time));
        }
        (kernels, nodes)
    }
}

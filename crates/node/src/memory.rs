//! How much memory this process may use, and the part of it that requests may hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// When the system does not tell: small enough for any machine that serves models.
const UNKNOWN: u64 = 4 << 30;

/// Bytes of memory that this process may use: the machine's, or less if a control group says so.
pub(crate) fn available() -> u64 {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let groups = files.iter().filter_map(|f| std::fs::read_to_string(f).ok()?.trim().parse().ok());
    groups.chain(total(&meminfo)).min().unwrap_or(UNKNOWN)
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Bytes that requests hold between their arrival and their answer, with a limit.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    held: AtomicU64,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Arc<Budget> {
        Arc::new(Budget { limit, held: AtomicU64::new(0) })
    }

    /// The limit in bytes.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Takes `bytes`, or nothing when they would go beyond the limit. A request that is alone is always
    /// admitted: what one request may bring is not decided here.
    pub(crate) fn take(self: &Arc<Self>, bytes: u64) -> Option<Held> {
        let fits = |held: u64| {
            let sum = held.checked_add(bytes)?;
            (held == 0 || sum <= self.limit).then_some(sum)
        };
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        Some(Held { budget: Arc::clone(self), bytes })
    }
}

/// Bytes taken from a [`Budget`]; dropping gives them back.
#[derive(Debug)]
pub(crate) struct Held {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_kept_and_given_back() {
        let budget = Budget::new(100);
        let large = budget.take(1000);
        assert!(large.is_some(), "alone");
        assert!(budget.take(1).is_none());
        drop(large);
        let a = budget.take(60);
        assert!(a.is_some() && budget.take(50).is_none() && budget.take(u64::MAX).is_none());
        let b = budget.take(40);
        assert!(b.is_some() && budget.take(1).is_none());
        drop((a, b));
        assert_eq!(budget.held.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn memory_of_the_machine() {
        assert_eq!(total("MemTotal:       16307000 kB\nMemFree: 1 kB\n"), Some(16_698_368_000));
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert!(available() > 0);
    }
}

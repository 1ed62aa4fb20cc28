//! One thread that wakes schedulers whose first request has waited long enough.

use super::Scheduler;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Instant;

struct Entry {
    at: Instant,
    scheduler: Weak<Scheduler>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

#[derive(Default)]
struct Alarms {
    heap: BinaryHeap<Reverse<Entry>>,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    alarms: Mutex<Alarms>,
    changed: Condvar,
}

/// The timer; dropping it ends its thread. The thread starts with the first alarm, so that a node without
/// batching has none.
#[derive(Default)]
pub(crate) struct Timer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Timer {
    /// Wakes `scheduler` at `at`, unless it is gone then. `false` when there is no thread to do it.
    pub(crate) fn wake(&self, at: Instant, scheduler: Weak<Scheduler>) -> bool {
        if !self.start() {
            return false;
        }
        let mut alarms = self.shared.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        alarms.heap.push(Reverse(Entry { at, scheduler }));
        drop(alarms);
        self.shared.changed.notify_one();
        true
    }

    fn start(&self) -> bool {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let made = std::thread::Builder::new()
                .name("stead-timer".to_owned())
                .spawn(move || shared.run());
            match made {
                Ok(handle) => *thread = Some(handle),
                Err(error) => tracing::error!(%error, "no thread for the batching timer"),
            }
        }
        thread.is_some()
    }
}

impl Shared {
    fn run(&self) {
        let mut alarms = self.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        while !alarms.closed {
            let now = Instant::now();
            alarms = match alarms.heap.peek().map(|Reverse(e)| e.at) {
                Some(at) if at <= now => {
                    let due = alarms.heap.pop();
                    drop(alarms);
                    if let Some(scheduler) = due.and_then(|Reverse(e)| e.scheduler.upgrade()) {
                        scheduler.alarm();
                    }
                    self.alarms.lock().unwrap_or_else(PoisonError::into_inner)
                }
                Some(at) => match self.changed.wait_timeout(alarms, at - now) {
                    Ok((alarms, _)) => alarms,
                    Err(poisoned) => poisoned.into_inner().0,
                },
                None => self.changed.wait(alarms).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.shared.alarms.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.shared.changed.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

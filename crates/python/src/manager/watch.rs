//! The thread that ends work at its deadline, and work whose interpreter died.

use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Instant;

use super::Inner;

/// When it looks.
#[derive(Default)]
pub(super) struct Watch {
    plan: Mutex<Plan>,
    changed: Condvar,
    started: OnceLock<()>,
}

#[derive(Default)]
struct Plan {
    next: Option<Instant>,
    is_over: bool,
}

impl Watch {
    /// Starts the thread, unless it was started.
    pub(super) fn start(self: &Arc<Watch>, inner: &Arc<Inner>) {
        self.started.get_or_init(|| {
            let (watch, inner) = (Arc::clone(self), Arc::downgrade(inner));
            let named = thread::Builder::new().name("python-watch".to_owned());
            if let Err(error) = named.spawn(move || watch.run(&inner)) {
                tracing::error!("no thread that ends calls at their deadlines: {error}");
            }
        });
    }

    /// Has it look at this time, or before.
    pub(super) fn look_at(&self, time: Instant) {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        if plan.next.is_none_or(|next| time < next) {
            plan.next = Some(time);
            self.changed.notify_one();
        }
    }

    /// Ends it.
    pub(super) fn end(&self) {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.changed.notify_one();
    }

    fn run(&self, inner: &Weak<Inner>) {
        while self.wait() {
            let Some(inner) = inner.upgrade() else { return };
            if let Some(next) = inner.look() {
                self.look_at(next);
            }
        }
    }

    /// Waits until it is to look; false at the end.
    fn wait(&self) -> bool {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if plan.is_over {
                return false;
            }
            let left = plan.next.map(|next| next.saturating_duration_since(Instant::now()));
            plan = match left {
                Some(left) if left.is_zero() => {
                    plan.next = None;
                    return true;
                }
                Some(left) => {
                    let waited = self.changed.wait_timeout(plan, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(plan).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

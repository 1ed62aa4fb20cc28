//! What work gives that somebody else does.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::AcquireError;
use crate::CallError;

/// Why work that was submitted gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// It did not begin.
    #[error(transparent)]
    Acquire(#[from] AcquireError),
    /// It began and did not end: [`CallError::TimedOut`] or [`CallError::Died`].
    #[error(transparent)]
    Call(#[from] CallError),
}

/// A future of what submitted work gives. Dropped, it ends nothing.
#[must_use = "a future that nobody awaits tells nothing"]
pub struct Pending<T>(Arc<Shared<T>>);

/// Keeps the promise of a [`Pending`] once; dropped, it tells that there will be nothing.
pub(super) struct Promise<T>(Arc<Shared<T>>);

/// Tells those who wait that work gave nothing, unless they have something.
pub(super) trait Refuse: Send + Sync {
    fn refuse(&self, error: TaskError);
}

struct Shared<T>(Mutex<Slot<T>>);

enum Slot<T> {
    Empty,
    Awaited(Waker),
    Full(Result<T, TaskError>),
    /// It was taken, or is not wanted.
    Over,
}

/// Both ends.
pub(super) fn pending<T>() -> (Promise<T>, Pending<T>) {
    let shared = Arc::new(Shared(Mutex::new(Slot::Empty)));
    (Promise(Arc::clone(&shared)), Pending(shared))
}

impl<T> Shared<T> {
    /// Who has to be woken.
    #[must_use]
    fn complete(&self, found: Result<T, TaskError>) -> Option<Waker> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *slot {
            Slot::Empty | Slot::Awaited(_) => {
                match std::mem::replace(&mut *slot, Slot::Full(found)) {
                    Slot::Awaited(waker) => Some(waker),
                    _ => None,
                }
            }
            Slot::Full(_) | Slot::Over => None,
        }
    }
}

impl<T: Send> Refuse for Shared<T> {
    fn refuse(&self, error: TaskError) {
        self.complete(Err(error)).into_iter().for_each(Waker::wake);
    }
}

impl<T: Send + 'static> Promise<T> {
    /// Keeps it, and gives who has to be woken for that.
    #[must_use]
    pub(super) fn complete(self, found: Result<T, TaskError>) -> Option<Waker> {
        self.0.complete(found)
    }

    pub(super) fn refusal(&self) -> Arc<dyn Refuse> {
        Arc::clone(&self.0) as Arc<dyn Refuse>
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        let lost = CallError::Died("its work was lost".to_owned());
        self.0.complete(Err(lost.into())).into_iter().for_each(Waker::wake);
    }
}

impl<T> Pending<T> {
    /// Looks for an answer for a moment. Where it comes so soon, that is cheaper than to sleep and be woken; others who
    /// want the core have it.
    pub fn linger(&self, moment: Duration) {
        let begun = Instant::now();
        let is_there = || {
            let slot = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
            matches!(*slot, Slot::Full(_))
        };
        while !is_there() && begun.elapsed() < moment {
            std::thread::yield_now();
        }
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, TaskError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut slot = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Slot::Full(_) = *slot
            && let Slot::Full(found) = std::mem::replace(&mut *slot, Slot::Over)
        {
            return Poll::Ready(found);
        }
        let is_known = matches!(&*slot, Slot::Awaited(waker) if waker.will_wake(context.waker()));
        if !is_known {
            *slot = Slot::Awaited(context.waker().clone());
        }
        Poll::Pending
    }
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        let mut slot = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let unwanted = std::mem::replace(&mut *slot, Slot::Over);
        drop(slot);
        drop(unwanted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn keep(promise: Promise<i32>, found: i32) {
        promise.complete(Ok(found)).into_iter().for_each(Waker::wake);
    }

    fn poll<T>(pending: &mut Pending<T>, woken: &Arc<Woken>) -> Poll<Result<T, TaskError>> {
        let waker = Waker::from(Arc::clone(woken));
        Pin::new(pending).poll(&mut Context::from_waker(&waker))
    }

    #[test]
    fn the_first_answer_counts_and_wakes_once() {
        let over = || TaskError::from(CallError::TimedOut);
        let lost = || TaskError::from(CallError::Died("its work was lost".to_owned()));
        type Step = fn(Promise<i32>, Arc<dyn Refuse>);
        let cases: [(&str, Step, Result<i32, TaskError>); 4] = [
            ("an answer", |promise, _| keep(promise, 1), Ok(1)),
            ("no answer", |_, _| {}, Err(lost())),
            ("refused", |_, refusal| refusal.refuse(CallError::TimedOut.into()), Err(over())),
            (
                "an answer after all",
                |promise, refusal| {
                    refusal.refuse(CallError::TimedOut.into());
                    keep(promise, 1);
                },
                Err(over()),
            ),
        ];
        for (label, step, expected) in cases {
            let ((promise, mut awaited), woken) = (pending(), Arc::<Woken>::default());
            assert!(poll(&mut awaited, &woken).is_pending(), "{label}");
            let refusal = promise.refusal();
            step(promise, refusal);
            assert_eq!(woken.0.load(Ordering::Relaxed), 1, "{label}");
            assert_eq!(poll(&mut awaited, &woken), Poll::Ready(expected), "{label}");
        }
    }

    #[test]
    fn what_nobody_wants_is_dropped() {
        let thing = Arc::new(());
        let (promise, awaited) = pending();
        drop(awaited);
        assert!(promise.complete(Ok(Arc::clone(&thing))).is_none());
        let (promise, awaited) = pending();
        assert!(promise.complete(Ok(Arc::clone(&thing))).is_none());
        drop(awaited);
        assert_eq!(Arc::strong_count(&thing), 1);
    }
}

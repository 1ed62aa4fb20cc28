//! Runs that end when nobody wants their results any more.

use ort::session::{NoSelectedOutputs, RunOptions};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often somebody who waits asks whether it is still wanted: for a session, and while a run goes on.
pub(crate) const ASK: Duration = Duration::from_millis(5);

/// Which runs of a model somebody looks after. The call into the library returns when it is over, so that takes a thread; runs
/// that would be over before it asked for the first time need none.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The most bytes of inputs with which a run was seen to be over in [`ASK`].
    quick: AtomicUsize,
}

impl Watch {
    /// Makes a run with inputs of so many bytes, and has it ended when `cancelled` says so.
    pub(crate) fn run<T>(
        &self,
        bytes: usize,
        options: &RunOptions<NoSelectedOutputs>,
        cancelled: &(dyn Fn() -> bool + Sync),
        run: impl FnOnce() -> T,
    ) -> T {
        let begun = Instant::now();
        let ran = match bytes != 0 && bytes <= self.quick.load(Ordering::Relaxed) {
            true => run(),
            false => watched(options, cancelled, run),
        };
        match begun.elapsed() < ASK {
            true => self.quick.fetch_max(bytes, Ordering::Relaxed),
            false => self.quick.fetch_min(bytes.saturating_sub(1), Ordering::Relaxed),
        };
        ran
    }
}

fn watched<T>(
    options: &RunOptions<NoSelectedOutputs>,
    cancelled: &(dyn Fn() -> bool + Sync),
    run: impl FnOnce() -> T,
) -> T {
    std::thread::scope(|scope| {
        let (running, over) = channel::<()>();
        scope.spawn(move || {
            while over.recv_timeout(ASK) == Err(RecvTimeoutError::Timeout) {
                if cancelled() {
                    // A run that cannot be told goes on to its end, as one that is not watched does.
                    let _ = options.terminate();
                    return;
                }
            }
        });
        let ran = run();
        drop(running);
        ran
    })
}

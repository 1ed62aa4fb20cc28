//! Running a case so that whatever it does, the others still run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::Verdict;

/// Stack of a case's thread. Recursion over graphs is bounded, so this is plenty.
const STACK: usize = 16 << 20;

/// Runs `case` on a thread of its own. A panic or a time limit that passes is a failure; a thread that
/// does not end is left behind.
pub fn isolated(limit: Duration, case: impl FnOnce() -> Verdict + Send + 'static) -> Verdict {
    let (sender, verdict) = channel();
    let body = move || {
        let outcome = catch_unwind(AssertUnwindSafe(case)).unwrap_or_else(|panic| {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied());
            Verdict::Failed(format!("panic: {}", text.unwrap_or("without a text")))
        });
        let _ = sender.send(outcome); // nobody listens after the time limit
    };
    if let Err(e) = thread::Builder::new().name("case".to_owned()).stack_size(STACK).spawn(body) {
        return Verdict::Failed(format!("no thread: {e}"));
    }
    match verdict.recv_timeout(limit) {
        Ok(verdict) => verdict,
        Err(RecvTimeoutError::Timeout) => Verdict::Failed(format!("no answer after {limit:?}")),
        Err(RecvTimeoutError::Disconnected) => Verdict::Failed("the thread died".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_and_endless_cases_are_failures() {
        let limit = Duration::from_secs(60);
        assert_eq!(isolated(limit, || Verdict::Passed), Verdict::Passed);
        let text = isolated(limit, || panic!("index {}", 7));
        assert_eq!(text, Verdict::Failed("panic: index 7".to_owned()));
        let (stop, wait) = channel::<()>();
        let late = isolated(Duration::from_millis(1), move || {
            let _ = wait.recv();
            Verdict::Passed
        });
        drop(stop);
        assert_eq!(late, Verdict::Failed("no answer after 1ms".to_owned()));
    }
}

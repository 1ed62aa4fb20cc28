//! A panic while a request is answered ends that request, not its connection.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future whose panic is `None`.
pub struct CatchPanic<F>(pub F);

impl<F: Future> CatchPanic<Pin<Box<F>>> {
    /// Guards a future that is not pinned yet.
    pub fn new(future: F) -> CatchPanic<Pin<Box<F>>> {
        CatchPanic(Box::pin(future))
    }
}

impl<F: Future + Unpin> Future for CatchPanic<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // A future that panicked is dropped, never polled again, so no broken state is seen.
        match catch_unwind(AssertUnwindSafe(|| Pin::new(&mut self.0).poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Some(value)),
            Err(_) => Poll::Ready(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_none() {
        assert_eq!(CatchPanic::new(async { 7 }).await, Some(7));
        let guarded = CatchPanic::new(async {
            tokio::task::yield_now().await;
            std::panic::panic_any("test");
            #[allow(unreachable_code)]
            7
        });
        assert_eq!(guarded.await, None);
    }
}

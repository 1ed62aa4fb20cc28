//! A connection whose peer must take what is written to it in time.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream that fails when a write makes no progress for `patience`: a client that asks for large answers
/// and reads none must not hold their memory. Reading has limits of its own, since a resting connection is
/// no fault.
#[derive(Debug)]
pub struct PatientStream<S> {
    stream: S,
    patience: Duration,
    /// Runs while a write waits; made only then, so that the common case costs nothing.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> PatientStream<S> {
    /// Guards a stream.
    pub const fn new(stream: S, patience: Duration) -> PatientStream<S> {
        PatientStream { stream, patience, waiting: None }
    }

    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.waiting = None;
            return polled;
        }
        let patience = self.patience;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(waiting.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PatientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PatientStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.watch(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.watch(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        self.watch(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.watch(cx, polled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[tokio::test]
    async fn a_peer_that_does_not_read_is_given_up_one_that_reads_is_not() {
        let (ours, _theirs) = duplex(16);
        let mut ours = PatientStream::new(ours, Duration::from_millis(20));
        let error = ours.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let (ours, mut theirs) = duplex(16);
        let mut ours = PatientStream::new(ours, Duration::from_secs(10));
        let reader = tokio::spawn(async move {
            let mut all = vec![0; 64];
            theirs.read_exact(&mut all).await.map(|_| all)
        });
        ours.write_all(&[7; 64]).await.unwrap();
        assert_eq!(reader.await.unwrap().unwrap(), [7; 64]);
    }
}

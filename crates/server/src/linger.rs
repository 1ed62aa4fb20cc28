//! An end of connections that lets clients read an answer which came before all of their request was read.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long the rest of a request is awaited, as nginx does (`lingering_time`).
const LONGEST: Duration = Duration::from_secs(30);

/// How long a client may be silent meanwhile, as in nginx (`lingering_timeout`).
const SILENCE: Duration = Duration::from_secs(5);

/// Bytes that are thrown away at most: four requests of the default limit.
const MOST: usize = 256 << 20;

/// Bytes that are thrown away at once.
const PIECE: usize = 16 << 10;

/// Pieces after which other connections get their turn.
const TURN: usize = 64;

/// Whether a request on this connection was answered before its body had been read.
#[derive(Debug, Clone, Default)]
pub struct Unread(Arc<AtomicBool>);

impl Unread {
    /// Notes how the latest request was left.
    pub fn set(&self, unread: bool) {
        self.0.store(unread, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A stream whose writing half closes first. To close a socket while bytes from the client are unread, or
/// still on their way, resets the connection, and a reset can take the answer away before the client has
/// read it. So where a request was left unread, what comes is read and thrown away until the client
/// closes, within bounds of amount and time.
#[derive(Debug)]
pub struct LingeringStream<S> {
    stream: S,
    unread: Unread,
    end: Option<End>,
}

/// What is left of the bounds once the writing half is closed.
#[derive(Debug)]
struct End {
    left: usize,
    longest: Pin<Box<Sleep>>,
    silence: Pin<Box<Sleep>>,
}

impl<S> LingeringStream<S> {
    /// A stream that lingers when `unread` says so, or when bytes are waiting.
    pub const fn new(stream: S, unread: Unread) -> LingeringStream<S> {
        LingeringStream { stream, unread, end: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LingeringStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for LingeringStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.end.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
        }
        let mut room = [0; PIECE];
        for _ in 0..TURN {
            let mut piece = ReadBuf::new(&mut room);
            let read = match Pin::new(&mut this.stream).poll_read(cx, &mut piece) {
                Poll::Ready(Ok(())) if piece.filled().is_empty() => return Poll::Ready(Ok(())),
                // The client is gone, which is what was waited for.
                Poll::Ready(Err(_)) => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(())) => piece.filled().len(),
                Poll::Pending if this.end.is_none() && !this.unread.get() => {
                    return Poll::Ready(Ok(()));
                }
                Poll::Pending => 0,
            };
            let end = this.end.get_or_insert_with(|| End {
                left: MOST,
                longest: Box::pin(sleep(LONGEST)),
                silence: Box::pin(sleep(SILENCE)),
            });
            if end.left <= read || end.longest.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            end.left -= read;
            if read == 0 {
                return end.silence.as_mut().poll(cx).map(Ok);
            }
            end.silence.set(sleep(SILENCE));
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    fn pair(unread: bool) -> (LingeringStream<tokio::io::DuplexStream>, tokio::io::DuplexStream) {
        let flag = Unread::default();
        flag.set(unread);
        let (ours, theirs) = duplex(64);
        (LingeringStream::new(ours, flag), theirs)
    }

    #[tokio::test]
    async fn the_rest_of_a_request_is_thrown_away_until_the_client_closes() {
        let (mut ours, mut theirs) = pair(true);
        let client = tokio::spawn(async move {
            theirs.write_all(&[1; 100_000]).await.unwrap();
            let mut answer = Vec::new();
            theirs.read_to_end(&mut answer).await.unwrap();
            answer
        });
        ours.write_all(b"413").await.unwrap();
        ours.shutdown().await.unwrap();
        assert_eq!(client.await.unwrap(), b"413");
    }

    #[tokio::test]
    async fn a_connection_without_unread_bytes_ends_at_once() {
        let (mut ours, _theirs) = pair(false);
        ours.shutdown().await.unwrap();
    }
}

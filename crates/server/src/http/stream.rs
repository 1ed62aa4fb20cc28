//! Bodies of answers: whole, or in pieces as they are made.

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::{Body, Frame};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Pieces that may wait for the client; who makes them waits then.
const WAITING: usize = 4;

/// The body of an answer.
pub type ReplyBody = Either<Full<Bytes>, Stream>;

/// The pieces of a body, made while they are sent.
#[derive(Debug)]
pub struct Stream(Receiver<Bytes>);

impl Stream {
    /// A body, and where its pieces go. It ends when the sender is dropped; a sender that fails tells that the client has gone.
    pub fn new() -> (Sender<Bytes>, Stream) {
        let (sender, receiver) = channel(WAITING);
        (sender, Stream(receiver))
    }
}

impl Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

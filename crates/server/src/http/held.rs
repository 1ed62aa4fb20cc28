//! Bodies of answers that keep what is counted for their request.

use crate::security::Permit;
use bytes::Buf;
use hyper::body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A body, and what ends with it.
#[derive(Debug)]
pub struct Held<B> {
    body: B,
    _permit: Option<Permit>,
}

impl<B> Held<B> {
    /// A body that keeps `permit` until it was sent.
    pub const fn new(body: B, permit: Option<Permit>) -> Held<B> {
        Held { body, _permit: permit }
    }
}

impl<B: Body<Data: Buf> + Unpin> Body for Held<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

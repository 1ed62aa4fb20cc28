//! `ModelStreamInfer`: many requests and their answers over one call.

use super::message::parameter;
use crate::fault::Fault;
use crate::proto::kserve as pb;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use stead_node::Param;
use tokio_stream::Stream;
use tonic::Status;

/// Requests of one stream that may be in work at a time: enough to fill batches, few enough to bound memory.
const IN_FLIGHT: usize = 32;

type Answer = Result<pb::ModelInferResponse, Fault>;
type Work = Pin<Box<dyn Future<Output = Answer> + Send>>;

enum Slot {
    Running(String, Work),
    Done(pb::ModelStreamInferResponse),
}

/// The answers of a stream, in the order of its requests. Requests start in that order too, up to
/// [`IN_FLIGHT`] at a time, and are all polled by whoever polls this stream: dropping it cancels them.
pub struct Answers<S> {
    requests: Option<S>,
    infer: Box<dyn Fn(pb::ModelInferRequest) -> Work + Send>,
    slots: VecDeque<Slot>,
    failed: Option<Status>,
}

impl<S> Answers<S> {
    /// The answers that `infer` gives to `requests`.
    pub fn new(
        requests: S,
        infer: impl Fn(pb::ModelInferRequest) -> Work + Send + 'static,
    ) -> Answers<S> {
        Answers {
            requests: Some(requests),
            infer: Box::new(infer),
            slots: VecDeque::new(),
            failed: None,
        }
    }
}

fn step(slot: &mut Slot, cx: &mut Context<'_>) {
    if let Slot::Running(id, work) = slot
        && let Poll::Ready(answer) = work.as_mut().poll(cx)
    {
        *slot = Slot::Done(message(std::mem::take(id), answer));
    }
}

/// Errors travel as messages, so that one bad request does not end the stream.
fn message(id: String, answer: Answer) -> pb::ModelStreamInferResponse {
    match answer {
        Ok(mut response) => {
            let last = parameter(Param::Bool(true));
            response.parameters.insert("triton_final_response".to_owned(), last);
            pb::ModelStreamInferResponse {
                error_message: String::new(),
                infer_response: Some(response),
            }
        }
        Err(Fault(error)) => pb::ModelStreamInferResponse {
            error_message: error.to_string(),
            infer_response: Some(pb::ModelInferResponse { id, ..Default::default() }),
        },
    }
}

impl<S: Stream<Item = Result<pb::ModelInferRequest, Status>> + Unpin> Stream for Answers<S> {
    type Item = Result<pb::ModelStreamInferResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        for slot in &mut this.slots {
            step(slot, cx);
        }
        while let Some(requests) = this.requests.as_mut().filter(|_| this.slots.len() < IN_FLIGHT) {
            match Pin::new(requests).poll_next(cx) {
                Poll::Ready(Some(Ok(request))) => {
                    let id = request.id.clone();
                    let mut slot = Slot::Running(id, (this.infer)(request));
                    step(&mut slot, cx);
                    this.slots.push_back(slot);
                }
                Poll::Ready(Some(Err(status))) => {
                    this.failed = Some(status);
                    this.requests = None;
                }
                Poll::Ready(None) => this.requests = None,
                Poll::Pending => break,
            }
        }
        match this.slots.pop_front() {
            Some(Slot::Done(answer)) => {
                // A place is free and the stream was not asked again after it filled up.
                if this.slots.len() + 1 == IN_FLIGHT {
                    cx.waker().wake_by_ref();
                }
                Poll::Ready(Some(Ok(answer)))
            }
            Some(running) => {
                this.slots.push_front(running);
                Poll::Pending
            }
            None if this.requests.is_none() => Poll::Ready(this.failed.take().map(Err)),
            None => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_stream::StreamExt;

    #[tokio::test]
    async fn answers_come_in_order_and_errors_do_not_end_the_stream() {
        let requests = (0..100u64)
            .map(|i| Ok(pb::ModelInferRequest { id: i.to_string(), ..Default::default() }));
        let answers = Answers::new(tokio_stream::iter(requests), |r| {
            Box::pin(async move {
                let i: u64 = r.id.parse().unwrap();
                for _ in 0..(i * 7919) % 13 {
                    tokio::task::yield_now().await;
                }
                if i % 10 == 3 {
                    return Err(Fault::invalid("bad"));
                }
                Ok(pb::ModelInferResponse { id: r.id, ..Default::default() })
            })
        });
        let got: Vec<_> = answers.collect().await;
        assert_eq!(got.len(), 100);
        for (i, answer) in got.into_iter().enumerate() {
            let answer = answer.unwrap();
            assert_eq!(answer.infer_response.unwrap().id, i.to_string());
            assert_eq!(answer.error_message.is_empty(), i % 10 != 3, "{i}");
        }
    }
}

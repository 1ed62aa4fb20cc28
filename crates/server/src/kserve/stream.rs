//! `ModelStreamInfer`: many requests and their answers over one call.

use super::message::parameter;
use super::order::{Lane, Order, Place};
use crate::fault::Fault;
use crate::proto::kserve as pb;
use futures_util::stream::FuturesUnordered;
use prost::Message;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use stead_node::Param;
use tokio_stream::Stream;
use tonic::Status;

/// Requests of one stream that may be in work or wait for the client to take their answers. Many, because a stream
/// carries the steps of many sequences in real time, and each may be in work at once. Less than the 1,024 requests that
/// may wait for a model unless its options say otherwise: a client that sends more at once than is served at once is
/// slowed down by the flow control of its stream, and not refused.
const IN_FLIGHT: usize = 1000;

type Answer = Result<pb::ModelInferResponse, Fault>;
type Work = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// A request in work.
struct Task {
    work: Work,
    about: Option<About>,
}

/// What is known of a request before its answer.
struct About {
    id: String,
    place: Place,
    bytes: usize,
}

/// An answer, and the bytes that it takes.
struct Done {
    message: pb::ModelStreamInferResponse,
    bytes: usize,
}

impl Future for Task {
    type Output = (About, Answer);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.work.as_mut().poll(cx) {
            Poll::Ready(answer) => match self.about.take() {
                Some(about) => Poll::Ready((about, answer)),
                None => Poll::Pending, // it has given its answer
            },
            Poll::Pending => Poll::Pending,
        }
    }
}

/// The answers of a stream: those of one sequence, and those of all requests that name none, in the order of the
/// requests. Requests start in the order in which they came, and are all polled by whoever polls this stream: dropping
/// it cancels them.
///
/// Requests are read while there are fewer than [`IN_FLIGHT`] and, together with answers that were not taken, less
/// than `limit` bytes.
pub struct Answers<S> {
    requests: Option<S>,
    lane: Box<dyn Fn(&pb::ModelInferRequest) -> Lane + Send>,
    infer: Box<dyn Fn(pb::ModelInferRequest) -> Work + Send>,
    limit: usize,
    working: FuturesUnordered<Task>,
    order: Order<Done>,
    ready: VecDeque<Done>,
    /// Requests whose answers were not taken, and the bytes of both.
    inside: usize,
    bytes: usize,
    failed: Option<Status>,
}

impl<S> Answers<S> {
    /// The answers that `infer` gives to `requests`, with about `limit` bytes in flight at a time. `lane` says which
    /// of them are in order.
    pub fn new(
        requests: S,
        limit: usize,
        lane: impl Fn(&pb::ModelInferRequest) -> Lane + Send + 'static,
        infer: impl Fn(pb::ModelInferRequest) -> Work + Send + 'static,
    ) -> Answers<S> {
        Answers {
            requests: Some(requests),
            lane: Box::new(lane),
            infer: Box::new(infer),
            limit,
            working: FuturesUnordered::new(),
            order: Order::new(),
            ready: VecDeque::new(),
            inside: 0,
            bytes: 0,
            failed: None,
        }
    }

    fn start(&mut self, request: pb::ModelInferRequest, cx: &mut Context<'_>) {
        let bytes = request.encoded_len();
        self.inside += 1;
        self.bytes += bytes;
        let place = self.order.enter((self.lane)(&request));
        let about = Some(About { id: request.id.clone(), place, bytes });
        let mut task = Task { work: (self.infer)(request), about };
        // Polled here first: this is when a step takes its place in the queue of its sequence.
        match Pin::new(&mut task).poll(cx) {
            Poll::Ready((about, answer)) => self.end(about, answer),
            Poll::Pending => self.working.push(task),
        }
    }

    fn end(&mut self, about: About, answer: Answer) {
        let About { id, place, bytes } = about;
        let message = message(id, answer);
        let done = Done { bytes: message.encoded_len(), message };
        self.bytes = self.bytes - bytes + done.bytes;
        self.order.fill(place, done, &mut self.ready);
    }

    fn is_full(&self) -> bool {
        self.inside >= IN_FLIGHT || self.bytes >= self.limit
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
        while let Poll::Ready(Some((about, answer))) = Pin::new(&mut this.working).poll_next(cx) {
            this.end(about, answer);
        }
        // While answers are there, one request is read for each that is given: the number in flight stays, and
        // neither side waits for the other.
        while !this.is_full()
            && let Some(requests) = &mut this.requests
        {
            match Pin::new(requests).poll_next(cx) {
                Poll::Ready(Some(Ok(request))) => this.start(request, cx),
                Poll::Ready(Some(Err(status))) => {
                    this.failed = Some(status);
                    this.requests = None;
                }
                Poll::Ready(None) => this.requests = None,
                Poll::Pending => break,
            }
            if !this.ready.is_empty() {
                break;
            }
        }
        if let Some(Done { message, bytes }) = this.ready.pop_front() {
            this.inside -= 1;
            this.bytes -= bytes;
            return Poll::Ready(Some(Ok(message)));
        }
        // Requests that were started here have left their place to be polled again by the set of those in work.
        if !this.working.is_empty() {
            if let Poll::Ready(Some((about, answer))) = Pin::new(&mut this.working).poll_next(cx) {
                this.end(about, answer);
                cx.waker().wake_by_ref();
            }
            return Poll::Pending;
        }
        match this.requests {
            None => Poll::Ready(this.failed.take().map(Err)),
            Some(_) => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kserve::order::lane;
    use std::sync::{Arc, Mutex};
    use tokio_stream::StreamExt;

    /// A request; with an id other than 0, of that sequence.
    fn request(i: u64, sequence: i64) -> pb::ModelInferRequest {
        let mut request = pb::ModelInferRequest { id: i.to_string(), ..Default::default() };
        request.parameters.insert("sequence_id".into(), int(sequence));
        request
    }

    fn int(value: i64) -> pb::InferParameter {
        let choice = pb::infer_parameter::ParameterChoice::Int64Param(value);
        pb::InferParameter { parameter_choice: Some(choice) }
    }

    fn answer(r: pb::ModelInferRequest) -> Answer {
        Ok(pb::ModelInferResponse { id: r.id, parameters: r.parameters, ..Default::default() })
    }

    #[tokio::test]
    async fn answers_come_in_order_and_errors_do_not_end_the_stream() {
        let requests = (0..100u64).map(|i| Ok(request(i, 0)));
        let answers = Answers::new(tokio_stream::iter(requests), 1 << 20, lane, |r| {
            Box::pin(async move {
                let i: u64 = r.id.parse().unwrap();
                for _ in 0..(i * 7919) % 13 {
                    tokio::task::yield_now().await;
                }
                if i % 10 == 3 { Err(Fault::invalid("bad")) } else { answer(r) }
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

    /// Two sequences and stateless requests; the steps of sequence 1 wait until everything else was answered.
    #[tokio::test]
    async fn a_slow_sequence_holds_up_no_other() {
        let started = Arc::new(Mutex::new(Vec::new()));
        let seen = started.clone();
        let (open, door) = tokio::sync::watch::channel(false);
        let sequence = |i: u64| if i % 10 == 1 { 1 } else { 2 * (i % 2) };
        let requests = (0..2000u64).map(move |i| Ok(request(i, sequence(i) as i64)));
        let answers = Answers::new(tokio_stream::iter(requests), 1 << 20, lane, move |r| {
            seen.lock().unwrap().push(r.id.parse::<usize>().unwrap());
            let mut door = door.clone();
            Box::pin(async move {
                let i: u64 = r.id.parse().unwrap();
                if sequence(i) == 1 {
                    door.wait_for(|open| *open).await.unwrap();
                } else if i.is_multiple_of(7) {
                    tokio::task::yield_now().await;
                }
                answer(r)
            })
        });
        tokio::pin!(answers);
        let mut ids: [Vec<u64>; 3] = Default::default();
        for count in 0..2000 {
            if count == 1800 {
                assert!(ids[1].is_empty(), "they wait");
                open.send(true).unwrap();
            }
            let id = answers.next().await.unwrap().unwrap().infer_response.unwrap().id;
            let id: u64 = id.parse().unwrap();
            ids[sequence(id) as usize].push(id);
        }
        assert!(answers.next().await.is_none());
        assert!(ids.iter().all(|ids| ids.is_sorted()), "in order within each sequence");
        assert_eq!(ids.map(|ids| ids.len()), [1000, 200, 800]);
        assert!(started.lock().unwrap().iter().copied().eq(0..2000), "started in the order sent");
    }

    #[tokio::test]
    async fn what_is_in_flight_is_bounded() {
        // (label, bytes of a request, limit, requests that may start while nothing is answered)
        let cases = [
            ("by count", 0, 1 << 30, IN_FLIGHT),
            ("by bytes", 1000, 10_000, 10),
            ("one may always", 1000, 10, 1),
        ];
        for (label, bytes, limit, expected) in cases {
            let requests = (0..6000u64).map(move |i| {
                let mut request = request(i, i as i64 + 1);
                request.raw_input_contents.push(vec![0; bytes].into());
                Ok(request)
            });
            let started = Arc::new(Mutex::new(0));
            let (count, (open, door)) = (started.clone(), tokio::sync::watch::channel(false));
            let answers = Answers::new(tokio_stream::iter(requests), limit, lane, move |r| {
                *count.lock().unwrap() += 1;
                let mut door = door.clone();
                Box::pin(async move {
                    door.wait_for(|open| *open).await.unwrap();
                    answer(r)
                })
            });
            tokio::pin!(answers);
            tokio::select! {
                biased;
                _ = answers.next() => panic!("{label}: nothing can be answered"),
                // A task that has done much at once is made to pause; it may go on as often as it likes.
                () = async { for _ in 0..100 { tokio::task::yield_now().await } } => {}
            }
            let now: usize = *started.lock().unwrap();
            assert!(now.abs_diff(expected) <= 1, "{label}: {now} started");
            open.send(true).unwrap();
            assert_eq!(answers.collect::<Vec<_>>().await.len(), 6000, "{label}");
        }
    }

    #[tokio::test]
    async fn a_broken_stream_of_requests_ends_behind_its_answers() {
        let requests = [Ok(request(1, 0)), Err(Status::cancelled("gone"))];
        let answers = Answers::new(tokio_stream::iter(requests), 1 << 20, lane, |r| {
            Box::pin(async move {
                tokio::task::yield_now().await;
                answer(r)
            })
        });
        let got: Vec<_> = answers.collect().await;
        assert!(got.len() == 2 && got[0].is_ok() && got[1].is_err());
    }
}

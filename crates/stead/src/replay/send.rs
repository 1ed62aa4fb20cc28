//! Requests on their way to a server.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use stead_server::proto::kserve as pb;

use super::sample::{Ending, Outcome};
use crate::failure::Failure;
use crate::http_client::Target;
use crate::kept_connection::Connections;
use crate::load::calls::{Calls, Unanswered};
use crate::load::{PER_CONNECTION, Protocol, grpc};

/// A request that is ready to be sent any number of times.
#[derive(Debug, Clone)]
pub enum Request {
    /// Over HTTP/1.1.
    Http(Box<hyper::Request<Full<Bytes>>>),
    /// A call of `ModelInfer`.
    Grpc(Box<pb::ModelInferRequest>),
}

/// Connections to a server.
pub struct Sender {
    http: Connections,
    grpc: Vec<Calls>,
    next: AtomicUsize,
    timeout: Duration,
}

impl Sender {
    /// A sender of up to `most` requests at a time, each of which may take as long as `timeout`; for gRPC its connections are
    /// open.
    ///
    /// # Errors
    /// Nobody answers.
    pub async fn open(
        target: &Target,
        protocol: Protocol,
        most: usize,
        timeout: Duration,
    ) -> Result<Sender, Failure> {
        let mut calls = Vec::new();
        if protocol != Protocol::Http {
            for _ in 0..most.div_ceil(PER_CONNECTION) {
                calls.push(grpc::calls(target).await?);
            }
        }
        let (http, next) = (Connections::new(target), AtomicUsize::new(0));
        Ok(Sender { http, grpc: calls, next, timeout })
    }

    /// Opens so many connections before they are needed.
    ///
    /// # Errors
    /// Nobody accepts them.
    pub async fn prepare(&self, count: usize) -> Result<(), Failure> {
        for _ in 0..if self.grpc.is_empty() { count } else { 0 } {
            self.http.prepare().await.map_err(Failure::failed)?;
        }
        Ok(())
    }

    /// Sends a request and waits for its answer.
    pub async fn send(&self, request: &Request) -> Ending {
        let answer = async {
            match request {
                Request::Http(request) => self.http(request).await,
                Request::Grpc(message) => self.call(message).await,
            }
        };
        let late = || Ending::bad(Outcome::Late, &format!("after {:?}", self.timeout));
        tokio::time::timeout(self.timeout, answer).await.unwrap_or_else(|_| late())
    }

    async fn http(&self, request: &hyper::Request<Full<Bytes>>) -> Ending {
        match self.http.exchange(hyper::Request::clone(request)).await {
            Err(text) => Ending::bad(Outcome::Broken, &text),
            Ok(answer) => {
                let outcome = Outcome::Http(answer.status().as_u16());
                match outcome.is_good() {
                    true => Ending::good(outcome),
                    false => Ending::bad(outcome, &String::from_utf8_lossy(answer.body())),
                }
            }
        }
    }

    async fn call(&self, message: &pb::ModelInferRequest) -> Ending {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.grpc.len().max(1);
        let Some(calls) = self.grpc.get(turn) else {
            return Ending::bad(Outcome::Broken, "no gRPC connection is open");
        };
        match calls.call::<pb::ModelInferResponse>(message).await {
            Ok(_) => Ending::good(Outcome::Grpc(0)),
            Err(Unanswered::Refused(code, text)) => {
                Ending::bad(Outcome::Grpc(i32::from(code)), &text)
            }
            Err(Unanswered::Broken(text)) => Ending::bad(Outcome::Broken, &text),
        }
    }
}

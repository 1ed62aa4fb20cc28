//! Requests to handlers in Rust: each on a thread that may wait, while whoever asks waits no longer than the component may take.

use std::sync::Arc;
use std::time::Instant;

use stead_python::Deadline;

use super::{Call, NativeError, NativeUnit, RequestHandler};
use crate::Code;
use crate::components::attempt::{Attempt, Begun};
use crate::components::failure::ComponentError;
use crate::components::handle::Inside;
use crate::components::{HandlerAnswer, HandlerRequest};

impl NativeUnit<dyn RequestHandler> {
    /// Answers a request. Its code goes on where it does not look at its deadline, and stays among those that are in until it ends.
    pub(in crate::components) async fn answer(
        self: Arc<Self>,
        request: HandlerRequest,
        inside: Inside,
        arrived: Instant,
    ) -> Result<HandlerAnswer, ComponentError> {
        let end = arrived.checked_add(self.timeout);
        let deadline = end.map_or(Deadline::NEVER, Deadline::at);
        let attempt = Arc::new(Attempt::new(Arc::clone(&self.meter), arrived, deadline));
        let (unit, begun) = (Arc::clone(&self), Begun(Arc::clone(&attempt)));
        let running = tokio::task::spawn_blocking(move || {
            let _inside = inside;
            begun.0.begin();
            let call = Call { deadline };
            let answer = match deadline.is_over() {
                true => Err(NativeError::Late),
                false => Ok(unit.call(|handler| handler.handle(request, &call))),
            };
            let answer = match answer {
                Ok(Ok(answer)) => answer.map_err(|error| unit.failed(error)),
                Ok(Err(panicked)) => Err(panicked),
                Err(late) => Err(unit.failed(late)),
            };
            let answer = answer.and_then(|answer| unit.checked(answer));
            begun.0.end(&answer);
            answer
        });
        let ended = match end {
            Some(end) => tokio::time::timeout_at(end.into(), running).await,
            None => Ok(running.await),
        };
        let answer = match ended {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => {
                Err(self.failing().error(Code::Unavailable, "the server is shutting down"))
            }
            Err(_) => Err(self.failing().late()),
        };
        attempt.end(&answer);
        answer
    }

    /// An answer that HTTP has.
    fn checked(&self, answer: HandlerAnswer) -> Result<HandlerAnswer, ComponentError> {
        match answer.status {
            200..600 => Ok(answer),
            status => {
                let text = format!("gave the status {status}; there are 200 to 599");
                Err(self.failing().error(Code::Internal, &text))
            }
        }
    }
}

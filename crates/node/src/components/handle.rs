//! Requests to handlers.

use std::fmt;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use stead_python::{Deadline, Session, TaskError, Value, call_components};

use super::Unit;
use super::attempt::{Attempt, Begun};
use super::failure::{ComponentError, Failing};
use super::meters::Outcome;
use super::native::{NativeUnit, RequestHandler};
use crate::{Code, Embedded};

/// Requests to handlers that may be in at a time, of all handlers: each keeps its body while it waits.
const MAX_INSIDE: usize = 256;

/// Where a request is the only one and the call before took less, its answer is looked for so long.
const MOMENT: Duration = Duration::from_micros(30);

/// Those that are in.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// A request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HandlerRequest {
    /// The method.
    pub method: String,
    /// The path, decoded.
    pub path: String,
    /// What is behind the `?`, as it was sent.
    pub query: String,
    /// The parameters of the query and of a body that is a form, decoded.
    pub parameters: Vec<(String, String)>,
    /// Headers.
    pub headers: HeaderLines,
    /// The body.
    pub body: Vec<u8>,
    /// What the wildcards of the binding stand for, decoded.
    pub matched: Vec<String>,
    /// The address of the client.
    pub remote: Option<String>,
    /// `http`
    pub scheme: String,
    /// The host as the client names it.
    pub host: String,
}

/// Headers as handlers get them, who seldom look: a name, its value, the next name, in a line each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeaderLines(String);

impl HeaderLines {
    /// Adds one. The name has small letters, and neither of them the end of a line, as in any request that was read.
    pub fn push(&mut self, name: &str, value: impl IntoIterator<Item = char>) {
        let before = if self.0.is_empty() { "" } else { "\n" };
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{before}{name}");
        self.0.extend(value);
    }

    /// Names, in small letters, with their values, in the order of the request.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut lines = self.0.split('\n').filter(|_| !self.0.is_empty());
        std::iter::from_fn(move || Some((lines.next()?, lines.next().unwrap_or_default())))
    }

    /// The first value of a name, which is written in any letters.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl HandlerRequest {
    /// The first value of a parameter: what a `{name}` of the binding stands for, then parameters of the query and of a form.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HandlerAnswer {
    /// The status, 200 to 599.
    pub status: u16,
    /// The headers, the content type among them.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl HandlerAnswer {
    /// An answer with a content type and a body.
    #[must_use]
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> HandlerAnswer {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        HandlerAnswer { status, headers, body: body.into() }
    }

    /// One with JSON, which stands in a text.
    #[must_use]
    pub fn json(status: u16, text: impl Into<String>) -> HandlerAnswer {
        HandlerAnswer::new(status, "application/json", text.into())
    }
}

/// A component that answers requests.
#[derive(Clone)]
pub(super) enum HandlerUnit {
    Python(Arc<Unit>),
    Native(Arc<NativeUnit<dyn RequestHandler>>),
}

impl HandlerUnit {
    /// The id of the component.
    pub(super) fn id(&self) -> &str {
        match self {
            HandlerUnit::Python(unit) => &unit.component.id,
            HandlerUnit::Native(unit) => unit.id(),
        }
    }

    fn failing(&self) -> Failing<'_> {
        match self {
            HandlerUnit::Python(unit) => unit.failing(),
            HandlerUnit::Native(unit) => unit.failing(),
        }
    }

    fn record_refused(&self) {
        match self {
            HandlerUnit::Python(unit) => {
                unit.meter.record(Outcome::Refused, Duration::ZERO, None);
            }
            HandlerUnit::Native(unit) => unit.record_refused(),
        }
    }
}

/// The handler of a request.
pub struct Handler {
    pub(super) unit: HandlerUnit,
    /// What the wildcards of its binding stand for, with their names.
    pub(super) matched: Vec<(Option<String>, String)>,
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// A request that is in.
pub(super) struct Inside;

impl Inside {
    fn enter() -> Option<Inside> {
        let before = INSIDE.fetch_add(1, Ordering::Relaxed);
        let inside = Inside;
        (before < MAX_INSIDE).then_some(inside)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Handler {
    /// The id of the component.
    #[must_use]
    pub fn id(&self) -> &str {
        self.unit.id()
    }

    /// What the wildcards of the binding stand for, percent-encoded, with the names of those that have one.
    #[must_use]
    pub fn matched(&self) -> &[(Option<String>, String)] {
        &self.matched
    }

    async fn answer(self, request: HandlerRequest) -> Result<HandlerAnswer, ComponentError> {
        let arrived = Instant::now();
        let Some(inside) = Inside::enter() else {
            self.unit.record_refused();
            let text = "too many requests to handlers are waiting";
            return Err(self.unit.failing().error(Code::Overloaded, text));
        };
        match self.unit {
            HandlerUnit::Python(unit) => unit.answer(request, inside, arrived).await,
            HandlerUnit::Native(unit) => unit.answer(request, inside, arrived).await,
        }
    }
}

impl Unit {
    async fn answer(
        self: Arc<Self>,
        request: HandlerRequest,
        inside: Inside,
        arrived: Instant,
    ) -> Result<HandlerAnswer, ComponentError> {
        let unit = self;
        let deadline = arrived.checked_add(unit.timeout).map_or(Deadline::NEVER, Deadline::at);
        let attempt = Arc::new(Attempt::new(Arc::clone(&unit.meter), arrived, deadline));
        let (of_call, begun) = (Arc::clone(&unit), Begun(Arc::clone(&attempt)));
        let mut packages = unit.others(&[]);
        packages.insert(0, &unit.package.registered);
        let called = unit.package.manager.submit(&packages, deadline, move |session| {
            let _inside = inside;
            begun.0.begin();
            let answer = of_call.call(session, request, deadline);
            begun.0.end(&answer);
            of_call.is_quick.store(begun.0.has_run() < MOMENT, Ordering::Relaxed);
            answer
        });
        if unit.is_quick.load(Ordering::Relaxed) && INSIDE.load(Ordering::Relaxed) == 1 {
            called.linger(MOMENT);
        }
        called.await.unwrap_or_else(|error| {
            let refused = Err(match error {
                TaskError::Acquire(error) => {
                    unit.failing().not_acquired(&error, &unit.package.name)
                }
                TaskError::Call(error) => unit.failing().called(&error),
            });
            attempt.end(&refused);
            refused
        })
    }
}

impl Embedded {
    /// Answers a request by its handler. Must be called inside a tokio runtime; the call goes on if the future is dropped.
    ///
    /// # Errors
    /// [`ComponentError`]: its code raised ([`Code::Internal`]), refused the request ([`Code::InvalidArgument`]) or gave no answer in
    /// time ([`Code::DeadlineExceeded`]), too many requests are in ([`Code::Overloaded`]), or the server stops.
    pub async fn handle(
        &self,
        handler: Handler,
        request: HandlerRequest,
    ) -> Result<HandlerAnswer, ComponentError> {
        let _inside = crate::embedded::Inside::enter(self);
        if self.draining.load(Ordering::SeqCst) {
            let text = "the server is shutting down";
            return Err(handler.unit.failing().error(Code::Unavailable, text));
        }
        handler.answer(request).await
    }
}

impl Unit {
    fn call(
        &self,
        session: &mut Session,
        request: HandlerRequest,
        deadline: Deadline,
    ) -> Result<HandlerAnswer, ComponentError> {
        let (components, host) = ([Arc::clone(&self.component)], Arc::clone(&self.host));
        let argument = argument(request);
        let found = call_components(session, &components, "handle", argument, host, deadline);
        let value = found.map_err(|error| self.failing().called(&error))?;
        let text = "gave what is no answer of HTTP";
        answer(value).ok_or_else(|| self.failing().error(Code::Internal, text))
    }
}

/// A request in the order in which `stead.Request` takes its parts.
fn argument(request: HandlerRequest) -> Value {
    let pair = |(name, value): (String, String)| Value::List(vec![name.into(), value.into()]);
    let parts: [Value; 10] = [
        request.method.into(),
        request.path.into(),
        request.query.into(),
        Value::List(request.parameters.into_iter().map(pair).collect()),
        request.headers.0.into(),
        Value::Bytes(request.body),
        Value::List(request.matched.into_iter().map(Value::from).collect()),
        request.remote.map_or(Value::None, Value::from),
        request.scheme.into(),
        request.host.into(),
    ];
    Value::List(parts.into())
}

/// The answer that a value is.
fn answer(value: Value) -> Option<HandlerAnswer> {
    let Value::Dict(fields) = value else { return None };
    let mut answer = HandlerAnswer::default();
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("status", Value::Int(status)) => {
                answer.status = u16::try_from(status).ok().filter(|s| (200..600).contains(s))?;
            }
            ("headers", Value::List(list)) => {
                for pair in list {
                    let Value::List(pair) = pair else { return None };
                    let [Value::Str(name), Value::Str(value)] =
                        <[Value; 2]>::try_from(pair).ok()?
                    else {
                        return None;
                    };
                    answer.headers.push((name, value));
                }
            }
            ("body", Value::Bytes(body)) => answer.body = body,
            _ => return None,
        }
    }
    (answer.status != 0).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dict(fields: &[(&str, Value)]) -> Value {
        Value::Dict(fields.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect())
    }

    #[test]
    fn what_is_no_answer_is_none() {
        let header = |list: Vec<Value>| Value::List(vec![Value::List(list)]);
        let body = || ("body", Value::Bytes(b"x".to_vec()));
        let good = header(vec!["a".into(), "b".into()]);
        for (label, value, is_answer) in [
            ("all", dict(&[("status", 200.into()), ("headers", good.clone()), body()]), true),
            ("status only", dict(&[("status", 404.into())]), true),
            ("no status", dict(&[body()]), false),
            ("status 100", dict(&[("status", 100.into())]), false),
            ("status 600", dict(&[("status", 600.into())]), false),
            ("status as text", dict(&[("status", "200".into())]), false),
            ("body as text", dict(&[("status", 200.into()), ("body", "x".into())]), false),
            (
                "a header of one",
                dict(&[("status", 200.into()), ("headers", header(vec!["a".into()]))]),
                false,
            ),
            ("something else", dict(&[("status", 200.into()), ("more", 1.into())]), false),
            ("none", Value::None, false),
        ] {
            assert_eq!(answer(value).is_some(), is_answer, "{label}");
        }
    }
}

//! HTTP: from a request to the adapter that answers it.

mod body;
mod held;
mod reply;
mod route;
mod stream;
mod table;

pub use body::{Encoding, LARGE, Pieces, decode};
pub use held::Held;
pub use reply::{CorsHeaders, Dialect, INFERENCE_HEADER, Reply};
pub use route::{ModelPart, Route, TfsCall, V1, V2, percent_decode, route};
pub use stream::{ReplyBody, Stream};
#[cfg(test)]
pub use table::find;
pub use table::forms;
pub use table::{
    ENDPOINTS, Endpoint, GRPC_METHODS, Required, Tag, Takes, required, required_by_grpc,
};

use crate::fault::Fault;
use crate::linger::Unread;
use crate::options::ServerOptions;
use crate::panics::CatchPanic;
use crate::security::{Caller, Guard};
use crate::{console, embeddings, handlers, kserve, metrics, openapi, tfserving, vespa};
use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, HeaderName, ORIGIN};
use http::{HeaderMap, Method, Request, Response, Uri};
use hyper::body::{Body as _, Incoming};
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use stead_node::{Code, Embedded};

/// The header by which a client names a request for the log; it is given back.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What a port is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// Inference and queries.
    Query,
    /// Deployments.
    Deploy,
    /// The same as [`Port::Query`], and administration, which is taken nowhere else then.
    Admin,
}

/// How a request came here.
#[derive(Debug, Clone, Copy)]
pub struct Connection {
    /// The port.
    pub port: Port,
    /// The address of the client, if the system says it.
    pub peer: Option<IpAddr>,
    /// Whether it came to an address that only this machine can reach.
    pub is_loopback: bool,
    /// Whether it came by TLS.
    pub is_secure: bool,
}

/// What all requests share.
#[derive(Debug)]
pub struct Shared {
    /// The node behind the protocols.
    pub node: Arc<Embedded>,
    /// How the server was started.
    pub options: ServerOptions,
    /// Who may do what.
    pub guard: Guard,
    cors: CorsHeaders,
    /// Numbers requests for the log.
    next_request: AtomicU64,
}

impl Shared {
    /// The state of a server that starts.
    pub fn new(node: Arc<Embedded>, options: ServerOptions, guard: Guard) -> Shared {
        let cors = CorsHeaders::new(&options.cors, guard.wants_tokens());
        Shared { node, options, guard, cors, next_request: AtomicU64::new(1) }
    }

    /// The number of a new request.
    pub fn request_number(&self) -> u64 {
        self.next_request.fetch_add(1, Ordering::Relaxed)
    }
}

/// A request's headers and its body, not read yet.
#[derive(Debug)]
pub struct Body {
    headers: HeaderMap,
    incoming: Incoming,
    unread: Unread,
    connection: Connection,
    query: Option<String>,
}

impl Body {
    fn header(&self, name: impl http::header::AsHeaderName) -> Option<&str> {
        self.headers.get(name).map(|v| v.to_str().unwrap_or("?"))
    }

    /// The header that says how many bytes of the body are JSON. Text that is no ASCII reads as `?`.
    pub fn inference_header(&self) -> Option<String> {
        self.header(INFERENCE_HEADER).map(str::to_owned)
    }

    /// What the client takes as an answer.
    pub fn accept(&self) -> Option<&str> {
        self.header(ACCEPT)
    }

    /// Who sends it.
    fn caller(&self) -> Caller<'_> {
        Caller { connection: self.connection, headers: &self.headers, authority: None }
    }

    /// The part of the URL behind `?`; empty when there is none.
    pub fn query(&self) -> &str {
        self.query.as_deref().unwrap_or_default()
    }

    /// All headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The address of the client.
    pub fn peer(&self) -> Option<IpAddr> {
        self.connection.peer
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        if self.connection.is_secure { "https" } else { "http" }
    }

    /// A header as a text.
    pub fn text(&self, name: http::header::HeaderName) -> Option<&str> {
        self.header(name)
    }

    /// The bytes of the body as they arrive, however many they are.
    pub fn pieces(self, options: &ServerOptions) -> Pieces {
        Pieces::new(self.incoming, options.body_timeout, self.unread)
    }

    /// Reads and decompresses the body.
    ///
    /// # Errors
    /// Bodies that are too large, too slow, broken or encoded in an unknown way.
    pub async fn read(self, options: &ServerOptions) -> Result<Bytes, Fault> {
        let encoding = Encoding::from_header(self.header(CONTENT_ENCODING))?;
        let limit = options.max_body_bytes;
        let bytes = body::read_body(self.pieces(options), limit).await?;
        // A small body may be a bomb, so what is compressed always leaves the thread that does I/O.
        match encoding {
            Encoding::Identity => Ok(bytes),
            _ => blocking(move || decode(bytes, encoding, limit)).await?,
        }
    }
}

/// Runs work that takes long on a thread that may block.
///
/// # Errors
/// [`Code::Internal`] when the work panicked.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Fault::new(Code::Internal, "the request ended in an internal error"))
}

/// Answers a request. Panics become 500. `unread` learns whether some of the request was left.
///
/// # Errors
/// None.
pub async fn handle(
    shared: Arc<Shared>,
    connection: Connection,
    unread: Unread,
    request: Request<Incoming>,
) -> Result<Response<Held<ReplyBody>>, Infallible> {
    let started = Instant::now();
    let (parts, incoming) = request.into_parts();
    let (path, port) = (parts.uri.path(), connection.port);
    let dialect = match port {
        Port::Deploy => Dialect::Deploy,
        _ if path.starts_with("/v1/") => Dialect::Tfs,
        _ if vespa::deploy::is_below(path) => Dialect::Deploy,
        _ => Dialect::Kserve,
    };
    let text = |name: &HeaderName| parts.headers.get(name).and_then(|v| v.to_str().ok());
    let accept_encoding = text(&ACCEPT_ENCODING).map(str::to_owned);
    let client_id = parts.headers.get(REQUEST_ID).cloned();
    let cors = Some(&shared.cors).filter(|cors| port != Port::Deploy && cors.enabled());
    if let Some(cors) = cors
        && parts.method == Method::OPTIONS
        && text(&ORIGIN).is_some()
    {
        let mut response = Reply::empty().into_response(None);
        cors.apply(&mut response, text(&ORIGIN));
        return Ok(response.map(|body| Held::new(body, None)));
    }
    let origin = cors.and_then(|_| text(&ORIGIN).map(str::to_owned));
    unread.set(!incoming.is_end_stream());
    let caller = Caller { connection, headers: &parts.headers, authority: parts.uri.authority() };
    let admitted = shared.guard.admit(&caller, required(port, &parts.method, path));
    let query = parts.uri.query().map(str::to_owned);
    let body = Body { headers: parts.headers, incoming, unread, connection, query };
    let (method, path) = (parts.method.clone(), parts.uri.path());
    let work = CatchPanic::new(async {
        match port {
            Port::Deploy => vespa::deploy::answer(&shared, &method, path, body).await,
            _ if path.starts_with(vespa::document::ROOT) => {
                vespa::document::answer(&shared, &method, path, body).await
            }
            _ if vespa::deploy::is_below(path) => Err(vespa::deploy::on_another_port(&shared)),
            _ => match route(&method, path) {
                Route::Unknown => {
                    let asked = handlers::Asked { method: &method, uri: &parts.uri };
                    handlers::answer(&shared, asked, body).await
                }
                route => dispatch(&shared, route, &parts.uri, body).await,
            },
        }
    });
    let (answered, permit) = match admitted {
        Ok(permit) => (work.await, permit),
        Err(refusal) => (Some(Ok(refusal.reply(dialect, path))), None),
    };
    let reply = match answered {
        Some(Ok(reply)) => reply,
        Some(Err(Fault(error))) => Reply::error(&error, dialect),
        None => {
            tracing::error!(path = parts.uri.path(), "a request panicked");
            let error = Fault::new(Code::Internal, "the request ended in an internal error").0;
            Reply::error(&error, dialect)
        }
    };
    let status = reply.status.as_u16();
    if port != Port::Deploy
        && let Some(deployments) = shared.node.deployments()
    {
        vespa::metrics::count_answer(deployments.meters(), status, started.elapsed());
    }
    if status >= 500 || tracing::enabled!(tracing::Level::DEBUG) {
        let number = shared.request_number();
        let request_id = client_id.as_ref().and_then(|v| v.to_str().ok());
        let us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let (method, path) = (parts.method.as_str(), parts.uri.path());
        if status >= 500 {
            tracing::warn!(number, request_id, method, path, status, us, "request failed");
        } else {
            tracing::debug!(number, request_id, method, path, status, us, "request");
        }
    }
    let mut response = reply.into_response(accept_encoding.as_deref());
    if let Some(id) = client_id {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    if let Some(cors) = cors {
        cors.apply(&mut response, origin.as_deref());
    }
    Ok(response.map(|body| Held::new(body, permit)))
}

/// The answer where nothing is.
pub fn unknown_url() -> Fault {
    Fault::new(Code::UnknownUrl, "Invalid request URL")
}

async fn dispatch(
    shared: &Arc<Shared>,
    route: Route,
    uri: &Uri,
    body: Body,
) -> Result<Reply, Fault> {
    match route {
        Route::V2(call) => kserve::rest::answer(shared, call, body).await,
        Route::V1(call) => tfserving::rest::answer(shared, call, body).await,
        Route::Application(call) => vespa::status::answer(shared, call),
        Route::Search(method) => vespa::search::answer(shared, &method, body).await,
        Route::Evaluation(method, rest) => {
            vespa::evaluation::answer(shared, &method, &rest, uri, body).await
        }
        Route::Embeddings => embeddings::openai::answer(shared, body).await,
        Route::Console(call) => console::answer(shared, call, &body.caller()),
        Route::Metrics => metrics::answer(shared, body.accept()),
        Route::OpenApi => openapi::answer(shared, Port::Query),
        Route::Values(call) => vespa::metrics::answer(shared, call),
        Route::WrongMethod => Err(Fault::new(Code::MethodNotAllowed, "Unsupported method")),
        Route::NotServed(what) => Err(Fault::unimplemented(format!("{what} is not served"))),
        Route::Unknown => Err(unknown_url()),
    }
}

//! HTTP: from a request to the adapter that answers it.

mod body;
mod reply;
mod route;
mod stream;

pub use body::{Encoding, LARGE, Pieces, decode};
pub use reply::{CorsHeaders, Dialect, INFERENCE_HEADER, Reply};
pub use route::{ModelPart, Route, TfsCall, V1, V2, percent_decode, route};
pub use stream::{ReplyBody, Stream};

use crate::admin;
use crate::fault::Fault;
use crate::linger::Unread;
use crate::options::ServerOptions;
use crate::panics::CatchPanic;
use crate::{handlers, kserve, metrics, tfserving, vespa};
use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, HeaderName, ORIGIN};
use http::{HeaderMap, Method, Request, Response};
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
}

/// What all requests share.
#[derive(Debug)]
pub struct Shared {
    /// The node behind the protocols.
    pub node: Arc<Embedded>,
    /// How the server was started.
    pub options: ServerOptions,
    cors: CorsHeaders,
    /// Numbers requests for the log.
    next_request: AtomicU64,
}

impl Shared {
    /// The state of a server that starts.
    pub fn new(node: Arc<Embedded>, options: ServerOptions) -> Shared {
        let cors = CorsHeaders::new(&options.cors);
        Shared { node, options, cors, next_request: AtomicU64::new(1) }
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
    peer: Option<IpAddr>,
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
        self.peer
    }

    /// A header as a text.
    pub fn text(&self, name: http::header::HeaderName) -> Option<&str> {
        self.header(name)
    }

    /// Lets in who may look after sequences; see [`admin::admit`].
    ///
    /// # Errors
    /// As there.
    pub fn admit(&self, open: bool) -> Result<(), Fault> {
        admin::admit(self.peer, &self.headers, open)
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

/// Answers a request from `peer`. Panics become 500. `unread` learns whether some of the request was left.
///
/// # Errors
/// None.
pub async fn handle(
    shared: Arc<Shared>,
    port: Port,
    unread: Unread,
    peer: Option<IpAddr>,
    request: Request<Incoming>,
) -> Result<Response<ReplyBody>, Infallible> {
    let started = Instant::now();
    let (parts, incoming) = request.into_parts();
    let path = parts.uri.path();
    let dialect = match port {
        Port::Deploy => Dialect::Deploy,
        Port::Query if path.starts_with("/v1/") => Dialect::Tfs,
        Port::Query if vespa::deploy::is_below(path) => Dialect::Deploy,
        Port::Query => Dialect::Kserve,
    };
    let text = |name: &HeaderName| parts.headers.get(name).and_then(|v| v.to_str().ok());
    let accept_encoding = text(&ACCEPT_ENCODING).map(str::to_owned);
    let client_id = parts.headers.get(REQUEST_ID).cloned();
    let cors = Some(&shared.cors).filter(|cors| port == Port::Query && cors.enabled());
    if let Some(cors) = cors
        && parts.method == Method::OPTIONS
        && text(&ORIGIN).is_some()
    {
        let mut response = Reply::empty().into_response(None);
        cors.apply(&mut response);
        return Ok(response);
    }
    unread.set(!incoming.is_end_stream());
    let query = parts.uri.query().map(str::to_owned);
    let body = Body { headers: parts.headers, incoming, unread, peer, query };
    let (method, path) = (parts.method.clone(), parts.uri.path());
    let work = CatchPanic::new(async {
        match port {
            Port::Query if path.starts_with(vespa::document::ROOT) => {
                vespa::document::answer(&shared, &method, path, body).await
            }
            Port::Query if vespa::deploy::is_below(path) => {
                Err(vespa::deploy::on_another_port(&shared))
            }
            Port::Query => match route(&method, path) {
                Route::Unknown => {
                    let asked = handlers::Asked { method: &method, uri: &parts.uri };
                    handlers::answer(&shared, asked, body).await
                }
                route => dispatch(&shared, route, body).await,
            },
            Port::Deploy => vespa::deploy::answer(&shared, &method, path, body).await,
        }
    });
    let reply = match work.await {
        Some(Ok(reply)) => reply,
        Some(Err(Fault(error))) => Reply::error(&error, dialect),
        None => {
            tracing::error!(path = parts.uri.path(), "a request panicked");
            let error = Fault::new(Code::Internal, "the request ended in an internal error").0;
            Reply::error(&error, dialect)
        }
    };
    let status = reply.status.as_u16();
    if port == Port::Query
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
        cors.apply(&mut response);
    }
    Ok(response)
}

/// The answer where nothing is.
pub fn unknown_url() -> Fault {
    Fault::new(Code::UnknownUrl, "Invalid request URL")
}

async fn dispatch(shared: &Arc<Shared>, route: Route, body: Body) -> Result<Reply, Fault> {
    match route {
        Route::V2(call) => kserve::rest::answer(shared, call, body).await,
        Route::V1(call) => tfserving::rest::answer(shared, call, body).await,
        Route::Application(call) => vespa::status::answer(shared, call),
        Route::Search(method) => vespa::search::answer(shared, &method, body).await,
        Route::Metrics => metrics::answer(shared, body.accept()),
        Route::Values(call) => vespa::metrics::answer(shared, call),
        Route::WrongMethod => Err(Fault::new(Code::MethodNotAllowed, "Unsupported method")),
        Route::NotServed(what) => Err(Fault::unimplemented(format!("{what} is not served"))),
        Route::Unknown => Err(unknown_url()),
    }
}

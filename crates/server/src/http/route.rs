//! Paths. Routed by hand: a dozen patterns, two of them (`:predict`, digits only) that routers cannot say.

use crate::admin::{SequenceCall, sequence_route};
use crate::console::ConsoleCall;
use crate::openapi;
use crate::vespa::evaluation;
use crate::vespa::metrics::MetricsCall;
use crate::vespa::status::StatusCall;
use http::Method;
use std::borrow::Cow;

/// What is not served below the path of a model.
pub const GENERATE: &str = "the generate extension";

/// What a path asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// A call below `/v2`.
    V2(V2),
    /// A call below `/v1`.
    V1(V1),
    /// What is known of the application that is served.
    Application(StatusCall),
    /// `/search/` by GET or POST
    Search(Method),
    /// `/model-evaluation/v1` and what follows it.
    Evaluation(Method, String),
    /// `POST /v1/embeddings`
    Embeddings,
    /// `/console` and what is below it.
    Console(ConsoleCall),
    /// `GET /metrics`
    Metrics,
    /// `GET /openapi.json`
    OpenApi,
    /// A call below `/metrics/v2`.
    Values(MetricsCall),
    /// The path exists, the method does not.
    WrongMethod,
    /// A path of Triton's that is deliberately not served, by name.
    NotServed(&'static str),
    /// No such path.
    Unknown,
}

/// Calls of KServe V2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum V2 {
    /// `GET /v2`
    Server,
    /// `GET /v2/health/live`
    Live,
    /// `GET /v2/health/ready`
    Ready,
    /// `GET /v2/models/stats`
    AllStatistics,
    /// `POST /v2/repository/index`
    Index,
    /// `POST /v2/repository/models/{m}/load`
    Load(String),
    /// `POST /v2/repository/models/{m}/unload`
    Unload(String),
    /// `/v2[/models/{m}]/trace/setting`
    TraceSettings {
        /// The model whose settings they are, if not those of the server.
        model: Option<String>,
        /// Whether it is a POST, which may change them.
        changes: bool,
    },
    /// `/v2/models/{m}[/versions/{v}]/sequences...`
    Sequences(SequenceCall),
    /// `/v2/models/{m}[/versions/{v}]...`
    Model {
        /// The model.
        model: String,
        /// The version's digits; empty for the latest.
        version: String,
        /// What of it.
        part: ModelPart,
    },
}

/// What of a model a KServe call asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelPart {
    /// Its metadata.
    Metadata,
    /// Whether it is ready.
    Ready,
    /// Its configuration.
    Config,
    /// Its statistics.
    Statistics,
    /// An inference.
    Infer,
}

/// Calls of TensorFlow Serving's REST API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum V1 {
    /// `GET /v1/config`
    Config,
    /// `POST /v1/config/reload`
    Reload,
    /// `/v1/models/{m}[/versions/{v}|/labels/{l}]...`
    Model {
        /// The model.
        model: String,
        /// The version as it was written, if one was.
        version: Option<String>,
        /// The label, if one was.
        label: Option<String>,
        /// What of it.
        call: TfsCall,
    },
}

/// What of a model a TensorFlow Serving call asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TfsCall {
    /// The states of its versions.
    Status,
    /// Its signature.
    Metadata,
    /// An inference.
    Predict,
    /// Calls on `tf.Example`, which are not served.
    ClassifyOrRegress,
}

fn on(method: &Method, wanted: Method, route: Route) -> Route {
    if *method == wanted { route } else { Route::WrongMethod }
}

/// The route of a request.
pub fn route(method: &Method, path: &str) -> Route {
    // The hot path first: no list of segments.
    if let Some(rest) = path.strip_prefix("/v2/models/") {
        return model_route(method, rest);
    }
    if path == "/search/" {
        return match *method {
            Method::GET | Method::POST => Route::Search(method.clone()),
            _ => Route::WrongMethod,
        };
    }
    if let Some(rest) = evaluation::below(path) {
        return match *method {
            Method::GET | Method::POST => Route::Evaluation(method.clone(), rest.to_owned()),
            _ => Route::WrongMethod,
        };
    }
    if path == "/metrics" {
        return on(method, Method::GET, Route::Metrics);
    }
    if path == openapi::PATH {
        return on(method, Method::GET, Route::OpenApi);
    }
    if let Some(call) = MetricsCall::of(path) {
        return on(method, Method::GET, Route::Values(call));
    }
    if let Some(rest) = path.strip_prefix("/v1/") {
        return v1_route(method, rest);
    }
    if let Some(call) = StatusCall::of(path) {
        return match *method {
            Method::GET | Method::HEAD => Route::Application(call),
            _ => Route::WrongMethod,
        };
    }
    if let Some(call) = ConsoleCall::of(path) {
        return match *method {
            Method::GET | Method::HEAD => Route::Console(call),
            _ => Route::WrongMethod,
        };
    }
    match path.strip_prefix("/v2") {
        Some("") => on(method, Method::GET, Route::V2(V2::Server)),
        Some(rest) => v2_route(method, rest),
        None => Route::Unknown,
    }
}

fn v2_route(method: &Method, rest: &str) -> Route {
    let segments: Vec<&str> = rest.split('/').skip(1).take(8).collect();
    match segments.as_slice() {
        ["health", "live"] => on(method, Method::GET, Route::V2(V2::Live)),
        ["health", "ready"] => on(method, Method::GET, Route::V2(V2::Ready)),
        ["repository", "index"] => on(method, Method::POST, Route::V2(V2::Index)),
        ["repository", "models", model, verb @ ("load" | "unload")] => match decode(model) {
            Some(m) if *verb == "load" => on(method, Method::POST, Route::V2(V2::Load(m))),
            Some(m) => on(method, Method::POST, Route::V2(V2::Unload(m))),
            None => Route::Unknown,
        },
        ["trace", "setting"] => trace_settings(method, None),
        ["logging"] => Route::NotServed("log settings"),
        ["systemsharedmemory" | "cudasharedmemory", ..] => Route::NotServed("shared memory"),
        _ => Route::Unknown,
    }
}

fn trace_settings(method: &Method, model: Option<String>) -> Route {
    match *method {
        Method::GET => Route::V2(V2::TraceSettings { model, changes: false }),
        Method::POST => Route::V2(V2::TraceSettings { model, changes: true }),
        _ => Route::WrongMethod,
    }
}

fn model_route(method: &Method, rest: &str) -> Route {
    let mut segments = rest.split('/');
    let Some(name) = segments.next().filter(|s| !s.is_empty()) else { return Route::Unknown };
    let mut next = segments.next();
    let mut version = "";
    if name == "stats" && next.is_none() {
        return on(method, Method::GET, Route::V2(V2::AllStatistics));
    }
    if next == Some("versions") {
        match segments.next() {
            // Triton's pattern takes digits only; anything else is no such path.
            Some(v) if !v.is_empty() && v.bytes().all(|b| b.is_ascii_digit()) => version = v,
            _ => return Route::Unknown,
        }
        next = segments.next();
    }
    if next == Some("sequences") {
        return match (decode(name), sequence_route(method, segments)) {
            (Some(model), Some(Some(part))) => {
                let version = version.to_owned();
                Route::V2(V2::Sequences(SequenceCall { model, version, part }))
            }
            (Some(_), Some(None)) => Route::WrongMethod,
            _ => Route::Unknown,
        };
    }
    let (part, wanted) = match next {
        None => (ModelPart::Metadata, Method::GET),
        Some("infer") => (ModelPart::Infer, Method::POST),
        Some("ready") => (ModelPart::Ready, Method::GET),
        Some("config") => (ModelPart::Config, Method::GET),
        Some("stats") => (ModelPart::Statistics, Method::GET),
        Some("generate" | "generate_stream") => return Route::NotServed(GENERATE),
        Some("trace") => {
            return match (version, segments.next(), segments.next(), decode(name)) {
                ("", Some("setting"), None, Some(model)) => trace_settings(method, Some(model)),
                _ => Route::Unknown,
            };
        }
        Some(_) => return Route::Unknown,
    };
    if segments.next().is_some() {
        return Route::Unknown;
    }
    match decode(name) {
        Some(model) => {
            on(method, wanted, Route::V2(V2::Model { model, version: version.to_owned(), part }))
        }
        None => Route::Unknown,
    }
}

fn v1_route(method: &Method, rest: &str) -> Route {
    match rest {
        "embeddings" => return on(method, Method::POST, Route::Embeddings),
        "config" => return on(method, Method::GET, Route::V1(V1::Config)),
        "config/reload" => return on(method, Method::POST, Route::V1(V1::Reload)),
        _ => {}
    }
    let Some(rest) = rest.strip_prefix("models/") else { return Route::Unknown };
    // The verb hangs on the last segment by a colon; names may hold colons too.
    let (rest, verb) = match rest.rsplit_once(':') {
        Some((front, verb @ ("predict" | "classify" | "regress"))) => (front, Some(verb)),
        _ => (rest, None),
    };
    let mut segments: Vec<&str> = rest.split('/').take(6).collect();
    let mut call = match verb {
        Some("predict") => TfsCall::Predict,
        Some(_) => TfsCall::ClassifyOrRegress,
        None => TfsCall::Status,
    };
    if verb.is_none() && segments.len() > 1 && segments.last() == Some(&"metadata") {
        segments.pop();
        call = TfsCall::Metadata;
    }
    let (name, version, label) = match segments.as_slice() {
        [name] => (name, None, None),
        [name, "versions", version] => (name, Some(*version), None),
        [name, "labels", label] => (name, None, Some(*label)),
        _ => return Route::Unknown,
    };
    let owned = |text: Option<&str>| text.map(|t| decode(t).unwrap_or_default());
    let Some(model) = decode(name).filter(|m| !m.is_empty()) else { return Route::Unknown };
    let wanted = if verb.is_some() { Method::POST } else { Method::GET };
    let route = V1::Model { model, version: owned(version), label: owned(label), call };
    on(method, wanted, Route::V1(route))
}

/// Percent-decodes a segment; `None` for bad escapes and text that is not UTF-8.
fn decode(segment: &str) -> Option<String> {
    percent_decode(segment).map(Cow::into_owned)
}

/// Decodes the escapes of a part of a URL; `None` for bad ones and text that is not UTF-8.
pub fn percent_decode(segment: &str) -> Option<Cow<'_, str>> {
    if !segment.contains('%') {
        return Some(Cow::Borrowed(segment));
    }
    let mut out = Vec::with_capacity(segment.len());
    let mut bytes = segment.bytes();
    while let Some(b) = bytes.next() {
        if b != b'%' {
            out.push(b);
            continue;
        }
        let high = (bytes.next()? as char).to_digit(16)?;
        let low = (bytes.next()? as char).to_digit(16)?;
        out.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(out).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{Port, find};
    use stead_app::components::{BUILT_IN_ROUTES, built_in_route};

    /// What the router knows beside the paths in the cases below is in the table too, and what is in the table is no handler's.
    #[test]
    fn the_table_of_routes_is_that_of_the_router() {
        for path in [
            "/search/",
            "/model-evaluation/v1",
            "/model-evaluation/v1/",
            "/model-evaluation/v1/m/f/eval",
            "/metrics",
            "/openapi.json",
            "/console",
            "/console/",
            "/console/main.js",
            "/console/api/application",
            "/metrics/v2",
            "/metrics/v2/",
            "/metrics/v2/values",
            "/ApplicationStatus",
            "/status.html",
            "/state/v1",
            "/state/v1/health",
            "/state/v1/metrics",
        ] {
            assert_ne!(route(&Method::GET, path), Route::Unknown, "{path}");
            check_table(&Method::GET, path, &route(&Method::GET, path));
            assert!(built_in_route(path).is_some(), "{path}");
        }
        for path in [crate::vespa::document::ROOT, "/application/v2/tenant", "/stead/v1/store"] {
            assert!(built_in_route(path).is_some(), "{path}");
        }
        for built_in in BUILT_IN_ROUTES {
            assert!(
                built_in.path.starts_with('/')
                    && !built_in.path.trim_end_matches('*').contains('*')
            );
        }
    }

    /// A call that is not in the table would have no role of its own, and not be in the OpenAPI document.
    fn check_table(method: &Method, path: &str, route: &Route) {
        let is_call = !matches!(route, Route::Unknown | Route::WrongMethod | Route::NotServed(_));
        let found = find(Port::Query, method, path);
        assert!(!is_call || found.is_some(), "{method} {path} is not in the table of calls");
    }

    fn model(model: &str, version: &str, part: ModelPart) -> Route {
        Route::V2(V2::Model { model: model.into(), version: version.into(), part })
    }

    fn trace(model: Option<&str>, changes: bool) -> Route {
        Route::V2(V2::TraceSettings { model: model.map(str::to_owned), changes })
    }

    #[test]
    fn v2_paths() {
        let cases = [
            ("GET", "/v2", Route::V2(V2::Server)),
            ("GET", "/v2/", Route::Unknown),
            ("GET", "/v2x", Route::Unknown),
            ("GET", "/v2/health/live", Route::V2(V2::Live)),
            ("HEAD", "/v2/health/live", Route::WrongMethod),
            ("POST", "/v2/health/ready", Route::WrongMethod),
            ("GET", "/v2/models/stats", Route::V2(V2::AllStatistics)),
            ("GET", "/v2/models/m", model("m", "", ModelPart::Metadata)),
            ("GET", "/v2/models/a%2Fb", model("a/b", "", ModelPart::Metadata)),
            ("GET", "/v2/models/..", model("..", "", ModelPart::Metadata)),
            ("GET", "/v2/models/%zz", Route::Unknown),
            ("GET", "/v2/models/%ff", Route::Unknown),
            ("GET", "/v2/models/", Route::Unknown),
            ("GET", "/v2/models/m/versions/12", model("m", "12", ModelPart::Metadata)),
            ("GET", "/v2/models/m/versions/x", Route::Unknown),
            ("GET", "/v2/models/m/versions", Route::Unknown),
            ("GET", "/v2/models/m/versions/1/ready", model("m", "1", ModelPart::Ready)),
            ("POST", "/v2/models/m/infer", model("m", "", ModelPart::Infer)),
            ("POST", "/v2/models/m/versions/3/infer", model("m", "3", ModelPart::Infer)),
            ("GET", "/v2/models/m/infer", Route::WrongMethod),
            ("PUT", "/v2/models/m/sequences", Route::WrongMethod),
            ("GET", "/v2/models/m/versions/2/sequences/a/b", Route::Unknown),
            ("POST", "/v2/models/m/infer/x", Route::Unknown),
            ("POST", "/v2/models/m/generate", Route::NotServed("the generate extension")),
            ("GET", "/v2/trace/setting", trace(None, false)),
            ("POST", "/v2/trace/setting", trace(None, true)),
            ("PUT", "/v2/trace/setting", Route::WrongMethod),
            ("POST", "/v2/models/a%2Fb/trace/setting", trace(Some("a/b"), true)),
            ("GET", "/v2/models/m/trace", Route::Unknown),
            ("GET", "/v2/models/m/trace/setting/x", Route::Unknown),
            ("GET", "/v2/models/m/versions/1/trace/setting", Route::Unknown),
            ("POST", "/v2/repository/index", Route::V2(V2::Index)),
            ("POST", "/v2/repository/models/m/load", Route::V2(V2::Load("m".into()))),
            ("POST", "/v2/repository/models/m/unload", Route::V2(V2::Unload("m".into()))),
            ("GET", "/v2/systemsharedmemory/status", Route::NotServed("shared memory")),
            ("POST", "/model-evaluation/v1/m", Route::Evaluation(Method::POST, "/m".to_owned())),
            ("PUT", "/model-evaluation/v1/m", Route::WrongMethod),
            ("GET", "/model-evaluation/v1x", Route::Unknown),
            ("GET", "/model-evaluation/v0", Route::Unknown),
            ("GET", "/metrics", Route::Metrics),
            ("GET", "/nope", Route::Unknown),
            ("GET", "", Route::Unknown),
        ];
        for (method, path, expected) in cases {
            let method: Method = method.parse().unwrap();
            // Else a handler could be bound to it.
            let is_known = expected == Route::Unknown || built_in_route(path).is_some();
            assert!(is_known, "{path} is not in the table of built-in routes");
            check_table(&method, path, &expected);
            assert_eq!(route(&method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn v1_paths() {
        let call = |m: &str, v: Option<&str>, l: Option<&str>, call| {
            let (version, label) = (v.map(str::to_owned), l.map(str::to_owned));
            Route::V1(V1::Model { model: m.into(), version, label, call })
        };
        let cases = [
            ("GET", "/v1/models/m", call("m", None, None, TfsCall::Status)),
            ("GET", "/v1/models/m/versions/2", call("m", Some("2"), None, TfsCall::Status)),
            ("GET", "/v1/models/m/versions/x", call("m", Some("x"), None, TfsCall::Status)),
            ("GET", "/v1/models/m/metadata", call("m", None, None, TfsCall::Metadata)),
            (
                "GET",
                "/v1/models/m/versions/2/metadata",
                call("m", Some("2"), None, TfsCall::Metadata),
            ),
            ("POST", "/v1/models/m:predict", call("m", None, None, TfsCall::Predict)),
            ("POST", "/v1/models/a:b:predict", call("a:b", None, None, TfsCall::Predict)),
            (
                "POST",
                "/v1/models/m/versions/2:predict",
                call("m", Some("2"), None, TfsCall::Predict),
            ),
            (
                "POST",
                "/v1/models/m/labels/beta:predict",
                call("m", None, Some("beta"), TfsCall::Predict),
            ),
            ("POST", "/v1/models/m:classify", call("m", None, None, TfsCall::ClassifyOrRegress)),
            ("GET", "/v1/models/m:predict", Route::WrongMethod),
            ("POST", "/v1/models/m", Route::WrongMethod),
            ("GET", "/v1/models/metadata", call("metadata", None, None, TfsCall::Status)),
            ("GET", "/v1/config", Route::V1(V1::Config)),
            ("POST", "/v1/config/reload", Route::V1(V1::Reload)),
            ("GET", "/v1/models", Route::Unknown),
            ("POST", "/v1/embeddings", Route::Embeddings),
            ("GET", "/v1/embeddings", Route::WrongMethod),
            ("GET", "/v1/models/m/x/y", Route::Unknown),
        ];
        for (method, path, expected) in cases {
            let method: Method = method.parse().unwrap();
            // Else a handler could be bound to it.
            let is_known = expected == Route::Unknown || built_in_route(path).is_some();
            assert!(is_known, "{path} is not in the table of built-in routes");
            check_table(&method, path, &expected);
            assert_eq!(route(&method, path), expected, "{method} {path}");
        }
    }
}

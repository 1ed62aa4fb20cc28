//! The one table of the calls that the server answers: what each needs, and what is told of it in the OpenAPI document.
//! [`route`](super::route) has their order and their forms; tests hold the two together.

use super::route::GENERATE;
use super::{Port, Route, route};
use crate::security::Role;
use crate::vespa::document;
use http::Method;
use std::sync::LazyLock;
use stead_app::components::built_in_route;

/// What calls are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tag {
    /// KServe V2.
    Kserve,
    /// The models of a repository.
    Repository,
    /// Sequences of stateful models.
    Sequences,
    /// TensorFlow Serving.
    TensorFlow,
    /// Documents of an application.
    Documents,
    /// Searches of them.
    Searches,
    /// Models of an application.
    Evaluation,
    /// Texts that are embedded.
    Embedders,
    /// Metrics and state.
    State,
    /// The page for people.
    Console,
    /// Deployments of applications.
    Deployments,
    /// Snapshots and backups.
    Store,
}

impl Tag {
    /// Its name in the document.
    pub const fn name(self) -> &'static str {
        match self {
            Tag::Kserve => "KServe V2",
            Tag::Repository => "Model repository",
            Tag::Sequences => "Sequences",
            Tag::TensorFlow => "TensorFlow Serving",
            Tag::Documents => "Documents",
            Tag::Searches => "Searches",
            Tag::Evaluation => "Model evaluation",
            Tag::Embedders => "Embedders",
            Tag::State => "State and metrics",
            Tag::Console => "Console",
            Tag::Deployments => "Deployments",
            Tag::Store => "Store",
        }
    }
}

/// What a call takes as its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// None.
    Nothing,
    /// JSON of this schema.
    Json(&'static str),
    /// Bytes.
    Octets,
    /// An archive.
    Package,
}

/// One call.
#[derive(Debug, Clone, Copy)]
pub struct Endpoint {
    /// The port; administration has all of [`Port::Query`].
    pub port: Port,
    /// The method. `GET` is `HEAD` too.
    pub method: &'static str,
    /// The path: `{name}` is a segment, `{name...}` all that follows, `[..]` may be left out.
    pub path: &'static str,
    /// What it needs.
    pub role: Role,
    /// What it is about.
    pub tag: Tag,
    /// The body.
    pub takes: Takes,
    /// The parameters of the URL, by their names.
    pub query: &'static [&'static str],
    /// One sentence.
    pub summary: &'static str,
}

use Port::{Deploy, Query};
use Role::{Admin, Anyone, Read, Write};
use Tag::{
    Console, Deployments, Documents, Embedders, Evaluation, Kserve, Repository, Searches,
    Sequences, State, Store, TensorFlow,
};
use Takes::{Json, Nothing, Octets, Package};

#[allow(clippy::too_many_arguments)] // a row of a table
const fn row(
    port: Port,
    method: &'static str,
    path: &'static str,
    role: Role,
    tag: Tag,
    takes: Takes,
    query: &'static [&'static str],
    summary: &'static str,
) -> Endpoint {
    Endpoint { port, method, path, role, tag, takes, query, summary }
}

const SELECT: &[&str] = &["selection", "cluster", "timeout"];
const VISIT: &[&str] = &[
    "selection",
    "cluster",
    "timeout",
    "fieldSet",
    "wantedDocumentCount",
    "continuation",
    "stream",
];
const EVALUATE: &[&str] = &["missing-value", "format.tensors"];
const CHANGE: &[&str] = &["condition", "create", "timeout"];

/// All of them.
#[rustfmt::skip] // a table reads best with one row a line
pub const ENDPOINTS: &[Endpoint] = &[
    row(Query, "GET", "/v2", Read, Kserve, Nothing, &[], "The server's name, version and extensions"),
    row(Query, "GET", "/v2/health/live", Anyone, Kserve, Nothing, &[], "Whether the server runs"),
    row(Query, "GET", "/v2/health/ready", Anyone, Kserve, Nothing, &[], "Whether the server takes requests"),
    row(Query, "GET", "/v2/models/stats", Read, Kserve, Nothing, &[], "Statistics of all models"),
    row(Query, "GET", "/v2/models/{model}[/versions/{version}]", Read, Kserve, Nothing, &[], "The inputs and outputs of a model"),
    row(Query, "GET", "/v2/models/{model}[/versions/{version}]/ready", Read, Kserve, Nothing, &[], "Whether a model is ready"),
    row(Query, "GET", "/v2/models/{model}[/versions/{version}]/config", Read, Kserve, Nothing, &[], "The configuration of a model"),
    row(Query, "GET", "/v2/models/{model}[/versions/{version}]/stats", Read, Kserve, Nothing, &[], "Statistics of a model"),
    row(Query, "POST", "/v2/models/{model}[/versions/{version}]/infer", Read, Kserve, Json("InferRequest"), &[], "An inference"),
    row(Query, "GET", "/v2[/models/{model}]/trace/setting", Admin, Kserve, Nothing, &[], "Triton's trace settings: off"),
    row(Query, "POST", "/v2[/models/{model}]/trace/setting", Admin, Kserve, Json("Object"), &[], "Trace settings that change nothing"),
    row(Query, "POST", "/v2/repository/index", Read, Repository, Json("IndexRequest"), &[], "The models of the repository"),
    row(Query, "POST", "/v2/repository/models/{model}/load", Admin, Repository, Json("Object"), &[], "Load a model"),
    row(Query, "POST", "/v2/repository/models/{model}/unload", Admin, Repository, Json("Object"), &[], "Unload a model"),
    row(Query, "GET", "/v2/models/{model}[/versions/{version}]/sequences", Admin, Sequences, Nothing, &["limit", "after"], "The live sequences of a model"),
    row(Query, "GET", "/v2/models/{model}[/versions/{version}]/sequences/{id}", Admin, Sequences, Nothing, &[], "A sequence and the tensors of its state"),
    row(Query, "DELETE", "/v2/models/{model}[/versions/{version}]/sequences/{id}", Admin, Sequences, Nothing, &[], "End a sequence"),
    row(Query, "POST", "/v2/models/{model}[/versions/{version}]/sequences/{id}/end", Admin, Sequences, Nothing, &[], "End a sequence"),
    row(Query, "POST", "/v2/models/{model}[/versions/{version}]/sequences/{id}/fork", Admin, Sequences, Json("Fork"), &[], "Begin a sequence as a copy of another one"),
    row(Query, "GET", "/v2/models/{model}[/versions/{version}]/sequences/{id}/state", Admin, Sequences, Nothing, &[], "The state of a sequence as npz"),
    row(Query, "PUT", "/v2/models/{model}[/versions/{version}]/sequences/{id}/state", Admin, Sequences, Octets, &[], "Begin a sequence with a state"),
    row(Query, "POST", "/v2/models/{model}[/versions/{version}]/sequences/{id}/state", Admin, Sequences, Octets, &[], "Begin a sequence with a state"),
    row(Query, "GET", "/v1/config", Read, TensorFlow, Nothing, &[], "The models and the states of their versions"),
    row(Query, "POST", "/v1/config/reload", Admin, TensorFlow, Nothing, &[], "Read the config file again"),
    row(Query, "GET", "/v1/models/{model}[/versions/{version}]", Read, TensorFlow, Nothing, &[], "The states of the versions of a model"),
    row(Query, "GET", "/v1/models/{model}/labels/{label}", Read, TensorFlow, Nothing, &[], "The state of a labelled version"),
    row(Query, "GET", "/v1/models/{model}[/versions/{version}]/metadata", Read, TensorFlow, Nothing, &[], "The signature of a model"),
    row(Query, "GET", "/v1/models/{model}/labels/{label}/metadata", Read, TensorFlow, Nothing, &[], "The signature of a labelled version"),
    row(Query, "POST", "/v1/models/{model}:predict", Read, TensorFlow, Json("PredictRequest"), &[], "An inference"),
    row(Query, "POST", "/v1/models/{model}/versions/{version}:predict", Read, TensorFlow, Json("PredictRequest"), &[], "An inference by a version"),
    row(Query, "POST", "/v1/models/{model}/labels/{label}:predict", Read, TensorFlow, Json("PredictRequest"), &[], "An inference by a labelled version"),
    row(Query, "POST", "/v1/models/{model}:classify", Read, TensorFlow, Json("Object"), &[], "Not offered"),
    row(Query, "POST", "/v1/models/{model}:regress", Read, TensorFlow, Json("Object"), &[], "Not offered"),
    row(Query, "POST", "/embed", Read, Embedders, Json("Object"), &[], "Vectors of texts, as Text Embeddings Inference has them; a handler that is bound to this path comes first"),
    row(Query, "POST", "/v1/embeddings", Read, Embedders, Json("Object"), &[], "Vectors of texts"),
    row(Query, "GET", "/search/", Read, Searches, Nothing, &["yql", "query", "hits", "offset", "ranking", "timeout"], "A search"),
    row(Query, "POST", "/search/", Read, Searches, Json("SearchRequest"), &[], "A search"),
    row(Query, "GET", "/document/v1/", Read, Documents, Nothing, VISIT, "Visit documents"),
    row(Query, "PUT", "/document/v1/", Write, Documents, Json("Document"), SELECT, "Update the documents that are selected"),
    row(Query, "DELETE", "/document/v1/", Write, Documents, Nothing, SELECT, "Remove the documents that are selected"),
    row(Query, "GET", "/document/v1/{namespace}/{type}/docid", Read, Documents, Nothing, VISIT, "Visit documents of a type"),
    row(Query, "PUT", "/document/v1/{namespace}/{type}/docid", Write, Documents, Json("Document"), SELECT, "Update the documents of a type that are selected"),
    row(Query, "DELETE", "/document/v1/{namespace}/{type}/docid", Write, Documents, Nothing, SELECT, "Remove the documents of a type that are selected"),
    row(Query, "GET", "/document/v1/{namespace}/{type}/docid/{id...}", Read, Documents, Nothing, &["fieldSet", "cluster", "timeout"], "Get a document"),
    row(Query, "POST", "/document/v1/{namespace}/{type}/docid/{id...}", Write, Documents, Json("Document"), CHANGE, "Put a document"),
    row(Query, "PUT", "/document/v1/{namespace}/{type}/docid/{id...}", Write, Documents, Json("Document"), CHANGE, "Update a document"),
    row(Query, "DELETE", "/document/v1/{namespace}/{type}/docid/{id...}", Write, Documents, Nothing, CHANGE, "Remove a document"),
    row(Query, "GET", "/document/v1/{namespace}/{type}/number/{number}/{id...}", Read, Documents, Nothing, &["fieldSet"], "Get a document of a group, or visit them"),
    row(Query, "POST", "/document/v1/{namespace}/{type}/number/{number}/{id...}", Write, Documents, Json("Document"), CHANGE, "Put a document of a group"),
    row(Query, "PUT", "/document/v1/{namespace}/{type}/number/{number}/{id...}", Write, Documents, Json("Document"), CHANGE, "Update a document of a group, or those that are selected"),
    row(Query, "DELETE", "/document/v1/{namespace}/{type}/number/{number}/{id...}", Write, Documents, Nothing, CHANGE, "Remove a document of a group, or those that are selected"),
    row(Query, "GET", "/document/v1/{namespace}/{type}/group/{group}/{id...}", Read, Documents, Nothing, &["fieldSet"], "Get a document of a group, or visit them"),
    row(Query, "POST", "/document/v1/{namespace}/{type}/group/{group}/{id...}", Write, Documents, Json("Document"), CHANGE, "Put a document of a group"),
    row(Query, "PUT", "/document/v1/{namespace}/{type}/group/{group}/{id...}", Write, Documents, Json("Document"), CHANGE, "Update a document of a group, or those that are selected"),
    row(Query, "DELETE", "/document/v1/{namespace}/{type}/group/{group}/{id...}", Write, Documents, Nothing, CHANGE, "Remove a document of a group, or those that are selected"),
    row(Query, "GET", "/model-evaluation/v1", Read, Evaluation, Nothing, &[], "The models of the application"),
    row(Query, "POST", "/model-evaluation/v1", Read, Evaluation, Nothing, &[], "The models of the application"),
    row(Query, "GET", "/model-evaluation/v1/{model}", Read, Evaluation, Nothing, &[], "The functions of a model and what they take"),
    row(Query, "POST", "/model-evaluation/v1/{model}", Read, Evaluation, Nothing, &[], "The functions of a model and what they take"),
    row(Query, "GET", "/model-evaluation/v1/{model}/{function...}", Read, Evaluation, Nothing, EVALUATE, "What a function takes; its value where eval stands behind its name, or alone if there is one function"),
    row(Query, "POST", "/model-evaluation/v1/{model}/{function...}", Read, Evaluation, Json("Object"), EVALUATE, "The value of a function where eval stands behind its name, or alone if there is one function"),
    row(Query, "GET", "/openapi.json", Read, State, Nothing, &[], "This document"),
    row(Query, "GET", "/metrics", Read, State, Nothing, &[], "Metrics for Prometheus"),
    row(Query, "GET", "/metrics/v2", Read, State, Nothing, &[], "What there is of Vespa's metrics"),
    row(Query, "GET", "/metrics/v2/values", Read, State, Nothing, &[], "Vespa's metrics"),
    row(Query, "GET", "/", Read, State, Nothing, &[], "What answers at which paths; a handler that is bound to this path comes first"),
    row(Query, "GET", "/ApplicationStatus", Read, State, Nothing, &[], "The application that is served"),
    row(Query, "GET", "/state/v1", Read, State, Nothing, &[], "What there is of the state"),
    row(Query, "GET", "/state/v1/health", Anyone, State, Nothing, &[], "Whether an application is served"),
    row(Query, "GET", "/state/v1/metrics", Read, State, Nothing, &[], "Vespa's metrics"),
    row(Query, "GET", "/state/v1/version", Read, State, Nothing, &[], "The version of the server"),
    row(Query, "GET", "/state/v1/config", Read, State, Nothing, &[], "The generation of the application"),
    row(Query, "GET", "/status.html", Anyone, State, Nothing, &[], "Whether a load balancer should send requests here"),
    row(Query, "GET", "/console", Anyone, Console, Nothing, &[], "The page for people, if it is served"),
    row(Query, "GET", "/console/{file}", Anyone, Console, Nothing, &[], "A file of the page, which is the same for everybody"),
    row(Query, "GET", "/console/api/application", Read, Console, Nothing, &[], "The application that is served: schemas, fields, rank profiles, numbers of documents"),
    row(Deploy, "GET", "/openapi.json", Read, State, Nothing, &[], "This document"),
    row(Deploy, "GET", "/state/v1/health", Anyone, State, Nothing, &[], "Whether the server runs"),
    row(Deploy, "GET", "/status.html", Anyone, State, Nothing, &[], "Whether the server runs"),
    row(Deploy, "GET", "/ApplicationStatus", Read, State, Nothing, &[], "The version of the server"),
    row(Deploy, "GET", "/state/v1", Read, State, Nothing, &[], "What there is of the state"),
    row(Deploy, "GET", "/state/v1/metrics", Read, State, Nothing, &[], "Vespa's metrics"),
    row(Deploy, "GET", "/state/v1/version", Read, State, Nothing, &[], "The version of the server"),
    row(Deploy, "GET", "/state/v1/config", Read, State, Nothing, &[], "The generation of the application"),
    row(Deploy, "GET", "/application/v2/tenant", Admin, Deployments, Nothing, &[], "The tenants"),
    row(Deploy, "GET", "/application/v2/tenant/{tenant}", Admin, Deployments, Nothing, &[], "A tenant"),
    row(Deploy, "POST", "/application/v2/tenant/{tenant}/prepareandactivate", Admin, Deployments, Package, &[], "Deploy a package"),
    row(Deploy, "POST", "/application/v2/tenant/{tenant}/session", Admin, Deployments, Package, &["from"], "Begin a session with a package"),
    row(Deploy, "PUT", "/application/v2/tenant/{tenant}/session/{session}/prepared", Admin, Deployments, Nothing, &[], "Prepare a session"),
    row(Deploy, "GET", "/application/v2/tenant/{tenant}/session/{session}/prepared", Admin, Deployments, Nothing, &[], "Whether a session is prepared"),
    row(Deploy, "PUT", "/application/v2/tenant/{tenant}/session/{session}/active", Admin, Deployments, Nothing, &[], "Activate a session"),
    row(Deploy, "GET", "/application/v2/tenant/{tenant}/session/{session}/content/{path...}", Admin, Deployments, Nothing, &["recursive", "return"], "A file of a session"),
    row(Deploy, "PUT", "/application/v2/tenant/{tenant}/session/{session}/content/{path...}", Admin, Deployments, Octets, &[], "Write a file of a session"),
    row(Deploy, "DELETE", "/application/v2/tenant/{tenant}/session/{session}/content/{path...}", Admin, Deployments, Nothing, &[], "Remove a file of a session"),
    row(Deploy, "GET", "/application/v2/tenant/{tenant}/application", Admin, Deployments, Nothing, &[], "The applications of a tenant"),
    row(Deploy, "GET", "/application/v2/tenant/{tenant}/application/{application}[/environment/{environment}/region/{region}/instance/{instance}]", Admin, Deployments, Nothing, &[], "The application that is active"),
    row(Deploy, "DELETE", "/application/v2/tenant/{tenant}/application/{application}[/environment/{environment}/region/{region}/instance/{instance}]", Admin, Deployments, Nothing, &[], "Delete the application and its documents"),
    row(Deploy, "GET", "/application/v2/tenant/{tenant}/application/{application}/environment/{environment}/region/{region}/instance/{instance}/content/{path...}", Admin, Deployments, Nothing, &["recursive", "return"], "A file of the application"),
    row(Deploy, "GET", "/application/v2/tenant/{tenant}/application/{application}/environment/{environment}/region/{region}/instance/{instance}/serviceconverge[/{service}]", Admin, Deployments, Nothing, &[], "Whether the application is served as it was deployed"),
    row(Deploy, "GET", "/application/v2/tenant/{tenant}/application/{application}/environment/{environment}/region/{region}/instance/{instance}/logs", Admin, Deployments, Nothing, &["from", "to", "maxLines", "hostname"], "The last lines of the log"),
    row(Deploy, "POST", "/stead/v1/snapshot", Admin, Store, Nothing, &[], "Write a snapshot of the documents"),
    row(Deploy, "POST", "/stead/v1/backup/{name}", Admin, Store, Nothing, &[], "Write a backup of the documents"),
];

/// The methods of gRPC and what they need.
#[rustfmt::skip]
pub const GRPC_METHODS: &[(&str, Role)] = &[
    ("/inference.GRPCInferenceService/ModelInfer", Read),
    ("/inference.GRPCInferenceService/ModelStreamInfer", Read),
    ("/inference.GRPCInferenceService/ServerLive", Anyone),
    ("/inference.GRPCInferenceService/ServerReady", Anyone),
    ("/inference.GRPCInferenceService/ModelReady", Read),
    ("/inference.GRPCInferenceService/ServerMetadata", Read),
    ("/inference.GRPCInferenceService/ModelMetadata", Read),
    ("/inference.GRPCInferenceService/ModelConfig", Read),
    ("/inference.GRPCInferenceService/ModelStatistics", Read),
    ("/inference.GRPCInferenceService/RepositoryIndex", Read),
    ("/inference.GRPCInferenceService/RepositoryModelLoad", Admin),
    ("/inference.GRPCInferenceService/RepositoryModelUnload", Admin),
    ("/inference.GRPCInferenceService/SystemSharedMemoryStatus", Admin),
    ("/inference.GRPCInferenceService/SystemSharedMemoryRegister", Admin),
    ("/inference.GRPCInferenceService/SystemSharedMemoryUnregister", Admin),
    ("/inference.GRPCInferenceService/CudaSharedMemoryStatus", Admin),
    ("/inference.GRPCInferenceService/CudaSharedMemoryRegister", Admin),
    ("/inference.GRPCInferenceService/CudaSharedMemoryUnregister", Admin),
    ("/inference.GRPCInferenceService/TraceSetting", Admin),
    ("/inference.GRPCInferenceService/LogSettings", Admin),
    ("/tensorflow.serving.PredictionService/Predict", Read),
    ("/tensorflow.serving.PredictionService/Classify", Read),
    ("/tensorflow.serving.PredictionService/Regress", Read),
    ("/tensorflow.serving.PredictionService/MultiInference", Read),
    ("/tensorflow.serving.PredictionService/GetModelMetadata", Read),
    ("/tensorflow.serving.ModelService/GetModelStatus", Read),
    ("/tensorflow.serving.ModelService/HandleReloadConfigRequest", Admin),
];

/// What a request to a handler of the application needs, whose binding says nothing of it: one that reads, or one that may change
/// something.
const fn of_handler(reads: bool) -> Role {
    if reads { Read } else { Write }
}

/// What a request needs, and what it is about if it is for a call of the server's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Required {
    /// The role.
    pub role: Role,
    /// What of.
    pub tag: Option<Tag>,
}

/// What a request needs. Paths that lead nowhere need no more than a good token, and what is missing in the table needs most.
pub fn required(port: Port, method: &Method, path: &str) -> Required {
    if let Some(endpoint) = find(port, method, path) {
        return Required { role: endpoint.role, tag: Some(endpoint.tag) };
    }
    let reads = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let role = match port {
        Port::Deploy => Admin,
        _ if path.starts_with(document::ROOT) => of_handler(reads),
        _ => match route(method, path) {
            Route::Unknown if built_in_route(path).is_none() => of_handler(reads),
            Route::NotServed(GENERATE) | Route::Unknown | Route::WrongMethod => Read,
            // Settings of the server, if it had them.
            Route::NotServed(_) => Admin,
            _ => Admin,
        },
    };
    Required { role, tag: None }
}

/// What a gRPC call needs.
pub fn required_by_grpc(path: &str) -> Required {
    let found = GRPC_METHODS.iter().find(|(method, _)| *method == path);
    Required { role: found.map_or(Read, |(_, role)| *role), tag: None }
}

/// The call of a request.
pub fn find(port: Port, method: &Method, path: &str) -> Option<&'static Endpoint> {
    let port = if port == Port::Deploy { Deploy } else { Query };
    let method = if *method == Method::HEAD { "GET" } else { method.as_str() };
    let path = path.strip_prefix('/')?;
    let path = path.strip_suffix('/').unwrap_or(path);
    let count = path.bytes().filter(|b| *b == b'/').count();
    let rows = FORMS.get(count).map(Vec::as_slice).unwrap_or_default();
    let has = |form: &&Form| {
        form.endpoint.port == port && form.endpoint.method == method && form.has(path)
    };
    rows.iter().chain(OPEN_FORMS.iter()).find(has).map(|form| form.endpoint)
}

/// A path of an endpoint without parts that may be left out.
pub struct Form {
    /// The endpoint.
    pub endpoint: &'static Endpoint,
    /// Its path.
    pub path: String,
    segments: Vec<Segment>,
    is_open: bool,
}

enum Segment {
    Is(String),
    Any,
    EndsWith(String),
}

impl Form {
    fn new(endpoint: &'static Endpoint, path: String) -> Form {
        let (closed, is_open) = match path.strip_suffix("...}") {
            Some(front) => (front.rsplit_once('/').map_or("", |(front, _)| front).to_owned(), true),
            None => (path.clone(), false),
        };
        let segment = |text: &str| match (text.strip_prefix('{'), text.rsplit_once('}')) {
            (Some(_), Some((_, ""))) => Segment::Any,
            (Some(_), Some((_, end))) => Segment::EndsWith(end.to_owned()),
            _ => Segment::Is(text.to_owned()),
        };
        let segments = closed.trim_matches('/').split('/').map(segment).collect();
        Form { endpoint, path, segments, is_open }
    }

    fn has(&self, path: &str) -> bool {
        let mut parts = path.split('/');
        for segment in &self.segments {
            let Some(part) = parts.next() else { return false };
            let is_same = match segment {
                Segment::Is(text) => part == text,
                Segment::Any => !part.is_empty(),
                Segment::EndsWith(end) => part.len() > end.len() && part.ends_with(end.as_str()),
            };
            if !is_same {
                return false;
            }
        }
        self.is_open || parts.next().is_none()
    }
}

/// Every path of every endpoint: with and without what may be left out.
pub fn forms() -> impl Iterator<Item = Form> {
    ENDPOINTS.iter().flat_map(|endpoint| {
        let path = endpoint.path;
        let paths =
            match path.split_once('[').and_then(|(a, rest)| Some((a, rest.split_once(']')?))) {
                Some((front, (part, end))) => {
                    vec![format!("{front}{end}"), format!("{front}{part}{end}")]
                }
                None => vec![path.to_owned()],
            };
        paths.into_iter().map(|path| Form::new(endpoint, path))
    })
}

/// The forms by the number of slashes within them; few are left to compare.
static FORMS: LazyLock<Vec<Vec<Form>>> = LazyLock::new(|| {
    let mut by_count: Vec<Vec<Form>> = Vec::new();
    for form in forms().filter(|form| !form.is_open) {
        let count = form.segments.len().saturating_sub(1);
        if by_count.len() <= count {
            by_count.resize_with(count + 1, Vec::new);
        }
        if let Some(list) = by_count.get_mut(count) {
            list.push(form);
        }
    }
    by_count
});

/// Those with an open end.
static OPEN_FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| forms().filter(|f| f.is_open).collect());

#[cfg(test)]
mod tests;

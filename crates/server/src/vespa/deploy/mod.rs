//! Deployments of application packages, as Vespa's config server takes them
//! (documentation, `reference/deploy-rest-api-v2.html`; the texts: `configserver/src/main/java/com/yahoo/vespa/config/server/http`).

mod answers;
mod content;
mod route;
mod store;

use crate::fault::Fault;
use crate::http::{Body, Port, Reply, Shared, blocking};
use crate::openapi;
use crate::vespa::logs;
use crate::vespa::status::{StatusCall, answer_for_deployments};
use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use route::{Call, SessionCall};
use std::sync::Arc;
use stead_node::{Code, Deployments, SessionId, Upload};
use store::StoreCall;
use tokio::sync::mpsc;

/// Pieces of a package that may wait for the disk.
const PIECES: usize = 16;

/// The media types of packages.
const TYPES: [&str; 3] = ["application/zip", "application/x-gzip", "application/gzip"];

/// Whether a path is of the deploy port alone.
pub fn is_below(path: &str) -> bool {
    ["/application/v2/", store::ROOT].iter().any(|root| path.starts_with(root))
}

/// Whether a request of the deploy port is for a call.
#[cfg(test)]
pub fn is_call(method: &Method, path: &str) -> bool {
    path == openapi::PATH
        || StatusCall::of(path).is_some()
        || matches!(StoreCall::of(method, path), Ok(Some(_)))
        || route::route(method, path).is_ok()
}

/// Why a request for the deploy port finds nothing on the query port, and what to do.
pub fn on_another_port(shared: &Shared) -> Fault {
    match shared.node.deployments() {
        None => Fault::new(Code::UnknownUrl, "Invalid request URL"),
        Some(deployments) if deployments.is_open() => {
            let text = "deployments, snapshots and backups are asked for on the deploy port (--deploy_port)";
            Fault::new(Code::UnknownUrl, text)
        }
        Some(_) => {
            let text = "this server serves one package, whose documents are in memory: there are no deployments, snapshots and \
                        backups. `stead serve --data DIR` has them, on a port of their own";
            Fault::new(Code::FailedPrecondition, text)
        }
    }
}

/// Answers a request on the deploy port.
///
/// # Errors
/// Unknown paths, methods and sessions; packages that are refused.
pub async fn answer(
    shared: &Arc<Shared>,
    method: &Method,
    path: &str,
    body: Body,
) -> Result<Reply, Fault> {
    // A page in a browser on this machine could deploy what it likes.
    if body.text(ORIGIN).is_some() {
        let text = "requests that web pages send are not taken on the deploy port";
        return Err(Fault::new(Code::PermissionDenied, text));
    }
    if path == openapi::PATH && matches!(*method, Method::GET | Method::HEAD) {
        return openapi::answer(shared, Port::Deploy);
    }
    if let Some(call) = StatusCall::of(path) {
        return match *method {
            Method::GET | Method::HEAD => answer_for_deployments(shared, call),
            _ => Err(route::wrong_method(method, &["GET"])),
        };
    }
    let Some(deployments) = shared.node.deployments().filter(|d| d.is_open()).cloned() else {
        return Err(Fault::unimplemented("this server takes no deployments"));
    };
    let host = format!("{}://{}", body.scheme(), body.text(HOST).unwrap_or("localhost:19071"));
    if let Some(call) = StoreCall::of(method, path)? {
        return blocking(move || Reply::serialize(&call.answer(&deployments)?)).await?;
    }
    let at = At { deployments, host };
    match route::route(method, path)? {
        Call::Tenants => Reply::serialize(&answers::tenants()),
        Call::Tenant => Reply::serialize(&answers::tenant()),
        Call::Applications => Reply::serialize(&at.applications()),
        Call::PrepareAndActivate => {
            let upload = save(shared, &at, body).await?;
            at.run(move |at| at.prepare_and_activate(upload)).await
        }
        Call::Create => match parameter(body.query(), "from") {
            Some(_) => at.run(At::copy).await,
            None => {
                let upload = save(shared, &at, body).await?;
                at.run(move |at| at.create(upload)).await
            }
        },
        Call::Session(id, SessionCall::Prepare) => at.run(move |at| at.prepare(id)).await,
        Call::Session(id, SessionCall::IsPrepared) => at.run(move |at| at.is_prepared(id)).await,
        Call::Session(id, SessionCall::Activate) => at.run(move |at| at.activate(id)).await,
        Call::Session(id, SessionCall::Content(path)) => {
            content::answer(shared, at, id, method, path, body).await
        }
        Call::Application => at.application(),
        Call::DeleteApplication => at.run(At::delete).await,
        Call::ApplicationContent(path) => {
            let active = at.deployments.active().ok_or_else(answers::unknown_application)?;
            let id = active.session;
            content::answer(shared, at, id, &Method::GET, path, body).await
        }
        Call::Convergence => at.convergence(shared),
        Call::Logs => match &shared.options.log {
            Some(log) => logs::answer(log, body.query()),
            None => Err(Fault::unimplemented("this server keeps no lines of its log")),
        },
    }
}

/// The deployments, and the URL by which the client knows this server.
struct At {
    deployments: Arc<Deployments>,
    host: String,
}

impl At {
    /// Runs what reads packages and loads models where it may take its time.
    async fn run(
        self,
        work: impl FnOnce(&At) -> Result<Reply, Fault> + Send + 'static,
    ) -> Result<Reply, Fault> {
        blocking(move || work(&self)).await?
    }

    fn create(&self, upload: Upload) -> Result<Reply, Fault> {
        let id = self.deployments.create(upload)?;
        Reply::serialize(&answers::created(&self.host, id))
    }

    fn copy(&self) -> Result<Reply, Fault> {
        let id = self.deployments.create_from_active()?;
        Reply::serialize(&answers::created(&self.host, id))
    }

    fn prepare(&self, id: SessionId) -> Result<Reply, Fault> {
        let prepared = self.deployments.prepare(id)?;
        Reply::serialize(&answers::prepared(&self.host, &prepared))
    }

    fn is_prepared(&self, id: SessionId) -> Result<Reply, Fault> {
        self.deployments.check_prepared(id)?;
        let prepared = stead_node::Prepared { session: id, log: Vec::new(), refeed: Vec::new() };
        Reply::serialize(&answers::prepared(&self.host, &prepared))
    }

    fn activate(&self, id: SessionId) -> Result<Reply, Fault> {
        let deployed = self.deployments.activate(id)?;
        Reply::serialize(&answers::activated(&self.host, &deployed))
    }

    fn prepare_and_activate(&self, upload: Upload) -> Result<Reply, Fault> {
        let id = self.deployments.create(upload)?;
        let prepared = self.deployments.prepare(id).inspect_err(|_| {
            // Nobody was told its number.
            self.deployments.discard(id);
        })?;
        let failure = self.deployments.activate(id).err();
        Reply::serialize(&answers::prepared_and_activated(
            &self.host,
            &prepared,
            failure.map(|e| e.to_string()),
        ))
    }

    fn applications(&self) -> serde_json::Value {
        let is_active = self.deployments.active().is_some();
        answers::applications(&self.host, is_active)
    }

    fn application(&self) -> Result<Reply, Fault> {
        let active = self.deployments.active().ok_or_else(answers::unknown_application)?;
        Reply::serialize(&answers::application(&active))
    }

    fn delete(&self) -> Result<Reply, Fault> {
        self.deployments.delete()?;
        Reply::serialize(&answers::deleted())
    }

    fn convergence(&self, shared: &Shared) -> Result<Reply, Fault> {
        let active = self.deployments.active().ok_or_else(answers::unknown_application)?;
        let port = shared.options.http.first().map_or(0, std::net::SocketAddr::port);
        Reply::serialize(&answers::convergence(&self.host, &active, port))
    }
}

/// Keeps the package of a request on disk.
async fn save(shared: &Shared, at: &At, body: Body) -> Result<Upload, Fault> {
    let kind = body
        .text(CONTENT_TYPE)
        .ok_or_else(|| Fault::invalid("Request contains no Content-Type header"))?;
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if !TYPES.contains(&kind.as_str()) {
        return Err(Fault::invalid(format!(
            "Request contains invalid Content-Type header ({kind}), only '[{}]' are supported",
            TYPES[..2].join(", ")
        )));
    }
    let deployments = Arc::clone(&at.deployments);
    let (sender, mut receiver) = mpsc::channel::<Bytes>(PIECES);
    let writing = blocking(move || {
        let mut upload = deployments.upload()?;
        while let Some(piece) = receiver.blocking_recv() {
            upload.write(&piece)?;
        }
        Ok::<Upload, Fault>(upload)
    });
    let mut pieces = body.pieces(&shared.options);
    let reading = async move {
        while let Some(piece) = pieces.next().await? {
            // When the disk takes no more, nobody receives, and the other side has the reason.
            if sender.send(piece).await.is_err() {
                break;
            }
        }
        Ok::<(), Fault>(())
    };
    let (read, written) = tokio::join!(reading, writing);
    let upload = written??;
    read?;
    Ok(upload)
}

/// A parameter of a URL.
fn parameter<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    query.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key == name).then_some(value)
    })
}

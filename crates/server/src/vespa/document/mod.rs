//! `/document/v1`: documents are put, read, updated, removed and visited
//! (Vespa, documentation, `reference/api/document-v1.html`).

mod answer;
mod many;
mod measure;
mod one;
mod parameters;
mod path;
mod shown;
mod stream;
mod walk;

pub use path::ROOT;

use crate::fault::Fault;
use crate::http::{Body, Reply, Shared};
use answer::Failure;
use http::Method;
use parameters::Parameters;
use path::DocumentPath;
use std::collections::BTreeSet;
use std::sync::Arc;
use stead_node::{Code, Deployed, Deployments};

/// A request for documents.
struct Call {
    deployments: Arc<Deployments>,
    deployed: Arc<Deployed>,
    /// As it was sent.
    path_id: String,
    path: DocumentPath,
    parameters: Parameters,
}

/// Answers a request. What is wrong is part of the answer.
///
/// # Errors
/// Where no applications are served.
pub async fn answer(
    shared: &Arc<Shared>,
    method: &Method,
    path: &str,
    body: Body,
) -> Result<Reply, Fault> {
    let Some(deployments) = shared.node.deployments().cloned() else {
        return Err(Fault::new(Code::UnknownUrl, "Invalid request URL"));
    };
    Ok(match call(shared, deployments, method, path, body).await {
        Ok(reply) => reply,
        Err(failure) => failure.reply(path),
    })
}

/// Whether a path leads to documents.
#[cfg(test)]
pub fn is_call(path: &str) -> bool {
    DocumentPath::parse(path).is_some()
}

/// The answer to a request that came to nothing.
pub fn failed(fault: Fault, path: &str) -> Reply {
    Failure::from(fault).reply(path)
}

async fn call(
    shared: &Arc<Shared>,
    deployments: Arc<Deployments>,
    method: &Method,
    path: &str,
    body: Body,
) -> Result<Reply, Failure> {
    if *method == Method::OPTIONS {
        return Ok(answer::options());
    }
    if ![Method::GET, Method::POST, Method::PUT, Method::DELETE].contains(method) {
        let text = format!(
            "'{method}' not allowed at '{path}'. Allowed methods are: GET, POST, PUT, DELETE"
        );
        return Err(Failure::new(405, text));
    }
    let parsed = DocumentPath::parse(path).ok_or_else(|| {
        Failure::new(
            404,
            format!(
                "Nothing at '{path}'. Available paths are: {ROOT}, {ROOT}{{namespace}}/{{documentType}}/docid/{{docid}}, \
                 {ROOT}{{namespace}}/{{documentType}}/group/{{group}}/{{docid}}, {ROOT}{{namespace}}/{{documentType}}/number/{{number}}/{{docid}}"
            ),
        )
    })?;
    let parameters = Parameters::read(body.query())?;
    let deployed = deployments
        .active()
        .ok_or_else(|| Failure::new(503, "no application is deployed here yet"))?;
    if let Some((_, kind)) = &parsed.kind
        && deployed.cluster(kind).is_none()
    {
        return Err(Failure::new(400, format!("Document type {kind} does not exist")));
    }
    check_cluster(&deployed, &parsed, &parameters)?;
    let path_id = path.to_owned();
    let call = Arc::new(Call { deployments, deployed, path_id, path: parsed, parameters });
    match (call.path.id(), method) {
        (Some(id), &Method::GET) => call.get(&id),
        (Some(id), _) => {
            let body = body.read(&shared.options).await.map_err(Failure::from)?;
            call.write(method, id, &body).await
        }
        (None, &Method::GET) if call.parameters.stream => call.stream(body.accept()),
        (None, &Method::GET) => crate::http::blocking(move || call.visit()).await?,
        (None, &Method::DELETE) => call.remove_selected().await,
        (None, &Method::PUT) => {
            let body = body.read(&shared.options).await.map_err(Failure::from)?;
            call.update_selected(&body).await
        }
        (None, _) => Err(Failure::new(501, "copies between clusters are not supported")),
    }
}

fn check_cluster(
    deployed: &Deployed,
    path: &DocumentPath,
    parameters: &Parameters,
) -> Result<(), Failure> {
    let Some(cluster) = parameters.cluster.as_deref() else { return Ok(()) };
    let known: BTreeSet<&str> = deployed.kinds().map(|(_, cluster)| cluster).collect();
    if !known.contains(cluster) {
        // `vespa visit` reads the names from here.
        let names: Vec<String> = known.iter().map(|name| format!("'{name}'")).collect();
        let text = format!(
            "Your Vespa deployment has no content cluster '{cluster}', only {}",
            names.join(", ")
        );
        return Err(Failure::new(400, text));
    }
    match &path.kind {
        Some((_, kind)) if deployed.cluster(kind) != Some(cluster) => Err(Failure::new(
            400,
            format!("Document type '{kind}' is not in content cluster '{cluster}'"),
        )),
        _ => Ok(()),
    }
}

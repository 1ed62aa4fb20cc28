//! The files of a session's package.

use super::{At, parameter};
use crate::fault::Fault;
use crate::http::{Body, Reply, Shared, blocking};
use http::Method;
use serde_json::json;
use stead_node::{Content, SessionId};

/// Answers for a path of the package of a session.
///
/// # Errors
/// Paths that are not there or lead out of the package, and changes of a session that is active.
pub async fn answer(
    shared: &Shared,
    at: At,
    id: SessionId,
    method: &Method,
    path: String,
    body: Body,
) -> Result<Reply, Fault> {
    if let Some(other) = parameter(body.query(), "return").filter(|r| *r != "content") {
        return Err(Fault::invalid(format!("return={other} is not supported, only content is")));
    }
    let prepared = json!({"prepared": format!("{}/application/v2/tenant/default/session/{id}/prepared", at.host)});
    match *method {
        Method::PUT => {
            // A path with a slash at its end is a folder.
            let bytes = body.read(&shared.options).await?;
            blocking(move || {
                let bytes = (!path.ends_with('/')).then_some(&*bytes);
                at.deployments.write_content(id, &path, bytes)
            })
            .await??;
            Reply::serialize(&prepared)
        }
        Method::DELETE => {
            blocking(move || at.deployments.delete_content(id, &path)).await??;
            Reply::serialize(&prepared)
        }
        _ => {
            let recursive = parameter(body.query(), "recursive") == Some("true");
            let prefix = format!("{}/application/v2/tenant/default/session/{id}/content/", at.host);
            match blocking(move || at.deployments.content(id, &path, recursive)).await?? {
                Content::File(bytes) => Ok(Reply::octets(bytes.into())),
                Content::Folder(list) => {
                    let urls: Vec<String> = list.iter().map(|p| format!("{prefix}{p}")).collect();
                    Reply::serialize(&urls)
                }
            }
        }
    }
}

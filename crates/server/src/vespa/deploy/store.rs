//! Snapshots and backups of the documents, on the deploy port: `POST /stead/v1/snapshot`, `POST /stead/v1/backup/NAME`.

use crate::fault::Fault;
use crate::http::percent_decode;
use crate::vespa::deploy::route::wrong_method;
use http::Method;
use serde_json::{Value, json};
use stead_node::{Backup, Code, Deployments};

/// Where these paths begin.
pub const ROOT: &str = "/stead/v1/";

/// What is asked of the store of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreCall {
    /// Write a snapshot.
    Snapshot,
    /// Write a backup of this name.
    Backup(String),
}

impl StoreCall {
    /// The call of a path; nothing if the path is of something else.
    ///
    /// # Errors
    /// Paths below `/stead/v1/` that do not exist, and methods other than POST.
    pub fn of(method: &Method, path: &str) -> Result<Option<StoreCall>, Fault> {
        let Some(rest) = path.strip_prefix(ROOT) else { return Ok(None) };
        let call = match rest.split_once('/').unwrap_or((rest, "")) {
            ("snapshot", "") => StoreCall::Snapshot,
            ("backup", name) => {
                let name = percent_decode(name);
                let name = name.ok_or_else(|| Fault::invalid("the path is not UTF-8"))?;
                StoreCall::Backup(name.into_owned())
            }
            _ => return Err(Fault::new(Code::UnknownUrl, format!("Nothing at '{path}'"))),
        };
        match *method {
            Method::POST => Ok(Some(call)),
            _ => Err(wrong_method(method, &["POST"])),
        }
    }

    /// Does it; takes as long as the disk takes.
    ///
    /// # Errors
    /// Those of [`Deployments::snapshot`] and [`Deployments::backup`].
    pub fn answer(&self, deployments: &Deployments) -> Result<Value, Fault> {
        match self {
            StoreCall::Snapshot => {
                let stats = deployments.snapshot()?;
                Ok(json!({
                    "position": stats.lsn,
                    "snapshots": stats.written,
                    "written_bytes": stats.written_bytes,
                    "disk_bytes": stats.disk_bytes,
                }))
            }
            StoreCall::Backup(name) => Ok(backup(name, &deployments.backup(name)?)),
        }
    }
}

fn backup(name: &str, backup: &Backup) -> Value {
    let newest = backup.documents.snapshots.first();
    let documents = newest.into_iter().flat_map(|snapshot| &snapshot.documents);
    let documents: serde_json::Map<String, Value> =
        documents.map(|(kind, count)| (kind.clone(), (*count).into())).collect();
    json!({
        "name": name,
        "folder": format!("backups/{name}"),
        "position": newest.and_then(|snapshot| snapshot.lsn).unwrap_or(0),
        "documents": documents,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_calls() {
        for (method, path, expected) in [
            (Method::POST, "/stead/v1/snapshot", Ok(Some(StoreCall::Snapshot))),
            (Method::POST, "/stead/v1/backup/a%2Db", Ok(Some(StoreCall::Backup("a-b".into())))),
            (Method::POST, "/application/v2/tenant", Ok(None)),
            (Method::GET, "/stead/v1/snapshot", Err(Code::MethodNotAllowed)),
            (Method::POST, "/stead/v1/other", Err(Code::UnknownUrl)),
        ] {
            let found = StoreCall::of(&method, path).map_err(|Fault(error)| error.code);
            assert_eq!(found, expected, "{method} {path}");
        }
    }
}

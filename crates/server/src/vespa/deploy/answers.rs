//! The answers of the deploy port.

use crate::fault::Fault;
use serde_json::{Value, json};
use stead_node::{Code, Deployed, LogLine, Prepared, Refeed, SessionId};

const TENANT: &str = "/application/v2/tenant/default";

/// Where the application is, below the host.
fn url(host: &str) -> String {
    format!("{host}{TENANT}/application/default/environment/prod/region/default/instance/default")
}

pub fn tenants() -> Value {
    json!({"tenants": ["default"]})
}

pub fn tenant() -> Value {
    json!({"message": "Tenant 'default' exists."})
}

pub fn applications(host: &str, is_active: bool) -> Value {
    if is_active { json!([url(host)]) } else { json!([]) }
}

pub fn unknown_application() -> Fault {
    Fault::new(Code::NotFound, "Unknown application id 'default:default:default'")
}

pub fn created(host: &str, id: SessionId) -> Value {
    let session = format!("{host}{TENANT}/session/{id}");
    json!({
        "log": [],
        "tenant": "default",
        "session-id": id.to_string(),
        "prepared": format!("{session}/prepared"),
        "content": format!("{session}/content/"),
        "message": format!("Session {id} for tenant 'default' created."),
    })
}

fn log(lines: &[LogLine]) -> Value {
    let line = |l: &LogLine| json!({"time": l.time, "level": l.level, "message": l.message});
    lines.iter().map(line).collect()
}

/// Changes take effect while the application runs, so there is nothing to restart or to index again.
fn actions(refeed: &[Refeed]) -> Value {
    let refeed: Vec<Value> = refeed
        .iter()
        .map(|r| {
            json!({"name": r.validation, "documentType": r.document, "clusterName": r.cluster,
                   "messages": [r.message], "services": []})
        })
        .collect();
    json!({"restart": [], "refeed": refeed, "reindex": []})
}

pub fn prepared(host: &str, prepared: &Prepared) -> Value {
    let id = prepared.session;
    json!({
        "log": log(&prepared.log),
        "tenant": "default",
        "session-id": id.to_string(),
        "activate": format!("{host}{TENANT}/session/{id}/active"),
        "message": format!("Session {id} for tenant 'default' prepared."),
        "configChangeActions": actions(&prepared.refeed),
    })
}

pub fn activated(host: &str, deployed: &Deployed) -> Value {
    let id = deployed.session;
    json!({
        "deploy": {"from": "unknown", "timestamp": deployed.prepared, "internalRedeploy": false},
        "application": {
            "id": "default:default:default",
            "checksum": format!("{:016x}", deployed.checksum),
            "generation": id.0,
        },
        "tenant": "default",
        "session-id": id.to_string(),
        "message": format!("Session {id} for tenant 'default' activated."),
        "url": url(host),
    })
}

pub fn prepared_and_activated(host: &str, prepared: &Prepared, failure: Option<String>) -> Value {
    let id = prepared.session;
    let how = match &failure {
        None => " and activated.".to_owned(),
        Some(text) => format!(", but activation failed: {text}"),
    };
    json!({
        "log": log(&prepared.log),
        "message": format!("Session {id} for tenant 'default' prepared{how}"),
        "session-id": id.to_string(),
        "activated": failure.is_none(),
        "tenant": "default",
        "url": url(host),
        "configChangeActions": actions(&prepared.refeed),
    })
}

pub fn application(deployed: &Deployed) -> Value {
    json!({
        "generation": deployed.session.0,
        "applicationPackageFileReference": "",
        "modelVersions": [env!("CARGO_PKG_VERSION")],
    })
}

pub fn deleted() -> Value {
    json!({"message": "Application 'default:default:default' deleted"})
}

/// What is active is what is served: there is no other process that could lag behind.
pub fn convergence(host: &str, deployed: &Deployed, port: u16) -> Value {
    let generation = deployed.session.0;
    let clusters = deployed.application.services.containers.iter();
    let services: Vec<Value> = clusters
        .map(|cluster| {
            json!({
                "host": "localhost", "port": port, "type": "container",
                "url": format!("{}/serviceconverge/localhost:{port}", url(host)),
                "currentGeneration": generation, "clusterName": cluster.id,
            })
        })
        .collect();
    json!({
        "services": services,
        "url": format!("{}/serviceconverge", url(host)),
        "currentGeneration": generation,
        "wantedGeneration": generation,
        "converged": true,
    })
}

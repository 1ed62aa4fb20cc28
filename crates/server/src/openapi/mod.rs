//! The OpenAPI document, made of the [table of calls](crate::http::ENDPOINTS) (OpenAPI Specification 3.0.3).

use crate::fault::Fault;
use crate::http::{Endpoint, Port, Reply, Shared, Takes, forms};
use crate::security::Role;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Where it is.
pub const PATH: &str = "/openapi.json";

/// Schemas of bodies, by their names in the table.
const SCHEMAS: &str = include_str!("schemas.json");

/// Parameters that are whole numbers.
const NUMBERS: [&str; 4] = ["limit", "hits", "offset", "wantedDocumentCount"];

/// Answers with the document of a port.
///
/// # Errors
/// None that happens.
pub fn answer(shared: &Shared, port: Port) -> Result<Reply, Fault> {
    Reply::serialize(&document(port, &shared.options.version, shared.guard.wants_tokens()))
}

/// The document of a port.
fn document(port: Port, version: &str, wants_tokens: bool) -> Value {
    let mut paths = Map::new();
    let mut tags = BTreeSet::new();
    for form in
        forms().filter(|form| (form.endpoint.port == Port::Deploy) == (port == Port::Deploy))
    {
        tags.insert(form.endpoint.tag);
        let path = form.path.replace("...}", "}");
        let operations = paths.entry(path.clone()).or_insert_with(|| json!({}));
        operations[form.endpoint.method.to_ascii_lowercase()] =
            operation(form.endpoint, &path, wants_tokens);
    }
    let schemas: Value = serde_json::from_str(SCHEMAS).unwrap_or_default();
    let mut document = json!({
        "openapi": "3.0.3",
        "info": {
            "title": "stead",
            "version": version,
            "description": "Calls of this port. Handlers of the application that is deployed are not among them.",
        },
        "tags": tags.iter().map(|tag| json!({"name": tag.name()})).collect::<Vec<_>>(),
        "paths": paths,
        "components": {"schemas": schemas},
    });
    if wants_tokens {
        document["components"]["securitySchemes"] =
            json!({"token": {"type": "http", "scheme": "bearer"}});
    }
    document
}

fn operation(endpoint: &Endpoint, path: &str, wants_tokens: bool) -> Value {
    let names = path.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    let of_path = names.map(|name| {
        json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}})
    });
    let of_query = endpoint.query.iter().map(|name| {
        let kind = if NUMBERS.contains(name) { "integer" } else { "string" };
        json!({"name": name, "in": "query", "schema": {"type": kind}})
    });
    let mut operation = json!({
        "operationId": id(endpoint, path),
        "summary": endpoint.summary,
        "tags": [endpoint.tag.name()],
        "parameters": of_path.chain(of_query).collect::<Vec<_>>(),
        "responses": {
            "200": {"description": "Done"},
            "default": {"description": "What went wrong, in the form of the protocol"},
        },
    });
    let content = match endpoint.takes {
        Takes::Nothing => None,
        Takes::Json(schema) => Some((
            "application/json",
            json!({"schema": {"$ref": format!("#/components/schemas/{schema}")}}),
        )),
        Takes::Octets => Some((
            "application/octet-stream",
            json!({"schema": {"type": "string", "format": "binary"}}),
        )),
        Takes::Package => {
            Some(("application/zip", json!({"schema": {"type": "string", "format": "binary"}})))
        }
    };
    if let Some((kind, content)) = content {
        operation["requestBody"] = json!({"required": true, "content": {kind: content}});
    }
    if wants_tokens {
        operation["x-role"] = json!(endpoint.role.name());
        if endpoint.role != Role::Anyone {
            operation["security"] = json!([{"token": []}]);
        }
    }
    operation
}

/// A name that no other operation has: method and path in letters.
fn id(endpoint: &Endpoint, path: &str) -> String {
    let mut id = endpoint.method.to_ascii_lowercase();
    for part in path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()) {
        let (first, rest) = part.split_at(1);
        id += &first.to_ascii_uppercase();
        id += rest;
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::ENDPOINTS;

    #[test]
    fn every_call_is_in_the_document_of_its_port() {
        let documents = [Port::Query, Port::Deploy].map(|port| document(port, "1", true));
        let mut ids = BTreeSet::new();
        for form in forms() {
            let document = &documents[usize::from(form.endpoint.port == Port::Deploy)];
            let path = form.path.replace("...}", "}");
            let operation = &document["paths"][&path][form.endpoint.method.to_ascii_lowercase()];
            let label = format!("{} {path}", form.endpoint.method);
            assert_eq!(operation["summary"], form.endpoint.summary, "{label}");
            assert_eq!(operation["x-role"], form.endpoint.role.name(), "{label}");
            assert!(
                ids.insert((
                    form.endpoint.port == Port::Deploy,
                    operation["operationId"].to_string()
                )),
                "{label}"
            );
            let is_guarded = operation["security"].is_array();
            assert_eq!(is_guarded, form.endpoint.role != Role::Anyone, "{label}");
        }
        let count = |document: &Value| {
            let paths = document["paths"].as_object().unwrap().values();
            paths.map(|operations| operations.as_object().unwrap().len()).sum::<usize>()
        };
        assert_eq!(documents.iter().map(count).sum::<usize>(), ids.len());
        assert!(document(Port::Query, "1", false)["components"]["securitySchemes"].is_null());
    }

    #[test]
    fn every_schema_is_there_and_used() {
        let schemas: Map<String, Value> = serde_json::from_str(SCHEMAS).unwrap();
        let there: BTreeSet<&str> = schemas.keys().map(String::as_str).collect();
        let used: BTreeSet<&str> = ENDPOINTS
            .iter()
            .filter_map(|endpoint| match endpoint.takes {
                Takes::Json(name) => Some(name),
                _ => None,
            })
            .collect();
        assert_eq!(there, used);
    }
}

//! Who is asked: the package in this process, or a server that has it already.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value as Json};
use stead_node::Embedded;
use stead_search::request::Format;
use stead_search::result::render;

use crate::http_client::Target;

/// How long a server is waited for: longer than any search may take, which ends with what was found until then.
const PATIENCE: Duration = Duration::from_secs(120);

/// Who answers searches.
pub(super) enum Asked {
    /// The package in this process.
    Here(Arc<Embedded>),
    /// A server, stead's or Vespa's.
    Server(Target),
}

/// A document that was found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hit {
    pub(super) id: String,
    pub(super) relevance: f64,
}

impl Asked {
    /// The hits of a search, the best first. Of parameters that are said twice the last one counts.
    pub(super) fn hits(&self, parameters: &[(&str, &str)]) -> Result<Vec<Hit>, String> {
        let answer = match self {
            Asked::Here(node) => {
                let (result, _) = node.search_wait(parameters).map_err(|e| e.to_string())?;
                serde_json::from_slice(&render(&result, Format::Json)).map_err(|e| e.to_string())?
            }
            Asked::Server(target) => post(target, parameters)?,
        };
        hits(&answer)
    }
}

fn post(target: &Target, parameters: &[(&str, &str)]) -> Result<Json, String> {
    let members = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
    let body = Json::Object(members.collect::<Map<String, Json>>()).to_string();
    let (mut bytes, length) = (body.as_bytes(), body.len() as u64);
    let answer = target
        .send_body("POST", "/search/", "application/json", (&mut bytes, length), PATIENCE)
        .map_err(|e| e.to_string())?;
    let json = serde_json::from_slice::<Json>(&answer.body).ok();
    if let Some(json) = json.as_ref().filter(|json| json.get("root").is_some()) {
        return Ok(json.clone());
    }
    // Without a result there is a message, as of a server that has no application.
    let text = String::from_utf8_lossy(&answer.body);
    let message =
        json.as_ref().and_then(|json| json["error"].as_str().or(json["message"].as_str()));
    Err(format!("{target} answered {}: {:.200}", answer.status, message.unwrap_or(text.trim())))
}

/// The hits of a result as JSON.
fn hits(answer: &Json) -> Result<Vec<Hit>, String> {
    let root = &answer["root"];
    if let Some(error) = root["errors"].get(0) {
        let summary = error["summary"].as_str().unwrap_or("the search failed");
        return Err(error["message"].as_str().unwrap_or(summary).to_owned());
    }
    let mut found = Vec::new();
    for hit in root["children"].as_array().into_iter().flatten() {
        let id = hit["fields"]["documentid"].as_str().or(hit["id"].as_str());
        // Groupings stand among the hits.
        let Some(id) = id.filter(|id| !id.starts_with("group:")) else { continue };
        if id.starts_with("index:") {
            return Err(format!(
                "expected hits with the ids of documents, by which judgements know them, found {id}: a summary with documentid has them"
            ));
        }
        let relevance = hit["relevance"].as_f64().unwrap_or(f64::NEG_INFINITY);
        found.push(Hit { id: id.to_owned(), relevance });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::hits;

    #[test]
    fn results_have_hits_or_say_why_not() {
        let of = |root: Json| {
            hits(&json!({ "root": root })).map(|found| {
                let shown = found.iter().map(|hit| format!("{}={}", hit.id, hit.relevance));
                shown.collect::<Vec<_>>().join(" ")
            })
        };
        for (label, root, expected) in [
            ("nothing found", json!({"fields": {"totalCount": 0}}), Ok("")),
            (
                "hits and groups",
                json!({"children": [
                    {"id": "group:root:0", "relevance": 1.0, "children": []},
                    {"id": "id:a:b::1", "relevance": 0.5, "fields": {"documentid": "id:a:b::1"}},
                    {"id": "index:c/0/1", "relevance": 0.25, "fields": {"documentid": "id:a:b::2"}},
                    {"id": "x"}
                ]}),
                Ok("id:a:b::1=0.5 id:a:b::2=0.25 x=-inf"),
            ),
            (
                "without ids",
                json!({"children": [{"id": "index:c/0/1"}]}),
                Err(
                    "expected hits with the ids of documents, by which judgements know them, found index:c/0/1: a summary with documentid has them",
                ),
            ),
            ("a message", json!({"errors": [{"summary": "s", "message": "m"}]}), Err("m")),
            ("a summary", json!({"errors": [{"summary": "s"}]}), Err("s")),
        ] {
            let found = of(root);
            assert_eq!(found.as_deref().map_err(|e| &**e), expected, "{label}");
        }
    }
}

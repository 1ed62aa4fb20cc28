//! Requests as lines of JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde_json::{Map, Value};

use super::{JSON, Plain, infer_path};
use crate::http_client::segment;

/// The requests, each with its line.
///
/// # Errors
/// The first line that is no request.
pub fn read(text: &str, model: Option<&str>) -> Result<Vec<(usize, Plain)>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let request = |(at, line): (usize, &str)| {
        let plain = serde_json::from_str(line).map_err(|e| e.to_string());
        let plain = plain.and_then(|object| request(object, model));
        plain.map(|plain| (at + 1, plain)).map_err(|text| format!("line {}: {text}", at + 1))
    };
    lines.map(request).collect()
}

/// A request with a path, or what a server takes at a path that is known.
fn request(object: Map<String, Value>, model: Option<&str>) -> Result<Plain, String> {
    if object.contains_key("path") {
        return with_path(object);
    }
    let of_model = |path: &dyn Fn(&str) -> String, key: &str| match model {
        Some(model) => Ok(path(model)),
        None => Err(format!("`{key}` without a `path`: of which model? --model NAME tells")),
    };
    let has = |name: &str| object.contains_key(name);
    let path = if has("yql") || has("query") {
        "/search/".to_owned()
    } else if has("inputs") && !has("instances") {
        of_model(&infer_path, "inputs")?
    } else if has("instances") {
        of_model(&|model| format!("/v1/models/{}:predict", segment(model)), "instances")?
    } else {
        return Err(
            "expected `path`, or `yql` or `query` of a search, or `inputs` or `instances` of a model".to_owned()
        );
    };
    Ok(Plain::json(path, &Value::Object(object)))
}

fn with_path(mut object: Map<String, Value>) -> Result<Plain, String> {
    let mut take = |name: &str| object.remove(name).filter(|value| !value.is_null());
    let text = |value: Option<Value>, name: &str| match value {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{name}` must be a string")),
    };
    let path = text(take("path"), "path")?.unwrap_or_default();
    if !path.starts_with('/') {
        return Err("`path` must begin with a slash".to_owned());
    }
    let body = take("body");
    let encoded = text(take("body_base64"), "body_base64")?;
    let mut headers = HeaderMap::new();
    let body = match (body, encoded) {
        (Some(_), Some(_)) => return Err("`body` and `body_base64` exclude each other".to_owned()),
        (None, None) => None,
        (None, Some(text)) => {
            let bytes = STANDARD.decode(text).map_err(|e| format!("`body_base64`: {e}"))?;
            headers.insert(header::CONTENT_TYPE, OCTETS);
            Some(Bytes::from(bytes))
        }
        (Some(Value::String(text)), None) => {
            headers.insert(header::CONTENT_TYPE, JSON);
            Some(text.into())
        }
        (Some(json), None) => {
            headers.insert(header::CONTENT_TYPE, JSON);
            Some(json.to_string().into())
        }
    };
    let method = match text(take("method"), "method")? {
        Some(method) => Method::from_bytes(method.as_bytes()).map_err(|e| e.to_string())?,
        None if body.is_some() => Method::POST,
        None => Method::GET,
    };
    match take("headers") {
        None => {}
        Some(Value::Object(fields)) => {
            for (name, value) in &fields {
                let field = value.as_str().and_then(|value| {
                    let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
                    Some((name, HeaderValue::from_str(value).ok()?))
                });
                let (name, value) =
                    field.ok_or_else(|| format!("`headers`: `{name}` is no header with a text"))?;
                headers.insert(name, value);
            }
        }
        Some(_) => return Err("`headers` must be an object".to_owned()),
    }
    if let Some(unknown) = object.keys().next() {
        return Err(format!(
            "unknown `{unknown}`; there are path, method, headers, body and body_base64"
        ));
    }
    Ok(Plain { method, path, headers, body: body.unwrap_or_default() })
}

/// The type of bodies that are bytes.
const OCTETS: HeaderValue = HeaderValue::from_static("application/octet-stream");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_request() {
        // The line, the model, and method, path, type and body.
        let cases = [
            (r#"{"path": "/search/?q=1"}"#, None, Some("GET /search/?q=1 - ")),
            (
                r#"{"path": "/a", "body": {"x": 1}}"#,
                None,
                Some(r#"POST /a application/json {"x":1}"#),
            ),
            (
                r#"{"path": "/a", "method": "PUT", "headers": {"Content-Type": "text/plain"}, "body": "x=1"}"#,
                None,
                Some("PUT /a text/plain x=1"),
            ),
            (
                r#"{"path": "/a", "body_base64": "aGk="}"#,
                None,
                Some("POST /a application/octet-stream hi"),
            ),
            (
                r#"{"yql": "select * from a where true"}"#,
                None,
                Some(r#"POST /search/ application/json {"yql":"select * from a where true"}"#),
            ),
            (
                r#"{"inputs": []}"#,
                Some("m x"),
                Some(r#"POST /v2/models/m%20x/infer application/json {"inputs":[]}"#),
            ),
            (
                r#"{"instances": [[1]]}"#,
                Some("m"),
                Some(r#"POST /v1/models/m:predict application/json {"instances":[[1]]}"#),
            ),
            (
                r#"{"inputs": [1], "instances": [1]}"#,
                Some("m"),
                Some(
                    r#"POST /v1/models/m:predict application/json {"inputs":[1],"instances":[1]}"#,
                ),
            ),
            (r#"{"inputs": []}"#, None, None),
            (r#"{"path": "a"}"#, None, None),
            (r#"{"path": 1}"#, None, None),
            (r#"{"path": "/a", "bdy": 1}"#, None, None),
            (r#"{"path": "/a", "body": "a", "body_base64": "aGk="}"#, None, None),
            (r#"{"path": "/a", "body_base64": "?"}"#, None, None),
            (r#"{"path": "/a", "headers": {"a b": "1"}}"#, None, None),
            (r#"{"path": "/a", "headers": {"a": 1}}"#, None, None),
            (r#"{"path": "/a", "method": "A B"}"#, None, None),
            (r#"{"hits": 1}"#, None, None),
            ("[1]", None, None),
        ];
        for (line, model, expected) in cases {
            let found = read(&format!("\n{line}\n"), model);
            let told = found.as_ref().ok().map(|all| {
                assert_eq!((all.len(), all[0].0), (1, 2), "{line}");
                let p = &all[0].1;
                let kind = p.headers.get("content-type").map_or("-", |v| v.to_str().unwrap());
                format!("{} {} {kind} {}", p.method, p.path, String::from_utf8_lossy(&p.body))
            });
            assert_eq!(told.as_deref(), expected, "{line}: {found:?}");
            assert!(
                found.is_ok() || found.is_err_and(|text| text.starts_with("line 2: ")),
                "{line}"
            );
        }
    }
}

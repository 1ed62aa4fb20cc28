//! Requests to handlers in Python and in Rust: what no route of the server's own takes and a binding of the application does.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use http::{HeaderMap, Method, StatusCode, Uri};
use serde_json::{Map, Value};
use stead_app::components::built_in_route;
use stead_node::{Code, ComponentError, Handler, HandlerAnswer, HandlerRequest, HeaderLines};

use crate::embeddings;
use crate::fault::Fault;
use crate::http::{Body, Dialect, Reply, Shared, percent_decode, unknown_url};
use crate::vespa::bindings;
use crate::vespa::parameters::pairs;

/// Headers that belong to the connection, which is the server's.
const OF_CONNECTION: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A request before its body is read.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The method.
    pub method: &'a Method,
    /// What is asked for.
    pub uri: &'a Uri,
}

/// Answers a request by a handler, if one has it; texts to embed, where no handler is bound to that path.
///
/// # Errors
/// No such URL, and bodies that cannot be read. What a handler does wrong is in its answer.
pub async fn answer(shared: &Shared, asked: Asked<'_>, body: Body) -> Result<Reply, Fault> {
    let path = asked.uri.path();
    let authority = authority(asked.uri, body.headers());
    let Some(handler) = find(shared, &authority, path) else {
        // An application may have a handler of its own there.
        return match (asked.method, path) {
            (&Method::POST, embeddings::plain::PATH) => {
                embeddings::plain::answer(shared, body).await
            }
            (&Method::GET, bindings::PATH) => bindings::answer(shared),
            _ => Err(unknown_url()),
        };
    };
    let request = request(&asked, authority, &handler, body, shared).await?;
    let id = handler.id().to_owned();
    Ok(match shared.node.handle(handler, request).await {
        Ok(answer) => reply(answer).unwrap_or_else(|text| {
            tracing::error!(component = id, "{text}");
            let message = format!("handler {id}: {text}");
            let code = Code::Internal;
            failed(&ComponentError { code, component: id, kind: None, message, traceback: None })
        }),
        Err(error) => failed(&error),
    })
}

/// The handler of a path, unless the path is the server's own.
fn find(shared: &Shared, authority: &str, path: &str) -> Option<Handler> {
    let deployments = shared.node.deployments()?;
    if built_in_route(path).is_some() {
        return None;
    }
    let (host, port) = split(authority);
    deployments.handler(&host.to_ascii_lowercase(), port, path)
}

/// The host and port that a client names; empty if it names none.
pub fn authority(uri: &Uri, headers: &HeaderMap) -> String {
    let of_uri = uri.authority().map(|authority| authority.as_str());
    let named = of_uri.or_else(|| headers.get(HOST).and_then(|host| host.to_str().ok()));
    // What stands before an `@` is no host.
    named.and_then(|named| named.rsplit('@').next()).unwrap_or_default().to_owned()
}

/// Host and port; 80 without one.
fn split(authority: &str) -> (&str, u16) {
    match authority.rsplit_once(':') {
        // Colons within brackets are those of an address.
        Some((host, port)) if !port.contains(']') => (host, port.parse().unwrap_or(80)),
        _ => (authority, 80),
    }
}

async fn request(
    asked: &Asked<'_>,
    authority: String,
    handler: &Handler,
    body: Body,
    shared: &Shared,
) -> Result<HandlerRequest, Fault> {
    let bad = |what: &str| Fault::invalid(format!("the {what} is not UTF-8"));
    let decoded = |text: &str| percent_decode(text).map(|text| text.into_owned());
    let path = decoded(asked.uri.path()).ok_or_else(|| bad("path"))?;
    let query = body.query().to_owned();
    let mut parameters = Vec::new();
    let mut matched = Vec::new();
    for (name, text) in handler.matched() {
        let text = decoded(text).ok_or_else(|| bad("path"))?;
        parameters.extend(name.iter().map(|name| (name.clone(), text.clone())));
        matched.push(text);
    }
    parameters.extend(pairs(&query).ok_or_else(|| bad("query"))?);
    let mut headers = HeaderLines::default();
    for (name, value) in body.headers() {
        // Bytes that are no ASCII are those of Latin-1 (RFC 9110, 5.5).
        headers.push(name.as_str(), value.as_bytes().iter().map(|byte| char::from(*byte)));
    }
    let kind = body.text(CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
    let is_form =
        kind.split(';').next().map(str::trim) == Some("application/x-www-form-urlencoded");
    let scheme = body.scheme().to_owned();
    let remote = body.peer().map(|address| address.to_string());
    let bytes = body.read(&shared.options).await?;
    if is_form {
        let form = std::str::from_utf8(&bytes).ok().and_then(pairs);
        parameters.extend(form.ok_or_else(|| bad("form"))?);
    }
    Ok(HandlerRequest {
        method: asked.method.as_str().to_owned(),
        path,
        query,
        parameters,
        headers,
        body: bytes.to_vec(),
        matched,
        remote,
        scheme,
        host: authority,
    })
}

/// The answer as it is sent, or what is wrong with it.
fn reply(answer: HandlerAnswer) -> Result<Reply, String> {
    let status = StatusCode::from_u16(answer.status).map_err(|e| e.to_string())?;
    let mut reply = Reply { status, body: Bytes::from(answer.body), ..Reply::empty() };
    for (name, value) in answer.headers {
        let key = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("gave {name:?} as the name of a header"))?;
        if OF_CONNECTION.contains(&key.as_str()) {
            return Err(format!("gave the header {name}, which belongs to the connection"));
        }
        let value = HeaderValue::from_str(&value)
            .map_err(|_| format!("gave a value for the header {name} that no header may have"))?;
        match key {
            CONTENT_TYPE => reply.content_type = value,
            // The server counts for itself.
            CONTENT_LENGTH => {}
            key => {
                reply.more.append(key, value);
            }
        }
    }
    Ok(reply)
}

/// An error of a handler, as JSON.
fn failed(error: &ComponentError) -> Reply {
    let mut body = Map::new();
    let mut add = |name: &str, text: &str| body.insert(name.to_owned(), Value::from(text));
    add("error", &error.message);
    add("component", &error.component);
    error.kind.iter().for_each(|kind| drop(add("type", kind)));
    error.traceback.iter().for_each(|text| drop(add("traceback", text)));
    let status = Dialect::Kserve.status(error.code);
    Reply { status, ..Reply::json(Value::Object(body).to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(headers: &[(&str, &str)]) -> Result<Reply, String> {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        reply(HandlerAnswer { status: 201, headers, body: b"abc".to_vec() })
    }

    #[test]
    fn answers_keep_their_headers() {
        let made = with(&[
            ("content-type", "text/csv"),
            ("Content-Length", "77"),
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
        ]);
        let made = made.unwrap();
        assert_eq!((made.status.as_u16(), &made.body[..]), (201, &b"abc"[..]));
        assert_eq!(made.content_type, "text/csv");
        let cookies: Vec<&[u8]> =
            made.more.get_all("set-cookie").iter().map(HeaderValue::as_bytes).collect();
        assert_eq!((cookies, made.more.len()), (vec![&b"a=1"[..], b"b=2"], 2));
    }

    #[test]
    fn headers_that_cannot_be_sent_are_told() {
        for (name, value, expected) in [
            ("a b", "x", "gave \"a b\" as the name of a header"),
            ("", "x", "gave \"\" as the name of a header"),
            ("x", "a\nb", "gave a value for the header x that no header may have"),
            ("Connection", "close", "gave the header Connection, which belongs to the connection"),
            (
                "transfer-encoding",
                "chunked",
                "gave the header transfer-encoding, which belongs to the connection",
            ),
        ] {
            assert_eq!(with(&[(name, value)]).err().as_deref(), Some(expected), "{name}");
        }
    }

    #[test]
    fn hosts_have_ports() {
        for (authority, expected) in [
            ("a.example", ("a.example", 80)),
            ("a:8080", ("a", 8080)),
            ("[::1]", ("[::1]", 80)),
            ("[::1]:9", ("[::1]", 9)),
            ("a:x", ("a", 80)),
            ("", ("", 80)),
        ] {
            assert_eq!(split(authority), expected, "{authority}");
        }
    }
}

//! An operation of a file as a request to `/document/v1`.

use std::hash::{Hash, Hasher};

use bytes::Bytes;
use serde::Deserialize;

use crate::http_client::segment;

/// An operation that is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Its number among all operations of all files, from 0.
    pub number: u64,
    /// Where it stands, for errors: `docs.jsonl:7`.
    pub place: String,
    /// The id of the document.
    pub document: String,
    /// The method of the request.
    pub method: &'static str,
    /// The path of the request and its parameters, but for the timeout.
    pub path: String,
    /// The object as it stands in the file: what the server reads of it is what it would read of `fields`, `condition` and `create`.
    pub body: Bytes,
}

/// What a request is made of; the rest is for the server.
#[derive(Deserialize)]
struct Head {
    put: Option<String>,
    id: Option<String>,
    update: Option<String>,
    remove: Option<String>,
    condition: Option<String>,
    create: Option<bool>,
}

impl Operation {
    /// The operation of an object.
    ///
    /// # Errors
    /// In words, when it is none.
    pub fn read(number: u64, place: String, object: &[u8]) -> Result<Operation, String> {
        let head: Head = serde_json::from_slice(object).map_err(|e| e.to_string())?;
        let verbs = [(head.put.or(head.id), "POST"), (head.update, "PUT"), (head.remove, "DELETE")];
        let mut verbs = verbs.into_iter().filter_map(|(id, method)| Some((id?, method)));
        let (Some((document, method)), None) = (verbs.next(), verbs.next()) else {
            return Err("expected one of put, update and remove with an id".to_owned());
        };
        let mut path = path(&document).ok_or_else(|| {
            format!("expected an id id:namespace:type::name, found {document:.80?}")
        })?;
        let mut separator = '?';
        let mut parameter = |name: &str, value: &str| {
            path += &format!("{separator}{name}={}", segment(value));
            separator = '&';
        };
        if let Some(condition) = &head.condition {
            parameter("condition", condition);
        }
        if let Some(create) = head.create.filter(|_| method != "DELETE") {
            parameter("create", if create { "true" } else { "false" });
        }
        let body = match method {
            "DELETE" => Bytes::new(),
            _ => Bytes::copy_from_slice(object),
        };
        Ok(Operation { number, place, document, method, path, body })
    }

    /// A number that operations with the same document share.
    pub fn document_hash(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        self.document.hash(&mut hasher);
        hasher.finish()
    }
}

/// The path of the document of an id `id:namespace:type:[n=5|g=name]:name`.
pub fn path(id: &str) -> Option<String> {
    let mut parts = id.strip_prefix("id:")?.splitn(4, ':');
    let (namespace, kind, key, name) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let group = match key.split_once('=') {
        None if key.is_empty() => "docid".to_owned(),
        Some(("g", group)) => format!("group/{}", segment(group)),
        Some(("n", number)) => format!("number/{}", segment(number)),
        _ => return None,
    };
    let is_named = !namespace.is_empty() && !kind.is_empty() && !name.is_empty();
    let (namespace, kind, name) = (segment(namespace), segment(kind), segment(name));
    is_named.then(|| format!("/document/v1/{namespace}/{kind}/{group}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_requests() {
        for (object, expected) in [
            (
                r#"{"put": "id:ns:music::a b/c", "fields": {}}"#,
                Ok(("POST", "/document/v1/ns/music/docid/a%20b%2Fc")),
            ),
            (
                r#"{"id": "id:ns:music:g=x:1", "fields": {}}"#,
                Ok(("POST", "/document/v1/ns/music/group/x/1")),
            ),
            (
                r#"{"update": "id:ns:music:n=7:1", "create": true, "condition": "music.a==1"}"#,
                Ok((
                    "PUT",
                    "/document/v1/ns/music/number/7/1?condition=music.a%3D%3D1&create=true",
                )),
            ),
            (
                r#"{"remove": "id:ns:music::1", "create": true}"#,
                Ok(("DELETE", "/document/v1/ns/music/docid/1")),
            ),
            (r#"{"fields": {}}"#, Err("expected one of put, update and remove with an id")),
            (
                r#"{"put": "id:a:b::1", "remove": "id:a:b::1"}"#,
                Err("expected one of put, update and remove with an id"),
            ),
            (r#"{"put": "1"}"#, Err("expected an id id:namespace:type::name, found \"1\"")),
            (
                r#"{"put": "id:a:b:x=1:1"}"#,
                Err("expected an id id:namespace:type::name, found \"id:a:b:x=1:1\""),
            ),
        ] {
            let found = Operation::read(0, String::new(), object.as_bytes());
            let found = found.as_ref().map(|o| (o.method, o.path.as_str()));
            assert_eq!(found.map_err(String::as_str), expected, "{object}");
        }
    }
}

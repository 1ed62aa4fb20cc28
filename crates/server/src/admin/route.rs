//! Paths below `/v2/models/{m}[/versions/{v}]/sequences`.

use super::IdText;
use crate::fault::Fault;
use crate::http::percent_decode;
use http::Method;

/// A call about sequences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceCall {
    /// The model.
    pub model: String,
    /// The version's digits; empty for the latest.
    pub version: String,
    /// What is asked.
    pub part: SequencePart,
}

/// What a call about sequences asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SequencePart {
    /// `GET sequences?limit=n&after=id`
    List,
    /// `GET sequences/{id}`
    Show(IdText),
    /// `DELETE sequences/{id}` and `POST sequences/{id}/end`
    End(IdText),
    /// `POST sequences/{id}/fork`
    Fork(IdText),
    /// `GET sequences/{id}/state`
    Export(IdText),
    /// `PUT` and `POST sequences/{id}/state`
    Import(IdText),
}

/// What `segments`, the path behind `sequences`, asks. The outer `None`: no such path; the inner one: another
/// method is needed.
pub fn sequence_route<'a>(
    method: &Method,
    mut segments: impl Iterator<Item = &'a str>,
) -> Option<Option<SequencePart>> {
    let Some(id) = segments.next() else {
        return Some((*method == Method::GET).then_some(SequencePart::List));
    };
    let id = IdText(percent_decode(id).filter(|id| !id.is_empty())?.into_owned());
    let verb = segments.next();
    if segments.next().is_some() {
        return None;
    }
    let part = match (verb, method.as_str()) {
        (None, "GET") => SequencePart::Show(id),
        (None, "DELETE") | (Some("end"), "POST") => SequencePart::End(id),
        (Some("fork"), "POST") => SequencePart::Fork(id),
        (Some("state"), "GET") => SequencePart::Export(id),
        (Some("state"), "PUT" | "POST") => SequencePart::Import(id),
        (None | Some("end" | "fork" | "state"), _) => return Some(None),
        _ => return None,
    };
    Some(Some(part))
}

/// The pairs of a query.
///
/// # Errors
/// Bad escapes.
pub fn query(text: &str) -> Result<Vec<(String, String)>, Fault> {
    let decode = |part: &str| {
        let bad = || Fault::invalid("bad escape in the query of the URL");
        percent_decode(part).map(|t| t.into_owned()).ok_or_else(bad)
    };
    let pairs = text.split('&').filter(|part| !part.is_empty());
    pairs
        .map(|part| {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            Ok((decode(key)?, decode(value)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let id = |text: &str| IdText(text.to_owned());
        let cases = [
            ("GET", "", Some(Some(SequencePart::List))),
            ("POST", "", Some(None)),
            ("GET", "/5", Some(Some(SequencePart::Show(id("5"))))),
            ("GET", "/%225%22", Some(Some(SequencePart::Show(id("\"5\""))))),
            ("GET", "/a%2Fb", Some(Some(SequencePart::Show(id("a/b"))))),
            ("DELETE", "/5", Some(Some(SequencePart::End(id("5"))))),
            ("POST", "/5/end", Some(Some(SequencePart::End(id("5"))))),
            ("POST", "/5/fork", Some(Some(SequencePart::Fork(id("5"))))),
            ("GET", "/5/state", Some(Some(SequencePart::Export(id("5"))))),
            ("PUT", "/5/state", Some(Some(SequencePart::Import(id("5"))))),
            ("POST", "/5/state", Some(Some(SequencePart::Import(id("5"))))),
            ("DELETE", "/5/state", Some(None)),
            ("GET", "/5/end", Some(None)),
            ("GET", "/", None),
            ("GET", "/%zz", None),
            ("GET", "/5/x", None),
            ("GET", "/5/state/x", None),
        ];
        for (method, path, expected) in cases {
            let method: Method = method.parse().unwrap();
            let got = sequence_route(&method, path.split('/').skip(1));
            assert_eq!(got, expected, "{method} {path}");
        }
    }

    #[test]
    fn queries() {
        let got = query("limit=2&after=a%26b&&x").unwrap();
        let pairs: Vec<(&str, &str)> = got.iter().map(|(k, v)| (&**k, &**v)).collect();
        assert_eq!(pairs, [("limit", "2"), ("after", "a&b"), ("x", "")]);
        assert!(query("a=%f").is_err());
    }
}

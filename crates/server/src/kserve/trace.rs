//! Triton's trace settings, as of a Triton that traces nothing: they are told, and what would change them is refused. What
//! stead has instead is the parameter `stead_trace` of a request.

use super::rest::internal;
use crate::fault::Fault;
use crate::http::Reply;
use crate::json::{Kind, Reader};
use crate::proto::kserve as pb;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use stead_node::{Code, Embedded, VersionRef};

/// Each setting with its value, in Triton's order. That of the level is a list.
const SETTINGS: [(&str, &str); 6] = [
    (LEVEL, "OFF"),
    ("trace_rate", "1000"),
    ("trace_count", "-1"),
    ("log_frequency", "0"),
    ("trace_file", ""),
    ("trace_mode", "triton"),
];

const LEVEL: &str = "trace_level";

/// The settings of the server, or of a model.
///
/// # Errors
/// A model that is not known, settings that are not known, and values other than those that hold.
pub(super) fn answer(
    node: &Embedded,
    model: Option<&str>,
    changes: &[(String, Vec<String>)],
) -> Result<(), Fault> {
    if let Some(model) = model {
        node.model_metadata(model, &VersionRef::Latest)?;
    }
    changes.iter().try_for_each(|(name, values)| unchanged(name, values))
}

/// That a setting is given the value which it has; none at all clears it.
fn unchanged(name: &str, values: &[String]) -> Result<(), Fault> {
    let Some((_, holds)) = SETTINGS.iter().find(|(known, _)| *known == name) else {
        let known = SETTINGS.map(|(name, _)| name).join(", ");
        return Err(Fault::invalid(format!("trace setting '{name}' is not known: {known}")));
    };
    if values.iter().all(|value| value == holds) {
        return Ok(());
    }
    let told = values.join(", ");
    Err(Fault::new(
        Code::InvalidArgument,
        format!(
            "trace setting '{name}': {told} is not served; a request asks for its own trace by the parameter stead_trace"
        ),
    ))
}

/// The settings as JSON.
pub(super) fn reply() -> Result<Reply, Fault> {
    let value = |(name, value): (&str, &str)| {
        (name.to_owned(), if name == LEVEL { json!([value]) } else { value.into() })
    };
    let all: Map<String, Value> = SETTINGS.map(value).into_iter().collect();
    Ok(Reply::json(serde_json::to_vec(&all).map_err(internal)?))
}

/// The changes of a body: texts, lists of them, and null.
pub(super) fn parse(body: &Bytes) -> Result<Vec<(String, Vec<String>)>, Fault> {
    let (mut reader, mut changes) = (Reader::new(body), Vec::new());
    reader.object::<Fault>(|r, name| {
        let mut values = Vec::new();
        match r.peek()? {
            Kind::Null => r.null()?,
            Kind::Array => r.array::<Fault>(|r| {
                values.push(r.string()?.into_owned());
                Ok(())
            })?,
            _ => values.push(r.string().map_err(|e| Fault::from(e).at(name))?.into_owned()),
        }
        changes.push((name.to_owned(), values));
        Ok(())
    })?;
    reader.end()?;
    Ok(changes)
}

/// The settings as a message.
pub(super) fn message() -> pb::TraceSettingResponse {
    use pb::trace_setting_response::SettingValue;
    let value = |(name, value): (&str, &str)| {
        (name.to_owned(), SettingValue { value: vec![value.to_owned()] })
    };
    pb::TraceSettingResponse { settings: SETTINGS.map(value).into_iter().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_holds_may_be_set() {
        for (body, refused) in [
            ("{}", None),
            (r#"{"trace_level": ["OFF"]}"#, None),
            (r#"{"trace_level": "OFF", "trace_rate": "1000", "trace_file": null}"#, None),
            (r#"{"trace_level": ["TIMESTAMPS", "TENSORS"]}"#, Some("'trace_level': TIMESTAMPS")),
            (r#"{"trace_level": ["OFF", "TENSORS"]}"#, Some("'trace_level': OFF, TENSORS")),
            (r#"{"trace_file": "/tmp/trace.json"}"#, Some("'trace_file': /tmp/trace.json")),
            (r#"{"trace_mode": "opentelemetry"}"#, Some("stead_trace")),
            (r#"{"level": "OFF"}"#, Some("'level' is not known: trace_level, ")),
            (r#"{"trace_rate": 1000}"#, Some("trace_rate: ")),
            (r#"{"trace_level": [1]}"#, Some("string")),
            ("[]", Some("object")),
        ] {
            let changes = parse(&Bytes::copy_from_slice(body.as_bytes()));
            let all = |list: Vec<(String, Vec<String>)>| {
                list.iter().try_for_each(|(name, values)| unchanged(name, values))
            };
            let got = changes.and_then(all);
            match refused {
                None => assert!(got.is_ok(), "{body}: {got:?}"),
                Some(part) => {
                    let error = got.unwrap_err().0;
                    let text = error.to_string();
                    assert!(error.code == Code::InvalidArgument && text.contains(part), "{text}");
                }
            }
        }
    }
}

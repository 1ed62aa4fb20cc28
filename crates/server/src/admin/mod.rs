//! Looking after the sequences of stateful models: list, show, end, fork, export and import, below
//! `/v2/models/{m}[/versions/{v}]/sequences`.
//!
//! Whoever can call these can read and change what clients left in their sequences: [`Guard`](crate::security::Guard) says who may.

mod id;
mod route;
mod state;

pub use id::IdText;
pub use route::{SequenceCall, SequencePart, sequence_route};

use crate::fault::Fault;
use crate::http::{Body, Reply, Shared, blocking};
use crate::kserve::datatype::datatype_name;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use stead_node::{
    Code, Embedded, ErrorKind, SequenceError, SequenceId, SequenceSummary, VersionRef,
    parse_version,
};
use stead_tensor::Tensor;

/// Sequences in one page of a list when the client does not say how many.
const PAGE: usize = 100;

/// The most of them: their summaries are made under the lock that requests take.
const MAX_PAGE: usize = 1000;

/// The longest body of a fork: an id, and room for spaces and escapes.
const MAX_FORK_BYTES: usize = 4096;

/// Answers a call.
///
/// # Errors
/// Those of the node.
pub async fn answer(shared: &Arc<Shared>, call: SequenceCall, body: Body) -> Result<Reply, Fault> {
    let query = body.query().to_owned();
    let SequenceCall { model, version, part } = call;
    let version = parse_version(&version)?;
    let target = Target { node: shared.node.clone(), model, version };
    let limit = shared.options.max_body_bytes;
    let bytes = match &part {
        SequencePart::Import(id) => {
            target.absent(&id.read()?)?;
            body.read(&shared.options).await?
        }
        SequencePart::Fork(_) => body.read(&shared.options).await?,
        _ => Bytes::new(),
    };
    // What changes sequences waits for the disk when they are durable, and states may be large.
    blocking(move || match part {
        SequencePart::List => target.list(&query),
        SequencePart::Show(id) => target.show(&id.read()?),
        SequencePart::End(id) => target.end(&id.read()?),
        SequencePart::Fork(id) => target.fork(&id.read()?, fork_target(&bytes)?),
        SequencePart::Export(id) => target.export(&id.read()?),
        SequencePart::Import(id) => target.import(id.read()?, bytes, limit),
    })
    .await?
}

/// The model that a call is about.
struct Target {
    node: Arc<Embedded>,
    model: String,
    version: VersionRef,
}

#[derive(Serialize)]
struct Page<'a> {
    model: &'a str,
    sequences: Vec<Summary>,
    /// What to give as `after` for the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Serialize)]
struct Summary {
    id: IdJson,
    step: u64,
    status: &'static str,
    waiting: usize,
    age_ms: u64,
    idle_ms: u64,
    /// Where the state lies: `memory` or `disk`.
    state_in: &'static str,
    bytes: u64,
}

/// A number or a text, as in KServe's request parameter.
#[derive(Serialize)]
#[serde(untagged)]
enum IdJson {
    Number(u64),
    Text(String),
}

impl From<&SequenceId> for IdJson {
    fn from(id: &SequenceId) -> IdJson {
        match id {
            SequenceId::Number(number) => IdJson::Number(*number),
            SequenceId::Text(text) => IdJson::Text(text.to_string()),
        }
    }
}

impl From<&SequenceSummary> for Summary {
    fn from(s: &SequenceSummary) -> Summary {
        let ms = |d: std::time::Duration| u64::try_from(d.as_millis()).unwrap_or(u64::MAX);
        Summary {
            id: (&s.id).into(),
            step: s.step,
            status: if s.busy { "running" } else { "idle" },
            waiting: s.waiting,
            age_ms: ms(s.age),
            idle_ms: ms(s.idle),
            state_in: if s.on_disk { "disk" } else { "memory" },
            bytes: s.bytes,
        }
    }
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    summary: Summary,
    state: Vec<StateJson>,
}

#[derive(Serialize)]
struct StateJson {
    name: String,
    datatype: String,
    shape: Vec<usize>,
    bytes: usize,
}

impl StateJson {
    fn new((name, tensor): (String, Tensor)) -> StateJson {
        StateJson {
            name,
            datatype: datatype_name(tensor.dtype()),
            shape: tensor.shape().to_vec(),
            bytes: tensor.bytes().len()
                + tensor.view().strings().iter().map(Vec::len).sum::<usize>(),
        }
    }
}

#[derive(Serialize)]
struct Made {
    id: IdJson,
    step: u64,
}

impl Target {
    fn list(&self, query: &str) -> Result<Reply, Fault> {
        let (mut limit, mut after) = (PAGE, None);
        for (key, value) in route::query(query)? {
            match &*key {
                "limit" => limit = page_size(&value)?,
                "after" => after = Some(IdText(value).read()?),
                _ => {
                    return Err(Fault::invalid(format!(
                        "unknown query parameter '{key}'; there are limit and after"
                    )));
                }
            }
        }
        // One more tells whether there is another page.
        let mut found =
            self.node.sequences(&self.model, &self.version, after.as_ref(), limit + 1)?;
        let more = found.len() > limit;
        found.truncate(limit);
        let last = found.last().filter(|_| more);
        Reply::serialize(&Page {
            model: &self.model,
            next: last.map(|s| IdText::write(&s.id)),
            sequences: found.iter().map(Summary::from).collect(),
        })
    }

    fn show(&self, id: &SequenceId) -> Result<Reply, Fault> {
        let summary = self.node.sequence(&self.model, &self.version, id)?;
        let mut shown = Shown { summary: (&summary).into(), state: Vec::new() };
        match self.node.export_sequence(&self.model, &self.version, id) {
            Ok((step, values)) => {
                shown.summary.step = step;
                shown.state = values.into_iter().map(StateJson::new).collect();
            }
            // The START still runs: there is no state yet.
            Err(e) if e.kind == ErrorKind::Sequence(SequenceError::Missing) => {}
            Err(e) => return Err(e.into()),
        }
        Reply::serialize(&shown)
    }

    fn end(&self, id: &SequenceId) -> Result<Reply, Fault> {
        let summary = self.node.sequence(&self.model, &self.version, id)?;
        self.node.end_sequence(&self.model, &self.version, id)?;
        Reply::serialize(&Made { id: id.into(), step: summary.step })
    }

    fn fork(&self, from: &SequenceId, to: SequenceId) -> Result<Reply, Fault> {
        let id = IdJson::from(&to);
        let step = self.node.fork_sequence(&self.model, &self.version, from, to)?;
        Reply::serialize(&Made { id, step })
    }

    /// An import is refused before its body is read when it cannot succeed.
    fn absent(&self, id: &SequenceId) -> Result<(), Fault> {
        match self.node.sequence(&self.model, &self.version, id) {
            Ok(_) => Err(ErrorKind::Sequence(SequenceError::AlreadyExists).into()),
            Err(e) if e.kind == ErrorKind::Sequence(SequenceError::Missing) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    fn export(&self, id: &SequenceId) -> Result<Reply, Fault> {
        let (step, values) = self.node.export_sequence(&self.model, &self.version, id)?;
        Ok(Reply::octets(state::write(step, &values)?))
    }

    fn import(&self, id: SequenceId, bytes: Bytes, limit: usize) -> Result<Reply, Fault> {
        let (step, values) = state::read(bytes, limit as u64)?;
        let made = Made { id: (&id).into(), step };
        self.node.import_sequence(&self.model, &self.version, id, step, values)?;
        Reply::serialize(&made)
    }
}

fn page_size(text: &str) -> Result<usize, Fault> {
    let size = text.parse().ok().filter(|n| (1..=MAX_PAGE).contains(n));
    size.ok_or_else(|| Fault::invalid(format!("limit is a number from 1 to {MAX_PAGE}")))
}

/// The new id in the body of a fork: `{"to": 5}` or `{"to": "call-5"}`.
fn fork_target(body: &[u8]) -> Result<SequenceId, Fault> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Fork {
        to: To,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum To {
        Number(u64),
        Text(String),
    }
    const EXPECTED: &str = "expected {\"to\": id} with a number above 0 or a text as id";
    if body.len() > MAX_FORK_BYTES {
        return Err(Fault::new(Code::PayloadTooLarge, EXPECTED));
    }
    let read: Result<Fork, _> = serde_json::from_slice(body);
    let id = match read.map_err(|_| Fault::invalid(EXPECTED))?.to {
        To::Number(number) => SequenceId::from_number(number),
        To::Text(text) => {
            SequenceId::from_text(&text).map_err(|e| Fault::invalid(e.to_string()))?
        }
    };
    id.ok_or_else(|| Fault::invalid(EXPECTED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_fork_goes() {
        let number = |n| SequenceId::from_number(n);
        let text = |t| SequenceId::from_text(t).unwrap();
        let cases = [
            (r#"{"to": 5}"#, number(5)),
            (r#"{"to": "5"}"#, text("5")),
            (r#"{"to": 18446744073709551615}"#, number(u64::MAX)),
            (r#"{"to": 0}"#, None),
            (r#"{"to": ""}"#, None),
            (r#"{"to": -1}"#, None),
            (r#"{"to": 5, "x": 1}"#, None),
            (r#"{}"#, None),
            ("", None),
        ];
        for (body, expected) in cases {
            assert_eq!(fork_target(body.as_bytes()).ok(), expected, "{body}");
        }
    }
}

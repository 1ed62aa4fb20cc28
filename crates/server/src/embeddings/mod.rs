//! Texts that are embedded for clients: [`/embed`](plain), and [`/v1/embeddings`](openai) as OpenAI has it.

pub(crate) mod openai;
pub(crate) mod plain;

pub use openai::Asked as OpenAiAsked;
pub use plain::Asked as EmbedAsked;

use serde_json::{Map, Value};

use crate::fault::Fault;
use stead_node::{EmbedInput, Role};

/// The most texts of a request.
const MAX_INPUTS: usize = 2048;

/// The members of a body.
struct Members(Map<String, Value>);

impl Members {
    /// Those of the object that a body is.
    fn read(body: &[u8]) -> Result<Members, Fault> {
        match serde_json::from_slice(body) {
            Ok(Value::Object(members)) => Ok(Members(members)),
            Ok(_) => Err(Fault::invalid("expected an object of JSON")),
            Err(error) => Err(Fault::invalid(format!("the body is no JSON: {error}"))),
        }
    }

    /// A member, if it is there and not null.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, Fault> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Fault::invalid(format!("{name} must be a string"))),
        }
    }

    fn flag(&mut self, name: &str) -> Result<Option<bool>, Fault> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(Fault::invalid(format!("{name} must be true or false"))),
        }
    }

    /// A whole number from 1.
    fn count(&mut self, name: &str) -> Result<Option<usize>, Fault> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let count = value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
        count
            .map(Some)
            .ok_or_else(|| Fault::invalid(format!("{name} must be a whole number from 1")))
    }

    /// `query` or `document`, which is what texts are that do not say it.
    fn role(&mut self, name: &str) -> Result<Role, Fault> {
        match self.text(name)?.as_deref() {
            None | Some("document") => Ok(Role::Document),
            Some("query") => Ok(Role::Query),
            Some(other) => {
                Err(Fault::invalid(format!("{name} must be query or document, found {other:.50}")))
            }
        }
    }

    /// What is embedded: a string, a list of strings, a list of token ids or a list of such lists. Whether it is a list of several is told
    /// too.
    fn inputs(&mut self, name: &str) -> Result<(Vec<EmbedInput>, bool), Fault> {
        let wrong = || {
            Fault::invalid(format!(
                "{name} must be a string, an array of strings, or an array of token ids"
            ))
        };
        let one = |value: Value| match value {
            Value::String(text) => Ok(EmbedInput::Text(text)),
            Value::Array(ids) => ids_of(&ids).map(EmbedInput::Ids).ok_or_else(wrong),
            _ => Err(wrong()),
        };
        let (found, is_list) = match self.take(name) {
            None => return Err(Fault::invalid(format!("there is no {name}"))),
            Some(Value::Array(list)) if list.first().is_some_and(Value::is_number) => {
                (vec![one(Value::Array(list))?], false)
            }
            Some(Value::Array(list)) => {
                (list.into_iter().map(one).collect::<Result<_, _>>()?, true)
            }
            Some(value) => (vec![one(value)?], false),
        };
        if found.is_empty() || found.len() > MAX_INPUTS {
            return Err(Fault::invalid(format!(
                "{name} must have 1 to {MAX_INPUTS} elements, found {}",
                found.len()
            )));
        }
        Ok((found, is_list))
    }

    /// Refuses members that nobody has taken: one that has no effect would be a surprise.
    fn end(self) -> Result<(), Fault> {
        match self.0.keys().next() {
            Some(name) => Err(Fault::invalid(format!("{name:.100} is not known"))),
            None => Ok(()),
        }
    }
}

fn ids_of(list: &[Value]) -> Option<Vec<u32>> {
    list.iter().map(|id| id.as_u64().and_then(|id| u32::try_from(id).ok())).collect()
}

//! `POST /embed`: `{"inputs": "text"}`, as text-embeddings-inference has it, for embedders of every kind.

use serde_json::{Value, json};
use stead_expr::codec::json::{Form, to_json};
use stead_node::{EmbedInput, EmbedOutput, EmbedRequest, Role};

use super::Members;
use crate::fault::Fault;
use crate::http::{Body, Reply, Shared};

/// Where it is asked, unless a handler is bound to that path.
pub(crate) const PATH: &str = "/embed";

/// What a body asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// What the embedder makes, as it is.
    Plain(EmbedRequest),
    /// Tensors of a type.
    Tensors {
        /// The embedder; the only one if it is empty.
        embedder: String,
        /// What becomes tensors.
        texts: Vec<String>,
        /// Their type.
        kind: String,
        /// Whether they are queries or documents.
        role: Role,
    },
}

impl Asked {
    /// Reads a body.
    ///
    /// # Errors
    /// What is no object of JSON, members that are not known or of another kind, and those that exclude each other.
    pub fn read(body: &[u8]) -> Result<Asked, Fault> {
        let mut members = Members::read(body)?;
        let (inputs, _) = members.inputs("inputs")?;
        let embedder = members.text("embedder")?.unwrap_or_default();
        let role = members.role("role")?;
        let kind = members.text("type")?;
        let (dimensions, normalize) = (members.count("dimensions")?, members.flag("normalize")?);
        if members.flag("truncate")? == Some(false) {
            return Err(Fault::invalid(
                "truncate false is not supported: texts are cut at max-tokens of the embedder",
            ));
        }
        members.end()?;
        let Some(kind) = kind else {
            let request = EmbedRequest { embedder, inputs, role, dimensions, normalize };
            return Ok(Asked::Plain(request));
        };
        if dimensions.is_some() || normalize.is_some() {
            return Err(Fault::invalid(
                "type says what tensors are; leave dimensions and normalize out",
            ));
        }
        let text = |input| match input {
            EmbedInput::Text(text) => Ok(text),
            EmbedInput::Ids(_) => {
                Err(Fault::invalid("tensors are made of texts, not of token ids"))
            }
        };
        let texts = inputs.into_iter().map(text).collect::<Result<_, _>>()?;
        Ok(Asked::Tensors { embedder, texts, kind, role })
    }
}

/// Answers a list with an element for each text: a vector, a vector for each token, the words with their weights, token ids, or with a
/// `type` the tensor.
///
/// # Errors
/// As [`Asked::read`], and what the embedder says.
pub(crate) async fn answer(shared: &Shared, body: Body) -> Result<Reply, Fault> {
    let bytes = body.read(&shared.options).await?;
    let found: Vec<Value> = match Asked::read(&bytes)? {
        Asked::Tensors { embedder, texts, kind, role } => {
            let tensors = shared.node.embed_tensors(&embedder, texts, &kind, role).await?;
            tensors.iter().map(|tensor| to_json(tensor, Form::Short)).collect()
        }
        Asked::Plain(request) => {
            shared.node.embed(request).await?.outputs.iter().map(shown).collect()
        }
    };
    Reply::serialize(&found)
}

fn shown(output: &EmbedOutput) -> Value {
    match output {
        EmbedOutput::Ids(ids) => json!(ids),
        EmbedOutput::Vector(cells) => json!(cells),
        EmbedOutput::Vectors(rows) => json!(rows),
        EmbedOutput::Words(words) => {
            let word = |(id, word, weight): &(u32, String, f32)| json!({"index": id, "token": word, "value": weight});
            words.iter().map(word).collect()
        }
    }
}

//! Texts that clients have embedded, outside of searches and documents.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use stead_embed::normalize;
use stead_expr::{TensorType, Value, parse_type};
use tokio::sync::oneshot;

use crate::embedded::{Embedded, Inside};
use crate::embedders::{Ask, Embedders, Embedding, Role, Source, Vectors};
use crate::{Code, Deployed, Error, ErrorKind};

/// What a client has embedded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbedInput {
    /// A text.
    Text(String),
    /// The ids of its tokens, as the model is given them.
    Ids(Vec<u32>),
}

/// A request for embeddings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbedRequest {
    /// The id of the embedder; empty for the only one there is.
    pub embedder: String,
    /// What is embedded.
    pub inputs: Vec<EmbedInput>,
    /// As whose texts.
    pub role: Role,
    /// How many cells of vectors are wanted; all if nothing.
    pub dimensions: Option<usize>,
    /// Whether vectors get length 1; as the component says if nothing.
    pub normalize: Option<bool>,
}

/// An embedding.
#[derive(Debug, Clone, PartialEq)]
pub enum EmbedOutput {
    /// The ids of tokens.
    Ids(Vec<u32>),
    /// A vector.
    Vector(Vec<f32>),
    /// A vector for each token.
    Vectors(Vec<Vec<f32>>),
    /// Words with their ids and weights.
    Words(Vec<(u32, String, f32)>),
}

/// Embeddings in the order of what was given.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbedAnswer {
    /// The id of the embedder.
    pub embedder: String,
    /// How many tokens the model was given.
    pub tokens: usize,
    /// The embeddings.
    pub outputs: Vec<EmbedOutput>,
}

impl Embedded {
    /// Embeds what a client gives; together with everything else that waits for the same embedder.
    ///
    /// # Errors
    /// [`Code::Unavailable`] where no application is active; [`Code::NotFound`] of an unknown embedder; [`Code::InvalidArgument`] of what it
    /// cannot take; [`ErrorKind::ShuttingDown`].
    pub async fn embed(&self, request: EmbedRequest) -> Result<EmbedAnswer, Error> {
        let _inside = Inside::enter(self);
        let active = self.application()?;
        let embedders = active.embedders();
        let embedder = known(embedders, &request.embedder)?;
        let sources = request.inputs.into_iter().map(|input| match input {
            EmbedInput::Text(text) => Source::Text(text),
            EmbedInput::Ids(ids) => Source::Ids(ids),
        });
        let (sender, receiver) = oneshot::channel();
        embedders.vectors(&embedder, sources.collect(), request.role, move |found| {
            // Whoever asked may have gone.
            let _ = sender.send(found);
        })?;
        let found = receiver.await.map_err(|_| unanswered())?;
        let normalizes = request.normalize.unwrap_or(embedders.normalizes(&embedder));
        let (mut tokens, mut outputs) = (0, Vec::with_capacity(found.len()));
        for one in found {
            let one: Arc<Embedding> = one?;
            tokens += one.tokens;
            outputs.push(output(&one.vectors, request.dimensions, normalizes)?);
        }
        Ok(EmbedAnswer { embedder, tokens, outputs })
    }

    /// Makes tensors of a type for texts, in their order; a text of blanks has zeros.
    ///
    /// # Errors
    /// As [`Embedded::embed`].
    pub async fn embed_tensors(
        &self,
        embedder: &str,
        texts: Vec<String>,
        kind: &str,
        role: Role,
    ) -> Result<Vec<Value>, Error> {
        let _inside = Inside::enter(self);
        let active = self.application()?;
        let embedders = active.embedders();
        let id = known(embedders, embedder)?;
        let invalid = |text: String| Error::new(Code::InvalidArgument, text);
        let kind: TensorType = parse_type(kind).map_err(|e| invalid(e.to_string()))?;
        embedders.check(&id, &kind, role)?;
        let ask = |text| Ask { id: id.clone(), text, kind: kind.clone(), language: None };
        let (sender, receiver) = oneshot::channel();
        embedders.tensors(texts.into_iter().map(ask).collect(), role, None, move |found| {
            // Whoever asked may have gone.
            let _ = sender.send(found);
        });
        receiver.await.map_err(|_| unanswered())?.into_iter().collect()
    }

    fn application(&self) -> Result<Arc<Deployed>, Error> {
        if self.draining.load(Ordering::SeqCst) {
            return Err(ErrorKind::ShuttingDown.into());
        }
        let none = || Error::new(Code::Unavailable, "no application is deployed here yet");
        self.deployments().and_then(|all| all.active()).ok_or_else(none)
    }
}

/// The embedder of an id.
fn known(embedders: &Embedders, id: &str) -> Result<String, Error> {
    if let Some(id) = embedders.find(id) {
        return Ok(id.to_owned());
    }
    let ids = embedders.ids().join(", ");
    let text = match (ids.is_empty(), id) {
        (true, _) => "the application has no embedder".to_owned(),
        (false, "") => format!("name an embedder; there are {ids}"),
        (false, _) => format!("there is no embedder {id:.100}; there are {ids}"),
    };
    let code =
        if id.is_empty() && !ids.is_empty() { Code::InvalidArgument } else { Code::NotFound };
    Err(Error::new(code, text))
}

fn output(
    vectors: &Vectors,
    dimensions: Option<usize>,
    normalizes: bool,
) -> Result<EmbedOutput, Error> {
    let invalid = |text: String| Err(Error::new(Code::InvalidArgument, text));
    let cut = |cells: &[f32]| -> Result<Vec<f32>, Error> {
        let wanted = dimensions.unwrap_or(cells.len());
        let taken = cells.get(..wanted).map(<[f32]>::to_vec);
        let text = || format!("dimensions must be at most {}, found {wanted}", cells.len());
        taken.ok_or_else(|| Error::new(Code::InvalidArgument, text()))
    };
    Ok(match vectors {
        Vectors::One(cells) => {
            let mut cells = cut(cells)?;
            if normalizes {
                normalize(&mut cells);
            }
            EmbedOutput::Vector(cells)
        }
        Vectors::Each { cells, width } => {
            let rows = cells.chunks_exact((*width).max(1)).map(cut);
            EmbedOutput::Vectors(rows.collect::<Result<_, _>>()?)
        }
        _ if dimensions.is_some() => {
            return invalid(
                "the embedder makes no vectors, so that dimensions means nothing".to_owned(),
            );
        }
        Vectors::Ids(ids) => EmbedOutput::Ids(ids.clone()),
        Vectors::Words(words) => EmbedOutput::Words(words.clone()),
        Vectors::Tensor(_) => {
            return invalid("the embedder must be asked for a type of tensor".to_owned());
        }
    })
}

fn unanswered() -> Error {
    Error::new(Code::Internal, "embedding ended in an internal error")
}

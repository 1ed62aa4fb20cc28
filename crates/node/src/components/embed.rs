//! Embedders: components that make tensors of texts, as components in interpreters of another kind ask for them, and all that waits for their queues.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stead_expr::{TensorType, Value};
use stead_python::{Deadline, Host, HostCode, HostError, Value as Plain};

use super::beside::ends;
use super::plain::tensor::{read_tensor, tensor};
use super::plain::{PlainError, dict, kind};
use super::together::Together;
use crate::Code;

/// The embedders in Python of an application.
pub(crate) struct Embedders(pub(super) Vec<Arc<Together>>);

impl Embedders {
    /// Their ids.
    pub(crate) fn ids(&self) -> Vec<&str> {
        self.0.iter().flat_map(|call| call.ids()).collect()
    }

    /// How long a call of one may take where whoever asks waits so long.
    pub(crate) fn timeout(&self, id: &str, wanted: Option<Duration>) -> Duration {
        let own = self.0.iter().find(|call| call.ids().contains(&id)).map(|call| call.timeout());
        own.into_iter().chain(wanted).min().unwrap_or_default()
    }

    /// The tensors of a type for texts, in their order.
    ///
    /// # Errors
    /// What the code raised, or that it gave something else.
    pub(crate) fn embed(
        &self,
        id: &str,
        texts: &[String],
        of: &TensorType,
        deadline: Deadline,
    ) -> Result<Vec<Value>, HostError> {
        let found = self.0.iter().find(|call| call.ids().contains(&id));
        let Some(call) = found else {
            return Err(HostError::new(HostCode::NotFound, format!("there is no embedder {id}")));
        };
        embed_all(call, texts, of, call.host(), deadline)
    }
}

/// The tensor of a type for a text.
///
/// # Errors
/// Why the embedder gave none.
pub(super) fn embed(
    call: &Together,
    text: String,
    of: &TensorType,
    host: Arc<dyn Host>,
    deadline: Deadline,
) -> Result<Plain, HostError> {
    let failed = |text: &str| {
        HostError::new(HostCode::Internal, call.failing().error(Code::Internal, text).message)
    };
    match embed_all(call, &[text], of, host, deadline)?.as_slice() {
        [value] => tensor(value).map_err(|error: PlainError| failed(&error.to_string())),
        other => Err(failed(&format!("gave {} tensors where one was expected", other.len()))),
    }
}

/// The tensors of a type for texts.
fn embed_all(
    call: &Together,
    texts: &[String],
    of: &TensorType,
    host: Arc<dyn Host>,
    deadline: Deadline,
) -> Result<Vec<Value>, HostError> {
    let (arrived, deadline) = (Instant::now(), ends(deadline, call));
    let texts = Plain::List(texts.iter().map(|text| text.as_str().into()).collect());
    let argument = dict([("texts", texts), ("type", of.to_string().into())]);
    let session = call.session(deadline);
    let (waited, begun) = (arrived.elapsed(), Instant::now());
    let mut ran = None;
    let found = session.and_then(|mut session| {
        ran = Some(begun);
        call.call(&mut session, "embed", argument, host, deadline)
    });
    call.record(found.as_ref().err(), waited, ran);
    let found = found.map_err(|error| super::host::refused(&error.into()))?;
    let failed = |text: &str| {
        HostError::new(HostCode::Internal, call.failing().error(Code::Internal, text).message)
    };
    match found {
        Plain::List(list) => {
            let values = list.into_iter().map(read_tensor).collect::<Result<Vec<_>, _>>();
            values.map_err(|error: PlainError| failed(&error.to_string()))
        }
        other => Err(failed(&format!("gave {} where tensors were expected", kind(&other)))),
    }
}

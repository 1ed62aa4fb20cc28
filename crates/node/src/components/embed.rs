//! Embedders: components that make tensors of texts, as components in interpreters of another kind ask for them.

use std::sync::Arc;
use std::time::Instant;

use stead_expr::TensorType;
use stead_python::{Deadline, Host, HostCode, HostError, Value as Plain};

use super::beside::ends;
use super::plain::tensor::{read_tensor, tensor};
use super::plain::{PlainError, dict, kind};
use super::together::Together;
use crate::Code;

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
    let (arrived, deadline) = (Instant::now(), ends(deadline, call));
    let texts = Plain::List(vec![text.into()]);
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
    let wrong = |error: PlainError| failed(&error.to_string());
    match found {
        Plain::List(mut list) if list.len() == 1 => {
            let value = read_tensor(list.pop().unwrap_or(Plain::None)).map_err(wrong)?;
            tensor(&value).map_err(wrong)
        }
        other => Err(failed(&format!("gave {} where a tensor was expected", kind(&other)))),
    }
}

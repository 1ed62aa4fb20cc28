//! Whether documents can share a run of a network.

use std::fmt;

use stead_engine::{Dim, Session};
use stead_expr::{Rate, TensorType};
use stead_tensor::{DType, Shape, Tensor};

use super::port::Port;

/// The most documents of a run: products of matrices have reached their speed long before.
const MAX_DOCUMENTS: usize = 256;

/// The bytes that a run may take for its intermediate values, before fewer documents share it.
const ENOUGH_BYTES: usize = 64 << 20;

/// What an input of a session takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feed {
    /// Nothing: it has a value of its own.
    Absent,
    /// A value for each document.
    Documents(usize),
    /// The same value for all documents of a query, repeated for each of them if the network wants that.
    Query {
        /// The input as the package knows it.
        port: usize,
        /// Whether it is repeated.
        is_repeated: bool,
    },
}

/// How many documents share a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stacking {
    /// So many, along the first axis.
    Documents(usize),
    /// One, and why not more.
    One(String),
}

impl fmt::Display for Stacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stacking::Documents(count) => write!(f, "up to {count} documents a run"),
            Stacking::One(why) => write!(f, "one document a run: {why}"),
        }
    }
}

/// What each input of a session takes.
pub(super) fn feeds(
    session: &Session,
    ports: &[Port],
    rates: &[Rate],
) -> Result<Vec<Feed>, String> {
    let feed = |spec: &stead_engine::IoSpec| {
        let Some(port) = ports.iter().position(|port| port.name == spec.name) else {
            return match spec.optional {
                true => Ok(Feed::Absent),
                false => Err(format!("nothing is bound to input {}", spec.name)),
            };
        };
        Ok(match rates.get(port) {
            Some(Rate::Document) => Feed::Documents(port),
            _ => Feed::Query { port, is_repeated: false },
        })
    };
    session.model().inputs().iter().map(feed).collect()
}

/// Finds out how many documents can share a run, and whether values of the query are repeated for each of them.
pub(super) fn find(
    session: &mut Session,
    ports: &[Port],
    feeds: &mut [Feed],
    outputs: &[(usize, TensorType)],
) -> Stacking {
    match stacked(session, ports, feeds, outputs) {
        Ok(count) => Stacking::Documents(count),
        Err(why) => Stacking::One(why),
    }
}

fn stacked(
    session: &mut Session,
    ports: &[Port],
    feeds: &mut [Feed],
    outputs: &[(usize, TensorType)],
) -> Result<usize, String> {
    let mut shapes = Vec::with_capacity(feeds.len());
    let (mut documents, mut query) = (Vec::new(), Vec::new());
    for (at, feed) in feeds.iter().enumerate() {
        let port = match feed {
            Feed::Absent => {
                shapes.push(Vec::new());
                continue;
            }
            Feed::Documents(port) | Feed::Query { port, .. } => ports.get(*port),
        };
        let port = port.ok_or_else(|| "an input is unknown".to_owned())?;
        let open = || format!("the size of input {} differs from document to document", port.name);
        let shape = port.shape().ok_or_else(open)?;
        let dims = session.model().inputs().get(at).and_then(|spec| spec.dims.as_ref());
        let first = dims.and_then(|dims| dims.first());
        let is_row = shape.first() == Some(&1) && port.dtype != DType::String;
        match feed {
            Feed::Documents(_) if is_row => documents.push((at, 0)),
            Feed::Documents(_) if port.dtype == DType::String => {
                return Err(format!("input {} takes texts", port.name));
            }
            Feed::Documents(_) => {
                return Err(format!("the first dimension of input {} has no size 1", port.name));
            }
            _ if is_row && first.is_some_and(may_repeat) => query.push((at, 0)),
            _ => {}
        }
        shapes.push(shape);
    }
    if documents.is_empty() {
        return Err("nothing differs from document to document".to_owned());
    }
    if let Some((_, kind)) = outputs.iter().find(|(_, kind)| {
        !kind.is_dense() || kind.indexed().next().is_none_or(|(_, size)| size != 1)
    }) {
        return Err(format!("an output is a {kind}, whose first dimension has no size 1"));
    }
    // Values of the query stay one row where the network broadcasts them, else they are repeated.
    let mut why = String::new();
    for is_repeated in [false, true] {
        let mut axes = documents.clone();
        if is_repeated {
            if query.is_empty() {
                break;
            }
            axes.extend(&query);
        }
        match session.free_batch_of(&axes, &shapes) {
            Ok(()) => {
                for (at, _) in query.iter().filter(|_| is_repeated) {
                    if let Some(Feed::Query { is_repeated, .. }) = feeds.get_mut(*at) {
                        *is_repeated = true;
                    }
                }
                return Ok(count(session, &shapes));
            }
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

/// Whether a dimension of a value of the query may be that of the documents.
fn may_repeat(dim: &Dim) -> bool {
    dim.known().is_none_or(|size| size == 1)
}

/// How many documents share a run: the memory of one tells.
fn count(session: &Session, shapes: &[Vec<usize>]) -> usize {
    let zeros = |(spec, shape): (&stead_engine::IoSpec, &Vec<usize>)| {
        let shape = Shape::new(shape).ok()?;
        if spec.optional { None } else { Tensor::zeros(spec.dtype, shape).ok() }
    };
    let tensors: Vec<Option<Tensor>> =
        session.model().inputs().iter().zip(shapes).map(zeros).collect();
    let views: Vec<_> = tensors.iter().map(|t| t.as_ref().map(Tensor::view)).collect();
    let bytes =
        session.plan_view(&views).map_or(ENOUGH_BYTES, |view| view.arena_bytes.iter().sum());
    (ENOUGH_BYTES / bytes.max(1)).clamp(1, MAX_DOCUMENTS)
}

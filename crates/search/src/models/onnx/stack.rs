//! Whether documents can share a run of a network.

use std::fmt;

use stead_engine::{Dim, IoSpec, Model, Precision, RunContext, Session};
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
    /// The same value for all documents of a query.
    Query(Same),
    /// A value of the part that runs once for a document.
    Kept(usize),
}

/// A value that is the same for all documents of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Same {
    pub(super) source: Source,
    /// Whether it is repeated for each document of a run, because the network wants that.
    pub(super) is_repeated: bool,
}

/// Where a value of the query comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// An input as the package knows it.
    Port(usize),
    /// An output of the part that runs once for a query.
    Carried(usize),
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

/// What each input of a session takes, of which the last take what the part of the query gives, and that of documents.
pub(super) fn feeds(
    inputs: &[IoSpec],
    ports: &[Port],
    rates: &[Rate],
    (carried, kept): (usize, usize),
) -> Result<Vec<Feed>, String> {
    let own = inputs.len().saturating_sub(carried + kept);
    let same = |source| Feed::Query(Same { source, is_repeated: false });
    let feed = |(at, spec): (usize, &IoSpec)| {
        if at >= own + carried {
            return Ok(Feed::Kept(at - own - carried));
        }
        if at >= own {
            return Ok(same(Source::Carried(at - own)));
        }
        let Some(port) = ports.iter().position(|port| port.name == spec.name) else {
            return match spec.optional {
                true => Ok(Feed::Absent),
                false => Err(format!("nothing is bound to input {}", spec.name)),
            };
        };
        Ok(match rates.get(port) {
            Some(Rate::Document) => Feed::Documents(port),
            _ => same(Source::Port(port)),
        })
    };
    inputs.iter().enumerate().map(feed).collect()
}

/// Finds out how many documents can share a run, and whether values of the query are repeated for each of them. `carried` and
/// `kept` have the shapes of what the parts of the query and of documents give, for one document. A model whose file ties
/// it to one row is rewritten, if its operators allow it: `again` is the model of the session once more, with its precision.
pub(super) fn find(
    session: &mut Session,
    ports: &[Port],
    feeds: &mut [Feed],
    (carried, kept): (&[Vec<usize>], &[Vec<usize>]),
    outputs: &[(usize, TensorType)],
    again: &dyn Fn() -> Result<(Model, Precision), String>,
) -> Stacking {
    match stacked(session, ports, feeds, (carried, kept), outputs, again) {
        Ok(count) => Stacking::Documents(count),
        Err(why) => Stacking::One(why),
    }
}

fn stacked(
    session: &mut Session,
    ports: &[Port],
    feeds: &mut [Feed],
    (carried, kept): (&[Vec<usize>], &[Vec<usize>]),
    outputs: &[(usize, TensorType)],
    again: &dyn Fn() -> Result<(Model, Precision), String>,
) -> Result<usize, String> {
    let mut shapes = Vec::with_capacity(feeds.len());
    let (mut documents, mut query) = (Vec::new(), Vec::new());
    for (at, feed) in feeds.iter().enumerate() {
        let port = match feed {
            Feed::Absent => {
                shapes.push(Vec::new());
                continue;
            }
            Feed::Query(Same { source: Source::Carried(of), .. }) => {
                let shape = carried.get(*of).cloned().unwrap_or_default();
                if shape.first() == Some(&1) {
                    query.push((at, 0));
                }
                shapes.push(shape);
                continue;
            }
            Feed::Kept(of) => {
                documents.push((at, 0));
                shapes.push(kept.get(*of).cloned().unwrap_or_default());
                continue;
            }
            Feed::Documents(port) | Feed::Query(Same { source: Source::Port(port), .. }) => {
                ports.get(*port)
            }
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
    let with_query = documents.iter().chain(&query).copied().collect();
    let ways = [(documents, false), (with_query, true)];
    let ways = if query.is_empty() { &ways[..1] } else { &ways[..] };
    let mut why = String::new();
    for is_rewritten in [false, true] {
        for (axes, is_repeated) in ways {
            let freed = match is_rewritten {
                false => freed(session, axes, &shapes, outputs),
                true => again().and_then(|(model, precision)| {
                    let untied = model.untied(axes, &shapes).map_err(|e| e.to_string())?;
                    let mut own = super::session(untied, precision)?;
                    freed(&mut own, axes, &shapes, outputs)?;
                    *session = own;
                    Ok(())
                }),
            };
            match freed {
                Ok(()) => {
                    for (at, _) in query.iter().filter(|_| *is_repeated) {
                        if let Some(Feed::Query(same)) = feeds.get_mut(*at) {
                            same.is_repeated = true;
                        }
                    }
                    return Ok(count(session, &shapes));
                }
                // Why it does not run with more rows as it is, and why it cannot be made to.
                Err(text) if is_rewritten && !*is_repeated => why = format!("{why}; {text}"),
                Err(text) if !is_rewritten => why = text,
                Err(_) => {}
            }
        }
    }
    Err(why)
}

/// Frees axes, and checks that outputs have the rows along the first of theirs.
fn freed(
    session: &mut Session,
    axes: &[(usize, usize)],
    shapes: &[Vec<usize>],
    outputs: &[(usize, TensorType)],
) -> Result<(), String> {
    let found = session.free_batch_of(axes, shapes).map_err(|e| e.to_string())?;
    match outputs.iter().find(|(at, _)| found.get(*at) != Some(&0)) {
        None => Ok(()),
        Some((at, _)) => {
            let name = session.model().outputs().get(*at).map_or("", |spec| spec.name.as_str());
            Err(format!("output {name} does not have the rows along its first dimension"))
        }
    }
}

/// Whether a dimension of a value of the query may be that of the documents.
fn may_repeat(dim: &Dim) -> bool {
    dim.known().is_none_or(|size| size == 1)
}

/// How many documents share a run: the memory of one tells.
pub(super) fn count(session: &Session, shapes: &[Vec<usize>]) -> usize {
    let tensors = zeros(session, shapes);
    let views: Vec<_> = tensors.iter().map(|t| t.as_ref().map(Tensor::view)).collect();
    let plan = session.plan_view(&views);
    let bytes: usize = plan.map_or(ENOUGH_BYTES, |view| view.arena_bytes.iter().sum());
    (ENOUGH_BYTES / bytes.max(1)).clamp(1, MAX_DOCUMENTS)
}

/// The shapes of the outputs of the part of the query; empty if its inputs have sizes that differ.
pub(super) fn shapes(session: &Session, ports: &[Port], feeds: &[Feed]) -> Vec<Vec<usize>> {
    let shape = |feed: &Feed| match feed {
        Feed::Query(Same { source: Source::Port(port), .. }) => ports.get(*port)?.shape(),
        _ => None,
    };
    let Some(given) = feeds.iter().map(shape).collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    let tensors = zeros(session, &given);
    let views: Vec<_> = tensors.iter().map(|t| t.as_ref().map(Tensor::view)).collect();
    let shapes = session.run_with(&views, &RunContext::default(), |outputs| {
        let shape = |at| outputs.get(at).map(|view| view.shape().dims().to_vec());
        (0..outputs.len()).map(shape).collect::<Result<Vec<_>, _>>()
    });
    shapes.and_then(|shapes| shapes).unwrap_or_default()
}

/// Zeros for each input that needs a value.
pub(super) fn zeros(session: &Session, shapes: &[Vec<usize>]) -> Vec<Option<Tensor>> {
    let zeros = |(spec, shape): (&IoSpec, &Vec<usize>)| {
        let shape = Shape::new(shape).ok()?;
        if spec.optional { None } else { Tensor::zeros(spec.dtype, shape).ok() }
    };
    session.model().inputs().iter().zip(shapes).map(zeros).collect()
}

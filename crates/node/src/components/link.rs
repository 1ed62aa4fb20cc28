//! The links of a chain: runs of components in Python that are called together, and components in Rust one by one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Unit;
use super::failure::{ComponentError, Failing};
use super::native::NativeUnit;
use super::together::Together;

/// A part of a chain that is called at once. `T` is the trait of its components in Rust.
pub(super) enum Link<T: ?Sized> {
    /// Neighbours whose packages the interpreters of one manager have.
    Python(Together),
    Native(Arc<NativeUnit<T>>),
}

impl<T: ?Sized> Link<T> {
    /// The components of a chain, by their ids, in as few links as can be.
    pub(super) fn of_chain(
        element: &'static str,
        chain: &str,
        ids: &[String],
        units: &HashMap<&str, &Arc<Unit>>,
        natives: &BTreeMap<String, Arc<NativeUnit<T>>>,
    ) -> Vec<Link<T>> {
        let (mut links, mut run): (Vec<Link<T>>, Vec<Arc<Unit>>) = (Vec::new(), Vec::new());
        let python = |run: &mut Vec<Arc<Unit>>| {
            Together::parts(element, chain, std::mem::take(run)).into_iter().map(Link::Python)
        };
        for id in ids {
            match (natives.get(id), units.get(id.as_str())) {
                (Some(native), _) => {
                    links.extend(python(&mut run));
                    links.push(Link::Native(Arc::clone(native)));
                }
                (None, Some(unit)) => run.push(Arc::clone(unit)),
                // What was not created was told of.
                (None, None) => {}
            }
        }
        links.extend(python(&mut run));
        links
    }

    /// How long a call may take in all.
    pub(super) fn timeout(&self) -> Duration {
        match self {
            Link::Python(components) => components.timeout(),
            Link::Native(unit) => unit.timeout(),
        }
    }

    /// The most calls that are worth to run at a time.
    pub(super) fn most(&self) -> usize {
        match self {
            Link::Python(components) => components.most(),
            Link::Native(_) => std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// The ids of the components.
    pub(super) fn ids(&self) -> Vec<&str> {
        match self {
            Link::Python(components) => components.ids(),
            Link::Native(unit) => vec![unit.id()],
        }
    }

    /// Where it fails.
    pub(super) fn failing(&self) -> Failing<'_> {
        match self {
            Link::Python(components) => components.failing(),
            Link::Native(unit) => unit.failing(),
        }
    }

    /// Counts a call.
    pub(super) fn record(
        &self,
        error: Option<&ComponentError>,
        waited: Duration,
        begun: Option<Instant>,
    ) {
        match self {
            Link::Python(components) => components.record(error, waited, begun),
            Link::Native(unit) => unit.record(error, waited, begun),
        }
    }

    /// Counts a call that was refused as too many waited.
    pub(super) fn record_refused(&self) {
        match self {
            Link::Python(components) => components.record_refused(),
            Link::Native(unit) => unit.record_refused(),
        }
    }
}

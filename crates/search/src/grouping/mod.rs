//! Groupings of matches: what clients write behind `|` or in `select`
//! (Vespa, documentation, `reference/querying/grouping-language.html`).
//!
//! A text becomes [operations](syntax), which are checked against the attributes of documents: a [`GroupingPlan`]. A node makes
//! [groups](PartialGroup) of its matches by it; [`finish`] makes one answer of those of several nodes or types, of which
//! [`render`] writes the page that is seen.

mod code;
mod collect;
mod continuation;
mod error;
mod evaluate;
mod function;
mod md5;
mod partial;
mod plan;
mod render;
mod request;
mod state;
pub mod syntax;
mod value;
mod zone;

use stead_store::View;

pub use collect::{Grouped, MAX_MEMORY};
pub use error::GroupingError;
pub use partial::{GroupHit, PartialGroup};
pub use plan::{GroupingPlan, Limits};
pub use request::{Asked, GroupingRequest};
pub use state::{Distinct, State};
pub use value::Value;
pub use zone::Zone;

use crate::result::Item;
use code::Compiler;
use continuation::Offsets;

/// Documents that are grouped.
#[derive(Clone, Copy)]
pub struct Documents<'d> {
    /// The documents.
    pub view: &'d View,
    /// The cluster that has them.
    pub cluster: &'d str,
    /// Seconds since 1970.
    pub now: i64,
}

/// A grouping of documents; `number` is its place among those of the request.
///
/// # Errors
/// When it names what documents do not have, or cannot be done.
pub fn plan(
    asked: &Asked,
    documents: Documents<'_>,
    request: &GroupingRequest,
    number: u32,
) -> Result<GroupingPlan, GroupingError> {
    let offsets = Offsets::read(&asked.continuations, number).map_err(GroupingError::Text)?;
    let mut compiler = Compiler {
        documents: documents.view.kind(),
        cluster: documents.cluster,
        now: documents.now,
        zone: request.zone.ahead(documents.now),
        attributes: Vec::new(),
        scopes: Vec::new(),
        lists: Vec::new(),
    };
    GroupingPlan::new(&asked.operation, &mut compiler, request.limits, (number, offsets))
}

/// The groups of matches, and whether some were left out because it was late.
///
/// # Errors
/// When there are too many, or values cannot be read.
pub fn collect(
    plan: &GroupingPlan,
    view: &View,
    grouped: &Grouped<'_>,
) -> Result<(PartialGroup, bool), GroupingError> {
    collect::collect(plan, view, grouped)
}

/// What several nodes or types found for a grouping, together.
#[must_use]
pub fn finish(plan: &GroupingPlan, parts: Vec<PartialGroup>) -> Option<PartialGroup> {
    partial::finish(plan, parts)
}

/// The groups of a grouping as results have them; `hit` writes a hit with the summary of a name.
pub fn render<'r>(
    plan: &'r GroupingPlan,
    root: Option<&PartialGroup>,
    hit: &'r mut (dyn FnMut(Option<&str>, &GroupHit) -> Item + 'r),
) -> Item {
    render::render(plan, root, hit)
}

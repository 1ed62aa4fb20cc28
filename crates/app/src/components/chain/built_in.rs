//! The chains that are there without being declared, with the names that components may put themselves before and after.

use super::{ChainKind, Dependencies, Phase};
use crate::package::Place;

/// A chain of stead's own.
#[derive(Debug, Clone, Copy)]
pub struct BuiltInChain {
    /// Its id.
    pub id: &'static str,
    /// Its phases, each before the next one if they are in order.
    phases: &'static [&'static str],
    phases_in_order: bool,
    /// Whether the scripts of fields run in it.
    indexes: bool,
}

/// The id of what runs the scripts of fields, in chains that inherit it.
pub(super) const INDEXING: &str = "indexing script runner";

/// Vespa, `PhaseNames`.
const SEARCH_PHASES: &[&str] =
    &["rawQuery", "transformedQuery", "blendedResult", "unblendedResult", "backend"];

/// Vespa, `IndexingDocprocChain`.
const INDEXING_PHASES: &[&str] = &["indexingStart", "indexingEnd"];

/// Vespa, `VespaSearchChainsCreator`. What has phases has the same ones: the searchers of Vespa within have no twins here.
const SEARCH: &[BuiltInChain] = &[search("vespa"), search("native"), search("vespaPhases")];

const DOCUMENT_PROCESSING: &[BuiltInChain] = &[BuiltInChain {
    id: "indexing",
    phases: INDEXING_PHASES,
    phases_in_order: false,
    indexes: true,
}];

const fn search(id: &'static str) -> BuiltInChain {
    BuiltInChain { id, phases: SEARCH_PHASES, phases_in_order: true, indexes: false }
}

impl BuiltInChain {
    /// The built-in chains of a kind.
    #[must_use]
    pub fn of(kind: ChainKind) -> &'static [BuiltInChain] {
        match kind {
            ChainKind::Search => SEARCH,
            ChainKind::DocumentProcessing => DOCUMENT_PROCESSING,
        }
    }

    /// Its phases, as if they were written at a place.
    pub(super) fn phases(&self, place: &Place) -> Vec<Phase> {
        let next = self.phases.iter().skip(1).map(Some).chain([None]);
        let phase = |(name, next): (&&str, Option<&&str>)| Phase {
            name: (*name).to_owned(),
            before: next
                .filter(|_| self.phases_in_order)
                .map(|n| (*n).to_owned())
                .into_iter()
                .collect(),
            after: Vec::new(),
            place: place.clone(),
        };
        self.phases.iter().zip(next).map(phase).collect()
    }

    pub(super) fn indexes(&self) -> bool {
        self.indexes
    }
}

/// Where the scripts of fields stand (Vespa, `IndexingProcessor`).
pub(super) fn indexing() -> Dependencies {
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
    Dependencies {
        provides: names(&[
            "indexedDocument",
            "IndexingProcessor",
            "com.yahoo.docprocs.indexing.IndexingProcessor",
        ]),
        before: names(&["indexingEnd"]),
        after: names(&["indexingStart"]),
    }
}

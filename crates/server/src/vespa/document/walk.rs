//! Walks over documents: by their types and numbers, those that a request selects.

use super::Call;
use super::answer::Failure;
use super::parameters::BucketSpace;
use super::shown::Shown;
use std::collections::BTreeSet;
use std::fmt;
use std::time::SystemTime;
use stead_search::result::Item;
use stead_store::{DocumentType, Selected};

/// A document that a walk came to.
pub(super) struct Found<'v> {
    pub(super) kind: &'v DocumentType,
    pub(super) id: &'v str,
    /// Those that are shown.
    pub(super) fields: Option<Item>,
}

/// Where a walk is, before a document. As a text it is a continuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The number of the type.
    kind: usize,
    /// Of how many.
    kinds: usize,
    /// The number of the document.
    lid: u32,
    /// Of how many in the type.
    lids: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}", self.kind, self.lid)
    }
}

impl Place {
    /// How much of the walk lies behind.
    pub(super) fn percent(&self) -> f64 {
        let part = f64::from(self.lid) / f64::from(self.lids.max(1));
        100.0 * (self.kind as f64 + part.min(1.0)) / self.kinds.max(1) as f64
    }
}

impl Call {
    /// Goes through the documents of the types that the path leads to, from the continuation of the request on; documents that
    /// are put meanwhile may be met or not. `goes_on` is asked before each that there is, whether it is selected or not; where it
    /// says no the walk ends, with its place. `found` is told each that is selected, with the fields that `shown` says of its type. What
    /// neither these are nor the selection looks at is not read.
    pub(super) fn walk(
        &self,
        shown: &dyn Fn(&DocumentType) -> Result<Shown, Failure>,
        goes_on: &mut dyn FnMut(Place) -> bool,
        found: &mut dyn FnMut(Found<'_>) -> Result<(), Failure>,
    ) -> Result<Option<Place>, Failure> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let kinds = self.deployed.kinds().filter(|(kind, cluster)| {
            let is_kind = match (&self.path.kind, self.parameters.space) {
                // Whoever names a type need not know where Vespa keeps its documents.
                (Some((_, wanted)), _) => wanted == kind,
                (None, Some(space)) => {
                    self.deployed.is_global(kind) == (space == BucketSpace::Global)
                }
                (None, None) => true,
            };
            is_kind && self.parameters.cluster.as_deref().is_none_or(|wanted| wanted == *cluster)
        });
        let kinds: Vec<&str> = kinds.map(|(kind, _)| kind).collect();
        let (first, from) = match &self.parameters.continuation {
            None => (0, 0),
            Some(text) => continuation(text)?,
        };
        let (slices, slice) = self.parameters.slice;
        let (prefix, selection) = (self.path.prefix(), self.parameters.selection.as_ref());
        for (number, kind) in kinds.iter().enumerate().skip(first) {
            let view = self.view(kind)?;
            let (kind, mut reader) = (view.kind(), view.fields_reader());
            let shown = shown(kind)?;
            let looks_at = selection.map_or_else(BTreeSet::new, |of| of.fields_of(kind));
            let mut read = |lid: u32, is_wanted: &dyn Fn(usize) -> bool| {
                let fields = reader.read(lid, is_wanted);
                fields.map_err(|error| Failure::new(500, error.to_string()))
            };
            let from = if number == first { from } else { 0 };
            // Rows of removed documents are counted too; that does not matter for what is done of all.
            let lids = view.lid(view.blocks().count(), 0);
            for lid in view.lids().skip_while(|lid| *lid < from) {
                let place = Place { kind: number, kinds: kinds.len(), lid, lids };
                if !goes_on(place) {
                    return Ok(Some(place));
                }
                let (Some(id), true) = (view.id(lid), u64::from(lid) % slices == slice) else {
                    continue;
                };
                if !id.starts_with(&prefix) {
                    continue;
                }
                if let Some(selection) = selection {
                    let fields = match looks_at.is_empty() {
                        true => Some(Vec::new()),
                        false => read(lid, &|field| looks_at.contains(&field))?,
                    };
                    let now = now.as_secs() as i64;
                    let selects =
                        |fields: &Vec<_>| selection.selects(&Selected { kind, id, fields, now });
                    if !fields.as_ref().is_some_and(selects) {
                        continue;
                    }
                }
                let fields = match shown {
                    Shown::Nothing => None,
                    _ => match read(lid, &|field| shown.has(field))? {
                        Some(fields) => shown.item(&fields, kind, self.parameters.tensors),
                        None => continue,
                    },
                };
                found(Found { kind, id, fields })?;
            }
        }
        Ok(None)
    }
}

fn continuation(text: &str) -> Result<(usize, u32), Failure> {
    let parts = text.split_once('-');
    let numbers = parts.and_then(|(kind, lid)| {
        Some((usize::from_str_radix(kind, 16).ok()?, u32::from_str_radix(lid, 16).ok()?))
    });
    numbers
        .ok_or_else(|| Failure::new(400, format!("continuation: '{text}' is none of this server")))
}

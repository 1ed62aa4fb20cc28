//! Walks over documents: by their types and numbers, those that a request selects.

use super::Call;
use super::answer::Failure;
use std::fmt;
use std::time::SystemTime;
use stead_store::{FieldValue, Selected, View};

/// A document that a walk came to.
pub(super) struct Found<'v> {
    pub(super) view: &'v View,
    pub(super) id: &'v str,
    pub(super) fields: Vec<(usize, FieldValue)>,
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
    /// says no the walk ends, with its place. `found` is told each that is selected.
    pub(super) fn walk(
        &self,
        goes_on: &mut dyn FnMut(Place) -> bool,
        found: &mut dyn FnMut(Found<'_>) -> Result<(), Failure>,
    ) -> Result<Option<Place>, Failure> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let kinds = self.deployed.kinds().filter(|(kind, cluster)| {
            let is_kind = self.path.kind.as_ref().is_none_or(|(_, wanted)| wanted == kind);
            is_kind && self.parameters.cluster.as_deref().is_none_or(|wanted| wanted == *cluster)
        });
        let kinds: Vec<&str> = kinds.map(|(kind, _)| kind).collect();
        let (first, from) = match &self.parameters.continuation {
            None => (0, 0),
            Some(text) => continuation(text)?,
        };
        let (slices, slice) = self.parameters.slice;
        let prefix = self.path.prefix();
        for (number, kind) in kinds.iter().enumerate().skip(first) {
            let view = self.view(kind)?;
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
                let fields = view.read(lid, |_| true);
                let fields = fields.map_err(|error| Failure::new(500, error.to_string()))?;
                let Some(fields) = fields else { continue };
                let (kind, now) = (view.kind(), now.as_secs() as i64);
                let document = Selected { kind, id, fields: &fields, now };
                let selection = self.parameters.selection.as_ref();
                if selection.is_none_or(|selection| selection.selects(&document)) {
                    found(Found { view: &view, id, fields })?;
                }
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

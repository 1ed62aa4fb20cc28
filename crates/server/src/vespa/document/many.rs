//! Many documents: visits, and removes and updates of what a selection selects.

use super::Call;
use super::answer::{Failure, reply};
use super::one::object;
use crate::http::Reply;
use serde_json::Value;
use std::time::{Duration, Instant, SystemTime};
use stead_search::result::Item;
use stead_store::{Action, FieldValue, Operation, Selected};

/// How long one request goes through documents; a continuation goes on behind.
const BUDGET: Duration = Duration::from_secs(5);

/// A document that a visit came to.
struct Found {
    kind: String,
    id: String,
    fields: Vec<(usize, FieldValue)>,
}

/// Documents, and where the next request goes on.
struct Page {
    found: Vec<Found>,
    next: Option<String>,
}

impl Call {
    pub(super) fn visit(&self) -> Result<Reply, Failure> {
        let page = self.page(self.parameters.wanted)?;
        let mut documents = Vec::new();
        for found in &page.found {
            let view = self.view(&found.kind)?;
            let mut members = vec![("id".to_owned(), Item::text(&found.id))];
            let fields = self.fields(view.kind(), &found.fields)?;
            members.extend(fields.map(|fields| ("fields".to_owned(), fields)));
            documents.push(Item::Map(members));
        }
        let mut more = vec![("documents".to_owned(), Item::List(documents))];
        more.extend(page.members());
        Ok(reply(200, &self.path_id, None, more))
    }

    pub(super) async fn remove_selected(&self) -> Result<Reply, Failure> {
        self.must_specify("selection", self.parameters.selection.is_some())?;
        self.must_specify("cluster", self.parameters.cluster.is_some())?;
        let page = self.page(usize::MAX)?;
        for found in &page.found {
            self.apply(Operation {
                operation: 0,
                document: found.id.clone(),
                condition: self.parameters.selection.clone(),
                action: Action::Remove,
            })
            .await?;
        }
        Ok(reply(200, &self.path_id, None, page.members()))
    }

    pub(super) async fn update_selected(&self, body: &[u8]) -> Result<Reply, Failure> {
        self.must_specify("selection", self.parameters.selection.is_some())?;
        self.must_specify("cluster", self.parameters.cluster.is_some())?;
        let mut update = object(body)?;
        let page = self.page(usize::MAX)?;
        for found in &page.found {
            let view = self.view(&found.kind)?;
            update.insert("update".to_owned(), Value::from(found.id.as_str()));
            let bytes =
                serde_json::to_vec(&update).map_err(|e| Failure::new(400, e.to_string()))?;
            let mut operation = Operation::read(view.kind(), &bytes)
                .map_err(|error| Failure::new(400, error.what()))?;
            operation.condition.clone_from(&self.parameters.selection);
            self.apply(operation).await?;
        }
        Ok(reply(200, &self.path_id, None, page.members()))
    }

    fn must_specify(&self, name: &str, is_there: bool) -> Result<(), Failure> {
        let text = || format!("Must specify '{name}' at '{}'", self.path_id);
        is_there.then_some(()).ok_or_else(|| Failure::new(400, text()))
    }

    /// The next documents of the types that the path leads to. The continuation is the number of the type and of
    /// the document to go on with; documents that are put meanwhile may be met or not.
    fn page(&self, wanted: usize) -> Result<Page, Failure> {
        let (begin, now) = (Instant::now(), SystemTime::now());
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let kinds = self.deployed.kinds().filter(|(kind, cluster)| {
            let is_kind = self.path.kind.as_ref().is_none_or(|(_, wanted)| wanted == kind);
            is_kind && self.parameters.cluster.as_deref().is_none_or(|wanted| wanted == *cluster)
        });
        let (first, from) = match &self.parameters.continuation {
            None => (0, 0),
            Some(text) => continuation(text)?,
        };
        let (slices, slice) = self.parameters.slice;
        let prefix = self.path.prefix();
        let mut found = Vec::new();
        for (number, (kind, _)) in kinds.enumerate().skip(first) {
            let view = self.view(kind)?;
            let from = if number == first { from } else { 0 };
            for lid in view.lids().skip_while(|lid| *lid < from) {
                if found.len() == wanted || (!found.is_empty() && begin.elapsed() > BUDGET) {
                    return Ok(Page { found, next: Some(format!("{number:x}-{lid:x}")) });
                }
                let (Some(id), true) = (view.id(lid), u64::from(lid) % slices == slice) else {
                    continue;
                };
                if !id.starts_with(&prefix) {
                    continue;
                }
                let Some(fields) = view.fields(lid) else { continue };
                let document = Selected { kind: view.kind(), id, fields: &fields, now: now as i64 };
                let selection = self.parameters.selection.as_ref();
                if selection.is_none_or(|selection| selection.selects(&document)) {
                    found.push(Found { kind: kind.to_owned(), id: id.to_owned(), fields });
                }
            }
        }
        Ok(Page { found, next: None })
    }
}

impl Page {
    /// `documentCount` and `continuation`.
    fn members(self) -> Vec<(String, Item)> {
        let mut members = vec![("documentCount".to_owned(), Item::count(self.found.len()))];
        members.extend(self.next.map(|next| ("continuation".to_owned(), Item::Text(next))));
        members
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

//! Many documents: visits, and removes and updates of what a selection selects.

use super::Call;
use super::answer::{Failure, reply};
use super::one::object;
use crate::http::{Reply, blocking};
use futures_util::future::try_join_all;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use stead_search::result::Item;
use stead_store::{Action, FieldValue, Operation, Selected};

/// How long one request goes through documents, whether it finds any or not; a continuation goes on behind.
const BUDGET: Duration = Duration::from_secs(5);

/// The documents that one request removes or updates: they are in memory until it is done.
const MAX_WRITES: usize = 1024;

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

    pub(super) async fn remove_selected(self: Arc<Call>) -> Result<Reply, Failure> {
        let remove = |call: &Call, found: &Found| {
            let (document, condition) = (found.id.clone(), call.parameters.selection.clone());
            Ok(Operation { operation: 0, document, condition, action: Action::Remove })
        };
        self.each_selected(remove).await
    }

    pub(super) async fn update_selected(self: Arc<Call>, body: &[u8]) -> Result<Reply, Failure> {
        let update = object(body)?;
        let operation = |call: &Call, found: &Found| {
            let mut operation = call.update(&update, &found.kind, &found.id)?;
            operation.condition.clone_from(&call.parameters.selection);
            Ok(operation)
        };
        self.each_selected(operation).await
    }

    /// Does an operation with each document of the next page, all of them in as few groups of the log as it takes.
    async fn each_selected(
        self: Arc<Call>,
        operation: impl Fn(&Call, &Found) -> Result<Operation, Failure>,
    ) -> Result<Reply, Failure> {
        self.must_specify("selection", self.parameters.selection.is_some())?;
        self.must_specify("cluster", self.parameters.cluster.is_some())?;
        let call = Arc::clone(&self);
        let page = blocking(move || call.page(MAX_WRITES)).await??;
        let operations: Vec<Operation> =
            page.found.iter().map(|found| operation(&self, found)).collect::<Result<_, _>>()?;
        try_join_all(operations.into_iter().map(|operation| self.apply(operation))).await?;
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
                if found.len() == wanted || begin.elapsed() > BUDGET {
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

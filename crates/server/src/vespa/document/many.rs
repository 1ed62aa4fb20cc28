//! Many documents: visits, and removes and updates of what a selection selects.

use super::Call;
use super::answer::{Failure, reply};
use super::one::parse;
use super::parameters::MAX_WANTED;
use super::shown::Shown;
use super::walk;
use crate::http::{Reply, blocking};
use futures_util::future::try_join_all;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stead_node::{Fed, FeedRoute};
use stead_search::result::Item;
use stead_store::{Action, DocumentType, Operation};

/// How long one request goes through documents, whether it finds any or not; a continuation goes on behind.
const BUDGET: Duration = Duration::from_secs(5);

/// The documents that one request removes or updates: they are in memory until it is done.
const MAX_WRITES: usize = 1024;

/// A document that a visit came to.
struct Found {
    kind: String,
    id: String,
    fields: Option<Item>,
}

/// Documents, and where the next request goes on.
struct Page {
    found: Vec<Found>,
    next: Option<String>,
}

impl Call {
    pub(super) fn visit(&self) -> Result<Reply, Failure> {
        let wanted = self.parameters.wanted.unwrap_or(1).clamp(1, MAX_WANTED);
        let mut page = self.page(wanted, &|kind| self.shown(kind))?;
        let mut documents = Vec::new();
        for found in &mut page.found {
            let mut members = vec![("id".to_owned(), Item::text(&found.id))];
            members.extend(found.fields.take().map(|fields| ("fields".to_owned(), fields)));
            documents.push(Item::Map(members));
        }
        let mut more = vec![("documents".to_owned(), Item::List(documents))];
        more.extend(page.members());
        Ok(reply(200, &self.path_id, None, more))
    }

    pub(super) async fn remove_selected(self: Arc<Call>) -> Result<Reply, Failure> {
        let remove = |call: &Call, found: &Found| {
            let (document, condition) = (found.id.clone(), call.parameters.selection.clone());
            let operation = Operation { operation: 0, document, condition, action: Action::Remove };
            Ok(Fed { operation, changes: None })
        };
        self.each_selected(remove).await
    }

    pub(super) async fn update_selected(self: Arc<Call>, body: &[u8]) -> Result<Reply, Failure> {
        let update = parse(body)?;
        let operation = |call: &Call, found: &Found| {
            let mut fed = call.update(&update, &found.kind, &found.id)?;
            fed.operation.condition.clone_from(&call.parameters.selection);
            Ok(fed)
        };
        self.each_selected(operation).await
    }

    /// Does an operation with each document of the next page, all of them in as few groups of the log as it takes. They go past the
    /// default chain of document processors, as in Vespa (`DocumentV1ApiHandler`).
    async fn each_selected(
        self: Arc<Call>,
        operation: impl Fn(&Call, &Found) -> Result<Fed, Failure>,
    ) -> Result<Reply, Failure> {
        self.must_specify("selection", self.parameters.selection.is_some())?;
        self.must_specify("cluster", self.parameters.cluster.is_some())?;
        let call = Arc::clone(&self);
        let page = blocking(move || call.page(MAX_WRITES, &|_| Ok(Shown::Nothing))).await??;
        let operations: Vec<Fed> =
            page.found.iter().map(|found| operation(&self, found)).collect::<Result<_, _>>()?;
        let apply = |fed| self.apply_when_free(fed, FeedRoute::Indexing);
        try_join_all(operations.into_iter().map(apply)).await?;
        Ok(reply(200, &self.path_id, None, page.members()))
    }

    fn must_specify(&self, name: &str, is_there: bool) -> Result<(), Failure> {
        let text = || format!("Must specify '{name}' at '{}'", self.path_id);
        is_there.then_some(()).ok_or_else(|| Failure::new(400, text()))
    }

    /// The next documents, with the fields that `shown` says of a type.
    fn page(
        &self,
        wanted: usize,
        shown: &dyn Fn(&DocumentType) -> Result<Shown, Failure>,
    ) -> Result<Page, Failure> {
        let begin = Instant::now();
        let list = RefCell::new(Vec::new());
        let mut goes_on = |_| list.borrow().len() < wanted && begin.elapsed() <= BUDGET;
        let mut found = |found: walk::Found<'_>| {
            let (kind, id) = (found.kind.name().to_owned(), found.id.to_owned());
            list.borrow_mut().push(Found { kind, id, fields: found.fields });
            Ok(())
        };
        let next = self.walk(shown, &mut goes_on, &mut found)?.map(|place| place.to_string());
        Ok(Page { found: list.into_inner(), next })
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

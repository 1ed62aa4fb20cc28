//! One document: get, put, update, remove.

use super::Call;
use super::answer::{Failure, IGNORED_OPERATION, reply};
use super::measure::verb;
use super::parameters::Parameters;
use super::shown::Shown;
use crate::http::Reply;
use http::Method;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stead_node::{Fed, FeedRoute, Feeding, WhenBusy};
use stead_store::{Action, DocumentType, Members, MembersError, Outcome, Verb, View};
use tokio::sync::oneshot;

/// Between two tries of an operation that there was no room for: a group of the log takes about as long.
const PAUSE: Duration = Duration::from_millis(5);

impl Call {
    /// The documents of the type that the path names, as they are now.
    pub(super) fn view(&self, kind: &str) -> Result<View, Failure> {
        let missing = || Failure::new(400, format!("Document type {kind} does not exist"));
        self.deployed.view(kind).ok_or_else(missing)
    }

    fn kind(&self) -> &str {
        self.path.kind.as_ref().map_or("", |(_, kind)| kind)
    }

    pub(super) fn get(&self, id: &str) -> Result<Reply, Failure> {
        let view = self.view(self.kind())?;
        let shown = self.shown(view.kind())?;
        let absent = || Ok(reply(404, &self.path_id, Some(id), Vec::new()));
        let Some(lid) = view.find(id) else { return absent() };
        if shown == Shown::Nothing {
            return Ok(reply(200, &self.path_id, Some(id), Vec::new()));
        }
        let fields = view.read(lid, |field| shown.has(field));
        let fields = fields.map_err(|error| Failure::new(500, error.to_string()).of(id))?;
        let Some(fields) = fields else { return absent() };
        let fields = shown.item(&fields, view.kind(), self.parameters.tensors);
        let fields = fields.map(|fields| ("fields".to_owned(), fields));
        Ok(reply(200, &self.path_id, Some(id), fields.into_iter().collect()))
    }

    pub(super) async fn write(
        &self,
        method: &Method,
        id: String,
        body: &[u8],
    ) -> Result<Reply, Failure> {
        let fail = |failure: Failure| failure.of(&id);
        let view = self.view(self.kind())?;
        let operation = self.operation(view.kind(), method, &id, body);
        let operation = operation.inspect_err(|_| self.count_unread()).map_err(fail)?;
        let mut answer = reply(200, &self.path_id, Some(&id), Vec::new());
        if !self.parameters.dry_run {
            let route = self.route().map_err(fail)?;
            match self.apply(operation, route).await.map_err(fail)? {
                Outcome::ConditionFailed => {
                    let text = format!("Condition did not match document nr 0 with id {id}");
                    return Err(fail(Failure::new(412, text)));
                }
                // A success, as the document is none of those that are to be here.
                Outcome::Ignored => answer.header = Some(IGNORED_OPERATION),
                Outcome::Applied | Outcome::Absent => {}
            }
        }
        Ok(answer)
    }

    /// Does an operation, and waits until it is durable and searches see it.
    pub(super) async fn apply(&self, fed: Fed, route: FeedRoute) -> Result<Outcome, Failure> {
        let (verb, begin) = (verb(&fed.operation.action), Instant::now());
        let result = self.submit(fed, route).await;
        self.count(verb, &result, begin.elapsed());
        result
    }

    async fn submit(&self, fed: Fed, route: FeedRoute) -> Result<Outcome, Failure> {
        let (sender, receiver) = oneshot::channel();
        // The client may have gone.
        let done = move |outcome| drop(sender.send(outcome));
        let (timeout, when_busy) = (self.parameters.timeout, WhenBusy::Refuse);
        let how = Feeding { route, timeout, when_busy };
        self.deployments.feed(&self.deployed, fed, how, done)?;
        match tokio::time::timeout(self.parameters.timeout, receiver).await {
            Ok(Ok(outcome)) => Ok(outcome?),
            Ok(Err(_)) => Err(Failure::new(500, "the operation ended without an answer")),
            Err(_) => Err(Failure::new(504, "Timeout after the operation was sent")),
        }
    }

    /// [`Call::apply`] that tries again while there is too much to do: who asks for many at once cannot ask for some of them again.
    pub(super) async fn apply_when_free(
        &self,
        fed: Fed,
        route: FeedRoute,
    ) -> Result<Outcome, Failure> {
        let (verb, begin) = (verb(&fed.operation.action), Instant::now());
        loop {
            match self.submit(fed.clone(), route).await {
                Err(failure)
                    if failure.is_overload() && begin.elapsed() < self.parameters.timeout =>
                {
                    tokio::time::sleep(PAUSE).await;
                }
                answer => {
                    self.count(verb, &answer, begin.elapsed());
                    return answer;
                }
            }
        }
    }

    /// The update of a document of a type that a body says.
    pub(super) fn update(&self, body: &Members<'_>, kind: &str, id: &str) -> Result<Fed, Failure> {
        self.read(body, self.view(kind)?.kind(), Verb::Update, id)
    }

    /// Through which chains of document processors an operation goes.
    fn route(&self) -> Result<FeedRoute, Failure> {
        let Some(name) = self.parameters.route.as_deref() else { return Ok(FeedRoute::Default) };
        let name = name.strip_prefix("route:").unwrap_or(name);
        let is_cluster = || self.deployed.kinds().any(|(_, cluster)| cluster == name);
        match name {
            "default" => Ok(FeedRoute::Default),
            _ if name == "indexing" || is_cluster() => Ok(FeedRoute::Indexing),
            // Where nothing is done on the way, all ways are one.
            _ if !self.deployed.processes() => Ok(FeedRoute::Default),
            _ => Err(Failure::new(
                400,
                format!(
                    "route: '{name}' is not supported; default, indexing and the names of content clusters are"
                ),
            )),
        }
    }

    /// The operation of a request: its body, which need not name a document, and its parameters.
    fn operation(
        &self,
        kind: &DocumentType,
        method: &Method,
        id: &str,
        body: &[u8],
    ) -> Result<Fed, Failure> {
        let verb = match *method {
            Method::POST => Verb::Put,
            Method::PUT => Verb::Update,
            _ => Verb::Remove,
        };
        let body = match body.is_empty() {
            true if verb == Verb::Remove => Members::default(),
            true => return Err(Failure::new(400, "Could not read document, no document?")),
            false => parse(body)?,
        };
        let mut fed = self.read(&body, kind, verb, id)?;
        let operation = &mut fed.operation;
        let Parameters { condition, create, .. } = &self.parameters;
        if condition.is_some() {
            operation.condition.clone_from(condition);
        }
        if let (Action::Put { create, .. } | Action::Update { create, .. }, Some(given)) =
            (&mut operation.action, create)
        {
            *create = *given;
        }
        Ok(fed)
    }

    fn read(
        &self,
        body: &Members<'_>,
        kind: &DocumentType,
        verb: Verb,
        id: &str,
    ) -> Result<Fed, Failure> {
        let operation =
            body.operation(kind, verb, id).map_err(|error| Failure::new(400, error.what()))?;
        let is_seen = verb == Verb::Update && self.deployed.processes();
        let changes = body.fields_text().filter(|_| is_seen).map(Arc::from);
        Ok(Fed { operation, changes })
    }
}

/// The members of a body.
pub(super) fn parse(body: &[u8]) -> Result<Members<'_>, Failure> {
    Members::parse(body).map_err(|error| match error {
        MembersError::NoObject(_) => Failure::new(400, "expected start of root object"),
        MembersError::Json(error) => Failure::new(400, format!("the body is no JSON: {error}")),
    })
}

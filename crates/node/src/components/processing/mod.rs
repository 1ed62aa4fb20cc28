//! Document processors: operations on their way to the documents go through the chain `default`, then through that of the content
//! cluster which has the type of their document. Nothing is stored of an operation whose chain fails.

mod json;
mod operations;
mod queue;
mod ticket;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use stead_app::application::Application;
use stead_app::components::Chain;
use stead_app::services::ProcessingChains;
use stead_python::{Deadline, Value};
use stead_store::{Action, Operation, Outcome};

use super::Unit;
use super::link::Link;
use super::native::{DocumentProcessor, NativeUnit};
use crate::{Code, Deployments, Error, WhenBusy};
use operations::{Kinds, kind_of};
use queue::{Part, Queue};
use ticket::Ticket;

/// An operation as it is fed.
#[derive(Debug, Clone, PartialEq)]
pub struct Fed {
    /// The operation.
    pub operation: Operation,
    /// The JSON of the fields of an update: `{"title": {"assign": "x"}}`. Document processors see this.
    pub changes: Option<Arc<str>>,
}

/// Which chains of document processors an operation goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FeedRoute {
    /// The chain `default`, then that of the content cluster.
    #[default]
    Default,
    /// That of the content cluster.
    Indexing,
}

/// How an operation is fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feeding {
    /// Through which chains.
    pub route: FeedRoute,
    /// How long its processors may take, where they do not have less.
    pub timeout: Duration,
    /// What becomes of it while too many are not yet done. Behind processors it waits.
    pub when_busy: WhenBusy,
}

/// A place on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// In the chain `default`.
    Default(usize),
    /// In the chain of the content cluster.
    Cluster(usize),
}

/// The chains of document processors of an application.
pub(crate) struct Processing {
    /// Those of the chain `default`.
    first: Vec<Arc<Queue>>,
    /// By content clusters, those of their chains.
    of_cluster: BTreeMap<String, Vec<Arc<Queue>>>,
    kinds: Arc<Kinds>,
}

impl Drop for Processing {
    fn drop(&mut self) {
        self.first.iter().chain(self.of_cluster.values().flatten()).for_each(|queue| queue.close());
    }
}

impl Processing {
    /// The chains of an application that operations go through, if any of them has components.
    pub(super) fn new(
        application: &Application,
        chains: &ProcessingChains<'_>,
        units: &HashMap<&str, &Arc<Unit>>,
        natives: &BTreeMap<String, Arc<NativeUnit<dyn DocumentProcessor>>>,
    ) -> Option<Arc<Processing>> {
        let kinds = Arc::new(Kinds::new(application));
        let queues = |chain: &Chain, cluster: Option<&str>| -> Vec<Arc<Queue>> {
            let (element, ids) = ("document-processing chain", &chain.components);
            let links = Link::of_chain(element, &chain.id, ids, units, natives);
            let queue = |(at, link): (usize, Link<dyn DocumentProcessor>)| {
                let next = match cluster {
                    None => Step::Default(at + 1),
                    Some(_) => Step::Cluster(at + 1),
                };
                Queue::new(link, Arc::clone(&kinds), next, cluster.map(str::to_owned))
            };
            links.into_iter().enumerate().map(queue).collect()
        };
        let first = chains.first.map(|chain| queues(chain, None)).unwrap_or_default();
        let of_cluster = chains.of_cluster.iter();
        let of_cluster: BTreeMap<String, Vec<Arc<Queue>>> = of_cluster
            .map(|(cluster, chain)| (cluster.clone(), queues(chain, Some(cluster))))
            .filter(|(_, queues)| !queues.is_empty())
            .collect();
        let is_empty = first.is_empty() && of_cluster.is_empty();
        (!is_empty).then(|| Arc::new(Processing { first, of_cluster, kinds }))
    }

    /// The queues of a step and behind it.
    fn queues(&self, step: Step, document: &str) -> &[Arc<Queue>] {
        let own = || {
            let cluster = self.kinds.cluster(kind_of(document));
            let queues = cluster.and_then(|cluster| self.of_cluster.get(cluster));
            queues.map_or(&[][..], Vec::as_slice)
        };
        match step {
            Step::Default(at) if at < self.first.len() => &self.first[at..],
            Step::Default(_) => own(),
            Step::Cluster(at) => own().get(at..).unwrap_or_default(),
        }
    }

    /// Whether an operation with a document goes through any processor.
    pub(crate) fn concerns(&self, document: &str, route: FeedRoute) -> bool {
        !self.queues(route.step(), document).is_empty()
    }

    /// Feeds an operation. `done` is called once, when everything that its processors made of it is done.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`] for updates without their JSON.
    pub(crate) fn feed(
        self: &Arc<Self>,
        deployments: &Arc<Deployments>,
        fed: Fed,
        how: Feeding,
        done: impl FnOnce(Result<Outcome, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        if matches!(fed.operation.action, Action::Update { .. }) && fed.changes.is_none() {
            let text = "document processors see updates as JSON; feed this one as JSON";
            return Err(Error::new(Code::InvalidArgument, text));
        }
        let (document, step) = (fed.operation.document.clone(), how.route.step());
        let all = self.first.iter().chain(self.of_cluster.values().flatten());
        let timeout = all.map(|queue| queue.timeout()).fold(how.timeout, Duration::min);
        let (processing, deployments) = (Arc::clone(self), Arc::clone(deployments));
        let deadline = Deadline::after(timeout);
        let ticket = Ticket::new(processing, deployments, deadline, document, Box::new(done));
        self.forward(Part { fed, ticket, is_alone: false }, step);
        Ok(())
    }

    fn forward(&self, part: Part, step: Step) {
        match self.queues(step, &part.fed.operation.document).first() {
            Some(queue) => queue.push(part),
            None => store(part),
        }
    }

    /// An operation that came out of a queue goes on. What processors of a content cluster make for another one is not
    /// processed again.
    fn go_on(&self, queue: &Queue, part: Part) {
        let cluster = self.kinds.cluster(kind_of(&part.fed.operation.document));
        match &queue.cluster {
            Some(of) if cluster != Some(of) => store(part),
            _ => self.forward(part, queue.next),
        }
    }
}

impl FeedRoute {
    fn step(self) -> Step {
        match self {
            FeedRoute::Default => Step::Default(0),
            FeedRoute::Indexing => Step::Cluster(0),
        }
    }
}

/// Does an operation that no processor changes any more.
fn store(part: Part) {
    let Part { fed: Fed { operation, .. }, ticket, .. } = part;
    let (kind, document) = (kind_of(&operation.document).to_owned(), operation.document.clone());
    let waiting = Arc::clone(&ticket);
    let done = move |outcome| waiting.stored(&document, outcome);
    if let Err(error) = ticket.deployments.submit(&kind, operation, WhenBusy::Wait, done) {
        ticket.close(Err(error));
    }
}

/// What processors know of an application: the types of the fields of documents.
pub(super) fn context(application: &Application) -> Value {
    let fields = |name: &str| {
        let schema = application.schema(name)?;
        let field = |field: &stead_app::application::Field| {
            (field.name.value.clone(), Value::Str(field.kind.to_string()))
        };
        let fields = schema.document.fields.iter().map(field).collect();
        Some((name.to_owned(), Value::Dict(fields)))
    };
    let contents = application.services.contents.iter();
    let kinds = contents.flat_map(|content| &content.documents);
    let documents = kinds.filter_map(|document| fields(&document.kind.value)).collect();
    Value::Dict(vec![("documents".to_owned(), Value::Dict(documents))])
}

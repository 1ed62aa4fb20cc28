//! Components of the application that is served, in Python and in Rust: created when it is prepared, called by requests, and gone when the
//! last request has ended after another application took its place.

mod attempt;
mod beside;
mod create;
mod describe;
mod embed;
mod evaluated;
mod failure;
mod gate;
mod handle;
mod host;
mod identity;
mod infer;
mod link;
mod meters;
pub mod native;
pub(crate) mod plain;
mod pools;
mod processing;
mod searching;
mod settings;
mod stage;
mod store;
mod temporary;
mod together;

pub use failure::ComponentError;
pub use handle::{Handler, HandlerAnswer, HandlerRequest, HeaderLines};
pub(crate) use host::ServerHost;
pub(crate) use meters::ComponentMeters;
pub use meters::ComponentMetrics;
pub(crate) use meters::{Meter, Outcome};
pub(crate) use native::collapse::collapsed_if_asked;
pub(crate) use pools::Pools;
pub use pools::PythonSettings;
pub(crate) use processing::Processing;
pub use processing::{Fed, FeedRoute, Feeding};
pub(crate) use searching::{BackEnd, Inside as InsideSearchers, Query, Searching};
pub(crate) use store::Store;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use stead_app::components::BindingPattern;
use stead_python::{AcquireError, Component, Deadline, Host, InterpreterManager, Session};

use crate::embedders::Embedders as NativeEmbedders;
use crate::repository::Provided;
use beside::Beside;
pub(crate) use embed::Embedders;
use handle::HandlerUnit;
use pools::Pool;
use stage::Stage;
use store::Stored;

/// The components of an application.
pub(crate) struct Components {
    /// By their bindings, the most specific first.
    handlers: Vec<(BindingPattern, HandlerUnit)>,
    units: Vec<Arc<Unit>>,
    /// How many components there are.
    count: usize,
    /// The chains of document processors.
    processing: Option<Arc<Processing>>,
    /// The chains of searchers by their ids.
    searching: BTreeMap<String, Arc<Searching>>,
    /// Those that are models, as a node serves them.
    models: Vec<Provided>,
    /// Those that make tensors of texts, in Python or not: components in other environments ask those in Python as long as this is here.
    embedders: Arc<NativeEmbedders>,
}

/// A component that was created.
struct Unit {
    /// What is called.
    component: Arc<Component>,
    host: Arc<dyn Host>,
    beside: Arc<Beside>,
    /// The package that its interpreters must have.
    package: Arc<Package>,
    timeout: Duration,
    is_development: bool,
    meter: Arc<Meter>,
    /// Whether the last call was a short one.
    is_quick: AtomicBool,
}

/// A package of an application, registered with the interpreters until this is dropped.
struct Package {
    /// Its name in messages.
    name: String,
    /// The name that it is registered under, which no other package ever has.
    registered: String,
    manager: InterpreterManager,
    /// Its interpreters, and the files that they may open, are there as long as it is.
    pool: Arc<Pool>,
    _files: Files,
}

/// Where the files of a package are.
enum Files {
    /// Those of its sources.
    Staged { _stage: Arc<Stage> },
    /// Its archive.
    Stored { _archive: Arc<Stored> },
}

impl Drop for Package {
    fn drop(&mut self) {
        self.manager.unregister(&self.registered);
    }
}

/// Counts applications that were prepared, so that components of two never have the same name.
static GENERATIONS: AtomicI64 = AtomicI64::new(1);

fn next_generation() -> i64 {
    GENERATIONS.fetch_add(1, Ordering::Relaxed)
}

impl Unit {
    /// An interpreter that has its package, more packages, and those of embedders that it may call.
    ///
    /// # Errors
    /// That there was none.
    fn acquire(&self, more: &[&str], deadline: Deadline) -> Result<Session, AcquireError> {
        let Package { registered, manager, .. } = &*self.package;
        manager.acquire_with(registered, &self.others(more), deadline)
    }

    /// The packages that its interpreters must have but its own.
    fn others<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let Package { registered, manager, .. } = &*self.package;
        let mut others: Vec<&str> = Vec::new();
        for name in more.iter().copied().chain(self.beside.packages(manager)) {
            if name != registered && !others.contains(&name) {
                others.push(name);
            }
        }
        others
    }
}

impl Components {
    /// Its models, as a node serves them.
    pub(crate) fn models(&self) -> &[Provided] {
        &self.models
    }

    /// The handler of a request: of those whose bindings match, the one with the most specific.
    pub(crate) fn handler(&self, host: &str, port: u16, path: &str) -> Option<Handler> {
        self.handlers.iter().find_map(|(binding, unit)| {
            let found = binding.matches(host, port, path)?;
            let matched = found.wildcards.into_iter();
            let matched = matched.map(|(name, text)| (name, text.to_owned())).collect();
            Some(Handler { unit: unit.clone(), matched })
        })
    }

    /// The bindings of each handler, by its id.
    pub(crate) fn bindings(&self) -> BTreeMap<String, Vec<String>> {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (binding, unit) in &self.handlers {
            all.entry(unit.id().to_owned()).or_default().push(binding.to_string());
        }
        all
    }

    /// A chain of searchers.
    pub(crate) fn searching(&self, chain: &str) -> Option<&Arc<Searching>> {
        self.searching.get(chain)
    }

    /// Whether operations go through document processors.
    pub(crate) fn processes(&self) -> bool {
        self.processing.is_some()
    }

    /// The chains of document processors, if an operation with a document goes through any.
    pub(crate) fn processing(&self, document: &str, route: FeedRoute) -> Option<&Arc<Processing>> {
        self.processing.as_ref().filter(|processing| processing.concerns(document, route))
    }

    /// All embedders of the application.
    pub(crate) fn embedders(&self) -> &Arc<NativeEmbedders> {
        &self.embedders
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }
}

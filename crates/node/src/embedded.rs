//! The public face of the node.

mod models;
mod sequences;

use crate::admission::{Line, Paces};
use crate::evaluate::{Loader, engine_loader};
use crate::instance::Machine;
use crate::memory::{Budget, available};
use crate::repository::{Provided, Repository, Scope};
use crate::sequences::{Cleaner, Families};
use crate::servable::Answering;
use crate::states::States;
use crate::{
    CallKey, Code, Deployments, Error, ErrorKind, InferRequest, InferResponse, Method,
    MetricsSnapshot, Protocol, VersionState,
};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use stead_app::{ModelSettings, Source};
use stead_engine::Backend;
use stead_pool::{Cores, Pinning, Pool, PoolOptions};
use tokio::sync::Notify;

/// The part of the memory that requests may hold while they wait: weights and the runs need the rest.
const WAITING_SHARE: u64 = 4;

/// The most searches that wait for a thread of the pool: many seconds' worth.
const MAX_WAITING: usize = 4096;

/// What a node needs to start.
#[derive(Debug, Clone)]
pub struct NodeConfig {
    /// Where models come from.
    pub source: Source,
    /// Settings that hold for every model unless its own say otherwise.
    pub defaults: ModelSettings,
    /// Threads of the CPU pool; `None` for one per physical core within the quota of the process.
    pub threads: Option<usize>,
    /// The CPUs on which these run.
    pub pinning: Pinning,
    /// How often the repository is looked at for changes; `None` for never.
    pub poll: Option<Duration>,
    /// Time between two scans for idle sequences; `None` for no scans.
    pub cleaner: Option<Duration>,
    /// The folder in which states of sequences outlive the process; `None` for none.
    pub state_path: Option<PathBuf>,
    /// Application packages beside the models.
    pub deployments: Option<Arc<Deployments>>,
    /// Other runtimes, which models may name as their back end.
    pub backends: Vec<Arc<dyn Backend>>,
}

impl NodeConfig {
    /// A node over `source` with default settings that does not poll.
    pub fn new(source: Source) -> NodeConfig {
        NodeConfig {
            source,
            defaults: ModelSettings::default(),
            threads: None,
            pinning: Pinning::None,
            poll: None,
            cleaner: None,
            state_path: None,
            deployments: None,
            backends: Vec::new(),
        }
    }

    /// A node over a repository folder, a model folder or a model file.
    pub fn path(path: impl Into<PathBuf>) -> NodeConfig {
        NodeConfig::new(Source::Path(path.into()))
    }
}

/// A running node. It is shared by all adapters; dropping it ends its threads.
pub struct Embedded {
    repository: Repository,
    pub(crate) pool: Arc<Pool>,
    /// Searches and evaluations, each of which is a task of the pool.
    pub(crate) line: Arc<Line>,
    pub(crate) paces: Paces,
    refused: Arc<AtomicU64>,
    cleaner: Arc<Cleaner>,
    pub(crate) states: Option<Arc<States>>,
    deployments: Option<Arc<Deployments>>,
    pub(crate) draining: AtomicBool,
    /// Requests that are in.
    inside: AtomicUsize,
    emptied: Notify,
    poll: Arc<PollStop>,
}

/// Tells the polling thread to end.
#[derive(Default)]
struct PollStop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Embedded {
    /// Starts the node: makes the pool, loads the models and begins to poll. Models that cannot be loaded
    /// are reported by [`Embedded::model_status`] and do not stop the others.
    ///
    /// # Errors
    /// [`ErrorKind::ConfigMissing`] and [`ErrorKind::ConfigInvalid`] when there is nothing to serve from;
    /// [`ErrorKind::Protocol`] when the system gives no thread, and for CPUs to run on that are not there.
    pub fn start(config: NodeConfig) -> Result<Arc<Embedded>, Error> {
        Embedded::start_with(config, engine_loader())
    }

    pub(crate) fn start_with(
        config: NodeConfig,
        loader: Arc<Loader>,
    ) -> Result<Arc<Embedded>, Error> {
        let states =
            config.state_path.as_deref().map(States::open).transpose().map_err(|text| {
                Error::new(Code::FailedPrecondition, format!("the folder of states: {text}"))
            })?;
        Embedded::start_on(config, loader, states)
    }

    /// [`Embedded::start_with`] on states that were opened before.
    pub(crate) fn start_on(
        config: NodeConfig,
        loader: Arc<Loader>,
        states: Option<Arc<States>>,
    ) -> Result<Arc<Embedded>, Error> {
        let no_thread = |e: std::io::Error| Error::new(Code::Internal, format!("no thread: {e}"));
        let cores = Cores::of_this_process();
        let places = config.pinning.places(&cores, config.threads);
        let places =
            places.map_err(|error| Error::new(Code::InvalidArgument, error.to_string()))?;
        let threads = match places.len() {
            0 => config.threads.unwrap_or(cores.workers()),
            pinned => pinned,
        };
        let options = PoolOptions { threads, places, ..PoolOptions::default() };
        let pool = Pool::new(&options).map_err(no_thread)?;
        config.deployments.iter().for_each(|deployments| deployments.help(&pool));
        let refused = Arc::default();
        let cleaner = Cleaner::new(config.cleaner.filter(|p| !p.is_zero()));
        let machine = Machine {
            states: states.clone(),
            cleaner: Arc::clone(&cleaner),
            families: Families::default(),
            pool: Arc::clone(&pool),
            timer: Arc::default(),
            loader,
            backends: config.backends,
            budget: Budget::new(available() / WAITING_SHARE),
            refused: Arc::clone(&refused),
        };
        let node = Arc::new(Embedded {
            repository: Repository::new(config.source, config.defaults, Arc::new(machine)),
            line: Line::new(pool.threads(), MAX_WAITING, &refused),
            paces: Paces::default(),
            refused,
            pool,
            cleaner,
            states,
            deployments: config.deployments,
            draining: AtomicBool::new(false),
            inside: AtomicUsize::new(0),
            emptied: Notify::new(),
            poll: Arc::default(),
        });
        node.repository.update(Scope::Start)?;
        node.deployments.iter().try_for_each(|deployments| deployments.serve_on(&node))?;
        if let Some(states) = &node.states {
            // A model that could not be loaded may come back, and its sequences with it.
            let all = node.repository.all_status();
            states.drop_unclaimed(|model, version| {
                let of = all.iter().filter(|(name, _)| name == model).flat_map(|(_, s)| s);
                of.into_iter().any(|s| s.version == version && s.state != VersionState::Available)
            });
        }
        if let Some(period) = config.poll.filter(|p| !p.is_zero()) {
            let (stop, node) = (Arc::clone(&node.poll), Arc::downgrade(&node));
            std::thread::Builder::new()
                .name("stead-poll".to_owned())
                .spawn(move || poll(&node, &stop, period))
                .map_err(no_thread)?;
        }
        Ok(node)
    }

    /// Serves models of an application beside those of the repository, in place of those of the application before.
    pub(crate) fn provide(&self, models: Vec<Provided>) {
        self.repository.provide(models);
    }

    /// Whether states of sequences may outlive the process.
    pub(crate) fn keeps_states(&self) -> bool {
        self.states.is_some()
    }

    /// Whether a model of the repository has a name.
    pub(crate) fn has_other_model(&self, name: &str) -> bool {
        self.repository.has_other(name)
    }

    /// The application packages that it serves, if it serves any.
    #[must_use]
    pub fn deployments(&self) -> Option<&Arc<Deployments>> {
        self.deployments.as_ref()
    }

    /// Evaluates a model. The request has arrived, and a quick one has run, when this returns; what waits is the future.
    /// Dropping it cancels the request. A request with a deadline must be polled inside a tokio runtime with time
    /// enabled.
    ///
    /// # Errors
    /// Every [`ErrorKind`] of lookup, validation, queueing and evaluation.
    pub fn infer(
        &self,
        request: InferRequest,
    ) -> impl Future<Output = Result<InferResponse, Error>> + Send {
        let inside = Inside::enter(self);
        let begun = self.begin(request);
        async move {
            let _inside = inside;
            match begun? {
                Answering::Done(answer) => answer,
                Answering::Waits(answer) => answer.await,
            }
        }
    }

    fn begin(&self, request: InferRequest) -> Result<Answering, Error> {
        let arrived = Instant::now();
        if self.draining.load(Ordering::SeqCst) {
            return Err(ErrorKind::ShuttingDown.into());
        }
        Ok(self.repository.find_for(&request)?.infer(request, arrived))
    }

    /// Whether the node lives.
    pub fn live(&self) -> bool {
        true
    }

    /// Whether the node takes requests: it does from the end of the first load until it drains or is [degraded](Self::degraded).
    pub fn ready(&self) -> bool {
        !self.draining.load(Ordering::SeqCst) && self.degraded().is_none()
    }

    /// Why this process should be replaced soon, though it goes on: code of an interpreter inside it crashed and was contained.
    pub fn degraded(&self) -> Option<String> {
        let crashes = stead_python::crashes_contained();
        let s = if crashes == 1 { "" } else { "s" };
        let text = || {
            format!(
                "{crashes} Python interpreter{s} crashed inside the server; drain and restart it"
            )
        };
        (crashes > 0).then(text)
    }

    /// Counts a call that is no inference (`infer` counts itself).
    pub fn record_call(
        &self,
        protocol: Protocol,
        method: Method,
        model: &str,
        version: Option<u64>,
        ok: bool,
    ) {
        self.repository.record(CallKey { protocol, method }, model, version, ok);
    }

    /// The metrics now.
    pub fn metrics(&self) -> MetricsSnapshot {
        let pool = self.pool.stats();
        MetricsSnapshot {
            models: self.repository.metrics(),
            pool_threads: pool.threads as u64,
            pool_queued: pool.queued as u64,
            pool_nested: pool.nested,
            refused: self.refused.load(Ordering::Relaxed),
            documents: self.deployments().map(|deployments| deployments.metrics()),
            components: self
                .deployments()
                .map(|deployments| deployments.component_metrics())
                .unwrap_or_default(),
            embedders: self
                .deployments()
                .map(|deployments| deployments.embedder_metrics())
                .unwrap_or_default(),
        }
    }

    /// Stops taking requests ([`Embedded::ready`] says no, new ones get [`ErrorKind::ShuttingDown`]) and
    /// waits until those that are in are answered, at most `timeout`; then the last snapshots of sequences are taken.
    /// Returns whether all were answered.
    pub async fn drain(&self, timeout: Duration) -> bool {
        self.draining.store(true, Ordering::SeqCst);
        let empty = async {
            loop {
                let emptied = self.emptied.notified();
                tokio::pin!(emptied);
                // Registered before the look, so that a request that leaves in between is not missed.
                emptied.as_mut().enable();
                if self.inside.load(Ordering::SeqCst) == 0 {
                    return;
                }
                emptied.await;
            }
        };
        let answered = tokio::time::timeout(timeout, empty).await.is_ok();
        if let Some(states) = self.states.clone() {
            // It waits for the disk, which the threads of the runtime must not.
            drop(tokio::task::spawn_blocking(move || states.close()).await);
        }
        answered
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        *self.poll.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.poll.changed.notify_all();
        self.cleaner.stop();
        self.states.iter().for_each(|states| states.close());
    }
}

impl std::fmt::Debug for Embedded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Embedded").field("pool", &self.pool).finish_non_exhaustive()
    }
}

/// A request that is in, until it is dropped.
pub(crate) struct Inside<'a>(&'a Embedded);

impl<'a> Inside<'a> {
    pub(crate) fn enter(node: &'a Embedded) -> Inside<'a> {
        node.inside.fetch_add(1, Ordering::SeqCst);
        Inside(node)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let last = self.0.inside.fetch_sub(1, Ordering::SeqCst) == 1;
        if last && self.0.draining.load(Ordering::SeqCst) {
            self.0.emptied.notify_waiters();
        }
    }
}

/// Looks at the repository every `period`.
fn poll(node: &Weak<Embedded>, stop: &PollStop, period: Duration) {
    let mut last_error = None;
    let mut stopped = stop.stopped.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        stopped = match stop.changed.wait_timeout(stopped, period) {
            Ok((stopped, _)) => stopped,
            Err(poisoned) => poisoned.into_inner().0,
        };
        if *stopped {
            return;
        }
        drop(stopped);
        let Some(node) = node.upgrade() else { return };
        let error = node.repository.update(Scope::Changes).err();
        if let Some(error) = error.as_ref().filter(|e| last_error.as_ref() != Some(*e)) {
            tracing::error!("the configuration is not used: {error}");
        }
        last_error = error;
        // Dropped before the lock is taken: the last owner stops this thread through it.
        drop(node);
        stopped = stop.stopped.lock().unwrap_or_else(PoisonError::into_inner);
    }
}

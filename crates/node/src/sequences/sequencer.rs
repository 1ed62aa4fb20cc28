//! The sequences of one model version: requests arrive, steps run, states change.
//!
//! The table's lock is held for moments only and never over a run. A step that has its turn becomes a job of
//! the scheduler, alone or in one batch with steps of other sequences. Where every step is to be durable, a step
//! that has run waits for the log before the state changes and the client is answered.

mod admin;
mod advance;
mod handover;
mod others;
mod persist;
mod reply;
mod spill;

use super::call::{Call, Form};
use super::durable::Durable;
use super::family::Family;
use super::joint::Joint;
use super::layout::Layout;
use super::state::{Kept, Stored};
use crate::memory::Held;
use crate::recorder::Recorder;
use crate::scheduler::Scheduler;
use crate::sync::{Mutex, MutexGuard};
use crate::totals::Totals;
use crate::{Error, ErrorKind, SequenceMetrics};
use advance::Ran;
use handover::Handover;
pub(crate) use reply::{StepReply, Turn};
pub(crate) use spill::Spilling;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use stead_app::SequenceSettings;
use stead_log::LogError;
use stead_sequence::{Next, Order, Rules, SequenceError, SequenceId, Table};
use stead_tensor::Tensor;
use tokio::sync::oneshot;

/// A step's answer: its outputs by name, and where it belongs.
#[derive(Debug, Clone)]
pub(crate) struct StepAnswer {
    pub(crate) id: SequenceId,
    pub(crate) step: u64,
    pub(crate) outputs: Vec<(String, Tensor)>,
    pub(crate) form: Form,
}

/// What a request gets.
pub(crate) type Said = Result<StepAnswer, Error>;

/// Who gets a step's answer.
pub(crate) enum Client {
    /// The thread that is in [`Sequencer::arrive`] with it.
    Here,
    /// Whoever waits for it.
    Away(oneshot::Sender<Said>),
}

impl Client {
    /// Whether nobody waits for the answer any more.
    fn is_closed(&self) -> bool {
        match self {
            Client::Here => false,
            Client::Away(sender) => sender.is_closed(),
        }
    }

    /// The answer will come later: whoever brought the request has to wait for it.
    fn leave(&mut self, arrived: &mut Option<Arrived>) {
        if let Client::Here = self {
            let (sender, receiver) = oneshot::channel();
            *self = Client::Away(sender);
            *arrived = Some(Arrived::Waits(receiver));
        }
    }

    /// Gives the answer.
    fn send(self, said: Said, arrived: &mut Option<Arrived>) {
        match self {
            Client::Here => *arrived = Some(Arrived::Done(said)),
            // A client that has gone away needs none.
            Client::Away(sender) => drop(sender.send(said)),
        }
    }
}

/// What became of a request when it arrived.
pub(crate) enum Arrived {
    /// It has its answer.
    Done(Said),
    /// It waits for its turn, or runs somewhere else.
    Waits(oneshot::Receiver<Said>),
}

/// A request on its way through a sequence.
pub(crate) struct Step {
    pub(crate) inputs: Vec<Option<Tensor>>,
    /// The outputs that the client wants, and their names.
    pub(crate) wanted: Vec<usize>,
    pub(crate) names: Vec<String>,
    pub(crate) rows: usize,
    pub(crate) deadline: Option<Instant>,
    pub(crate) queued: Instant,
    /// The memory of the inputs, until the step has run.
    pub(crate) held: Option<Held>,
    pub(crate) form: Form,
    pub(crate) client: Client,
    /// Of a step of a pipeline, which the request runs itself when it is told that its turn has come.
    pub(crate) turn: Option<oneshot::Sender<Turn>>,
}

impl stead_sequence::Job for Box<Step> {
    fn is_abandoned(&self) -> bool {
        self.client.is_closed() || self.deadline.is_some_and(|d| d <= Instant::now())
    }
}

/// What runs a step.
pub(crate) enum Work {
    /// One model.
    Model {
        /// Where its state lies.
        layout: Layout,
        /// Where its runs wait.
        scheduler: Arc<Scheduler>,
    },
    /// Several models, whose states change together.
    Pipeline(Joint),
}

/// Steps are boxed: each is moved a dozen times on its way.
pub(super) type Steps = Table<Box<Step>, Stored, Kept>;
type NextStep = Next<Box<Step>, Stored, Kept>;

/// What is to be done when no lock is held.
#[derive(Default)]
struct Due {
    next: Vec<NextStep>,
    /// What became of the request that this thread has brought.
    arrived: Option<Arrived>,
}

/// Whose sequences they are.
pub(super) struct Whose {
    pub(super) model: String,
    pub(super) version: u64,
    pub(super) family: Arc<Family>,
}

/// The sequences of one model version, or of a pipeline.
pub(crate) struct Sequencer {
    model: String,
    pub(super) version: u64,
    family: Arc<Family>,
    /// Whether new sequences begin in another instance.
    finishes: AtomicBool,
    work: Work,
    table: Mutex<Steps>,
    recorder: Arc<Recorder>,
    /// Requests that may wait for their turn.
    queue: usize,
    /// Whether the cleaner's scans end idle sequences.
    scanned: AtomicBool,
    /// The moment at which the model was loaded, and when that was since 1970: the table's times are those of the
    /// calendar, so that they mean something after a restart, but never run back.
    epoch: (Instant, Duration),
    durable: Option<Durable>,
    /// When the last snapshot was taken.
    snapshot: Mutex<Duration>,
    spill: Spilling,
}

impl Sequencer {
    pub(super) fn new(
        whose: Whose,
        work: Work,
        table: Steps,
        queue: usize,
        recorder: Arc<Recorder>,
        durable: Option<Durable>,
        spill: Spilling,
    ) -> Arc<Sequencer> {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let Whose { model, version, family } = whose;
        let sequencer = Arc::new(Sequencer {
            model,
            version,
            family,
            finishes: AtomicBool::new(false),
            work,
            queue,
            table: Mutex::new(table),
            recorder,
            scanned: AtomicBool::new(true),
            epoch: (Instant::now(), since_1970.unwrap_or_default()),
            durable,
            snapshot: Mutex::default(),
            spill,
        });
        sequencer.family.join(&sequencer);
        sequencer
    }

    /// New sequences begin in another instance from now on.
    pub(crate) fn finish_only(&self) {
        self.finishes.store(true, Ordering::Relaxed);
    }

    pub(super) fn only_finishes(&self) -> bool {
        self.finishes.load(Ordering::Relaxed)
    }

    /// Where the state of a model lies; none for a pipeline.
    pub(crate) fn layout(&self) -> Option<&Layout> {
        match &self.work {
            Work::Model { layout, .. } => Some(layout),
            Work::Pipeline(_) => None,
        }
    }

    /// The states of a pipeline; none for a model.
    pub(crate) fn joint(&self) -> Option<&Joint> {
        match &self.work {
            Work::Model { .. } => None,
            Work::Pipeline(joint) => Some(joint),
        }
    }

    /// What tells the states of other models apart, if the model is durable.
    pub(crate) fn fingerprint(&self) -> Option<u64> {
        self.durable.as_ref().map(|log| log.fingerprint)
    }

    /// The states and windows for people: a name and a description of each.
    pub(crate) fn describe(&self) -> Vec<(String, String)> {
        match &self.work {
            Work::Model { layout, .. } => layout.describe(),
            Work::Pipeline(joint) => joint.describe(),
        }
    }

    /// Takes over settings that need no other model. Sequences live on.
    pub(crate) fn change(&self, settings: &SequenceSettings) {
        self.scanned.store(settings.idle_cleanup.unwrap_or(true), Ordering::Relaxed);
        self.lock().set_limits(super::limits(settings));
        self.spill.set_budget(settings.state_budget.unwrap_or(0));
    }

    /// How many sequences may live, and how long they may be idle.
    pub(crate) fn limits(&self) -> (usize, Option<Duration>) {
        let table = self.lock();
        (table.limits().max_sequences, table.limits().idle_timeout)
    }

    /// Whether the cleaner's scans end idle sequences.
    pub(crate) fn is_scanned(&self) -> bool {
        self.scanned.load(Ordering::Relaxed)
    }

    /// Whether a sequence lives.
    pub(crate) fn is_active(&self) -> bool {
        !self.lock().is_empty()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Steps> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.at(Instant::now())
    }

    /// A moment as the table counts.
    fn at(&self, moment: Instant) -> Duration {
        let (loaded, since_1970) = self.epoch;
        since_1970 + moment.saturating_duration_since(loaded)
    }

    /// What OpenVINO Model Server checks before the inputs of the model: that a request names its sequence.
    ///
    /// # Errors
    /// [`ErrorKind::Sequence`].
    pub(crate) fn check(&self, order: &Order) -> Result<(), Error> {
        if order.id.is_some() || order.start || self.lock().limits().rules == Rules::Triton {
            return Ok(());
        }
        Err(ErrorKind::Sequence(SequenceError::IdNotProvided).into())
    }

    /// One scan of the cleaner.
    pub(crate) fn scan(self: &Arc<Self>) {
        let mut due = Due::default();
        {
            let mut table = self.lock();
            table.scan(&mut due.next);
            self.note(&due.next);
        }
        self.go_on(&mut due);
    }

    /// Ends what is beyond its time.
    pub(crate) fn expire(self: &Arc<Self>) {
        let mut due = Due::default();
        {
            let mut table = self.lock();
            table.expire(self.now(), &mut due.next);
            self.note(&due.next);
        }
        self.go_on(&mut due);
    }

    /// The metrics now.
    pub(crate) fn metrics(&self) -> SequenceMetrics {
        let table = self.lock();
        SequenceMetrics {
            active: table.len() as u64,
            bytes: table.bytes(),
            spilled: self.spill.count(),
            waiting: table.waiting() as u64,
            counters: table.counters(),
        }
    }

    /// Whether a request is for a sequence of this version.
    pub(crate) fn knows(&self, order: &Order) -> bool {
        self.lock().knows(order)
    }

    fn state_lost(&self, text: String) -> Error {
        ErrorKind::StateLog { model: self.model.clone(), text }.into()
    }

    fn log_failed(&self, error: &LogError) -> Error {
        ErrorKind::StateLog { model: self.model.clone(), text: error.to_string() }.into()
    }
}

impl Drop for Sequencer {
    fn drop(&mut self) {
        let sequences = Some(self.lock().counters());
        self.recorder.gone(Totals { sequences, ..Totals::default() });
    }
}

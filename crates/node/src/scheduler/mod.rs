//! Requests of one model version on their way to the engine: a bounded queue, batches, and a limit of runs at
//! a time.
//!
//! A cheap request runs on the thread that brings it. Every other one waits in the queue; for each run that
//! the limit allows, one task of the pool takes batches from the queue until it is empty.

mod arrivals;
mod batch;
mod pieces;
mod queue;
mod reply;
mod run;
mod timer;

pub(crate) use batch::{Batching, NoStates, StateAxes};
pub(crate) use pieces::{concat, cut};
pub(crate) use reply::{PartReply, Reply};
pub(crate) use timer::Timer;

use crate::admission::{Line, Pace, Place};
use crate::evaluate::{Evaluate, EvaluateError, Grows, Run};
use crate::memory::Held;
use crate::recorder::Recorder;
use crate::trace::Trace;
use crate::{Error, ErrorKind};
use queue::Queue;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use stead_pool::{Class, Pool};
use stead_tensor::Tensor;

/// Up to this duration of its last run, a request runs on the thread that read it: handing it over would take
/// longer than what it saves.
const INLINE: Duration = Duration::from_micros(100);

/// Limits of one model version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Runs at a time.
    pub(crate) runs: usize,
    /// How urgent they are beside other work.
    pub(crate) class: Class,
    /// Threads of one run.
    pub(crate) threads: usize,
    /// Requests that wait.
    pub(crate) queue: usize,
    /// How requests are joined, if they are.
    pub(crate) batching: Option<Batching>,
    /// States that grow.
    pub(crate) growing: Vec<Grows>,
}

/// Where the time of a run went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Times {
    pub(crate) gather: Duration,
    pub(crate) infer: Duration,
    pub(crate) scatter: Duration,
}

/// When a request came, and when its answer is of no more use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) queued: Instant,
    pub(crate) deadline: Option<Instant>,
}

/// The outputs of one request in the order wanted.
pub(crate) type Answer = Result<Vec<Tensor>, Error>;

/// A request that waits.
pub(crate) struct Job {
    pub(crate) inputs: Vec<Option<Tensor>>,
    pub(crate) wanted: Vec<usize>,
    /// Size along axis 0.
    pub(crate) rows: usize,
    pub(crate) deadline: Option<Instant>,
    pub(crate) queued: Instant,
    pub(crate) reply: Reply,
    /// The memory of the inputs.
    #[expect(dead_code, reason = "it is given back when the job is dropped")]
    pub(crate) held: Option<Held>,
    /// Its place in the line, once it is queued.
    pub(crate) place: Option<Place>,
    /// For a client who wants to know where the time goes: such a request runs alone.
    pub(crate) trace: Option<Arc<Trace>>,
}

impl Job {
    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|d| d <= Instant::now())
    }

    /// Whether nobody waits for the answer any more.
    fn is_abandoned(&self) -> bool {
        self.reply.is_closed() || self.is_late()
    }
}

/// The scheduler of one model version.
pub(crate) struct Scheduler {
    model: String,
    evaluate: Arc<dyn Evaluate>,
    limits: Limits,
    pool: Arc<Pool>,
    timer: Arc<Timer>,
    recorder: Arc<Recorder>,
    /// How fast the queue moves, and how long runs take.
    line: Arc<Line>,
    pace: Arc<Pace>,
    queue: Mutex<Queue>,
    /// Set when outputs turned out to have no batch axis.
    unbatchable: AtomicBool,
}

impl Scheduler {
    pub(crate) fn new(
        model: String,
        evaluate: Arc<dyn Evaluate>,
        limits: Limits,
        pool: Arc<Pool>,
        timer: Arc<Timer>,
        recorder: Arc<Recorder>,
        refused: &Arc<AtomicU64>,
    ) -> Arc<Scheduler> {
        let lanes = match evaluate.is_elsewhere() {
            true => limits.runs,
            false => limits.runs.min(pool.threads()),
        };
        Arc::new(Scheduler {
            // The queue has a limit of its own.
            line: Line::new(lanes, usize::MAX, refused),
            pace: Arc::default(),
            model,
            evaluate,
            limits,
            pool,
            timer,
            recorder,
            queue: Mutex::default(),
            unbatchable: AtomicBool::new(false),
        })
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn evaluate(&self) -> &dyn Evaluate {
        &*self.evaluate
    }

    /// Requests that wait, and runs that go on.
    pub(crate) fn load(&self) -> (usize, usize) {
        let queue = self.lock();
        (queue.len(), queue.active)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn batching(&self) -> Option<&Batching> {
        let off = self.unbatchable.load(Ordering::Relaxed);
        self.limits.batching.as_ref().filter(|_| !off)
    }

    /// How long requests may wait for others, if they may.
    fn delay(&self) -> Option<Duration> {
        self.batching().map(|b| b.delay).filter(|d| !d.is_zero())
    }

    /// Runs the request on this thread if that is quick and nobody is in front of it. `source` tells the requests of
    /// one client from those of others, where that is known.
    pub(crate) fn run_inline(
        self: &Arc<Self>,
        source: Option<u64>,
        inputs: &[Option<Tensor>],
        wanted: &[usize],
        rows: usize,
        times: Arrival,
    ) -> Option<Answer> {
        let Arrival { queued, deadline } = times;
        let late = || deadline.is_some_and(|d| d <= Instant::now());
        if late() {
            return Some(Err(self.explain(EvaluateError::Cancelled, true, "waiting")));
        }
        {
            let mut queue = self.lock();
            if let Some(delay) = self.delay()
                && queue.arrived(source, queued, delay)
            {
                return None;
            }
            // Each length of a growing state is new, so that nobody knows how long it takes.
            let is_new = !self.limits.growing.is_empty();
            if is_new || queue.len() > 0 || queue.active >= self.limits.runs {
                return None;
            }
            queue.active += 1;
        }
        let run =
            Run { team: None, cancelled: &late, within: Some(INLINE), deadline, profile: None };
        let answer = self.run_one(inputs, wanted, rows, &run);
        // Whoever came meanwhile found the limit reached and counts on this run to go on.
        let mut queue = self.lock();
        queue.active -= 1;
        self.go_on(queue);
        if matches!(answer, Err(EvaluateError::NotQuick)) {
            return None;
        }
        self.recorder.waited([Duration::ZERO]);
        Some(answer.map_err(|e| self.explain(e, late(), "running")))
    }

    /// Queues a request; its answer comes by `job.reply`. When the queue is full, or so long that the deadline of the
    /// request would pass, gives the reply back with the reason.
    pub(crate) fn submit(self: &Arc<Self>, mut job: Job) -> Option<(Reply, Error)> {
        let mut queue = self.lock();
        if queue.len() >= self.limits.queue {
            queue.sweep();
        }
        if queue.len() >= self.limits.queue {
            drop(queue);
            self.recorder.rejected();
            let (model, limit) = (self.model.clone(), self.limits.queue);
            return Some((job.reply, ErrorKind::QueueFull { model, limit }.into()));
        }
        match self.line.enter(&self.pace, Instant::now(), job.deadline) {
            Ok(place) => job.place = Some(place),
            Err(refused) => {
                drop(queue);
                self.recorder.rejected();
                return Some((job.reply, refused.error(&format!("model {}", self.model))));
            }
        }
        queue.push(job);
        self.go_on(queue);
        None
    }

    /// Called by the timer.
    pub(crate) fn alarm(self: &Arc<Self>) {
        let mut queue = self.lock();
        queue.armed = None;
        self.go_on(queue);
    }

    /// Starts a run if the limit allows and a batch is due, or sees to it that the timer rings when it is.
    fn go_on(self: &Arc<Self>, mut queue: MutexGuard<'_, Queue>) {
        if queue.active >= self.limits.runs {
            return;
        }
        match queue.due(self.batching()) {
            Some(due) if due <= Instant::now() => {
                queue.active += 1;
                drop(queue);
                self.start();
            }
            Some(due) if queue.armed.is_none_or(|armed| armed > due) => {
                queue.armed = Some(due);
                drop(queue);
                if !self.timer.wake(due, Arc::downgrade(self)) {
                    // Without a timer nothing may wait for one.
                    self.unbatchable.store(true, Ordering::Relaxed);
                    self.go_on(self.lock());
                }
            }
            _ => {}
        }
    }

    /// Sends a task to the pool, or to a thread of its own that waits for whoever computes; `active` counts it already.
    fn start(self: &Arc<Self>) {
        let me = Arc::clone(self);
        let is_started = match self.evaluate.is_elsewhere() {
            true => {
                let thread = std::thread::Builder::new().name("stead-model".to_owned());
                thread.spawn(move || me.drive()).is_ok()
            }
            false => self.pool.spawn(self.limits.class, None, move |_| me.drive()).is_ok(),
        };
        if !is_started {
            let mut queue = self.lock();
            queue.active -= 1;
            let lost = queue.clear();
            drop(queue);
            for job in lost {
                job.reply.send(Err(ErrorKind::ShuttingDown.into()));
            }
        }
    }

    /// Takes batches until none is due.
    fn drive(self: Arc<Self>) {
        loop {
            let batch = {
                let mut queue = self.lock();
                if queue.due(self.batching()).is_none_or(|due| due > Instant::now()) {
                    queue.active -= 1;
                    self.go_on(queue);
                    return;
                }
                let batch = queue.take(self.batching());
                // There may be more than one run's worth.
                self.go_on(queue);
                batch
            };
            self.run_batch(batch);
            if !self.evaluate.is_elsewhere() && self.pool.waits(self.limits.class) {
                // Other models' turn first.
                self.start();
                return;
            }
        }
    }
}

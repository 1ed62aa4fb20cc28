//! Looking after sequences that nobody goes on with, and models that only finish theirs.

use super::Sequencer;
use crate::servable::Servable;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// How often exact timeouts are looked at. Requests never meet a sequence beyond its time whatever this is; it
/// says how long its memory may be held.
const LOOK: Duration = Duration::from_millis(500);

/// How long a model that was replaced lives on for the sequences that began with it.
const DRAIN: Duration = Duration::from_secs(600);

#[derive(Default)]
struct Watched {
    models: Vec<Weak<Sequencer>>,
    /// Models that were replaced, and when they end whatever lives in them.
    draining: Vec<(Arc<Servable>, Instant)>,
    /// Whether the thread runs.
    started: bool,
    stopped: bool,
}

/// Looks after idle sequences of all models on one thread, which starts with the first stateful model.
#[derive(Default)]
pub(crate) struct Cleaner {
    watched: Mutex<Watched>,
    changed: Condvar,
    /// Time between two scans; none for no scans.
    period: Option<Duration>,
}

impl Cleaner {
    /// A cleaner that scans every `period`.
    pub(crate) fn new(period: Option<Duration>) -> Arc<Cleaner> {
        Arc::new(Cleaner { period, ..Cleaner::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks after the sequences of a model until it is gone.
    pub(crate) fn watch(self: &Arc<Self>, model: &Arc<Sequencer>) {
        let mut watched = self.lock();
        watched.models.retain(|m| m.strong_count() > 0);
        watched.models.push(Arc::downgrade(model));
        if std::mem::replace(&mut watched.started, true) {
            return;
        }
        drop(watched);
        let me = Arc::downgrade(self);
        let run = move || run(&me);
        if let Err(error) = std::thread::Builder::new().name("stead-cleaner".into()).spawn(run) {
            tracing::error!(%error, "no thread for the sequence cleaner");
        }
    }

    /// Keeps a model that was replaced until its last sequence has ended, or for [`DRAIN`].
    pub(crate) fn keep(&self, instance: &Arc<Servable>) {
        self.lock().draining.push((Arc::clone(instance), Instant::now() + DRAIN));
    }

    /// Ends the thread, and what only finishes its sequences.
    pub(crate) fn stop(&self) {
        let mut watched = self.lock();
        watched.stopped = true;
        let draining = std::mem::take(&mut watched.draining);
        drop(watched);
        // Instances take this lock when they end.
        drop(draining);
        self.changed.notify_all();
    }

    /// One scan of OpenVINO Model Server's cleaner over the models that want it.
    pub(crate) fn scan(&self) {
        self.models().iter().filter(|m| m.is_scanned()).for_each(|model| model.scan());
    }

    fn models(&self) -> Vec<Arc<Sequencer>> {
        self.lock().models.iter().filter_map(Weak::upgrade).collect()
    }

    /// Ends what is beyond its time.
    fn look(&self) {
        self.models().iter().for_each(|model| model.expire());
        let now = Instant::now();
        let mut watched = self.lock();
        let (keep, over) = std::mem::take(&mut watched.draining)
            .into_iter()
            .partition(|(instance, until)| *until > now && instance.has_sequences());
        watched.draining = keep;
        drop(watched);
        let over: Vec<(Arc<Servable>, Instant)> = over;
        over.iter().filter_map(|(i, _)| i.sequences().ok()).for_each(|s| s.forget());
    }
}

fn run(cleaner: &Weak<Cleaner>) {
    let mut scanned = Instant::now();
    while let Some(me) = cleaner.upgrade() {
        let waited = me.changed.wait_timeout(me.lock(), LOOK);
        if waited.unwrap_or_else(PoisonError::into_inner).0.stopped {
            return;
        }
        me.look();
        if me.period.is_some_and(|period| scanned.elapsed() >= period) {
            scanned = Instant::now();
            me.scan();
        }
    }
}

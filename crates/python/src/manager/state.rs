//! What a manager has and who waits for it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use super::lease::{Lease, LeaseNumber};
use super::outbox::Outbox;
use super::queue::{Queue, Waiter};
use super::session::Held;
use super::task::Task;
use super::{AcquireError, Counts, Grant, PackageSource, Registered};
use crate::Mode;
use crate::interpreter::Number;

#[derive(Default)]
pub(super) struct State {
    pub(super) packages: HashMap<Arc<str>, Arc<Registered>>,
    /// Counts versions of packages.
    versions: u64,
    /// Movable objects that somebody has.
    pub(super) movables: HashSet<Number>,
    pub(super) free: Vec<Held>,
    /// Free, handed out, or being started; those set aside are not among them.
    pub(super) interpreters: usize,
    pub(super) queue: Queue,
    pub(super) counts: Counts,
    /// Of work that runs.
    pub(super) leases: Vec<Lease>,
    last_lease: LeaseNumber,
    /// When deadlines are looked at.
    pub(super) next_look: Option<Instant>,
    pub(super) outbox: Outbox,
}

/// Work whose turn it is.
#[must_use]
pub(super) enum Handed {
    Run(Task, Held, LeaseNumber),
    /// It may start an interpreter.
    Start(Task),
}

impl State {
    pub(super) fn register(&mut self, name: Arc<str>, source: PackageSource) -> Arc<Registered> {
        self.versions += 1;
        let registered =
            Arc::new(Registered { name: Arc::clone(&name), version: self.versions, source });
        self.packages.insert(name, registered.clone());
        registered
    }

    /// Packages by their names.
    ///
    /// # Errors
    /// [`AcquireError::NoPackage`].
    pub(super) fn find(&self, names: &[&str]) -> Result<Vec<Arc<Registered>>, AcquireError> {
        names.iter().map(|name| self.package(name)).collect()
    }

    /// A package by its name.
    ///
    /// # Errors
    /// [`AcquireError::NoPackage`].
    pub(super) fn package(&self, name: &str) -> Result<Arc<Registered>, AcquireError> {
        let found = self.packages.get(name).cloned();
        found.ok_or_else(|| AcquireError::NoPackage(name.to_owned()))
    }

    /// Has deadlines looked at then; true if that is sooner than was planned.
    pub(super) fn look_by(&mut self, time: Instant) -> bool {
        let is_sooner = self.next_look.is_none_or(|planned| time < planned);
        if is_sooner {
            self.next_look = Some(time);
        }
        is_sooner
    }

    /// Puts work into the queue of its package.
    pub(super) fn put_task(&mut self, task: Task) {
        let none = Arc::<str>::default;
        let package = task.packages.first().map_or_else(none, |first| Arc::clone(&first.name));
        self.queue.put_task(&package, task);
    }

    /// Notes that work has an interpreter.
    pub(super) fn lease(&mut self, task: &Task, held: &Held) -> LeaseNumber {
        self.last_lease += 1;
        self.leases.push(Lease {
            number: self.last_lease,
            deadline: task.deadline,
            begun: Instant::now(),
            thread: held.thread,
            kind: held.kind(),
            refusal: Arc::clone(&task.refusal),
            is_aside: false,
        });
        self.last_lease
    }

    /// Gives free interpreters, and leave to start others while there are fewer than `most`, to those who wait. Work
    /// has to be dispatched once the lock is given back.
    #[must_use]
    pub(super) fn hand_out(&mut self, most: usize) -> Vec<Handed> {
        let mut handed = Vec::new();
        while !self.free.is_empty() || self.interpreters < most {
            let Some((waiter, package)) = self.queue.next() else { break };
            let version = self.packages.get(&package).map(|package| package.version);
            let has = |held: &Held| version.is_some_and(|version| held.has(&package, version));
            // One that has the package, else the one used last, whose memory is the warmest; a new one only when none
            // is free.
            let best = self.free.iter().rposition(has).or(self.free.len().checked_sub(1));
            let grant = match best {
                Some(at) => Grant::Free(self.free.remove(at)),
                None => {
                    self.interpreters += 1;
                    Grant::Start
                }
            };
            match (waiter, grant) {
                (Waiter::Thread(ticket), grant) => self.queue.grant(ticket, grant),
                (Waiter::Task(task), Grant::Start) => handed.push(Handed::Start(task)),
                (Waiter::Task(task), Grant::Free(held)) => {
                    let lease = self.lease(&task, &held);
                    handed.push(Handed::Run(task, held, lease));
                }
            }
        }
        handed
    }
}

impl Counts {
    pub(super) fn lose(&mut self, (mode, filled): (Mode, bool)) {
        match mode {
            Mode::InProcess => self.in_process -= 1,
            Mode::Worker => self.workers -= 1,
        }
        self.filled -= usize::from(filled);
    }
}

//! Work that waits for an interpreter without a thread.

use std::sync::Arc;
use std::thread;

use super::driver::{Driver, Work};
use super::lease::LeaseNumber;
use super::pending::{Pending, Refuse, pending};
use super::session::Held;
use super::state::Handed;
use super::{AcquireError, Inner, Registered, Session};
use crate::interpreter::OwnThread;
use crate::{Deadline, StartError};

/// Work that waits, or is about to run.
pub(super) struct Task {
    /// What its interpreter must have loaded; the first is the one in whose queue it waits.
    pub(super) packages: Vec<Arc<Registered>>,
    pub(super) deadline: Deadline,
    pub(super) refusal: Arc<dyn Refuse>,
    work: Box<dyn FnOnce(Session) + Send>,
}

/// Where work for an interpreter runs.
enum Place {
    Own(&'static dyn OwnThread),
    Driver(Driver),
}

impl Place {
    fn post(self, work: Work) {
        match self {
            Place::Own(thread) => thread.post(work),
            Place::Driver(driver) => driver.post(work),
        }
    }
}

impl Held {
    fn place(&mut self) -> Result<Place, StartError> {
        if let Some(thread) = self.thread {
            return Ok(Place::Own(thread));
        }
        let driver = match &self.driver {
            Some(driver) => driver,
            None => self.driver.insert(Driver::start()?),
        };
        Ok(Place::Driver(driver.clone()))
    }
}

impl Inner {
    pub(super) fn submit<T: Send + 'static>(
        self: &Arc<Inner>,
        packages: &[&str],
        deadline: Deadline,
        work: impl FnOnce(&mut Session) -> T + Send + 'static,
    ) -> Pending<T> {
        let (promise, pending) = pending();
        self.watch.start(self);
        let mut state = self.lock();
        let packages = match state.find(packages) {
            Ok(packages) => packages,
            Err(error) => {
                drop(state);
                drop(promise.complete(Err(error.into())));
                return pending;
            }
        };
        let (refusal, wanted) = (promise.refusal(), packages.clone());
        let work = move |mut session: Session| {
            let loaded = wanted.iter().try_for_each(|package| session.loaded(package, deadline));
            let reader = promise.complete(loaded.map(|()| work(&mut session)).map_err(Into::into));
            session.end(reader);
        };
        let work = Box::new(work);
        state.put_task(Task { packages, deadline, refusal, work });
        let is_sooner = deadline.end().filter(|end| state.look_by(*end));
        let handed = state.hand_out(self.options.interpreters);
        drop(state);
        if let Some(end) = is_sooner {
            self.watch.look_at(end);
        }
        self.dispatch(handed);
        pending
    }

    /// Has work begin that was given an interpreter, or leave to start one.
    pub(super) fn dispatch(self: &Arc<Inner>, handed: Vec<Handed>) {
        for one in handed {
            match one {
                Handed::Run(task, held, lease) => self.run(task, held, lease),
                Handed::Start(task) => self.start_for(task),
            }
        }
    }

    fn run(self: &Arc<Inner>, task: Task, mut held: Held, lease: LeaseNumber) {
        let place = held.place();
        let session = Session::leased(Arc::clone(self), held, lease, task.deadline);
        match place {
            Ok(place) => place.post(Box::new(move || (task.work)(session))),
            Err(error) => task.refusal.refuse(AcquireError::from(error).into()),
        }
    }

    /// Starts an interpreter for work, on a thread, for that takes a while.
    fn start_for(self: &Arc<Inner>, task: Task) {
        let (inner, refusal) = (Arc::clone(self), Arc::clone(&task.refusal));
        let start = move || match inner.start() {
            Ok(held) => {
                let lease = inner.lock().lease(&task, &held);
                inner.run(task, held, lease);
            }
            Err(error) => task.refusal.refuse(AcquireError::from(error).into()),
        };
        let named = thread::Builder::new().name("python-start".to_owned());
        if let Err(error) = named.spawn(start) {
            let mut state = self.lock();
            state.interpreters -= 1;
            let handed = state.hand_out(self.options.interpreters);
            drop(state);
            let error = StartError::system("a thread that starts an interpreter")(error);
            refusal.refuse(AcquireError::from(error).into());
            self.dispatch(handed);
        }
    }
}

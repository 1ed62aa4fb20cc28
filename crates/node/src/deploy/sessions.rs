//! The list of sessions: which there are, what may be done with them, and their files.

use std::sync::Arc;
use std::time::SystemTime;

use super::deployed::Deployed;
use super::folder::Folder;
use super::options::Python;
use super::session::{Session, SessionId, State};
use crate::{Code, Error};

/// The sessions of a folder.
pub(super) struct Sessions {
    pub(super) folder: Folder,
    pub(super) list: Vec<Session>,
    /// The session that is active.
    pub(super) active: Option<SessionId>,
    /// What the session that was prepared last is going to be, so that activating it is quick.
    pub(super) ready: Option<Arc<Deployed>>,
    /// What creates their components.
    pub(super) python: Arc<Python>,
}

impl Sessions {
    pub(super) fn find(&self, id: SessionId) -> Result<&Session, Error> {
        let found = self.list.iter().find(|session| session.id == id);
        let missing = || format!("Local session {id} for 'default' was not found");
        found.ok_or_else(|| Error::new(Code::NotFound, missing()))
    }

    pub(super) fn check_inactive(&self, id: SessionId) -> Result<(), Error> {
        self.find(id)?;
        match self.active == Some(id) {
            true => Err(Error::new(Code::InvalidArgument, format!("Session is active: {id}"))),
            false => Ok(()),
        }
    }

    pub(super) fn check_prepared(&self, id: SessionId) -> Result<(), Error> {
        match self.find(id)?.state {
            State::New => {
                Err(Error::new(Code::InvalidArgument, format!("Session not prepared: {id}")))
            }
            State::Prepared | State::Activated => Ok(()),
        }
    }

    /// Of two that deploy at the same time, the second must not undo what the first did.
    pub(super) fn check_current(&self, id: SessionId) -> Result<(), Error> {
        let session = self.find(id)?;
        let (then, now) = (session.active_then, self.active);
        if then == now || session.state == State::Activated {
            return Ok(());
        }
        let number =
            |id: Option<SessionId>| id.map_or_else(|| "none".to_owned(), |id| id.to_string());
        let (then, now) = (number(then), number(now));
        Err(Error::new(
            Code::Aborted,
            format!(
                "Cannot activate session {id} because the currently active session ({now}) has changed since session {id} was created (was {then} at creation time)"
            ),
        ))
    }

    pub(super) fn create(
        &mut self,
        fill: impl FnOnce(&Folder, SessionId) -> Result<(), Error>,
    ) -> Result<SessionId, Error> {
        let id = SessionId(self.list.iter().map(|s| s.id.0).max().unwrap_or(0) + 1);
        let session = Session::new(id, self.active);
        let made = fill(&self.folder, id).and_then(|()| self.folder.write(&session));
        if let Err(error) = made {
            self.folder.remove(id);
            return Err(error);
        }
        self.list.push(session);
        Ok(id)
    }

    /// What a session is going to be: kept from when it was prepared, or prepared now.
    pub(super) fn prepared(&mut self, id: SessionId) -> Result<Arc<Deployed>, Error> {
        if let Some(ready) = self.ready.as_ref().filter(|ready| ready.session == id) {
            return Ok(Arc::clone(ready));
        }
        let files = self.folder.files(id)?;
        let deployed = Arc::new(Deployed::prepare(&files, id, SystemTime::now(), &self.python)?);
        self.ready = Some(Arc::clone(&deployed));
        Ok(deployed)
    }

    pub(super) fn set(&mut self, id: SessionId, state: State) -> Result<(), Error> {
        let Some(session) = self.list.iter_mut().find(|session| session.id == id) else {
            return Ok(());
        };
        session.state = state;
        self.folder.write(session)
    }

    /// A session whose files change must be prepared again.
    pub(super) fn changed(&mut self, id: SessionId) -> Result<(), Error> {
        self.ready = self.ready.take().filter(|ready| ready.session != id);
        self.set(id, State::New)
    }

    pub(super) fn remove(&mut self, which: impl Fn(&Session) -> bool) {
        for session in self.list.extract_if(.., |session| which(session)) {
            self.folder.remove(session.id);
            // The next session may have its number.
            self.ready = self.ready.take().filter(|ready| ready.session != session.id);
        }
    }
}

//! Files of sessions.

use super::{Content, Deployments, SessionId};
use crate::Error;

impl Deployments {
    /// A file or folder of a session's package.
    ///
    /// # Errors
    /// [`Code::NotFound`], [`Code::InvalidArgument`] for paths that lead out of it.
    pub fn content(&self, id: SessionId, path: &str, recursive: bool) -> Result<Content, Error> {
        let sessions = self.sessions()?;
        sessions.find(id)?;
        sessions.folder.content(id, path, recursive)
    }

    /// Writes a file of a session that is not active, or makes a folder if there are no bytes.
    ///
    /// # Errors
    /// As [`Deployments::content`]; [`Code::InvalidArgument`] if the session is active.
    pub fn write_content(
        &self,
        id: SessionId,
        path: &str,
        bytes: Option<&[u8]>,
    ) -> Result<(), Error> {
        let mut sessions = self.sessions()?;
        sessions.check_inactive(id)?;
        sessions.changed(id)?;
        sessions.folder.write_content(id, path, bytes)
    }

    /// Removes a file of a session that is not active, or a folder that is empty.
    ///
    /// # Errors
    /// As [`Deployments::write_content`].
    pub fn delete_content(&self, id: SessionId, path: &str) -> Result<(), Error> {
        let mut sessions = self.sessions()?;
        sessions.check_inactive(id)?;
        sessions.changed(id)?;
        sessions.folder.delete_content(id, path)
    }
}

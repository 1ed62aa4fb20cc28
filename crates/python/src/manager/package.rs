//! Packages as something that one has.

use std::path::Path;
use std::sync::Arc;

use super::movable::{MovableObject, ObjectError, Recipe};
use super::object::{InterpreterSession, This};
use super::{AcquireError, Inner, InterpreterManager, PackageSource, Registered, Session};
use crate::Deadline;

/// A package of `stead_package`, or one that torch.package wrote, from which objects are taken. The last of its clones
/// and of its objects takes it out of all interpreters.
#[derive(Clone)]
pub struct Package {
    opened: Arc<Opened>,
}

struct Opened {
    manager: Arc<Inner>,
    /// Its name is made unique by a number where another package had it already.
    registered: Arc<Registered>,
}

impl InterpreterManager {
    /// Opens a package in one interpreter, to see that it can be opened; the others open it when they are first used
    /// for it. A package of this name that is there already stays beside it.
    ///
    /// # Errors
    /// [`AcquireError`].
    pub fn load_package(
        &self,
        name: &str,
        path: &Path,
        deadline: Deadline,
    ) -> Result<Package, AcquireError> {
        let mut state = self.inner.lock();
        let is_taken = |name: &String| state.packages.contains_key(name.as_str());
        let numbered = (2u64..).map(|number| format!("{name}#{number}"));
        let free = std::iter::once(name.to_owned()).chain(numbered).find(|name| !is_taken(name));
        let name = free.unwrap_or_default(); // Names never end.
        let registered = state.register(name.into(), PackageSource::File(path.to_owned()));
        drop(state);
        let manager = self.inner.clone();
        let package = Package { opened: Arc::new(Opened { manager, registered }) };
        package.session(deadline)?;
        Ok(package)
    }
}

impl Package {
    /// The name by which errors and the log call it.
    pub fn name(&self) -> &str {
        &self.opened.registered.name
    }

    /// An interpreter that has opened the package, for this caller alone. Everything that is done with it has to be
    /// done by the deadline.
    ///
    /// # Errors
    /// [`AcquireError`].
    pub fn acquire_session(&self, deadline: Deadline) -> Result<InterpreterSession, AcquireError> {
        let session = self.session(deadline)?;
        Ok(InterpreterSession::new(session, self.clone(), This::Importer, deadline))
    }

    /// The object of a pickle of the package, which every interpreter loads from there when it first uses it. One does
    /// so now, to see that it can be loaded.
    ///
    /// # Errors
    /// [`ObjectError`].
    pub fn load_pickle(
        &self,
        package: &str,
        resource: &str,
        deadline: Deadline,
    ) -> Result<MovableObject, ObjectError> {
        let (package, resource) = (package.to_owned(), resource.to_owned());
        let object = MovableObject::new(self.clone(), Recipe::Resource { package, resource });
        object.acquire(deadline)?;
        Ok(object)
    }

    pub(super) fn session(&self, deadline: Deadline) -> Result<Session, AcquireError> {
        let opened = &self.opened;
        opened.manager.acquire(&opened.registered, deadline)
    }

    pub(super) fn manager(&self) -> &Arc<Inner> {
        &self.opened.manager
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let mut state = self.manager.lock();
        let Registered { name, version, .. } = &*self.registered;
        if state.packages.get(name).is_some_and(|package| package.version == *version) {
            state.packages.remove(name);
        }
        self.manager.idle(state, |held| held.has(name, *version));
    }
}

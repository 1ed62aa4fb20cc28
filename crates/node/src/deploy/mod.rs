//! Deployments: application packages as sessions, which are created, prepared and activated, in the way of Vespa's config
//! server (documentation, `reference/deploy-rest-api-v2.html`). There is one application, `default`.
//!
//! Preparing does everything that can fail: the package is read, its models are loaded, its expressions compiled. Activating is
//! a switch: queries that run finish on what they began with, and a package that is broken changes nothing.

mod backup;
mod content;
mod deployed;
mod documents;
mod embedding;
mod expiry;
mod feeding;
mod folder;
mod metrics;
mod open;
mod options;
mod session;
mod sessions;
mod texts;
mod upload;

pub use backup::{Backup, copy_folder};
pub(crate) use deployed::Asked;
pub use deployed::{Deployed, LogLine};
pub use documents::{DocumentOptions, WhenBusy};
pub(crate) use embedding::timeout;
pub use expiry::ExpiryStats;
pub use metrics::{DocumentMetrics, KindMetrics};
pub use options::DeployOptions;
pub use session::{Content, SessionId};
pub use upload::Upload;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::SystemTime;

use arc_swap::ArcSwapOption;
use stead_app::ModelSettings;
use stead_app::application::{Application, Changes, Refeed};
use stead_app::package::PackageFiles;
use stead_pool::Pool;

use crate::components::{ComponentMeters, Handler};
use crate::evaluation::Compute;
use crate::meters::Meters;
use crate::{Code, Embedded, Error};
use documents::Documents;
use expiry::Expiry;
pub(crate) use options::Python;
use session::{State, day, millis};
use sessions::Sessions;

/// The largest file of a package that is copied: large models are some gigabytes.
const MAX_FILE: u64 = 16 << 30;

/// The applications of a node: at most one is active, and any number of sessions wait beside it.
pub struct Deployments {
    /// Where sessions are kept; none for a package that is served as it is.
    sessions: Option<Mutex<Sessions>>,
    active: ArcSwapOption<Deployed>,
    /// Ends before what it works on.
    expiry: Expiry,
    /// Where they are fed to.
    documents: Arc<Documents>,
    meters: Arc<Meters>,
    python: Arc<Python>,
    /// What serves the models of the active application.
    node: OnceLock<Weak<Embedded>>,
}

/// A session that was prepared.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The session.
    pub session: SessionId,
    /// What there is to tell of the package.
    pub log: Vec<LogLine>,
    /// Documents that must be fed again.
    pub refeed: Vec<Refeed>,
}

impl Deployments {
    /// The application that is served.
    #[must_use]
    pub fn active(&self) -> Option<Arc<Deployed>> {
        self.active.load_full()
    }

    /// The handler of the active application for a request by a host, in small letters, its port and the path as it was sent.
    #[must_use]
    pub fn handler(&self, host: &str, port: u16, path: &str) -> Option<Handler> {
        self.active.load().as_ref()?.components.as_ref()?.handler(host, port, path)
    }

    /// From now on a node serves the models of the active application.
    ///
    /// # Errors
    /// When one of them has the name of another model of the node.
    pub(crate) fn serve_on(&self, node: &Arc<Embedded>) -> Result<(), Error> {
        // A second node of the same deployments has none of them.
        let _ = self.node.set(Arc::downgrade(node));
        self.active().map_or(Ok(()), |active| self.check_names(&active))?;
        self.publish();
        Ok(())
    }

    /// Has the node serve the models of the application that is active now.
    fn publish(&self) {
        let Some(node) = self.node.get().and_then(Weak::upgrade) else { return };
        let active = self.active();
        node.provide(active.map(|deployed| deployed.provided()).unwrap_or_default());
    }

    /// No model of an application has the name of one of the repository.
    fn check_names(&self, deployed: &Deployed) -> Result<(), Error> {
        let Some(node) = self.node.get().and_then(Weak::upgrade) else { return Ok(()) };
        let models = deployed.provided();
        let keeps = |settings: &ModelSettings| settings.sequences.needs_state_path().is_some();
        if let Some(model) = models.iter().find(|model| keeps(&model.settings))
            && !node.keeps_states()
        {
            let text = format!(
                "Invalid application:\ncomponent {} keeps its sequences over a restart (durability), for which the server needs --state_path",
                model.name
            );
            return Err(Error::new(Code::InvalidPackage, text));
        }
        let mut taken = models.iter().filter(|model| node.has_other_model(&model.name));
        taken.next().map_or(Ok(()), |model| {
            let name = &model.name;
            let what = match deployed.evaluated().names().any(|known| known == name) {
                true => format!("models/ has the model {name}"),
                false => format!("component {name} is a model"),
            };
            let text = format!(
                "Invalid application:\n{what}, and the server has another one of this name"
            );
            Err(Error::new(Code::InvalidPackage, text))
        })
    }

    /// What evaluates models.
    pub(crate) fn compute(&self) -> &Arc<Compute> {
        &self.python.compute
    }

    /// What measures components and the models that are evaluated.
    pub(crate) fn component_meters(&self) -> &ComponentMeters {
        &self.python.meters
    }

    /// From now on the threads of a node help to evaluate models that components ask for.
    pub(crate) fn help(&self, pool: &Arc<Pool>) {
        self.python.compute.help(pool);
    }

    /// What was measured of components in Python.
    pub(crate) fn component_metrics(&self) -> Vec<crate::ComponentMetrics> {
        self.python.meters.metrics()
    }

    /// What was measured of embedders.
    pub(crate) fn embedder_metrics(&self) -> Vec<crate::EmbedderMetrics> {
        self.python.embedder_meters.metrics()
    }

    /// Whether applications can be deployed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.sessions.is_some()
    }

    /// The documents, if they are below a folder.
    fn documents(&self) -> Result<&Documents, Error> {
        self.is_open().then_some(&*self.documents).ok_or_else(no_folder)
    }

    fn sessions(&self) -> Result<MutexGuard<'_, Sessions>, Error> {
        let sessions = self.sessions.as_ref().ok_or_else(|| {
            Error::new(Code::FailedPrecondition, "this server has no folder for deployments")
        })?;
        Ok(sessions.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A place for the bytes of a package.
    ///
    /// # Errors
    /// When there is no folder, or it takes no file.
    pub fn upload(&self) -> Result<Upload, Error> {
        self.sessions()?.folder.upload()
    }

    /// A session of an uploaded package.
    ///
    /// # Errors
    /// [`Code::InvalidPackage`] when it is no archive, damaged, or too large.
    pub fn create(&self, upload: Upload) -> Result<SessionId, Error> {
        self.sessions()?.create(|folder, id| folder.unpack(upload, id))
    }

    /// A session of a package that was opened.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub fn create_from(&self, files: &PackageFiles) -> Result<SessionId, Error> {
        self.sessions()?.create(|folder, id| {
            for path in files.paths() {
                let bytes = files.read(path, MAX_FILE).map_err(|error| {
                    Error::new(Code::InvalidPackage, format!("{path}: {error}"))
                })?;
                folder.write_content(id, path, Some(&bytes))?;
            }
            Ok(())
        })
    }

    /// A session of the files of the active application.
    ///
    /// # Errors
    /// [`Code::NotFound`] when none is active.
    pub fn create_from_active(&self) -> Result<SessionId, Error> {
        let mut sessions = self.sessions()?;
        let from = sessions.active.ok_or_else(no_active)?;
        sessions.create(|folder, id| folder.copy(from, id))
    }

    /// Reads, checks and loads the package of a session.
    ///
    /// # Errors
    /// [`Code::NotFound`], [`Code::InvalidPackage`] with all that is wrong, also if documents would be lost and no validation
    /// override allows it.
    pub fn prepare(&self, id: SessionId) -> Result<Prepared, Error> {
        let mut sessions = self.sessions()?;
        sessions.check_inactive(id)?;
        let deployed = sessions.prepared(id)?;
        self.check_names(&deployed)?;
        let mut log = deployed.log.clone();
        let mut refeed = Vec::new();
        if let Some(active) = self.active() {
            let now = millis(SystemTime::now());
            let changes = Changes::between(&active.application, &deployed.application, &day(now));
            if let Some(refusal) = changes.refusal() {
                return Err(Error::new(Code::InvalidPackage, refusal));
            }
            let line = |message| LogLine { time: now, level: "INFO", message };
            log.extend(changes.live.into_iter().map(line));
            refeed = changes.refeed;
        }
        sessions.set(id, State::Prepared)?;
        Ok(Prepared { session: id, log, refeed })
    }

    /// Whether a session is prepared.
    ///
    /// # Errors
    /// [`Code::NotFound`]; [`Code::InvalidArgument`] if it is active or not prepared.
    pub fn check_prepared(&self, id: SessionId) -> Result<(), Error> {
        let sessions = self.sessions()?;
        sessions.check_inactive(id)?;
        sessions.check_prepared(id)
    }

    /// Serves the application of a session that was prepared, from the next request on. Sessions before it go.
    ///
    /// # Errors
    /// [`Code::NotFound`]; [`Code::InvalidArgument`] if it is not prepared; [`Code::Aborted`] if another one became active
    /// since it was created.
    pub fn activate(&self, id: SessionId) -> Result<Arc<Deployed>, Error> {
        let mut sessions = self.sessions()?;
        sessions.check_inactive(id)?;
        sessions.check_prepared(id)?;
        sessions.check_current(id)?;
        let deployed = sessions.prepared(id)?;
        self.expiry.hold();
        let switched = self.switch(&sessions, &deployed);
        let active = self.active();
        self.expiry.plan(&self.documents, active.as_ref().map(|active| &active.application));
        switched?;
        self.publish();
        let before = sessions.active.replace(id);
        sessions.ready = None;
        sessions.set(id, State::Activated)?;
        // The one before stays: it is what one goes back to.
        sessions.remove(|session| session.id < id && Some(session.id) != before);
        self.python.pools.sweep();
        Ok(deployed)
    }

    /// Opens the documents for an application and makes it the active one, or leaves the one that is.
    fn switch(&self, sessions: &Sessions, to: &Arc<Deployed>) -> Result<(), Error> {
        let active = self.active();
        let change = |from: Option<&Application>, to: &Deployed| -> Result<(), Error> {
            to.read_from(self.documents.change(from, &to.application, &to.embedders)?);
            Ok(())
        };
        change(active.as_deref().map(|active| &active.application), to)?;
        if let Err(error) = sessions.folder.set_active(Some(to.session)) {
            // What stays active goes on with its own types.
            active.map_or(Ok(()), |before| change(Some(&to.application), &before))?;
            return Err(error);
        }
        // From here on a restart finds the new application.
        self.active.store(Some(Arc::clone(to)));
        Ok(())
    }

    /// Ends the active application; its documents stay.
    ///
    /// # Errors
    /// [`Code::NotFound`] when none is active.
    pub fn delete(&self) -> Result<(), Error> {
        let mut sessions = self.sessions()?;
        let id = sessions.active.ok_or_else(no_active)?;
        sessions.folder.set_active(None)?;
        self.active.store(None);
        self.publish();
        self.expiry.plan(&self.documents, None);
        sessions.active = None;
        sessions.remove(|session| session.id == id);
        Ok(())
    }

    /// Forgets a session that is not active.
    pub fn discard(&self, id: SessionId) {
        if let Ok(mut sessions) = self.sessions() {
            let active = sessions.active;
            sessions.remove(|session| session.id == id && active != Some(id));
        }
    }
}

impl fmt::Debug for Deployments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let active = self.active().map(|deployed| deployed.session);
        f.debug_struct("Deployments").field("active", &active).finish_non_exhaustive()
    }
}

fn no_folder() -> Error {
    Error::new(Code::FailedPrecondition, "this server has no folder for documents")
}

fn no_active() -> Error {
    Error::new(Code::NotFound, "Unknown application id 'default:default:default'")
}

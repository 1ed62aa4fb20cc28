//! How deployments begin: with a folder that may have an application, or with one package that stays what it is.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use arc_swap::ArcSwapOption;
use stead_app::application::Application;
use stead_app::package::{PackageFiles, Report};
use stead_app::services::ServicesOptions;

use super::documents::Documents;
use super::expiry::Expiry;
use super::folder::Folder;
use super::sessions::Sessions;
use super::{DeployOptions, Deployed, Deployments, DocumentOptions, Python, SessionId};
use crate::components::Store;
use crate::{Code, Error};

impl Deployments {
    /// The deployments of a folder, which is made if there is none. The application that was active is prepared and activated
    /// again; if that fails, the log tells why and nothing is active.
    ///
    /// # Errors
    /// When another process holds the folder, or it cannot be read.
    pub fn open(folder: &Path) -> Result<Arc<Deployments>, Error> {
        Deployments::open_with(folder, DocumentOptions::default())
    }

    /// [`Deployments::open`] in another way.
    ///
    /// # Errors
    /// As there.
    pub fn open_with(
        folder: &Path,
        options: impl Into<DeployOptions>,
    ) -> Result<Arc<Deployments>, Error> {
        let options = options.into();
        let store = Store::own(&folder.join("python"), &folder.join("applications"));
        let python = options.python(store);
        let documents = Documents::new(&folder.join("documents"), options.documents);
        let folder = Folder::open(&folder.join("applications"))?;
        let (list, active) = (folder.sessions()?, folder.active()?);
        let mut sessions =
            Sessions { list, active, folder, ready: None, python: Arc::clone(&python) };
        let active = sessions.active.and_then(|id| {
            let found = sessions.prepared(id).and_then(|deployed| {
                deployed.read_from(documents.change(
                    None,
                    &deployed.application,
                    &deployed.embedders,
                )?);
                Ok(deployed)
            });
            found.inspect_err(|e| tracing::error!(session = id.0, "not activated: {e}")).ok()
        });
        sessions.ready = None;
        python.pools.sweep();
        Ok(Deployments::begin(Some(Mutex::new(sessions)), active, documents, python))
    }

    /// One package, which stays what it is. Its documents are in memory.
    ///
    /// # Errors
    /// Those of the package.
    pub fn of_package(
        files: &PackageFiles,
        options: impl Into<DeployOptions>,
    ) -> Result<Arc<Deployments>, Error> {
        let read = Application::read(files, ServicesOptions::default());
        Deployments::of_read(read, files, options.into())
    }

    /// The components in Python that the `stead.toml` of a server declares, of packages in the folder `python` beside it.
    ///
    /// # Errors
    /// All that is wrong with them, one on each line.
    pub fn of_server(
        text: &str,
        folder: &Path,
        options: impl Into<DeployOptions>,
    ) -> Result<Arc<Deployments>, Error> {
        let files = PackageFiles::of_folder(folder, "python")
            .map_err(|error| Error::new(Code::InvalidPackage, error.to_string()))?;
        Deployments::of_read(Application::of_server(text, &files), &files, options.into())
    }

    fn of_read(
        read: (Application, Report),
        files: &PackageFiles,
        options: DeployOptions,
    ) -> Result<Arc<Deployments>, Error> {
        let python = options.python(Store::default());
        let (session, now) = (SessionId(1), SystemTime::now());
        let deployed = Deployed::prepare_read(read, files, session, now, &python)?;
        let documents = Documents::in_memory(options.documents);
        deployed.read_from(documents.change(None, &deployed.application, &deployed.embedders)?);
        Ok(Deployments::begin(None, Some(Arc::new(deployed)), documents, python))
    }

    fn begin(
        sessions: Option<Mutex<Sessions>>,
        active: Option<Arc<Deployed>>,
        documents: Documents,
        python: Arc<Python>,
    ) -> Arc<Deployments> {
        let (expiry, documents) = (Expiry::default(), Arc::new(documents));
        expiry.plan(&documents, active.as_ref().map(|deployed| &deployed.application));
        let active = ArcSwapOption::new(active);
        Arc::new(Deployments {
            sessions,
            active,
            expiry,
            documents,
            meters: Arc::default(),
            python,
            node: OnceLock::new(),
        })
    }
}

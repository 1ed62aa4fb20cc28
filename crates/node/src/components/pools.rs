//! The interpreters of the process: one manager for each environment, that is a Python and the distributions that are bundled
//! for it. Those of a Python alone are there for as long as the process lives, since interpreters inside a process are never
//! given back; the others as long as a package wants them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use stead_app::components::Isolation;
use stead_python::{
    Installation, InterpreterManager, ManagerOptions, SelfTest, choose, find_default,
};

use super::gate::Gate;
use super::store::{Store, Stored};

/// Which Python runs components, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PythonSettings {
    /// A Python, the folder of a virtual environment or a name on `PATH`, for packages that name no environment; the best that is
    /// found without it.
    pub python: Option<PathBuf>,
    /// The folder with the virtual environments that packages name.
    pub environments: Option<PathBuf>,
    /// The most interpreters of each environment; one for each core without it.
    pub interpreters: Option<usize>,
    /// What tells whether interpreters can run inside this process; they do if the build of Python allows it, without it.
    pub self_test: Option<SelfTest>,
    /// Whether a crash of code inside this process is to end its interpreter only ([`crate::Embedded::degraded`]).
    pub contain_crashes: bool,
    /// Whether answers tell what exceptions say and where they were raised.
    pub development: bool,
}

/// The managers, and what their interpreters open.
#[derive(Default)]
pub(crate) struct Pools {
    settings: PythonSettings,
    store: Store,
    pools: Mutex<HashMap<Environment, Lasting>>,
}

/// What interpreters of one manager have in common.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Environment {
    program: PathBuf,
    is_apart: bool,
    /// The folders of bundled distributions.
    folders: Vec<PathBuf>,
}

/// Interpreters of one environment.
pub(super) struct Pool {
    pub(super) manager: InterpreterManager,
    /// What calls pass that need several of them at once.
    pub(super) gate: Gate,
    /// Interpreters import from them as long as they are there.
    _bundles: Vec<Arc<Stored>>,
}

enum Lasting {
    Always(Arc<Pool>),
    WhileUsed(Weak<Pool>),
}

impl Lasting {
    fn get(&self) -> Option<Arc<Pool>> {
        match self {
            Lasting::Always(pool) => Some(Arc::clone(pool)),
            Lasting::WhileUsed(pool) => pool.upgrade(),
        }
    }
}

impl Pools {
    pub(crate) fn new(settings: PythonSettings, store: Store) -> Pools {
        Pools { settings, store, pools: Mutex::default() }
    }

    /// What interpreters open.
    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// Lets go of what no application has any more.
    pub(crate) fn sweep(&self) {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.retain(|_, pool| pool.get().is_some());
        drop(pools);
        self.store.sweep();
    }

    pub(crate) fn settings(&self) -> &PythonSettings {
        &self.settings
    }

    /// The Python of a virtual environment, or the one for packages that name none.
    ///
    /// # Errors
    /// That there is no such Python, and what to do.
    pub(super) fn installation(&self, environment: Option<&str>) -> Result<Installation, String> {
        match environment {
            None => find_default(self.settings.python.as_deref()).map_err(|error| {
                format!(
                    "{error}; install Python 3.9 or later (Debian: python3 and libpython3-dev) or name one with --python; stead python doctor tells what there is"
                )
            }),
            Some(name) => self.environment(name),
        }
    }

    /// The interpreters of a Python that find the modules of bundled distributions first.
    pub(super) fn pool(
        &self,
        python: Installation,
        isolation: Isolation,
        bundles: Vec<Arc<Stored>>,
    ) -> Arc<Pool> {
        let is_apart = isolation == Isolation::Process;
        let folders: Vec<PathBuf> = bundles.iter().map(|bundle| bundle.path().to_owned()).collect();
        let program = python.executable.clone();
        let key = Environment { program, is_apart, folders: folders.clone() };
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pools.get(&key).and_then(Lasting::get) {
            return pool;
        }
        if self.settings.contain_crashes
            && let Err(error) = stead_python::contain_crashes()
        {
            tracing::error!("crashes of Python code cannot be contained: {error}");
        }
        let choice = choose(&python, self.settings.self_test.as_ref());
        if let Some(reason) = &choice.reason {
            tracing::info!("Python {} runs in worker processes: {reason}", python.version);
        }
        let mut options = ManagerOptions::default();
        options.interpreters = self.settings.interpreters.unwrap_or(options.interpreters);
        if is_apart {
            options.isolation = stead_python::Isolation::Process;
        }
        let is_plain = folders.is_empty();
        options.start.folders = folders;
        let manager = InterpreterManager::new(python, choice, options);
        let pool = Arc::new(Pool { manager, gate: Gate::default(), _bundles: bundles });
        let lasting = match is_plain {
            true => Lasting::Always(Arc::clone(&pool)),
            false => Lasting::WhileUsed(Arc::downgrade(&pool)),
        };
        pools.insert(key, lasting);
        pool
    }

    fn environment(&self, name: &str) -> Result<Installation, String> {
        let Some(folder) = &self.settings.environments else {
            return Err(format!(
                "it wants the virtual environment {name}, and the server was started without --python_environments FOLDER"
            ));
        };
        // A package must not choose what else of the machine is run.
        let is_plain = Path::new(name).components().count() == 1
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
            && !name.starts_with('.');
        if !is_plain {
            return Err(format!("{name:?} is no name of a virtual environment"));
        }
        Installation::of(&folder.join(name)).map_err(|_| {
            format!(
                "it wants the virtual environment {name}, which is not in the folder of --python_environments; make it there with python3 -m venv {name} and install what the package needs"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_that_are_not_there_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let with = |environments: Option<PathBuf>| {
            let python = Some("/nowhere/python".into());
            let settings = PythonSettings { python, environments, ..PythonSettings::default() };
            Pools::new(settings, Store::default())
        };
        let some = with(Some(folder.path().to_owned()));
        for (pools, name, expected) in [
            (&with(None), Some("torch"), "the server was started without --python_environments"),
            (&some, Some("torch"), "which is not in the folder of --python_environments"),
            (&some, Some("../torch"), "\"../torch\" is no name of a virtual environment"),
            (&some, Some("a/b"), "\"a/b\" is no name"),
            (&some, Some(".hidden"), "\".hidden\" is no name"),
            (&some, Some(""), "\"\" is no name"),
            (&some, None, "/nowhere/python is neither a program"),
            (&some, None, "install Python 3.9 or later"),
        ] {
            let error = pools.installation(name).err().unwrap();
            assert!(error.contains(expected), "{name:?}: {error}");
        }
    }
}

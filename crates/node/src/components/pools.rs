//! The interpreters of the process: one manager for each environment, for as long as the process lives, since interpreters
//! inside a process are never given back.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use stead_app::components::Isolation;
use stead_python::{
    Installation, InterpreterManager, ManagerOptions, SelfTest, choose, find_default,
};

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
    /// Whether answers tell what exceptions say and where they were raised.
    pub development: bool,
}

/// The managers.
#[derive(Default)]
pub(crate) struct Pools {
    settings: PythonSettings,
    /// By the program and where its interpreters run.
    managers: Mutex<HashMap<(PathBuf, bool), InterpreterManager>>,
}

impl Pools {
    pub(crate) fn new(settings: PythonSettings) -> Pools {
        Pools { settings, managers: Mutex::default() }
    }

    pub(crate) fn settings(&self) -> &PythonSettings {
        &self.settings
    }

    /// The interpreters of an environment.
    ///
    /// # Errors
    /// That there is no such Python, and what to do.
    pub(super) fn manager(
        &self,
        environment: Option<&str>,
        isolation: Isolation,
    ) -> Result<InterpreterManager, String> {
        let python = match environment {
            None => find_default(self.settings.python.as_deref()).map_err(|error| {
                format!(
                    "{error}; install Python 3.9 or later (Debian: python3 and libpython3-dev) or name one with --python; stead python doctor tells what there is"
                )
            })?,
            Some(name) => self.environment(name)?,
        };
        let is_apart = isolation == Isolation::Process;
        let key = (python.executable.clone(), is_apart);
        let mut managers = self.managers.lock().unwrap_or_else(PoisonError::into_inner);
        let manager = managers.entry(key).or_insert_with(|| {
            let choice = choose(&python, self.settings.self_test.as_ref());
            if let Some(reason) = &choice.reason {
                tracing::info!("Python {} runs in worker processes: {reason}", python.version);
            }
            let mut options = ManagerOptions::default();
            options.interpreters = self.settings.interpreters.unwrap_or(options.interpreters);
            if is_apart {
                options.isolation = stead_python::Isolation::Process;
            }
            InterpreterManager::new(python, choice, options)
        });
        Ok(manager.clone())
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
            Pools::new(PythonSettings {
                python: Some("/nowhere/python".into()),
                environments,
                ..PythonSettings::default()
            })
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
            let error = pools.manager(name, Isolation::InProcess).err().unwrap();
            assert!(error.contains(expected), "{name:?}: {error}");
        }
    }
}

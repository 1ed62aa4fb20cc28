//! The models of a package, each loaded once.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::fmt::{self, Write};
use std::sync::Arc;

use stead_app::application::Application;
use stead_app::application::rank::ProfileModel;
use stead_app::package::{Located, PackageFiles, Report};
use stead_engine::Backends;
use xxhash_rust::xxh3::Xxh3;

use super::error::ModelError;
use super::function::ModelFunction;
use super::kept::KeptValues;
use crate::query::{MOST_BYTES, SignificanceModels};

/// The models of a package, each loaded once whichever of its profiles name it.
pub struct Loaded<'f> {
    files: &'f PackageFiles,
    /// By a hash of all that is known of the model.
    functions: RefCell<HashMap<u128, ModelFunction>>,
    kept: Arc<KeptValues>,
    /// Those of significance, or what is wrong with them.
    significance: OnceCell<Result<Arc<SignificanceModels>, String>>,
    /// What computes the models that name a runtime of their own.
    backends: Backends,
}

impl<'f> Loaded<'f> {
    /// None so far.
    #[must_use]
    pub fn new(files: &'f PackageFiles) -> Loaded<'f> {
        let (functions, kept, significance, backends) = Default::default();
        Loaded { files, functions, kept, significance, backends }
    }

    /// The same, where models may name these runtimes.
    #[must_use]
    pub fn with_backends(self, backends: &Backends) -> Loaded<'f> {
        Loaded { backends: backends.clone(), ..self }
    }

    /// The package.
    #[must_use]
    pub fn files(&self) -> &'f PackageFiles {
        self.files
    }

    /// What its models keep of documents.
    #[must_use]
    pub fn kept(&self) -> &Arc<KeptValues> {
        &self.kept
    }

    /// The models of significance of the package, which is the same for all profiles.
    ///
    /// # Errors
    /// When the package has not one of the files, or one that cannot be read.
    pub fn significance(
        &self,
        files: &[Located<String>],
    ) -> Result<Arc<SignificanceModels>, String> {
        let read = || {
            let mut models = SignificanceModels::default();
            for Located { value: path, .. } in files {
                let bytes = self.files.read(path, MOST_BYTES).map_err(|error| error.to_string())?;
                let found = models.read(&bytes, path.ends_with(".zst"));
                found.map_err(|error| format!("{path}: {error}"))?;
            }
            Ok(Arc::new(models))
        };
        self.significance.get_or_init(read).clone()
    }

    /// Reads the models of significance, and tells what is wrong with them: to who deploys them, not to each search.
    pub fn check_significance(&self, application: &Application, report: &mut Report) {
        let files = application.services.significance();
        if let (Err(text), Some(first)) = (self.significance(files), files.first()) {
            report.error(&first.place, format!("model of significance: {text}"));
        }
    }

    /// A model of a profile.
    ///
    /// # Errors
    /// As for [`ModelFunction::load`].
    pub fn function(&self, model: &ProfileModel) -> Result<ModelFunction, ModelError> {
        let key = description(model);
        if let Some(known) = self.functions.borrow().get(&key) {
            return Ok(known.clone());
        }
        let loaded = ModelFunction::load_with(model, self.files, &self.kept, &self.backends)?;
        self.functions.borrow_mut().insert(key, loaded.clone());
        Ok(loaded)
    }
}

/// A hash of what a model is, what it takes and what it gives: profiles that inherit it from each other say the same.
fn description(model: &ProfileModel) -> u128 {
    struct Hash(Xxh3);
    impl Write for Hash {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text.as_bytes());
            Ok(())
        }
    }
    let mut hash = Hash(Xxh3::new());
    // It takes every text.
    let _ = write!(hash, "{model:?}");
    hash.0.digest128()
}

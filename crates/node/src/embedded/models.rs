//! What is known of models, and which of them are served.

use super::Embedded;
use crate::repository::{Scope, Update};
use crate::{
    Error, ErrorKind, IndexEntry, IndexState, InferRequest, ModelConfig, ModelMetadata,
    ModelStatistics, Parameters, ReloadOutcome, VersionRef, VersionStatus,
};

impl Embedded {
    /// What a model takes and gives.
    ///
    /// # Errors
    /// The errors of lookup.
    pub fn model_metadata(
        &self,
        model: &str,
        version: &VersionRef,
    ) -> Result<ModelMetadata, Error> {
        let instance = self.repository.find(model, version)?;
        Ok(instance.metadata(self.repository.versions(model)))
    }

    /// What those take and give who may answer a request: the version asked for, and behind it those that only finish
    /// their sequences, as far as they differ. There is at least one.
    ///
    /// # Errors
    /// The errors of lookup, when nobody is left.
    pub fn metadata_of_holders(
        &self,
        model: &str,
        version: &VersionRef,
    ) -> Result<Vec<ModelMetadata>, Error> {
        let mut all: Vec<ModelMetadata> = Vec::new();
        for holder in self.repository.find_holders(model, version)? {
            let metadata = holder.metadata(Vec::new());
            if !all.iter().any(|other| other.has_signature_of(&metadata)) {
                all.push(metadata);
            }
        }
        Ok(all)
    }

    /// What the one takes and gives who is going to answer a request: for a step, where its sequence lives.
    ///
    /// # Errors
    /// The errors of lookup.
    pub fn metadata_for(&self, request: &InferRequest) -> Result<ModelMetadata, Error> {
        Ok(self.repository.find_for(request)?.metadata(Vec::new()))
    }

    /// Whether axis 0 of the tensors of a version is a batch, also while it only finishes its sequences.
    pub fn is_batched(&self, model: &str, version: u64) -> bool {
        let holders = self.repository.find_holders(model, &VersionRef::Number(version));
        holders.is_ok_and(|all| all.iter().any(|i| i.config().max_batch_size > 0))
    }

    /// The configuration of a model.
    ///
    /// # Errors
    /// The errors of lookup.
    pub fn model_config(&self, model: &str, version: &VersionRef) -> Result<ModelConfig, Error> {
        Ok(self.repository.find(model, version)?.config())
    }

    /// Statistics of one model (all its versions, or the one asked for) or, without a name, of all.
    ///
    /// # Errors
    /// [`ErrorKind::NotAvailable`] for an unknown model or version.
    pub fn statistics(
        &self,
        model: Option<&str>,
        version: &VersionRef,
    ) -> Result<Vec<ModelStatistics>, Error> {
        self.repository.statistics(model, version)
    }

    /// The states of a model's versions: all, or the one asked for.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownModel`], [`ErrorKind::UnknownVersion`].
    pub fn model_status(
        &self,
        model: &str,
        version: &VersionRef,
    ) -> Result<Vec<VersionStatus>, Error> {
        self.repository.status(model, version)
    }

    /// The states of all versions of all models, by name.
    pub fn all_status(&self) -> Vec<(String, Vec<VersionStatus>)> {
        self.repository.all_status()
    }

    /// Whether a model version can answer. An unknown one cannot.
    pub fn model_ready(&self, model: &str, version: &VersionRef) -> bool {
        self.repository.find(model, version).is_ok()
    }

    /// Whether requests for a model are steps of sequences, also of one that only finishes them. Those for an unknown
    /// one are not.
    pub fn is_stateful(&self, model: &str, version: &VersionRef) -> bool {
        match self.repository.find(model, version) {
            Ok(instance) => instance.is_stateful(),
            Err(_) => self.repository.find_holders(model, version).is_ok(),
        }
    }

    /// The models of the repository and their states; with `ready_only`, those that are served.
    pub fn repository_index(&self, ready_only: bool) -> Vec<IndexEntry> {
        let mut index = self.repository.index();
        index.retain(|e| !ready_only || e.state == Some(IndexState::Ready));
        index
    }

    /// Loads a model of the repository that is not loaded, or has changed (Triton's model control). Blocks
    /// while it loads: call it on a thread that may block.
    ///
    /// # Errors
    /// [`ErrorKind::LoadFailed`]; [`ErrorKind::ModelControl`] for parameters that are not allowed: files and
    /// configurations come from the repository alone.
    pub fn load_model(&self, model: &str, parameters: &Parameters) -> Result<(), Error> {
        if let Some(name) = parameters
            .iter()
            .map(|(name, _)| name)
            .find(|k| *k == "config" || k.starts_with("file:"))
        {
            let shown: String = name.chars().take(64).collect();
            let text = format!(
                "failed to load '{model}', override '{shown}' is not allowed by this server"
            );
            return Err(ErrorKind::ModelControl { text }.into());
        }
        let failed =
            |text: String| Error::from(ErrorKind::LoadFailed { model: model.to_owned(), text });
        if !self.repository.is_listed(model)? {
            return Err(failed("failed to poll from model repository".to_owned()));
        }
        let update = self.repository.update(Scope::Model(model))?;
        // Pipelines may have failed beside it.
        match update.failures.into_iter().find(|(name, ..)| name == model) {
            Some((_, 0, text)) => Err(failed(text)),
            Some((_, version, text)) => Err(failed(format!("version {version}: {text}"))),
            None => Ok(()),
        }
    }

    /// Stops serving a model until it is loaded by request; requests that run finish. Unknown names are no
    /// error, as in Triton.
    ///
    /// # Errors
    /// None today.
    pub fn unload_model(&self, model: &str) -> Result<(), Error> {
        self.repository.unload(model);
        Ok(())
    }

    /// Reads the configuration and the repository again. Blocks while models load: call it on a thread
    /// that may block.
    ///
    /// # Errors
    /// [`ErrorKind::ConfigMissing`] and [`ErrorKind::ConfigInvalid`]; nothing is changed then. Models that
    /// cannot be loaded are no error of this call: see [`ReloadOutcome::failures`].
    pub fn reload_config(&self) -> Result<ReloadOutcome, Error> {
        let Update { changed, failures } = self.repository.update(Scope::All)?;
        Ok(ReloadOutcome { changed, failures, models: self.all_status() })
    }
}

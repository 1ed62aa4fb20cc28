//! Models that do not come from the source: those in Python of the application that is deployed. Each has one version.

use super::Repository;
use super::record::{ModelRecord, State, VersionRecord};
use super::update::{Lock, Scope, Update};
use crate::evaluate::Evaluate;
use crate::instance::{Blueprint, Instance};
use crate::recorder::Recorder;
use crate::servable::Servable;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use stead_app::{ModelSettings, NameMapping};

/// The version of such a model.
const VERSION: u64 = 1;

/// A model that is there already.
#[derive(Clone)]
pub(crate) struct Provided {
    pub(crate) name: String,
    pub(crate) evaluate: Arc<dyn Evaluate>,
    pub(crate) settings: ModelSettings,
}

impl Repository {
    /// From now on serves these beside the models of the source, and those that were provided before no longer; requests that run
    /// finish. Whose name is that of another model is not served, which the log tells.
    pub(crate) fn provide(&self, mut models: Vec<Provided>) {
        let mut lock = self.reload.lock().unwrap_or_else(PoisonError::into_inner);
        models.retain(|model| {
            let is_free = !self.has_other(&model.name);
            if !is_free {
                let name = &model.name;
                tracing::error!(model = name, "not served: another model has this name");
            }
            is_free
        });
        let mut update = Update::default();
        for gone in std::mem::replace(&mut lock.provided, models) {
            if !lock.provided.iter().any(|model| model.name == gone.name) {
                tracing::info!(model = gone.name, "model is retired");
                self.change(&lock, &gone.name, |record| {
                    (record.removed, record.provided) = (true, false);
                    record.retire(VERSION);
                });
            }
        }
        self.update_provided(&lock, Scope::Changes, &mut update);
        self.update_pipelines(&lock, Scope::Changes, &mut update);
    }

    /// Whether a model of the source, or a pipeline, has a name.
    pub(crate) fn has_other(&self, name: &str) -> bool {
        self.models.load().get(name).is_some_and(|record| !record.removed && !record.provided)
    }

    pub(super) fn is_provided(&self, name: &str) -> bool {
        self.models.load().get(name).is_some_and(|record| record.provided)
    }

    /// Serves what is provided and not served yet.
    pub(super) fn update_provided(&self, lock: &Lock<'_>, scope: Scope<'_>, update: &mut Update) {
        for model in &lock.provided {
            let asked = matches!(scope, Scope::Model(name) if name == model.name);
            let known = self.models.load().get(&model.name).cloned();
            if known.as_ref().is_some_and(|k| k.unloaded && k.provided) && !asked {
                continue;
            }
            let served = known.as_ref().and_then(|k| k.versions.get(&VERSION)?.instance().cloned());
            if served.as_ref().is_some_and(|served| is_of(served, model)) {
                continue;
            }
            let mut record = known
                .map_or_else(|| ModelRecord::new(&model.name), |known| ModelRecord::clone(&known));
            if let Err(text) = self.install_provided(model, &mut record) {
                tracing::error!(model = model.name, "model cannot be served: {text}");
                update.failures.push((model.name.clone(), VERSION, text));
                continue;
            }
            tracing::info!(model = model.name, "model is available");
            update.changed = true;
            self.put(lock, record);
        }
    }

    fn install_provided(&self, model: &Provided, record: &mut ModelRecord) -> Result<(), String> {
        let settings = model.settings.clone().over(&self.defaults);
        let before = record.versions.get(&VERSION);
        let recorder = before.map_or_else(
            || Arc::new(Recorder::new(&model.name, VERSION)),
            |version| Arc::clone(&version.recorder),
        );
        let blueprint = Blueprint {
            model: &model.name,
            version: VERSION,
            file: Path::new(""),
            ready: Some(Arc::clone(&model.evaluate)),
            settings: &settings,
            names: &NameMapping::default(),
        };
        let instance = Instance::load(&blueprint, &self.machine, Arc::clone(&recorder))?;
        if let Some(served) = before.and_then(VersionRecord::instance).cloned() {
            record.drain(&served);
        }
        let others: Vec<u64> = record.versions.keys().copied().filter(|v| *v != VERSION).collect();
        others.into_iter().for_each(|version| record.retire(version));
        (record.removed, record.unloaded, record.provided) = (false, false, true);
        (record.pipeline, record.problem) = (false, None);
        let state = State::Available(Arc::new(Servable::Model(Box::new(instance))));
        let entry = VersionRecord { state, stamp: Vec::new(), failed: false, settings, recorder };
        record.versions.insert(VERSION, entry);
        Ok(())
    }
}

/// Whether what is served is this model.
fn is_of(served: &Servable, model: &Provided) -> bool {
    let wanted = Arc::as_ptr(&model.evaluate).cast::<()>();
    served.model().is_some_and(|instance| {
        std::ptr::eq(std::ptr::from_ref(instance.scheduler().evaluate()).cast::<()>(), wanted)
    })
}

//! The model repository: what the source asks for, what is loaded, and the way from one to the other.
//!
//! Readers take one immutable map of all models; whoever changes it holds the reload lock, works on a copy and
//! swaps it in. So a request never waits for a load.

mod load;
mod pipelines;
mod provided;
mod record;
mod scan;
mod source;
mod update;

pub(crate) use provided::Provided;
pub(crate) use update::{Scope, Update};

use crate::instance::Machine;
use crate::sequences;
use crate::servable::Servable;
use crate::{
    CallKey, Error, ErrorKind, IndexEntry, InferRequest, ModelMetrics, ModelStatistics, VersionRef,
    VersionStatus,
};
use arc_swap::ArcSwap;
use record::ModelRecord;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use stead_app::{ModelSettings, Source};
use stead_sequence::{Order, SequenceId};

type Models = BTreeMap<String, Arc<ModelRecord>>;

pub(crate) struct Repository {
    source: Source,
    defaults: ModelSettings,
    machine: Arc<Machine>,
    models: ArcSwap<Models>,
    /// Held by whoever changes `models`.
    reload: Mutex<update::Known>,
}

impl Repository {
    pub(crate) fn new(
        source: Source,
        defaults: ModelSettings,
        machine: Arc<Machine>,
    ) -> Repository {
        Repository {
            source,
            defaults,
            machine,
            models: ArcSwap::default(),
            reload: Mutex::default(),
        }
    }

    /// The instance that a request asks for.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownModel`] and those of [`ModelRecord::find`].
    pub(crate) fn find(&self, model: &str, version: &VersionRef) -> Result<Arc<Servable>, Error> {
        let models = self.models.load();
        let record = models.get(model).ok_or_else(|| unknown(model))?;
        record.find(version).cloned()
    }

    /// The instance that an inference is for: as [`Repository::find`], but a step of a sequence goes to where
    /// the sequence lives.
    ///
    /// # Errors
    /// As [`Repository::find`].
    pub(crate) fn find_for(&self, request: &InferRequest) -> Result<Arc<Servable>, Error> {
        let models = self.models.load();
        let record = models.get(&request.model).ok_or_else(|| unknown(&request.model))?;
        let found = record.find(&request.version);
        let stateful = found.as_ref().map_or(!record.draining.is_empty(), |i| i.is_stateful());
        if stateful
            && record.has_others()
            && let Some(order) = sequences::peek(request)
            && let Some(other) =
                record.find_sequence(found.as_ref().ok().copied(), &request.version, &order)
        {
            return Ok(other);
        }
        found.cloned()
    }

    /// The instance where a sequence lives, or the one that a request asks for when it lives nowhere.
    ///
    /// # Errors
    /// As [`Repository::find`].
    pub(crate) fn find_holder(
        &self,
        model: &str,
        version: &VersionRef,
        id: &SequenceId,
    ) -> Result<Arc<Servable>, Error> {
        let models = self.models.load();
        let record = models.get(model).ok_or_else(|| unknown(model))?;
        let found = record.find(version);
        let order = Order::step(id.clone());
        let other = record.find_sequence(found.as_ref().ok().copied(), version, &order);
        other.map_or_else(|| found.cloned(), Ok)
    }

    /// The instance that a request asks for and those that only finish their sequences.
    ///
    /// # Errors
    /// As [`Repository::find`], when there is none at all.
    pub(crate) fn find_holders(
        &self,
        model: &str,
        version: &VersionRef,
    ) -> Result<Vec<Arc<Servable>>, Error> {
        let models = self.models.load();
        let record = models.get(model).ok_or_else(|| unknown(model))?;
        let found = record.find(version).cloned();
        let draining = record.draining.iter().filter_map(Weak::upgrade);
        let wanted = draining.filter(|i| record.number(version).is_none_or(|n| n == i.version()));
        let all: Vec<_> = found.iter().cloned().chain(wanted).collect();
        if all.is_empty() { found.map(|i| vec![i]) } else { Ok(all) }
    }

    /// The versions of a model that are served, ascending.
    pub(crate) fn versions(&self, model: &str) -> Vec<u64> {
        let models = self.models.load();
        models.get(model).map(|m| m.served().map(|i| i.version()).collect()).unwrap_or_default()
    }

    /// The states of one model's versions.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownModel`], [`ErrorKind::UnknownVersion`].
    pub(crate) fn status(
        &self,
        model: &str,
        version: &VersionRef,
    ) -> Result<Vec<VersionStatus>, Error> {
        let models = self.models.load();
        let record = models.get(model).ok_or_else(|| unknown(model))?;
        let mut statuses = record.statuses();
        if let Some(number) = record.number(version) {
            statuses.retain(|s| s.version == number);
            if statuses.is_empty() {
                let model = model.to_owned();
                return Err(ErrorKind::UnknownVersion { model, version: number }.into());
            }
        }
        Ok(statuses)
    }

    pub(crate) fn all_status(&self) -> Vec<(String, Vec<VersionStatus>)> {
        self.models.load().values().map(|m| (m.name.clone(), m.statuses())).collect()
    }

    pub(crate) fn index(&self) -> Vec<IndexEntry> {
        self.models.load().values().filter(|m| !m.removed).flat_map(|m| m.index()).collect()
    }

    /// Statistics of a model's served versions, or of all models.
    ///
    /// # Errors
    /// [`ErrorKind::NotAvailable`].
    pub(crate) fn statistics(
        &self,
        model: Option<&str>,
        version: &VersionRef,
    ) -> Result<Vec<ModelStatistics>, Error> {
        let models = self.models.load();
        let statistics = |record: &ModelRecord| -> Vec<ModelStatistics> {
            record.served().map(|i| i.recorder().statistics()).collect()
        };
        let Some(model) = model else {
            return Ok(models.values().flat_map(|m| statistics(m)).collect());
        };
        let mut list = models.get(model).map(|m| statistics(m)).unwrap_or_default();
        if let Some(number) = models.get(model).and_then(|m| m.number(version)) {
            list.retain(|s| s.version == number);
        }
        if list.is_empty() {
            return Err(ErrorKind::NotAvailable { model: model.to_owned() }.into());
        }
        Ok(list)
    }

    pub(crate) fn metrics(&self) -> Vec<ModelMetrics> {
        let models = self.models.load();
        let metrics = |record: &Arc<ModelRecord>| ModelMetrics {
            name: record.name.clone(),
            calls: record.calls.lock().unwrap_or_else(PoisonError::into_inner).snapshot(false),
            versions: record.metrics(),
        };
        // A removed model keeps its counters as long as its name is remembered.
        let all = models.values().map(|record| (record.removed, metrics(record)));
        all.filter(|(removed, m)| !removed || !m.versions.is_empty()).map(|(_, m)| m).collect()
    }

    /// Counts a call that is no inference. Calls for models that do not exist are not counted: clients could
    /// make any number of names.
    pub(crate) fn record(&self, key: CallKey, model: &str, version: Option<u64>, ok: bool) {
        let models = self.models.load();
        let Some(record) = models.get(model) else { return };
        if !key.method.has_version() {
            record.calls.lock().unwrap_or_else(PoisonError::into_inner).count(key, ok);
            return;
        }
        let version = version.map_or(VersionRef::Latest, VersionRef::Number);
        if let Ok(instance) = record.find(&version) {
            instance.recorder().call(key, ok);
        }
    }

    /// Whether the source asks for this model.
    ///
    /// # Errors
    /// As [`Repository::update`].
    pub(crate) fn is_listed(&self, model: &str) -> Result<bool, Error> {
        if self.is_provided(model) {
            return Ok(true);
        }
        let listing = source::read(&self.source)?;
        let pipelines = listing.pipelines.iter().map(|p| &p.name);
        Ok(listing.models.iter().map(|d| &d.name).chain(pipelines).any(|name| name == model))
    }
}

fn unknown(model: &str) -> Error {
    let model = model.chars().take(256).collect();
    ErrorKind::UnknownModel { model }.into()
}

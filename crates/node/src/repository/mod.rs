//! The model repository: what the source asks for, what is loaded, and the way from one to the other.
//!
//! Readers take one immutable map of all models; whoever changes it holds the reload lock, works on a copy and
//! swaps it in. So a request never waits for a load.

mod record;
mod scan;
mod source;

use crate::instance::{Blueprint, Instance, Machine};
use crate::recorder::Recorder;
use crate::{
    CallKey, Error, ErrorKind, IndexEntry, ModelMetrics, ModelStatistics, VersionRef, VersionStatus,
};
use arc_swap::ArcSwap;
use record::{ModelRecord, State, VersionRecord};
use scan::Found;
use source::Desired;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use stead_app::{ModelSettings, NameMapping, Source, parse_stead_toml};
use stead_pool::Priority;

type Models = BTreeMap<String, Arc<ModelRecord>>;

/// Removed models that are remembered, so that clients are told that they are retired.
const MAX_REMOVED: usize = 256;

/// Configuration files beside a model are small; more is not read.
const MAX_SIDE_FILE: u64 = 16 << 20;

/// What an update of the repository did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Update {
    /// Whether a version was loaded or retired.
    pub(crate) changed: bool,
    /// Loads that failed: model, version (0 when it has none) and why.
    pub(crate) failures: Vec<(String, u64, String)>,
}

/// What to look at in an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope<'a> {
    /// Everything; loads go to the pool, all at once.
    Start,
    /// Everything that changed.
    Changes,
    /// Everything; what failed before is tried again.
    All,
    /// One model that a client wants loaded.
    Model(&'a str),
}

pub(crate) struct Repository {
    source: Source,
    defaults: ModelSettings,
    machine: Arc<Machine>,
    models: ArcSwap<Models>,
    /// Held by whoever changes `models`; with the last remarks, which are not repeated.
    reload: Mutex<Vec<String>>,
}

/// A version that is to be loaded.
struct Load {
    model: String,
    version: u64,
    found: Found,
    settings: ModelSettings,
    recorder: Arc<Recorder>,
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
    pub(crate) fn find(&self, model: &str, version: &VersionRef) -> Result<Arc<Instance>, Error> {
        let models = self.models.load();
        let record = models.get(model).ok_or_else(|| unknown(model))?;
        record.find(version).cloned()
    }

    /// The versions of a model that are served, ascending.
    pub(crate) fn versions(&self, model: &str) -> Vec<u64> {
        let models = self.models.load();
        models.get(model).map(|m| m.served().map(|i| i.version).collect()).unwrap_or_default()
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
        if let Some(number) = version.number() {
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
        if let Some(number) = version.number() {
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
            versions: record.served().map(|i| i.metrics()).collect(),
        };
        models.values().filter(|m| !m.removed).map(metrics).collect()
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

    /// Brings what is loaded in line with the source.
    ///
    /// # Errors
    /// [`ErrorKind::ConfigMissing`], [`ErrorKind::ConfigInvalid`]; nothing has changed then.
    pub(crate) fn update(&self, scope: Scope<'_>) -> Result<Update, Error> {
        let mut lock = self.reload.lock().unwrap_or_else(PoisonError::into_inner);
        let listing = source::read(&self.source)?;
        if *lock != listing.warnings {
            for warning in &listing.warnings {
                tracing::warn!("{warning}");
            }
            lock.clone_from(&listing.warnings);
        }
        let mut update = Update::default();
        let mut loads = Vec::new();
        let mut retire = Vec::new();
        for desired in &listing.models {
            if matches!(scope, Scope::Model(name) if name != desired.name) {
                continue;
            }
            self.compare(&lock, desired, scope, &mut loads, &mut retire, &mut update);
        }
        if !matches!(scope, Scope::Model(_)) {
            let names: BTreeSet<&str> = listing.models.iter().map(|d| &*d.name).collect();
            self.remove(&lock, &names, &mut update);
        }
        self.load_all(&lock, loads, scope, &mut update);
        for (model, wanted) in retire {
            self.retire_others(&lock, &model, &wanted, &mut update);
        }
        Ok(update)
    }

    /// Whether the source asks for this model.
    ///
    /// # Errors
    /// As [`Repository::update`].
    pub(crate) fn is_listed(&self, model: &str) -> Result<bool, Error> {
        Ok(source::read(&self.source)?.models.iter().any(|d| d.name == model))
    }

    /// Takes a model out of service until somebody loads it again.
    pub(crate) fn unload(&self, model: &str) {
        let lock = self.reload.lock().unwrap_or_else(PoisonError::into_inner);
        self.change(&lock, model, |record| {
            record.unloaded = true;
            let versions: Vec<u64> = record.versions.keys().copied().collect();
            versions.into_iter().for_each(|v| record.retire(v));
        });
    }

    /// Changes the record of a model that exists.
    fn change(
        &self,
        _lock: &MutexGuard<'_, Vec<String>>,
        model: &str,
        change: impl FnOnce(&mut ModelRecord),
    ) {
        let mut models = Models::clone(&self.models.load());
        if let Some(record) = models.get_mut(model) {
            change(Arc::make_mut(record));
            self.models.store(Arc::new(models));
        }
    }

    /// Finds out what is to be loaded of one model, and marks it.
    fn compare(
        &self,
        lock: &MutexGuard<'_, Vec<String>>,
        desired: &Desired,
        scope: Scope<'_>,
        loads: &mut Vec<Load>,
        retire: &mut Vec<(String, Vec<u64>)>,
        update: &mut Update,
    ) {
        let name = &desired.name;
        let known = self.models.load().get(name).cloned();
        let new = known.as_ref().is_none_or(|k| k.removed);
        if known.as_ref().is_some_and(|k| k.unloaded && !k.removed)
            && !matches!(scope, Scope::Model(_))
        {
            return;
        }
        if new && desired.base.join("config.pbtxt").is_file() {
            tracing::warn!(
                model = name,
                "config.pbtxt is not read; its options belong in stead.toml or config.json"
            );
        }
        let mut record = known.map_or_else(|| ModelRecord::new(name), |k| ModelRecord::clone(&k));
        (record.removed, record.unloaded) = (false, false);
        let found = scan::versions(&desired.base);
        let settings = desired.settings.clone().and_then(|s| self.settings(&desired.base, s));
        let retry = matches!(scope, Scope::All | Scope::Model(_));
        let empty = found.as_ref().is_ok_and(BTreeMap::is_empty);
        let nothing =
            empty.then(|| "its base_path has no version folder such as 1/model.onnx".to_owned());
        let problem = settings.as_ref().err().or(found.as_ref().err()).cloned().or(nothing);
        if let Some(text) = &problem
            && (record.problem != problem || retry)
        {
            tracing::error!(model = name, "model cannot be loaded: {text}");
            update.failures.push((name.clone(), 0, text.clone()));
        }
        record.problem.clone_from(&problem);
        let side = scan::stamp(std::iter::once(desired.base.join("stead.toml")));
        let found = found.unwrap_or_default();
        let (settings, refused) = match settings {
            Ok(settings) => (settings, None),
            Err(text) => (ModelSettings::default(), Some(text)),
        };
        let wanted = scan::chosen(settings.version_policy.as_ref(), &found);
        if wanted.is_empty() && record.problem.is_none() {
            record.problem =
                Some("its model_version_policy chooses none of its versions".to_owned());
        }
        for (version, found) in found.into_iter().filter(|(v, _)| wanted.contains(v)) {
            let mut stamp = found.stamp.clone();
            stamp.extend(side.iter().cloned());
            let entry = record.versions.get(&version);
            let tried = entry.is_some_and(|e| {
                let same = e.stamp == stamp && e.settings == settings;
                match &e.state {
                    State::Available(_) => same,
                    State::Loading(_) => same && !retry,
                    State::Start | State::Retired(_) => false,
                }
            });
            if tried || (refused.is_some() && entry.is_some_and(|e| e.instance().is_some())) {
                continue;
            }
            let recorder = entry.map_or_else(
                || Arc::new(Recorder::new(name, version)),
                |e| Arc::clone(&e.recorder),
            );
            let state = match (entry.map(|e| &e.state), &refused) {
                // What is served stays so until its successor is ready.
                (Some(State::Available(instance)), _) => State::Available(Arc::clone(instance)),
                (_, Some(text)) => State::Loading(Some(text.clone())),
                _ => State::Start,
            };
            let entry = VersionRecord {
                state,
                stamp,
                settings: settings.clone(),
                recorder: Arc::clone(&recorder),
            };
            record.versions.insert(version, entry);
            if refused.is_none() {
                let (model, settings) = (name.clone(), settings.clone());
                loads.push(Load { model, version, found, settings, recorder });
            }
        }
        // An unreadable folder may come back; an empty one says that there is nothing to serve.
        if problem.is_none() || empty {
            retire.push((name.clone(), wanted));
        }
        let mut models = Models::clone(&self.models.load());
        models.insert(name.clone(), Arc::new(record));
        self.models.store(Arc::new(models));
        let _ = lock;
    }

    /// The settings of a model: its own, then `stead.toml`, then the node's.
    fn settings(&self, base: &Path, own: ModelSettings) -> Result<ModelSettings, String> {
        let file = base.join("stead.toml");
        let beside = match read_small(&file) {
            Ok(None) => ModelSettings::default(),
            Ok(Some(bytes)) => {
                let text =
                    String::from_utf8(bytes).map_err(|_| "stead.toml: not UTF-8".to_owned())?;
                parse_stead_toml(&text).map_err(|e| format!("stead.toml: {e}"))?
            }
            Err(text) => return Err(format!("stead.toml: {text}")),
        };
        Ok(own.over(&beside).over(&self.defaults))
    }

    fn load_all(
        &self,
        lock: &MutexGuard<'_, Vec<String>>,
        loads: Vec<Load>,
        scope: Scope<'_>,
        update: &mut Update,
    ) {
        if scope == Scope::Start {
            // Nothing else wants the pool yet.
            let tickets: Vec<_> = loads
                .into_iter()
                .map(|load| {
                    self.mark_loading(lock, &load);
                    let machine = Arc::clone(&self.machine);
                    let load = Arc::new(load);
                    let mine = Arc::clone(&load);
                    let run = move |_: &stead_pool::Worker| load_one(&mine, &machine);
                    (load, self.machine.pool.submit(Priority::Background, None, run))
                })
                .collect();
            for (load, ticket) in tickets {
                let loaded = ticket.wait().unwrap_or_else(|e| Err(e.to_string()));
                self.install(lock, &load, loaded, update);
            }
        } else {
            // The pool belongs to the requests; this thread has nothing else to do.
            for load in loads {
                self.mark_loading(lock, &load);
                let loaded = catch_unwind(AssertUnwindSafe(|| load_one(&load, &self.machine)))
                    .unwrap_or_else(|_| Err("internal error while loading".to_owned()));
                self.install(lock, &load, loaded, update);
            }
        }
    }

    fn mark_loading(&self, lock: &MutexGuard<'_, Vec<String>>, load: &Load) {
        self.change(lock, &load.model, |record| {
            if let Some(entry) = record.versions.get_mut(&load.version)
                && matches!(entry.state, State::Start)
            {
                entry.state = State::Loading(None);
            }
        });
    }

    fn install(
        &self,
        lock: &MutexGuard<'_, Vec<String>>,
        load: &Load,
        loaded: Result<Instance, String>,
        update: &mut Update,
    ) {
        let (model, version) = (&load.model, load.version);
        self.change(lock, model, |record| {
            let Some(entry) = record.versions.get_mut(&version) else { return };
            match loaded {
                Ok(instance) => {
                    tracing::info!(model, version, "model version is available");
                    entry.state = State::Available(Arc::new(instance));
                    update.changed = true;
                }
                Err(text) => {
                    tracing::error!(model, version, "model version cannot be loaded: {text}");
                    if entry.instance().is_none() {
                        entry.state = State::Loading(Some(text.clone()));
                    }
                    update.failures.push((model.clone(), version, text));
                }
            }
        });
    }

    /// Retires the versions of a model that the policy does not serve, once one that it does is there.
    fn retire_others(
        &self,
        lock: &MutexGuard<'_, Vec<String>>,
        model: &str,
        wanted: &[u64],
        update: &mut Update,
    ) {
        let Some(record) = self.models.load().get(model).cloned() else { return };
        let is_served = |v: &u64| record.versions.get(v).is_some_and(|r| r.instance().is_some());
        let nothing_better = !wanted.is_empty() && !wanted.iter().any(is_served);
        let others: Vec<u64> = record
            .versions
            .iter()
            .filter(|(v, r)| !wanted.contains(v) && !matches!(r.state, State::Retired(_)))
            .filter(|(_, r)| !(nothing_better && r.instance().is_some()))
            .map(|(v, _)| *v)
            .collect();
        if others.is_empty() {
            return;
        }
        update.changed = true;
        self.change(lock, model, |record| {
            for version in others {
                tracing::info!(model, version, "model version is retired");
                record.retire(version);
            }
        });
    }

    /// Retires models that the source asks for no longer.
    fn remove(
        &self,
        lock: &MutexGuard<'_, Vec<String>>,
        names: &BTreeSet<&str>,
        update: &mut Update,
    ) {
        let models = self.models.load_full();
        for record in models.values().filter(|m| !m.removed && !names.contains(&*m.name)) {
            tracing::info!(model = record.name, "model is retired");
            update.changed = true;
            self.change(lock, &record.name, |record| {
                record.removed = true;
                let versions: Vec<u64> = record.versions.keys().copied().collect();
                versions.into_iter().for_each(|v| record.retire(v));
            });
        }
        let models = self.models.load_full();
        let over: Vec<_> =
            models.values().filter(|m| m.is_over()).map(|m| m.name.clone()).collect();
        if over.len() > MAX_REMOVED {
            let mut models = Models::clone(&models);
            for name in over.iter().take(over.len() - MAX_REMOVED) {
                models.remove(name);
            }
            self.models.store(Arc::new(models));
        }
    }
}

fn unknown(model: &str) -> Error {
    let model = model.chars().take(256).collect();
    ErrorKind::UnknownModel { model }.into()
}

/// A small file's bytes, or `None` when there is none.
fn read_small(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.len() > MAX_SIDE_FILE => Err("the file is too large".to_owned()),
        Ok(_) => std::fs::read(path).map(Some).map_err(|e| e.kind().to_string()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        // The base may be a file: `model.onnx/stead.toml` cannot exist.
        Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => Ok(None),
        Err(e) => Err(e.kind().to_string()),
    }
}

fn load_one(load: &Load, machine: &Machine) -> Result<Instance, String> {
    let started = Instant::now();
    let file = load.found.file.clone()?;
    let names = match &load.found.folder {
        None => NameMapping::default(),
        Some(folder) => match read_small(&folder.join("mapping_config.json")) {
            Ok(None) => NameMapping::default(),
            Ok(Some(bytes)) => {
                NameMapping::parse(&bytes).map_err(|e| format!("mapping_config.json: {e}"))?
            }
            Err(text) => return Err(format!("mapping_config.json: {text}")),
        },
    };
    let blueprint = Blueprint {
        model: &load.model,
        version: load.version,
        file: &file,
        settings: &load.settings,
        names: &names,
    };
    let instance = Instance::load(&blueprint, machine, Arc::clone(&load.recorder));
    let took = started.elapsed();
    tracing::debug!(model = load.model, version = load.version, ?took, "load");
    instance
}

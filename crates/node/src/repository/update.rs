//! Bringing what is loaded in line with what the source asks for.

use super::load::{Load, load_one, read_small};
use super::provided::Provided;
use super::record::{ModelRecord, State, VersionRecord};
use super::source::Desired;
use super::{Models, Repository, scan, source};
use crate::Error;
use crate::instance::Instance;
use crate::pipeline::Pipeline;
use crate::recorder::Recorder;
use crate::servable::Servable;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, MutexGuard, PoisonError};
use stead_app::{ModelSettings, PipelineEntry, parse_stead_toml};
use stead_pool::Class;

/// Removed models that are remembered, so that clients are told that they are retired.
const MAX_REMOVED: usize = 256;

/// The reload lock, and what it guards. Functions that take it change the map of models.
pub(super) type Lock<'a> = MutexGuard<'a, Known>;

/// What is remembered of the source.
#[derive(Default)]
pub(crate) struct Known {
    /// The last remarks, which are not repeated.
    warnings: Vec<String>,
    /// The pipelines that it asks for, which may change with every model.
    pub(super) pipelines: Vec<PipelineEntry>,
    /// Models that do not come from it.
    pub(super) provided: Vec<Provided>,
}

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

impl Repository {
    /// Brings what is loaded in line with the source.
    ///
    /// # Errors
    /// [`ErrorKind::ConfigMissing`], [`ErrorKind::ConfigInvalid`]; nothing has changed then.
    pub(crate) fn update(&self, scope: Scope<'_>) -> Result<Update, Error> {
        let mut lock = self.reload.lock().unwrap_or_else(PoisonError::into_inner);
        let listing = source::read(&self.source)?;
        if lock.warnings != listing.warnings {
            for warning in &listing.warnings {
                tracing::warn!("{warning}");
            }
            lock.warnings.clone_from(&listing.warnings);
        }
        lock.pipelines.clone_from(&listing.pipelines);
        let mut update = Update::default();
        let mut loads = Vec::new();
        let mut retire = Vec::new();
        for desired in &listing.models {
            if matches!(scope, Scope::Model(name) if name != desired.name) {
                continue;
            }
            if lock.provided.iter().any(|p| p.name == desired.name) {
                let text = "the application that is deployed has a model of this name".to_owned();
                update.failures.push((desired.name.clone(), 0, text));
                continue;
            }
            self.compare(&lock, desired, scope, &mut loads, &mut retire, &mut update);
        }
        if !matches!(scope, Scope::Model(_)) {
            let models = listing.models.iter().map(|d| &*d.name);
            let others = listing.pipelines.iter().map(|p| &*p.name);
            let provided: Vec<String> = lock.provided.iter().map(|p| p.name.clone()).collect();
            let provided = provided.iter().map(|name| &**name);
            let names: BTreeSet<&str> = models.chain(others).chain(provided).collect();
            self.remove(&lock, &names, &mut update);
        }
        self.load_all(&lock, loads, scope, &mut update);
        for (model, wanted) in retire {
            self.retire_others(&lock, &model, &wanted, &mut update);
        }
        self.update_provided(&lock, scope, &mut update);
        self.update_pipelines(&lock, scope, &mut update);
        Ok(update)
    }

    /// Takes a model out of service until somebody loads it again.
    pub(crate) fn unload(&self, model: &str) {
        let lock = self.reload.lock().unwrap_or_else(PoisonError::into_inner);
        self.change(&lock, model, |record| {
            record.unloaded = true;
            let versions: Vec<u64> = record.versions.keys().copied().collect();
            versions.into_iter().for_each(|v| record.retire(v));
        });
        self.update_pipelines(&lock, Scope::Changes, &mut Update::default());
    }

    /// Changes the record of a model that exists.
    pub(super) fn change(
        &self,
        lock: &Lock<'_>,
        model: &str,
        change: impl FnOnce(&mut ModelRecord),
    ) {
        let known = self.models.load().get(model).cloned();
        if let Some(mut record) = known.map(|r| ModelRecord::clone(&r)) {
            change(&mut record);
            self.put(lock, record);
        }
    }

    /// Finds out what is to be loaded of one model, and marks it.
    fn compare(
        &self,
        lock: &Lock<'_>,
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
        if std::mem::take(&mut record.pipeline) {
            // The name belongs to a model now.
            record.retire(Pipeline::VERSION);
        }
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
        let serves = |stateful: bool| {
            let mut served = record.versions.values().filter(|r| r.instance().is_some());
            served.any(|r| r.settings.sequences.is_stateful() == stateful)
        };
        if refused.is_none() && serves(!settings.sequences.is_stateful()) {
            // Clients that hold sequences would find another kind of model under the same name.
            let text = "Model type cannot be changed after it is loaded";
            if record.problem.as_deref() != Some(text) || retry {
                tracing::error!(model = name, "{text}");
                update.failures.push((name.clone(), 0, text.to_owned()));
            }
            record.problem = Some(text.to_owned());
            return self.put(lock, record);
        }
        for (version, found) in found.into_iter().filter(|(v, _)| wanted.contains(v)) {
            let mut stamp = found.stamp.clone();
            stamp.extend(side.iter().cloned());
            if let Some(entry) = record.versions.get_mut(&version) {
                update.changed |= entry.change(&stamp, &settings);
            }
            let entry = record.versions.get(&version);
            let tried = entry.is_some_and(|e| {
                let same = e.stamp == stamp && e.settings == settings;
                match &e.state {
                    State::Available(_) => same && !(retry && e.failed),
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
                failed: false,
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
        self.put(lock, record);
    }

    /// Puts a record in the place of the one of its name.
    pub(super) fn put(&self, _lock: &Lock<'_>, record: ModelRecord) {
        let mut models = Models::clone(&self.models.load());
        models.insert(record.name.clone(), Arc::new(record));
        self.models.store(Arc::new(models));
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

    fn load_all(&self, lock: &Lock<'_>, loads: Vec<Load>, scope: Scope<'_>, update: &mut Update) {
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
                    (load, self.machine.pool.submit(Class::Background, None, run))
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

    fn mark_loading(&self, lock: &Lock<'_>, load: &Load) {
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
        lock: &Lock<'_>,
        load: &Load,
        loaded: Result<Instance, String>,
        update: &mut Update,
    ) {
        let (model, version) = (&load.model, load.version);
        self.change(lock, model, |record| {
            let served = record.versions.get(&version).and_then(VersionRecord::instance).cloned();
            if let Some(before) = served.filter(|_| loaded.is_ok()) {
                record.drain(&before);
            }
            let Some(entry) = record.versions.get_mut(&version) else { return };
            match loaded {
                Ok(instance) => {
                    tracing::info!(model, version, "model version is available");
                    entry.state = State::Available(Arc::new(Servable::Model(Box::new(instance))));
                    entry.failed = false;
                    update.changed = true;
                }
                Err(text) => {
                    tracing::error!(model, version, "model version cannot be loaded: {text}");
                    entry.failed = true;
                    if entry.instance().is_none() {
                        entry.state = State::Loading(Some(text.clone()));
                    }
                    update.failures.push((model.clone(), version, text));
                }
            }
        });
    }

    /// Retires the versions of a model that the policy does not serve, once one that it does is there.
    fn retire_others(&self, lock: &Lock<'_>, model: &str, wanted: &[u64], update: &mut Update) {
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
    fn remove(&self, lock: &Lock<'_>, names: &BTreeSet<&str>, update: &mut Update) {
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

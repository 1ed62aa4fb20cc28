//! What is known of models and their versions.

use super::scan::Stamp;
use crate::recorder::{Calls, Recorder};
use crate::servable::Servable;
use crate::{
    Error, ErrorKind, IndexEntry, IndexState, VersionMetrics, VersionRef, VersionState,
    VersionStatus,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};
use stead_app::ModelSettings;
use stead_sequence::Order;

/// Ended versions that are remembered, so that clients are told that a version is retired. A version that is
/// added and removed every second must not fill the memory.
const MAX_ENDED: usize = 32;

#[derive(Clone)]
pub(super) enum State {
    /// Known, not tried.
    Start,
    /// Being loaded, or the reason why that failed.
    Loading(Option<String>),
    /// Served.
    Available(Arc<Servable>),
    /// No longer served; the instance lives while requests run on it.
    Retired(Weak<Servable>),
}

#[derive(Clone)]
pub(super) struct VersionRecord {
    pub(super) state: State,
    /// The files as they were when loading was last tried.
    pub(super) stamp: Stamp,
    /// Whether it failed then; what was served before may still be.
    pub(super) failed: bool,
    /// The settings that loading was last tried with.
    pub(super) settings: ModelSettings,
    pub(super) recorder: Arc<Recorder>,
}

impl VersionRecord {
    pub(super) fn instance(&self) -> Option<&Arc<Servable>> {
        match &self.state {
            State::Available(instance) => Some(instance),
            _ => None,
        }
    }

    /// Takes over settings that only concern the life of sequences, when nothing else has changed. Returns whether
    /// it did.
    pub(super) fn change(&mut self, stamp: &Stamp, settings: &ModelSettings) -> bool {
        let mut same = self.settings.clone();
        same.sequences = same.sequences.with_limits_of(&settings.sequences);
        if self.failed || self.stamp != *stamp || self.settings == *settings || same != *settings {
            return false;
        }
        let Some(Ok(sequences)) = self.instance().map(|i| i.sequences()) else { return false };
        sequences.change(&settings.sequences);
        self.settings = same;
        true
    }

    fn public_state(&self) -> VersionState {
        match &self.state {
            State::Start => VersionState::Start,
            State::Loading(_) => VersionState::Loading,
            State::Available(_) => VersionState::Available,
            State::Retired(weak) if weak.strong_count() > 0 => VersionState::Unloading,
            State::Retired(_) => VersionState::End,
        }
    }

    fn status(&self, version: u64) -> VersionStatus {
        let (error_code, error_message) = match &self.state {
            State::Loading(Some(error)) => (2, format!("UNKNOWN - {error}")),
            _ => (0, "OK".to_owned()),
        };
        VersionStatus { version, state: self.public_state(), error_code, error_message }
    }
}

/// A model and its versions. Records are replaced as a whole: readers see one moment.
#[derive(Clone)]
pub(super) struct ModelRecord {
    pub(super) name: String,
    pub(super) versions: BTreeMap<u64, VersionRecord>,
    /// Whether a client took it out of service.
    pub(super) unloaded: bool,
    /// Whether the source asks for it no longer.
    pub(super) removed: bool,
    /// Whether it is a pipeline: it has one version, whatever requests ask for.
    pub(super) pipeline: bool,
    /// Whether it does not come from the source.
    pub(super) provided: bool,
    /// Why there is nothing to load.
    pub(super) problem: Option<String>,
    /// Replaced instances that live on for their sequences.
    pub(super) draining: Vec<Weak<Servable>>,
    /// Counters of calls that have no version.
    pub(super) calls: Arc<Mutex<Calls>>,
}

impl ModelRecord {
    pub(super) fn new(name: &str) -> ModelRecord {
        ModelRecord {
            name: name.to_owned(),
            versions: BTreeMap::new(),
            unloaded: false,
            removed: false,
            pipeline: false,
            provided: false,
            problem: None,
            draining: Vec::new(),
            calls: Arc::default(),
        }
    }

    /// The instances that are served, ascending by version.
    pub(super) fn served(&self) -> impl DoubleEndedIterator<Item = &Arc<Servable>> {
        self.versions.values().filter_map(VersionRecord::instance)
    }

    /// The version that a request asks for; none where there is only one.
    pub(super) fn number(&self, version: &VersionRef) -> Option<u64> {
        version.number().filter(|_| !self.pipeline)
    }

    /// The instance that a request asks for.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownVersion`], [`ErrorKind::NotLoaded`], [`ErrorKind::Retired`].
    pub(super) fn find(&self, version: &VersionRef) -> Result<&Arc<Servable>, Error> {
        let model = || self.name.clone();
        let Some(number) = self.number(version) else {
            return self.served().next_back().ok_or_else(|| {
                // The newest version says best why none is served.
                match self.versions.last_key_value() {
                    Some((v, record)) => self.absent(*v, record),
                    None if self.removed || self.unloaded => {
                        ErrorKind::UnknownModel { model: model() }.into()
                    }
                    None => ErrorKind::NotLoaded { model: model(), version: 0 }.into(),
                }
            });
        };
        let record = self
            .versions
            .get(&number)
            .ok_or_else(|| ErrorKind::UnknownVersion { model: model(), version: number })?;
        record.instance().ok_or_else(|| self.absent(number, record))
    }

    /// Whether a sequence can live elsewhere than where a request for the newest version goes.
    pub(super) fn has_others(&self) -> bool {
        let several = self.versions.len() > 1 && self.served().nth(1).is_some();
        several || !self.draining.is_empty()
    }

    /// The instance that a request for a stateful model is to go to: the one where its sequence lives, if it is
    /// another one than `found`.
    pub(super) fn find_sequence(
        &self,
        found: Option<&Arc<Servable>>,
        version: &VersionRef,
        order: &Order,
    ) -> Option<Arc<Servable>> {
        // A START begins with the newest model; a numbered one may be a repetition.
        if (order.start && order.step.is_none()) || found.is_some_and(|i| i.knows(order)) {
            return None;
        }
        let served = self.served().rev().cloned();
        let mut all = self.draining.iter().rev().filter_map(Weak::upgrade).chain(served);
        all.find(|i| self.number(version).is_none_or(|n| n == i.version()) && i.knows(order))
    }

    /// The metrics of all versions that were ever loaded, ascending.
    pub(super) fn metrics(&self) -> Vec<VersionMetrics> {
        let draining: Vec<_> = self.draining.iter().rev().filter_map(Weak::upgrade).collect();
        let of = |(number, version): (&u64, &VersionRecord)| {
            let finishing = draining.iter().filter(|i| i.version() == *number);
            version.recorder.metrics_of(version.instance().into_iter().chain(finishing))
        };
        self.versions.iter().filter_map(of).collect()
    }

    /// Lets an instance that is replaced finish its sequences.
    pub(super) fn drain(&mut self, instance: &Arc<Servable>) {
        self.draining.retain(|i| i.strong_count() > 0);
        if instance.drain() {
            self.draining.push(Arc::downgrade(instance));
        }
    }

    fn absent(&self, version: u64, record: &VersionRecord) -> Error {
        let model = self.name.clone();
        match &record.state {
            State::Loading(Some(text)) if self.pipeline => {
                ErrorKind::PipelineNotLoaded { pipeline: model, text: text.clone() }
            }
            State::Retired(_) => ErrorKind::Retired { model, version },
            _ => ErrorKind::NotLoaded { model, version },
        }
        .into()
    }

    /// The states of all versions.
    pub(super) fn statuses(&self) -> Vec<VersionStatus> {
        self.versions.iter().map(|(v, r)| r.status(*v)).collect()
    }

    /// Entries of Triton's repository index.
    pub(super) fn index(&self) -> Vec<IndexEntry> {
        if self.versions.is_empty() {
            let reason = self.problem.clone().unwrap_or_default();
            let state = self.problem.as_ref().map(|_| IndexState::Unavailable);
            return vec![IndexEntry { name: self.name.clone(), version: None, state, reason }];
        }
        let entry = |(version, record): (&u64, &VersionRecord)| {
            let (state, reason) = match &record.state {
                State::Start | State::Loading(None) => (IndexState::Loading, String::new()),
                State::Loading(Some(error)) => (IndexState::Unavailable, error.clone()),
                State::Available(_) => (IndexState::Ready, String::new()),
                State::Retired(weak) if weak.strong_count() > 0 => {
                    (IndexState::Unloading, String::new())
                }
                State::Retired(_) => (IndexState::Unavailable, "unloaded".to_owned()),
            };
            IndexEntry {
                name: self.name.clone(),
                version: Some(*version),
                state: Some(state),
                reason,
            }
        };
        self.versions.iter().map(entry).collect()
    }

    /// Takes a version out of service. Requests that run on it keep it alive.
    pub(super) fn retire(&mut self, version: u64) {
        let served = self.versions.get(&version).and_then(VersionRecord::instance).cloned();
        if let Some(instance) = served {
            self.drain(&instance);
        }
        if let Some(record) = self.versions.get_mut(&version) {
            record.state = match &record.state {
                State::Available(instance) => State::Retired(Arc::downgrade(instance)),
                State::Retired(weak) => State::Retired(weak.clone()),
                State::Start | State::Loading(_) => State::Retired(Weak::new()),
            };
        }
        let ended = |r: &VersionRecord| r.public_state() == VersionState::End;
        let mut excess =
            self.versions.values().filter(|r| ended(r)).count().saturating_sub(MAX_ENDED);
        self.versions.retain(|_, record| {
            let forget = excess > 0 && ended(record);
            excess -= usize::from(forget);
            !forget
        });
    }

    /// Whether anything is left to tell about a removed model.
    pub(super) fn is_over(&self) -> bool {
        self.removed && self.versions.values().all(|r| r.public_state() == VersionState::End)
    }
}

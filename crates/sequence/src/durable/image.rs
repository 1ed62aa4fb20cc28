//! What the records of a log add up to.

use super::{Alive, Ending, Event, Record};
use crate::SequenceId;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A sequence as the last record of it left it.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// What the model's states looked like.
    pub fingerprint: u64,
    /// When the last record was made, in milliseconds since 1970.
    pub at: u64,
    /// What it was.
    pub was: Was,
}

/// What a sequence was.
#[derive(Debug, Clone, PartialEq)]
pub enum Was {
    /// It lived.
    Alive(Alive),
    /// It had ended, and its last answer is kept.
    Ended(Ending),
}

/// Sequences, the one without a step for the longest time first.
pub type Sequences = Vec<(SequenceId, Found)>;

/// All sequences that a log tells of, by model, version and fingerprint: a model that was replaced finishes its
/// sequences while its successor may have others of the same ids.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Image {
    models: BTreeMap<(String, u64, u64), HashMap<SequenceId, Found>>,
}

impl Image {
    /// Takes over the next record.
    pub fn apply(&mut self, record: Record) {
        let Record { model, version, fingerprint, id, at, event } = record;
        let key = (model.as_ref().to_owned(), version, fingerprint);
        let found = self.models.entry(key).or_default();
        let was = match event {
            Event::Gone | Event::Ended(None) => {
                found.remove(&id);
                return;
            }
            Event::Ended(Some(ending)) => Was::Ended(ending),
            Event::Alive(mut alive) => {
                if !alive.fresh
                    && let Some(Found { was: Was::Alive(before), .. }) = found.get_mut(&id)
                {
                    let new =
                        std::mem::replace(&mut alive.answers, std::mem::take(&mut before.answers));
                    alive.answers.extend(new);
                }
                let over = alive.answers.len().saturating_sub(alive.keep as usize);
                alive.answers.drain(..over);
                alive.fresh = true;
                Was::Alive(alive)
            }
        };
        found.insert(id, Found { fingerprint, at, was });
    }

    /// Takes the sequences of a model version out: those of this fingerprint, and the others.
    pub fn take(&mut self, model: &str, version: u64, fingerprint: u64) -> (Sequences, Sequences) {
        self.take_all(model, version)
            .into_iter()
            .partition(|(_, found)| found.fingerprint == fingerprint)
    }

    /// The models and versions of which there is something.
    pub fn versions(&self) -> BTreeSet<(String, u64)> {
        let filled = self.models.iter().filter(|(_, found)| !found.is_empty());
        filled.map(|((model, version, _), _)| (model.clone(), *version)).collect()
    }

    /// Takes everything of a model version out.
    pub fn take_all(&mut self, model: &str, version: u64) -> Sequences {
        let is_it = |(m, v, _): &(String, u64, u64), _: &mut _| m == model && *v == version;
        let mut found: Sequences =
            self.models.extract_if(.., is_it).flat_map(|(_, found)| found).collect();
        found.sort_by_key(|(_, found)| found.at);
        found
    }

    /// Records that add up to what is here.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        self.models.iter().flat_map(|((model, version, _), found)| {
            let (model, version) = (std::sync::Arc::<str>::from(&**model), *version);
            found.iter().map(move |(id, Found { fingerprint, at, was })| Record {
                model: model.clone(),
                version,
                fingerprint: *fingerprint,
                id: id.clone(),
                at: *at,
                event: match was {
                    Was::Alive(alive) => Event::Alive(alive.clone()),
                    Was::Ended(ending) => Event::Ended(Some(ending.clone())),
                },
            })
        })
    }
}

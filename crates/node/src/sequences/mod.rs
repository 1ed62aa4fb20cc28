//! Stateful models: requests become steps of sequences.
//!
//! A request is read as an [`Order`](stead_sequence::Order) ([`call`]), waits in the
//! [`Table`](stead_sequence::Table) until its turn has come, takes the state that the step before left
//! ([`layout`]), runs as every other request does, and leaves its own state behind ([`sequencer`]). The state
//! changes only when the step succeeded.

mod call;
mod cleaner;
mod durable;
mod family;
mod first;
#[cfg(all(test, feature = "shuttle"))]
mod interleavings;
mod joint;
mod layout;
mod probe;
mod sequencer;
mod shapes;
mod slot;
mod state;

pub(crate) use call::{Call, answer, peek, read, special_inputs};
pub(crate) use cleaner::Cleaner;
pub(crate) use durable::{Content, Durable, fingerprint_of};
pub(crate) use family::Families;
pub(crate) use joint::Joint;
pub(crate) use layout::Layout;
use sequencer::Whose;
pub(crate) use sequencer::{
    Arrived, Client, Sequencer, Spilling, Step, StepAnswer, StepReply, Turn, Work,
};
pub(crate) use state::State;

use crate::evaluate::Evaluate;
use crate::instance::Machine;
use crate::pipeline::Pipeline;
use crate::recorder::Recorder;
use std::path::Path;
use std::sync::Arc;
use stead_app::{Durability, ModelSettings, SequenceIds, SequenceSettings};
use stead_engine::Lift;
use stead_log::{Rng, SystemRng};
use stead_sequence::{Ids, Limits, Rules, Table};

/// Whether and how the memory inside a model becomes states of sequences: its variables, and where that is asked for what its
/// layers and loops remember.
pub(crate) fn lift(settings: &SequenceSettings) -> Option<Lift> {
    settings.is_stateful().then(|| Lift {
        zero_init: settings.zero_init == Some(true),
        recurrences: settings.low_latency == Some(true),
    })
}

/// The states of a model that are known before it is decided how it is batched.
///
/// # Errors
/// In words, when settings and model contradict each other.
pub(crate) fn first_look(
    evaluate: &dyn Evaluate,
    settings: &ModelSettings,
    file: &Path,
) -> Result<Layout, String> {
    Layout::new(evaluate, settings, file.parent().unwrap_or(Path::new(".")))
}

/// The states of a stateful model, told in the log.
///
/// # Errors
/// In words, when settings and model contradict each other.
pub(crate) fn layout(
    model: &str,
    evaluate: &dyn Evaluate,
    settings: &ModelSettings,
    file: &Path,
) -> Result<Layout, String> {
    let layout = first_look(evaluate, settings, file)?;
    if layout.is_empty() {
        tracing::warn!(model, "stateful, but no state was found: sequences will carry nothing");
    }
    for (name, text) in layout.describe() {
        tracing::info!(model, "{name}: {text}");
    }
    for left in evaluate.unlifted() {
        tracing::info!(model, "{}: no state of sequences: {}", left.node, left.reason);
    }
    Ok(layout)
}

/// A model's part of the log of states, if it has one.
///
/// # Errors
/// In words, when the options ask for it and there is no log.
pub(crate) fn durable(
    model: &str,
    version: u64,
    layout: &Layout,
    settings: &SequenceSettings,
    content: Content<'_>,
    machine: &Machine,
) -> Result<Option<Durable>, String> {
    let mode = settings.durability.unwrap_or_default();
    let Some(states) = &machine.states else {
        let option = settings.needs_state_path();
        return option.map_or(Ok(None), |o| Err(format!("{o} needs --state_path")));
    };
    if mode == Durability::Memory {
        return Ok(None);
    }
    let fingerprint = fingerprint_of(layout, content)?;
    Ok(Some(Durable::new(Arc::clone(states), mode, model, version, fingerprint)))
}

/// The same for a pipeline. Its states fit together only with all the models that made them.
pub(crate) fn durable_joint(
    pipeline: &str,
    joint: &Joint,
    settings: &SequenceSettings,
    machine: &Machine,
) -> Option<Durable> {
    let states = machine.states.clone()?;
    let mode = settings.durability.filter(|mode| *mode != Durability::Memory)?;
    Some(Durable::new(states, mode, pipeline, Pipeline::VERSION, joint.fingerprint()))
}

/// The sequences of a version of a model or of a pipeline, of whose requests at most `queue` may wait.
pub(crate) fn begin(
    (model, version): (&str, u64),
    work: Work,
    queue: usize,
    settings: &SequenceSettings,
    durable: Option<Durable>,
    recorder: &Arc<Recorder>,
    machine: &Machine,
) -> Arc<Sequencer> {
    let ids = match settings.ids.unwrap_or(SequenceIds::Random) {
        SequenceIds::Random => Ids::Random(Box::new(|| SystemRng.next_u64().ok())),
        SequenceIds::Counter => Ids::Counter,
    };
    let sequences = Sequencer::new(
        Whose { model: model.to_owned(), version, family: machine.families.of(model) },
        work,
        Table::with_ids(limits(settings), ids),
        queue,
        Arc::clone(recorder),
        durable,
        Spilling::new(machine.states.clone()),
    );
    sequences.change(settings);
    sequences.restore();
    sequences.count_on();
    machine.states.iter().for_each(|states| states.watch(&sequences));
    machine.cleaner.watch(&sequences);
    sequences
}

/// What the settings allow.
fn limits(settings: &SequenceSettings) -> Limits {
    let default = Limits::default();
    Limits {
        max_sequences: settings.max_sequences.map_or(default.max_sequences, |n| n as usize),
        replay_depth: settings.replay_depth.map_or(default.replay_depth, |n| n as usize),
        ended_ttl: settings.ended_ttl.unwrap_or(default.ended_ttl),
        idle_timeout: settings.idle_timeout.filter(|t| !t.is_zero()),
        rules: match settings.triton_compat {
            Some(true) => Rules::Triton,
            _ => Rules::Ovms,
        },
        ..default
    }
}

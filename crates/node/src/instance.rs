//! A loaded model version.

mod answer;
mod free;

pub(crate) use answer::{Begun, late, wait};

use crate::evaluate::{Evaluate, EvaluateError, Loader, Run};
use crate::foreign;
use crate::memory::{Budget, Held};
use crate::recorder::Recorder;
use crate::scheduler::{Batching, Limits, NoStates, Scheduler, StateAxes, Timer};
use crate::sequences::{self, Cleaner, Families, Layout, Sequencer, Work};
use crate::signature::Signature;
use crate::states::States;
use crate::totals::Totals;
use crate::{
    DynamicBatching, Error, ErrorKind, ModelConfig, ModelMetadata, SequenceBatching, TensorInfo,
    VersionMetrics, VersionPolicyInfo,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};
use stead_app::{ModelSettings, NameMapping, VersionPolicy};
use stead_engine::Backend;
use stead_pool::{Class, Pool};
use stead_tensor::Tensor;

/// Requests that may wait when nothing is said: more than the connections of a busy server, few enough to be
/// served within a second by most models.
const QUEUE: u32 = 1024;

/// What the node's models share.
pub(crate) struct Machine {
    pub(crate) pool: Arc<Pool>,
    pub(crate) timer: Arc<Timer>,
    pub(crate) loader: Arc<Loader>,
    /// Other runtimes, for models that name one.
    pub(crate) backends: Vec<Arc<dyn Backend>>,
    /// Counts the requests that were not let in, as they would be late or too many wait.
    pub(crate) refused: Arc<AtomicU64>,
    /// For the tensors of requests that wait.
    pub(crate) budget: Arc<Budget>,
    pub(crate) cleaner: Arc<Cleaner>,
    /// Which sequences are of the same model.
    pub(crate) families: Families,
    /// Where states outlive the process.
    pub(crate) states: Option<Arc<States>>,
}

/// A loaded model version, able to answer.
pub(crate) struct Instance {
    pub(crate) model: String,
    pub(crate) version: u64,
    signature: Signature,
    scheduler: Arc<Scheduler>,
    sequences: Option<Arc<Sequencer>>,
    recorder: Arc<Recorder>,
    budget: Arc<Budget>,
    pub(crate) cleaner: Arc<Cleaner>,
    settings: ModelSettings,
    filename: String,
}

fn given(number: Option<u32>) -> Option<usize> {
    number.filter(|n| *n > 0).map(|n| n as usize)
}

/// How many runs go on at a time where the settings say so.
pub(crate) fn runs_at_a_time(settings: &ModelSettings) -> Option<usize> {
    [given(settings.nireq), given(settings.streams)].into_iter().flatten().min()
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// What is to be loaded.
pub(crate) struct Blueprint<'a> {
    pub(crate) model: &'a str,
    pub(crate) version: u64,
    /// Empty for one that is there already.
    pub(crate) file: &'a Path,
    /// One that is there already.
    pub(crate) ready: Option<Arc<dyn Evaluate>>,
    pub(crate) settings: &'a ModelSettings,
    pub(crate) names: &'a NameMapping,
}

impl Instance {
    /// Loads a model version and warms it up.
    ///
    /// # Errors
    /// In words for clients.
    pub(crate) fn load(
        what: &Blueprint<'_>,
        machine: &Machine,
        recorder: Arc<Recorder>,
    ) -> Result<Instance, String> {
        let Blueprint { model, version, file, ready, settings, names } = what;
        let mut evaluate = match ready {
            Some(ready) => Arc::clone(ready),
            None => foreign::evaluator(file, settings, machine)?,
        };
        if let Some(text) = settings.contradiction() {
            return Err(text);
        }
        if ready.is_none() && settings.max_batch_size.is_some_and(|max| max > 1) {
            free::free_batch(model, &mut evaluate, settings, file)?;
        }
        let layout = match settings.sequences.is_stateful() {
            true => Some(sequences::layout(model, &*evaluate, settings, file)?),
            false => None,
        };
        let signature = Signature::new(&*evaluate, settings, names, layout.as_ref())?;
        let axes: &dyn StateAxes = layout.as_ref().map_or(&NoStates, |layout| layout);
        let batching = match settings.max_batch_size {
            Some(max) if max > 0 => {
                let delay = settings.max_queue_delay.unwrap_or_default();
                Some(Batching::new(&*evaluate, max as usize, delay, axes)?)
            }
            _ if settings.max_queue_delay.is_some_and(|d| !d.is_zero()) => {
                return Err("max_queue_delay_microseconds needs max_batch_size".to_owned());
            }
            _ => None,
        };
        let cores = machine.pool.threads();
        let limits = Limits {
            runs: runs_at_a_time(settings).unwrap_or(cores),
            class: if layout.is_some() { Class::Step } else { Class::Query },
            threads: given(settings.threads).unwrap_or(cores),
            queue: settings.max_queue_size.unwrap_or(QUEUE).max(1) as usize,
            batching,
            growing: layout.iter().flat_map(Layout::growing).collect(),
        };
        let runs = settings.warmup.unwrap_or(0);
        warm_up(&*evaluate, &signature, layout.as_ref(), runs, machine, limits.threads)?;
        let identity = evaluate.identity().map(str::to_owned);
        let scheduler = Scheduler::new(
            (*model).to_owned(),
            evaluate,
            limits,
            Arc::clone(&machine.pool),
            Arc::clone(&machine.timer),
            Arc::clone(&recorder),
            &machine.refused,
        );
        let own = &settings.sequences;
        let sequences = match layout {
            Some(layout) => {
                let content = identity
                    .as_deref()
                    .map_or(sequences::Content::File(file), sequences::Content::Known);
                let durable = sequences::durable(model, *version, &layout, own, content, machine)?;
                let work = Work::Model { layout, scheduler: Arc::clone(&scheduler) };
                let queue = scheduler.limits().queue;
                Some(sequences::begin(
                    (*model, *version),
                    work,
                    queue,
                    own,
                    durable,
                    &recorder,
                    machine,
                ))
            }
            None => None,
        };
        recorder.loaded();
        Ok(Instance {
            sequences,
            model: (*model).to_owned(),
            version: *version,
            signature,
            scheduler,
            recorder,
            budget: Arc::clone(&machine.budget),
            cleaner: Arc::clone(&machine.cleaner),
            settings: (*settings).clone(),
            filename: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        })
    }

    pub(crate) fn recorder(&self) -> &Arc<Recorder> {
        &self.recorder
    }

    /// When the answer to a request is of no more use: at its own deadline, or after the model's time.
    pub(crate) fn deadline(&self, own: Option<Instant>, arrived: Instant) -> Option<Instant> {
        let default = self.settings.default_timeout.filter(|t| !t.is_zero());
        own.or_else(|| arrived.checked_add(default?))
    }

    /// Takes the memory of inputs that may have to wait from the budget of the node.
    pub(crate) fn hold(&self, inputs: &[Option<Tensor>]) -> Result<Held, Error> {
        let bytes = inputs.iter().flatten().map(size).sum();
        self.budget.take(bytes).ok_or_else(|| {
            self.recorder.rejected();
            let (model, limit) = (self.model.clone(), self.budget.limit());
            ErrorKind::QueueMemory { model, limit }.into()
        })
    }

    /// The sequences of a stateful model.
    pub(crate) fn sequences(&self) -> Option<&Arc<Sequencer>> {
        self.sequences.as_ref()
    }

    pub(crate) fn signature(&self) -> &Signature {
        &self.signature
    }

    pub(crate) fn scheduler(&self) -> &Arc<Scheduler> {
        &self.scheduler
    }

    pub(crate) fn metadata(&self, versions: Vec<u64>) -> ModelMetadata {
        ModelMetadata {
            name: self.model.clone(),
            version: self.version,
            versions,
            platform: self.scheduler.evaluate().format().platform.to_owned(),
            inputs: self.signature.input_infos(),
            outputs: self.signature.output_infos(),
            special_inputs: self
                .sequences
                .iter()
                .flat_map(|_| sequences::special_inputs())
                .collect(),
        }
    }

    pub(crate) fn config(&self) -> ModelConfig {
        let limits = self.scheduler.limits();
        let batch = limits.batching.as_ref();
        let layout = self.sequences.as_ref().and_then(|s| s.layout());
        // Triton leaves out the batch axis of a model that is batched.
        let strip = |mut tensors: Vec<TensorInfo>| {
            for tensor in tensors.iter_mut().filter(|_| batch.is_some()) {
                if tensor.shape.first() == Some(&-1) {
                    tensor.shape.remove(0);
                }
            }
            tensors
        };
        ModelConfig {
            name: self.model.clone(),
            platform: self.scheduler.evaluate().format().platform.to_owned(),
            backend: self.scheduler.evaluate().format().backend.to_owned(),
            version_policy: match self.settings.version_policy.clone() {
                None => VersionPolicyInfo::Latest(1),
                Some(VersionPolicy::Latest(n)) => VersionPolicyInfo::Latest(n),
                Some(VersionPolicy::Specific(list)) => VersionPolicyInfo::Specific(list),
                Some(VersionPolicy::All) => VersionPolicyInfo::All,
            },
            max_batch_size: batch.map_or(0, |b| b.max as u64),
            inputs: strip(self.signature.input_infos()),
            outputs: strip(self.signature.output_infos()),
            instances: limits.runs as u64,
            dynamic_batching: batch.map(|b| DynamicBatching {
                max_queue_delay_microseconds: micros(b.delay),
                max_queue_size: limits.queue as u64,
            }),
            default_model_filename: self.filename.clone(),
            sequence_batching: self.sequences.as_ref().map(|s| {
                let (sequences, idle) = s.limits();
                SequenceBatching {
                    max_candidate_sequences: sequences as u64,
                    max_queue_delay_microseconds: batch.map_or(0, |b| micros(b.delay)),
                    max_sequence_idle_microseconds: idle.map_or(0, micros),
                }
            }),
            states: layout.map(Layout::states).unwrap_or_default(),
            windows: layout.map(Layout::windows).unwrap_or_default(),
            parameters: self.sequences.iter().flat_map(|s| s.describe()).collect(),
        }
    }

    pub(crate) fn metrics(&self) -> VersionMetrics {
        let (queue_depth, active) = self.scheduler.load();
        let plans = self.scheduler.evaluate().plan_stats();
        let runs = self.scheduler.limits().runs as u64;
        VersionMetrics {
            streams: runs,
            infer_req_queue_size: runs,
            infer_req_active: active as u64,
            queue_depth: queue_depth as u64,
            plans: plans.plans as u64,
            plan_hits: plans.hits,
            plan_misses: plans.misses,
            plan_evictions: plans.evictions,
            sequences: self.sequences.as_ref().map(|s| s.metrics()),
            ..self.recorder.metrics()
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let plans = self.scheduler.evaluate().plan_stats();
        self.recorder.gone(Totals {
            plan_hits: plans.hits,
            plan_misses: plans.misses,
            plan_evictions: plans.evictions,
            sequences: None,
        });
    }
}

/// Bytes that a tensor of a request keeps in memory.
pub(crate) fn size(tensor: &Tensor) -> u64 {
    let view = tensor.view();
    let strings: usize = view.strings().iter().map(|s| s.len() + size_of::<Vec<u8>>()).sum();
    (view.bytes().len() + strings) as u64
}

fn warm_up(
    evaluate: &dyn Evaluate,
    signature: &Signature,
    layout: Option<&Layout>,
    runs: u32,
    machine: &Machine,
    threads: usize,
) -> Result<(), String> {
    if runs == 0 {
        return Ok(());
    }
    let mut inputs = signature.smallest().map_err(|e| format!("warm-up: {e}"))?;
    if let Some(layout) = layout {
        let filled = layout.fill(&mut inputs, evaluate.inputs(), None, 1);
        filled.map_err(|e| format!("warm-up: {e}"))?;
    }
    let views: Vec<_> = inputs.iter().map(|t| t.as_ref().map(Tensor::view)).collect();
    let wanted: Vec<usize> = (0..signature.outputs.len()).collect();
    let started = Instant::now();
    // A model that is slow beyond all measure must not keep its version from being served for ever.
    let expired = || started.elapsed() > WARM_UP_LIMIT;
    for _ in 0..runs {
        let team = Some(machine.pool.team(threads));
        let deadline = started.checked_add(WARM_UP_LIMIT);
        let run = Run { team, cancelled: &expired, within: None, deadline, profile: None };
        match evaluate.run(&views, &wanted, &run, &mut |_, _| Ok(())) {
            Ok(()) => {}
            Err(EvaluateError::Cancelled | EvaluateError::NotQuick | EvaluateError::Late(_)) => {
                break;
            }
            Err(
                EvaluateError::Input(text)
                | EvaluateError::Memory(text)
                | EvaluateError::Busy(text)
                | EvaluateError::Failed(text),
            ) => return Err(format!("warm-up: {text}")),
        }
    }
    Ok(())
}

const WARM_UP_LIMIT: Duration = Duration::from_secs(60);

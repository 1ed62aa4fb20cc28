//! A session: one model for any number of concurrent callers.

mod cache;
mod free;
mod inputs;
mod options;
mod outputs;
mod owned;
mod scratch;
mod trial;
mod values;

pub use cache::PlanStats;
pub use free::{FREED, FreeError};
pub use options::{RunContext, SessionOptions};
pub use outputs::{OutputBuf, Outputs};
pub use owned::{Elements, OwnedOutput};
pub(crate) use trial::Trial;
pub use values::Value;

use crate::compile::{Program, compile};
use crate::error::{LoadError, RunError};
use crate::model::{IoSpec, Model};
use crate::plan::{
    Arranged, Branch, End, Growing, GrowingShape, OutputPlace, PlaceSource, PlanNode, PlanView,
    RunEnv, continue_plan, read_source, run_segment,
};
use cache::{Key, PlanCache, PlanEntry};
use inputs::check_inputs;
use options::choose_isa;
use scratch::Scratch;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use stead_kernels::Isa;
use stead_tensor::{Tensor, TensorView};
use values::wrong_form;

/// A model ready to run. `Session` is `Send + Sync`: callers share one, and each run takes its own working
/// memory from a pool that the session keeps.
pub struct Session {
    model: Model,
    program: Program,
    plans: PlanCache,
    scratch: Mutex<Vec<Scratch>>,
    /// What the next step of a sequence will want a plan for.
    ahead: Mutex<Option<Key>>,
    max_arena_bytes: usize,
}

impl Session {
    /// Compiles a model: builds every node and packs the weights.
    ///
    /// # Errors
    /// [`LoadError::Node`] when a node cannot be built, [`LoadError::Isa`], [`LoadError::Precision`].
    pub fn new(mut model: Model, options: &SessionOptions) -> Result<Session, LoadError> {
        let isa = choose_isa(options.isa)?;
        model.own.check(options.precision)?;
        model.lay_out(isa)?;
        let program = compile(std::mem::take(&mut model.ir), isa, options.precision)?;
        let program = Program { outputs_apart: options.outputs_apart, ..program };
        Ok(Session {
            model,
            program,
            plans: PlanCache::new(options.max_plans),
            scratch: Mutex::default(),
            ahead: Mutex::default(),
            max_arena_bytes: options.max_arena_bytes,
        })
    }

    /// The model's inputs and outputs and what its file says about itself.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The instruction set that kernels use.
    pub fn isa(&self) -> Isa {
        self.program.isa
    }

    /// Runs with inputs by name and gives the named outputs, or all in order for an empty list. Inputs that are
    /// not aligned for their element type are copied.
    ///
    /// # Errors
    /// [`RunError`]; the session stays usable.
    pub fn run(
        &self,
        inputs: &[(&str, TensorView<'_>)],
        outputs: &[&str],
    ) -> Result<Vec<Tensor>, RunError> {
        let mut aligned = Vec::with_capacity(inputs.len());
        for (name, view) in inputs {
            let position = position(self.model.inputs(), name)
                .ok_or_else(|| RunError::UnknownInput((*name).to_owned()))?;
            let copy = if view.is_aligned() { None } else { Some(view.to_tensor()?) };
            aligned.push((position, view, copy));
        }
        let mut by_position = vec![None; self.model.inputs().len()];
        for (position, view, copy) in &aligned {
            by_position[*position] = Some(copy.as_ref().map_or(**view, Tensor::view));
        }
        let wanted: Vec<usize> = if outputs.is_empty() {
            (0..self.model.outputs().len()).collect()
        } else {
            let find = |name: &&str| {
                position(self.model.outputs(), name)
                    .ok_or_else(|| RunError::UnknownOutput((*name).to_owned()))
            };
            outputs.iter().map(find).collect::<Result<_, _>>()?
        };
        self.run_with(&by_position, &RunContext::default(), |outputs| {
            wanted.iter().map(|&i| Ok(outputs.get(i)?.to_tensor()?)).collect()
        })?
    }

    /// Runs with inputs by position in `model().inputs()` (`None` for an optional one that is absent) and
    /// shows the outputs to `f` where they lie. In the steady state, when shapes have been seen before, this
    /// allocates nothing.
    ///
    /// # Errors
    /// [`RunError`]; the session stays usable.
    pub fn run_with<R>(
        &self,
        inputs: &[Option<TensorView<'_>>],
        cx: &RunContext<'_>,
        f: impl FnOnce(Outputs<'_>) -> R,
    ) -> Result<R, RunError> {
        self.run_growing(inputs, &mut [], cx, f)
    }

    /// As [`Session::run_with`], with states that grow where they lie. Their inputs are `None` in `inputs`. After the
    /// run [`Outputs::grown`] tells which outputs are such a state: where the model joined new elements to its end it
    /// has become longer in [`Growing::growth`] without a copy; where the model did something else its output is read
    /// as any other. When the run fails the states must be dropped.
    ///
    /// # Errors
    /// [`RunError`]; the session stays usable.
    pub fn run_growing<R>(
        &self,
        inputs: &[Option<TensorView<'_>>],
        growing: &mut [Growing],
        cx: &RunContext<'_>,
        f: impl FnOnce(Outputs<'_>) -> R,
    ) -> Result<R, RunError> {
        self.check(inputs, growing)?;
        self.run_then(inputs, &[], growing, cx, |places, scratch, growing| {
            f(Outputs::new(places, scratch.results(), inputs, growing))
        })
    }

    /// Checks inputs that are one tensor each.
    fn check(
        &self,
        inputs: &[Option<TensorView<'_>>],
        growing: &[Growing],
    ) -> Result<(), RunError> {
        match self.model.first_list() {
            None => check_inputs(self.model.inputs(), inputs, growing),
            Some((spec, form)) => Err(wrong_form(spec, form, "tensors only")),
        }
    }

    /// Runs on inputs that have been checked, and shows `f` where the outputs lie. `lists` says how the inputs are
    /// arranged if any is no tensor.
    fn run_then<R>(
        &self,
        inputs: &[Option<TensorView<'_>>],
        lists: &[Arranged],
        growing: &mut [Growing],
        cx: &RunContext<'_>,
        f: impl FnOnce(&[OutputPlace], &mut Scratch, &[Growing]) -> R,
    ) -> Result<R, RunError> {
        let entry = self.plans.get(&self.program, inputs, lists, growing, cx.within)?;
        let started = Instant::now();
        let mut scratch =
            self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let ran = self.run_plan(&entry, inputs, growing, cx, &mut scratch);
        let nanos = started.elapsed().as_nanos().min(u128::from(u64::MAX)) as u64;
        let result = ran.and_then(|()| {
            if cx.pause.is_none() {
                entry.last_nanos.store(nanos, Relaxed);
            }
            let last =
                scratch.path.last().ok_or(RunError::Internal("a run without a plan"))?.clone();
            match &last.end {
                End::Done(places) => Ok(f(places, &mut scratch, growing)),
                End::Branch(_) => Err(RunError::Internal("a run stopped at a branch")),
            }
        });
        if result.is_ok() && !growing.is_empty() {
            self.foresee(&entry, inputs, growing);
        }
        scratch.texts.clear();
        if !scratch.is_oversized() {
            self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        }
        result
    }

    /// Makes the plan for the step that is likely to follow the last one of a growing state, if there was one. Each of
    /// its lengths has a plan of its own; callers who have answered a step and have time make the next one here.
    pub fn plan_ahead(&self) {
        let key = self.ahead.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Whoever runs such a step is told what is wrong with it.
        key.into_iter().for_each(|key| drop(self.plans.prepare(&self.program, key)));
    }

    /// Notes what follows a step by which all states became longer by one: as long a step again.
    fn foresee(&self, entry: &PlanEntry, inputs: &[Option<TensorView<'_>>], growing: &[Growing]) {
        let next = Key::of(inputs, &[], growing);
        let one = |(then, now): (&GrowingShape, &GrowingShape)| {
            then.shape.get(then.axis).map(|n| n + 1) == now.shape.get(now.axis).copied()
        };
        if entry.key.growing.iter().zip(&next.growing).all(one) {
            *self.ahead.lock().unwrap_or_else(PoisonError::into_inner) = Some(next);
        }
    }

    /// Runs as [`Session::run_with`] and copies every output into the caller's buffer at its position.
    ///
    /// # Errors
    /// [`RunError`], among them [`RunError::OutputBuffer`] for a buffer of the wrong size.
    pub fn run_into(
        &self,
        inputs: &[Option<TensorView<'_>>],
        cx: &RunContext<'_>,
        outputs: &mut [OutputBuf<'_>],
    ) -> Result<(), RunError> {
        self.run_with(inputs, cx, |results| {
            for (index, buf) in outputs.iter_mut().enumerate() {
                let result = results.get(index)?;
                if result.dtype() == stead_tensor::DType::String {
                    return Err(RunError::value("strings have no bytes that a buffer could take"));
                }
                if result.bytes().len() != buf.bytes.len() {
                    return Err(RunError::OutputBuffer {
                        name: self.model.outputs().get(index).map_or("", |o| &o.name).to_owned(),
                        expected: result.bytes().len(),
                        actual: buf.bytes.len(),
                    });
                }
                buf.bytes.copy_from_slice(result.bytes());
                buf.shape = Some(result.shape());
            }
            Ok(())
        })?
    }

    /// What the plan cache holds and has done.
    pub fn plan_stats(&self) -> PlanStats {
        self.plans.stats()
    }

    /// The plan for these inputs, laid open. Continuations that depend on values show once a run with such
    /// values has made them; this runs the model.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn plan_view(&self, inputs: &[Option<TensorView<'_>>]) -> Result<PlanView, RunError> {
        self.check(inputs, &[])?;
        let entry = self.plans.get(&self.program, inputs, &[], &[], None)?;
        let mut scratch = Scratch::default();
        self.run_plan(&entry, inputs, &mut [], &RunContext::default(), &mut scratch)?;
        let mut view = PlanView::default();
        scratch.path.iter().for_each(|node| view.add(node));
        Ok(view)
    }

    fn run_plan(
        &self,
        entry: &PlanEntry,
        inputs: &[Option<TensorView<'_>>],
        growing: &mut [Growing],
        cx: &RunContext<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), RunError> {
        let mut node = entry.root.clone();
        loop {
            let bytes = node.segment.bytes();
            if bytes > self.max_arena_bytes {
                return Err(stead_tensor::TensorError::OutOfMemory(bytes).into());
            }
            let blocks = [node.segment.arena_bytes];
            for (at, &bytes) in blocks.iter().chain(&node.segment.apart).enumerate() {
                scratch.blocks.ensure(scratch.path.len() + at, bytes)?;
            }
            scratch.texts.enter(scratch.path.len(), node.segment.texts);
            let mut env = RunEnv {
                inputs,
                growing: &mut *growing,
                texts: &scratch.texts,
                isa: self.program.isa,
                parallel: cx.parallel,
                cancelled: cx.cancelled,
                pause: cx.pause,
                profile: cx.profile,
            };
            run_segment(&node.segment, &mut scratch.blocks, &mut env)?;
            let next = match &node.end {
                End::Done(_) => None,
                End::Branch(branch) => {
                    let value = match &branch.source {
                        PlaceSource::Arena(span) => scratch.blocks.bytes(*span),
                        PlaceSource::Outside(source) => read_source(source, inputs, growing).ok(),
                        PlaceSource::Grown(_)
                        | PlaceSource::Sequence(_)
                        | PlaceSource::Map(_)
                        | PlaceSource::Nothing => None,
                    };
                    let value = value.ok_or(RunError::Internal("a branch reads outside"))?;
                    Some(self.child(branch, value)?)
                }
            };
            scratch.path.push(node);
            match next {
                Some(child) => node = child,
                None => return Ok(()),
            }
        }
    }

    /// The continuation of a branch for this value, planned outside of any lock when it is new.
    fn child(&self, branch: &Branch, value: &[u8]) -> Result<Arc<PlanNode>, RunError> {
        /// Continuations kept at one branch. A value that changes with every run, such as a count of detected
        /// objects, must not fill the memory.
        const MAX_CHILDREN: usize = 64;
        let known = branch.children.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(child) = known.get(value) {
            return Ok(child.clone());
        }
        drop(known);
        let started = Instant::now();
        let made = Arc::new(continue_plan(&self.program, branch, value)?);
        self.plans.planned(started.elapsed());
        let mut children = branch.children.write().unwrap_or_else(PoisonError::into_inner);
        if children.len() >= MAX_CHILDREN {
            children.clear();
        }
        Ok(children.entry(value.into()).or_insert(made).clone())
    }
}

fn position(specs: &[IoSpec], name: &str) -> Option<usize> {
    specs.iter().position(|s| s.name == name)
}

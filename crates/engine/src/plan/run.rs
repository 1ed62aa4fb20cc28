//! Runs the steps of a plan.

use super::segment::{Part, Segment, Step, StepSource};
use super::texts::{TextRef, Texts};
use super::work::StepRun;
use crate::error::RunError;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use stead_kernels::{Isa, Parallel};
use stead_tensor::{Blocks, BranchSpans, Element, Growth, StepMem, TensorView};

/// A state that becomes longer in a run without being copied: the model joins something to its end, and what it was
/// and what it becomes share their memory.
#[derive(Debug)]
pub struct Growing {
    /// The input that takes the state.
    pub input: usize,
    /// The output that gives the longer one.
    pub output: usize,
    /// The state.
    pub growth: Growth,
}

/// What a run has besides the plan and its arena.
pub(crate) struct RunEnv<'a> {
    pub inputs: &'a [Option<TensorView<'a>>],
    pub growing: &'a mut [Growing],
    pub texts: &'a Texts,
    pub isa: Isa,
    pub parallel: &'a dyn Parallel,
    pub cancelled: Option<&'a (dyn Fn() -> bool + Sync)>,
    pub pause: Option<&'a (dyn Fn() + Sync)>,
    pub profile: Option<&'a (dyn Fn(StepRun<'_>) + Sync)>,
}

/// What a kernel call may touch: operands in the order in which the step named them, and outputs, each
/// handed out once, in order.
pub struct Args<'a> {
    sources: &'a [StepSource],
    mem: StepMem<'a>,
    inputs: &'a [Option<TensorView<'a>>],
    growing: &'a [Growing],
    texts: &'a Texts,
    /// Where the strings that the step makes go.
    made: &'a [TextRef],
    /// Where a step that appends writes first.
    tail: Option<&'a mut [u8]>,
    /// The instruction set to use.
    pub isa: Isa,
    /// Threads that may help.
    pub parallel: &'a dyn Parallel,
}

/// Functions, because an error that is made before it is needed has to be dropped again at every operand of every step.
fn no_such_operand() -> RunError {
    RunError::Internal("a step asked for an operand it did not name")
}

fn outside() -> RunError {
    RunError::Internal("a step lies outside of the arena")
}

impl<'a> Args<'a> {
    /// The bytes of operand `index`.
    ///
    /// # Errors
    /// [`RunError::Internal`] when the step named fewer operands.
    pub fn read_bytes(&self, index: usize) -> Result<&'a [u8], RunError> {
        match self.sources.get(index).ok_or_else(no_such_operand)? {
            StepSource::Arena(read) => self.mem.read(*read).ok_or_else(no_such_operand),
            source => read_source(source, self.inputs, self.growing),
        }
    }

    /// The elements of operand `index`.
    ///
    /// # Errors
    /// [`RunError::Internal`] when the step named fewer operands.
    pub fn read<T: Element>(&self, index: usize) -> Result<&'a [T], RunError> {
        bytemuck::try_cast_slice(self.read_bytes(index)?)
            .map_err(|_| RunError::Internal("an operand is not aligned"))
    }

    /// The strings of operand `index`.
    ///
    /// # Errors
    /// [`RunError::Internal`] when the step named fewer operands, or the operand is no strings.
    pub fn strings(&self, index: usize) -> Result<&'a [Vec<u8>], RunError> {
        let source = self.sources.get(index).ok_or_else(no_such_operand)?;
        read_strings(source, self.inputs, self.texts)
    }

    /// Gives the strings of output `index`, counted among those outputs of the step that are strings. They are one for each
    /// element of its shape.
    ///
    /// # Errors
    /// [`RunError::Internal`] when the step has fewer such outputs, or this one was given before.
    pub fn write_strings(&self, index: usize, strings: Vec<Vec<u8>>) -> Result<(), RunError> {
        let at = self.made.get(index).ok_or_else(no_such_operand)?;
        self.texts.fill(*at, strings).ok_or(RunError::Internal("strings are made twice"))
    }

    /// The bytes of the next output that is not of strings. They hold whatever was there before.
    ///
    /// # Errors
    /// [`RunError::Internal`] when the step named fewer outputs.
    pub fn write_bytes(&mut self) -> Result<&'a mut [u8], RunError> {
        self.tail.take().or_else(|| self.mem.next_write()).ok_or_else(no_such_operand)
    }

    /// The elements of the next output. They hold whatever was there before.
    ///
    /// # Errors
    /// [`RunError::Internal`] when the step named fewer outputs.
    pub fn write<T: Element>(&mut self) -> Result<&'a mut [T], RunError> {
        bytemuck::try_cast_slice_mut(self.write_bytes()?)
            .map_err(|_| RunError::Internal("an output is not aligned"))
    }
}

/// The bytes of an operand outside of the arena.
pub(crate) fn read_source<'a>(
    source: &'a StepSource,
    inputs: &'a [Option<TensorView<'a>>],
    growing: &'a [Growing],
) -> Result<&'a [u8], RunError> {
    let (bytes, range) = match source {
        StepSource::Const(tensor, range) => (Some(tensor.bytes()), range),
        StepSource::Input(index, range) => {
            (inputs.get(*index).and_then(|i| i.as_ref()).map(|view| view.bytes()), range)
        }
        StepSource::Grown(state, range) => {
            (growing.get(*state).map(|state| state.growth.bytes()), range)
        }
        StepSource::Arena(_) | StepSource::Text(_) => return Err(no_such_operand()),
    };
    bytes.and_then(|b| b.get(range.clone())).ok_or_else(no_such_operand)
}

/// The strings of a value outside of the arena.
pub(crate) fn read_strings<'a>(
    source: &'a StepSource,
    inputs: &'a [Option<TensorView<'a>>],
    texts: &'a Texts,
) -> Result<&'a [Vec<u8>], RunError> {
    match source {
        StepSource::Const(tensor, _) => Ok(tensor.view().strings()),
        StepSource::Input(index, _) => match inputs.get(*index) {
            Some(Some(view)) => Ok(view.strings()),
            _ => Err(no_such_operand()),
        },
        StepSource::Text(at) => {
            texts.get(*at).ok_or(RunError::Internal("strings are read before they are made"))
        }
        StepSource::Grown(..) | StepSource::Arena(_) => Err(no_such_operand()),
    }
}

/// Runs a segment in `blocks`, whose block for the segment is large enough.
pub(crate) fn run_segment(
    segment: &Segment,
    blocks: &mut Blocks,
    env: &mut RunEnv<'_>,
) -> Result<(), RunError> {
    for part in &segment.parts {
        match part {
            Part::Chain(steps) => run_chain(steps_of(segment, steps)?, blocks, env)?,
            // Who may be called away between two steps is one thread.
            Part::Branches(branches, spans)
                if env.parallel.threads() > 1 && env.pause.is_none() =>
            {
                run_branches(segment, branches, spans, blocks, env)?;
            }
            Part::Branches(branches, _) => {
                for steps in branches {
                    run_chain(steps_of(segment, steps)?, blocks, env)?;
                }
            }
        }
    }
    Ok(())
}

fn steps_of<'s>(segment: &'s Segment, range: &Range<usize>) -> Result<&'s [Step], RunError> {
    segment.steps.get(range.clone()).ok_or(RunError::Internal("a part without its steps"))
}

fn run_chain(steps: &[Step], blocks: &mut Blocks, env: &mut RunEnv<'_>) -> Result<(), RunError> {
    let around = env.around();
    for step in steps {
        if let Some(pause) = env.pause {
            pause();
        }
        let mem = blocks.step(&step.spans).ok_or_else(outside)?;
        let (growing, tail): (&[Growing], _) = match step.append {
            None => (&*env.growing, None),
            Some(append) => {
                let state = env.growing.get_mut(append.state).ok_or_else(no_such_operand)?;
                (&[], Some(state.growth.append(append.steps)?))
            }
        };
        Around { growing, ..around }.run_step(step, mem, tail)?;
    }
    Ok(())
}

/// Runs branches on as many threads as are there. The first error ends the branch that had it; the others are told by it
/// to stop as soon as they have done a step.
fn run_branches(
    segment: &Segment,
    branches: &[Range<usize>],
    spans: &BranchSpans,
    blocks: &mut Blocks,
    env: &RunEnv<'_>,
) -> Result<(), RunError> {
    let fork = blocks.fork(spans).ok_or_else(outside)?;
    let around = Around { growing: &*env.growing, ..env.around() };
    let failed: Mutex<Option<RunError>> = Mutex::new(None);
    let lock = || failed.lock().unwrap_or_else(PoisonError::into_inner);
    let run = |index: usize| -> Result<(), RunError> {
        let (Some(steps), Some(mut branch)) = (branches.get(index), fork.take(index)) else {
            return Err(RunError::Internal("a branch ran twice"));
        };
        for (at, step) in steps_of(segment, steps)?.iter().enumerate() {
            if lock().is_some() {
                break;
            }
            around.run_step(step, branch.step(at).ok_or_else(outside)?, None)?;
        }
        Ok(())
    };
    env.parallel.for_each(branches.len(), &|index| {
        if let Err(error) = run(index) {
            lock().get_or_insert(error);
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// What steps of one run have in common, whichever threads run them.
#[derive(Clone, Copy)]
struct Around<'a> {
    inputs: &'a [Option<TensorView<'a>>],
    growing: &'a [Growing],
    texts: &'a Texts,
    isa: Isa,
    parallel: &'a dyn Parallel,
    cancelled: Option<&'a (dyn Fn() -> bool + Sync)>,
    profile: Option<&'a (dyn Fn(StepRun<'_>) + Sync)>,
}

impl<'e> RunEnv<'e> {
    /// All but the states that grow.
    fn around(&self) -> Around<'e> {
        let RunEnv { inputs, texts, isa, parallel, cancelled, profile, .. } = *self;
        Around { inputs, growing: &[], texts, isa, parallel, cancelled, profile }
    }
}

impl Around<'_> {
    #[inline(always)]
    fn run_step(
        &self,
        step: &Step,
        mem: StepMem<'_>,
        tail: Option<&mut [u8]>,
    ) -> Result<(), RunError> {
        if self.cancelled.is_some_and(|cancelled| cancelled()) {
            return Err(RunError::Cancelled);
        }
        let mut args = Args {
            sources: &step.sources,
            mem,
            inputs: self.inputs,
            growing: self.growing,
            texts: self.texts,
            made: &step.texts,
            tail,
            isa: self.isa,
            parallel: self.parallel,
        };
        let Some(profile) = self.profile else {
            return (step.run)(&mut args).map_err(|e| e.at(&step.label));
        };
        let started = Instant::now();
        (step.run)(&mut args).map_err(|e| e.at(&step.label))?;
        let time = started.elapsed();
        profile(StepRun { kernel: step.name, node: &step.label, work: step.work, time });
        Ok(())
    }
}

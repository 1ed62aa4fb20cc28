//! Collects the steps of one segment of a plan and places their buffers.

use super::facts::BufferRef;
use super::place::{Lifetime, place};
use super::run::Args;
use super::work::Work;
use crate::error::{PlanError, RunError};
use std::ops::Range;
use std::sync::Arc;
use stead_tensor::{DType, Shape, Span, StepSpans, Tensor, TensorError};

/// Element type and shape of an operand or output, for the debugging view.
pub(crate) type StepType = (DType, Shape);

/// What runs a step.
pub(crate) type StepFn = Box<dyn Fn(&mut Args<'_>) -> Result<(), RunError> + Send + Sync>;

/// Where an operand's bytes come from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Const(Tensor, Range<usize>),
    Input(usize, Range<usize>),
    Buffer(BufferRef, Range<usize>),
    Grown(usize, Range<usize>),
}

impl Source {
    /// The bytes that are read.
    pub fn range(&self) -> &Range<usize> {
        let (Source::Const(_, r)
        | Source::Input(_, r)
        | Source::Buffer(_, r)
        | Source::Grown(_, r)) = self;
        r
    }

    /// Other bytes of the same place.
    pub fn at(self, range: Range<usize>) -> Source {
        match self {
            Source::Const(tensor, _) => Source::Const(tensor, range),
            Source::Input(index, _) => Source::Input(index, range),
            Source::Buffer(buffer, _) => Source::Buffer(buffer, range),
            Source::Grown(state, _) => Source::Grown(state, range),
        }
    }
}

/// A growing state and by how many steps along its axis it becomes longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Append {
    pub state: usize,
    pub steps: usize,
}

/// A segment under construction.
pub(crate) struct SegmentBuilder {
    index: usize,
    block: usize,
    buffers: Vec<usize>,
    steps: Vec<PendingStep>,
}

struct PendingStep {
    name: &'static str,
    label: Arc<str>,
    reads: Vec<(Source, StepType)>,
    writes: Vec<(usize, StepType)>,
    append: Option<Append>,
    work: Work,
    run: StepFn,
}

/// A run of steps between two branches of a plan.
pub(crate) struct Segment {
    /// The size of the arena block of this segment.
    pub arena_bytes: usize,
    /// The steps in order.
    pub steps: Vec<Step>,
    /// Where each buffer lies.
    pub spans: Arc<[Span]>,
}

/// One call of a kernel with everything resolved.
pub(crate) struct Step {
    /// The kernel.
    pub name: &'static str,
    /// The node it works for.
    pub label: Arc<str>,
    pub sources: Box<[StepSource]>,
    /// Types of what is read, then of what is written.
    pub types: Box<[StepType]>,
    pub spans: StepSpans,
    /// What the step writes to instead of the arena.
    pub append: Option<Append>,
    /// For profiles.
    pub work: Work,
    pub run: StepFn,
}

/// Where a step finds an operand.
pub(crate) enum StepSource {
    /// In the arena: the position among the step's reads.
    Arena(usize),
    Const(Tensor, Range<usize>),
    Input(usize, Range<usize>),
    Grown(usize, Range<usize>),
}

impl SegmentBuilder {
    pub fn new(index: usize) -> SegmentBuilder {
        SegmentBuilder { index, block: index, buffers: Vec::new(), steps: Vec::new() }
    }

    /// A segment that is run at once, alone, to evaluate constants.
    pub fn nested() -> SegmentBuilder {
        // No segment of a plan has this number, so that no buffer can be taken for one of a plan.
        SegmentBuilder { block: 0, ..SegmentBuilder::new(usize::MAX) }
    }

    /// A new buffer of this segment.
    pub fn buffer(&mut self, bytes: usize) -> BufferRef {
        self.buffers.push(bytes);
        BufferRef { segment: self.index, index: self.buffers.len() - 1, bytes }
    }

    /// Total bytes of all buffers so far, for budgets.
    pub fn buffer_bytes(&self) -> usize {
        self.buffers.iter().fold(0, |sum, &b| sum.saturating_add(b))
    }

    pub fn step(
        &mut self,
        name: &'static str,
        label: Arc<str>,
        reads: Vec<(Source, StepType)>,
        writes: Vec<(BufferRef, StepType)>,
        run: StepFn,
    ) {
        let writes = writes.into_iter().map(|(w, ty)| (w.index, ty)).collect();
        let work = Work::default();
        self.steps.push(PendingStep { name, label, reads, writes, append: None, work, run });
    }

    /// Adds to the work of the step that was emitted last.
    pub fn count(&mut self, work: Work) {
        if let Some(step) = self.steps.last_mut() {
            step.work.flops = step.work.flops.saturating_add(work.flops);
            step.work.bytes = step.work.bytes.saturating_add(work.bytes);
        }
    }

    /// A step that appends to a growing state. It reads no such state.
    pub fn append(
        &mut self,
        name: &'static str,
        label: Arc<str>,
        reads: Vec<(Source, StepType)>,
        append: Append,
        run: StepFn,
    ) {
        let (writes, append, work) = (Vec::new(), Some(append), Work::default());
        self.steps.push(PendingStep { name, label, reads, writes, append, work, run });
    }

    /// Places the buffers. `live` are the buffers that are read after this segment; `earlier` the spans of
    /// the segments before.
    pub fn finish(
        self,
        live: impl Iterator<Item = BufferRef>,
        earlier: &[Arc<[Span]>],
    ) -> Result<Segment, PlanError> {
        let mut lifetimes: Vec<Lifetime> = self
            .buffers
            .iter()
            .map(|&bytes| Lifetime { bytes, first: usize::MAX, last: 0 })
            .collect();
        for (at, step) in self.steps.iter().enumerate() {
            let reads = step.reads.iter().filter_map(|(source, _)| match source {
                Source::Buffer(b, _) if b.segment == self.index => Some(b.index),
                _ => None,
            });
            for index in reads.chain(step.writes.iter().map(|w| w.0)) {
                let lifetime = &mut lifetimes[index];
                lifetime.first = lifetime.first.min(at);
                lifetime.last = lifetime.last.max(at);
            }
        }
        for buffer in live.filter(|b| b.segment == self.index) {
            lifetimes[buffer.index].last = usize::MAX;
        }
        for lifetime in lifetimes.iter_mut().filter(|l| l.first == usize::MAX) {
            // Declared but never used: it takes no room.
            *lifetime = Lifetime { bytes: 0, first: 0, last: 0 };
        }
        let (offsets, arena_bytes) =
            place(&lifetimes).ok_or(TensorError::OutOfMemory(usize::MAX))?;
        let spans: Arc<[Span]> = offsets
            .iter()
            .zip(&lifetimes)
            .map(|(&offset, l)| Span { block: self.block, offset, len: l.bytes })
            .collect();
        let resolve = |buffer: &BufferRef, range: &Range<usize>| -> Option<Span> {
            let spans =
                if buffer.segment == self.index { &spans } else { earlier.get(buffer.segment)? };
            let whole = spans.get(buffer.index)?;
            (range.end <= whole.len).then_some(Span {
                block: whole.block,
                offset: whole.offset + range.start,
                len: range.end - range.start,
            })
        };
        let broken = || PlanError::Evaluation("a step of the plan is inconsistent".into());
        let mut steps = Vec::with_capacity(self.steps.len());
        for step in self.steps {
            let mut reads = Vec::new();
            let mut sources = Vec::with_capacity(step.reads.len());
            let types = step.reads.iter().map(|r| r.1).chain(step.writes.iter().map(|w| w.1));
            let types = types.collect();
            for (source, _) in step.reads {
                sources.push(match source {
                    Source::Const(tensor, range) => StepSource::Const(tensor, range),
                    Source::Input(index, range) => StepSource::Input(index, range),
                    Source::Grown(state, range) => StepSource::Grown(state, range),
                    Source::Buffer(buffer, range) => {
                        reads.push(resolve(&buffer, &range).ok_or_else(broken)?);
                        StepSource::Arena(reads.len() - 1)
                    }
                });
            }
            let writes = step.writes.iter().map(|&(w, _)| spans[w]).collect();
            steps.push(Step {
                name: step.name,
                label: step.label,
                sources: sources.into(),
                types,
                spans: StepSpans::new(reads, writes).ok_or_else(broken)?,
                append: step.append,
                work: step.work,
                run: step.run,
            });
        }
        Ok(Segment { arena_bytes, steps, spans })
    }
}

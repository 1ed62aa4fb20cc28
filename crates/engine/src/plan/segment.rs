//! Collects the steps of one segment of a plan and places their buffers.

use super::branches::{Chain, Link, find, may_have};
use super::facts::BufferRef;
use super::layout::{Room, lay_out};
use super::run::Args;
use super::texts::TextRef;
use super::work::Work;
use crate::error::{PlanError, RunError};
use std::ops::Range;
use std::sync::Arc;
use stead_tensor::{BranchSpans, DType, MAX_BRANCHES, Shape, Span, StepSpans, Tensor, TensorError};

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
    /// The sizes of the blocks behind it, each of which holds one output of the plan.
    pub apart: Box<[usize]>,
    /// The steps in order.
    pub steps: Vec<Step>,
    /// Which of them run one after the other, and which at the same time.
    pub parts: Box<[Part]>,
    /// Where each buffer lies.
    pub spans: Arc<[Span]>,
    /// The slots that it needs for strings: none, or one for each buffer.
    pub texts: usize,
}

impl Segment {
    /// The memory that it needs.
    pub fn bytes(&self) -> usize {
        self.apart.iter().fold(self.arena_bytes, |sum, &bytes| sum.saturating_add(bytes))
    }
}

/// Steps that follow each other in a segment.
pub(crate) enum Part {
    /// One after the other.
    Chain(Range<usize>),
    /// Branches: each is a chain, and threads may run them at the same time.
    Branches(Box<[Range<usize>]>, BranchSpans),
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
    /// Where the strings go that it makes.
    pub texts: Box<[TextRef]>,
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
    /// Strings that a step has made.
    Text(TextRef),
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

    /// Whether a step makes strings.
    pub fn makes_strings(&self) -> bool {
        let mut writes = self.steps.iter().flat_map(|step| &step.writes);
        writes.any(|(_, (dtype, _))| *dtype == DType::String)
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

    /// The steps in parts: in their order, unless there are branches.
    fn parts(&self) -> Vec<Vec<Chain>> {
        // What appends to a state of the caller must not run beside other steps.
        let appends = self.steps.iter().any(|step| step.append.is_some());
        let flops = self.steps.iter().fold(0, |sum: u64, s| sum.saturating_add(s.work.flops));
        let branches = match may_have(flops) && !appends {
            true => find(&self.links(), MAX_BRANCHES),
            false => None,
        };
        branches.unwrap_or_else(|| vec![vec![(0..self.steps.len()).collect()]])
    }

    /// What each step must come after: who wrote what it reads, and who touched what it writes.
    fn links(&self) -> Vec<Link> {
        let mut written: Vec<Option<usize>> = vec![None; self.buffers.len()];
        let mut read_since: Vec<Vec<usize>> = vec![Vec::new(); self.buffers.len()];
        let mut links = Vec::with_capacity(self.steps.len());
        for (at, step) in self.steps.iter().enumerate() {
            let mut link = Link { flops: step.work.flops, after: Vec::new() };
            for buffer in self.reads_of(step) {
                link.after.extend(written[buffer]);
                read_since[buffer].push(at);
            }
            for &(buffer, _) in &step.writes {
                link.after.extend(written[buffer].replace(at));
                link.after.extend(read_since[buffer].drain(..).filter(|&reader| reader != at));
            }
            links.push(link);
        }
        links
    }

    /// The buffers of this segment that each step touches.
    fn touched(&self) -> Vec<Vec<usize>> {
        let touched = |step: &PendingStep| {
            self.reads_of(step).chain(step.writes.iter().map(|write| write.0)).collect()
        };
        self.steps.iter().map(touched).collect()
    }

    fn reads_of<'s>(&'s self, step: &'s PendingStep) -> impl Iterator<Item = usize> + 's {
        step.reads.iter().filter_map(|(source, _)| match source {
            Source::Buffer(b, _) if b.segment == self.index => Some(b.index),
            _ => None,
        })
    }

    /// Places the buffers. `live` are the buffers that are read after this segment, `apart` those of them that get a
    /// block for themselves behind that of the segment, which must be the last one; `earlier` the spans of the segments
    /// before.
    pub fn finish(
        mut self,
        live: impl Iterator<Item = BufferRef>,
        apart: &[BufferRef],
        earlier: &[Arc<[Span]>],
    ) -> Result<Segment, PlanError> {
        let parts = self.parts();
        let texts = if self.makes_strings() { self.buffers.len() } else { 0 };
        let live: Vec<usize> = live.filter(|b| b.segment == self.index).map(|b| b.index).collect();
        let mut own: Vec<usize> =
            apart.iter().filter(|b| b.segment == self.index).map(|b| b.index).collect();
        own.sort_unstable();
        own.dedup();
        // In the arena they take no room.
        let apart: Box<[usize]> =
            own.iter().map(|&buffer| std::mem::take(&mut self.buffers[buffer])).collect();
        let (rooms, arena_bytes) = lay_out(&self.buffers, &self.touched(), &parts, &live)
            .ok_or(TensorError::OutOfMemory(usize::MAX))?;
        let span_of = |(buffer, room): (usize, &Room)| match own.binary_search(&buffer) {
            Ok(at) => Span { block: self.block + 1 + at, offset: 0, len: apart[at] },
            Err(_) => Span { block: self.block, offset: room.offset, len: room.bytes },
        };
        let spans: Arc<[Span]> = rooms.iter().enumerate().map(span_of).collect();
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
        let mut pending: Vec<Option<PendingStep>> = self.steps.into_iter().map(Some).collect();
        let mut steps: Vec<Step> = Vec::with_capacity(pending.len());
        for &at in parts.iter().flatten().flatten() {
            let step = pending.get_mut(at).and_then(Option::take).ok_or_else(broken)?;
            let mut reads = Vec::new();
            let mut sources = Vec::with_capacity(step.reads.len());
            let types = step.reads.iter().map(|r| r.1).chain(step.writes.iter().map(|w| w.1));
            let types = types.collect();
            for (source, (dtype, _)) in step.reads {
                sources.push(match source {
                    Source::Const(tensor, range) => StepSource::Const(tensor, range),
                    Source::Input(index, range) => StepSource::Input(index, range),
                    Source::Grown(state, range) => StepSource::Grown(state, range),
                    Source::Buffer(buffer, _) if dtype == DType::String => {
                        StepSource::Text(TextRef::of(&buffer))
                    }
                    Source::Buffer(buffer, range) => {
                        reads.push(resolve(&buffer, &range).ok_or_else(broken)?);
                        StepSource::Arena(reads.len() - 1)
                    }
                });
            }
            let (strings, writes): (Vec<_>, Vec<_>) =
                step.writes.iter().partition(|(_, (dtype, _))| *dtype == DType::String);
            let writes = writes.into_iter().map(|&(w, _)| spans[w]).collect();
            let text = |&&(index, _): &&(usize, StepType)| {
                TextRef::of(&BufferRef { bytes: 0, segment: self.index, index })
            };
            steps.push(Step {
                name: step.name,
                label: step.label,
                sources: sources.into(),
                types,
                spans: StepSpans::new(reads, writes).ok_or_else(broken)?,
                texts: strings.iter().map(text).collect(),
                append: step.append,
                work: step.work,
                run: step.run,
            });
        }
        let parts = resolve_parts(&parts, &steps).ok_or_else(broken)?;
        Ok(Segment { arena_bytes, apart, steps, parts, spans, texts })
    }
}

/// Parts by the positions of steps that lie in their order; `None` when branches touch the same memory, which they never do.
fn resolve_parts(parts: &[Vec<Chain>], steps: &[Step]) -> Option<Box<[Part]>> {
    let mut at = 0;
    let mut range = |chain: &Chain| {
        let start = at;
        at += chain.len();
        start..at
    };
    let resolve = |part: &Vec<Chain>| match part.as_slice() {
        [chain] => Some(Part::Chain(range(chain))),
        chains => {
            let ranges: Box<[Range<usize>]> = chains.iter().map(&mut range).collect();
            let spans = |range: &Range<usize>| {
                let steps = steps.get(range.clone())?;
                Some(steps.iter().map(|step| step.spans.clone()).collect())
            };
            let spans = ranges.iter().map(spans).collect::<Option<Vec<_>>>()?;
            Some(Part::Branches(ranges, BranchSpans::new(spans)?))
        }
    };
    parts.iter().map(resolve).collect()
}

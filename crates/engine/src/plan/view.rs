//! Plans as text, for people who look into one.

use super::ends::{End, PlanNode};
use super::segment::{Part, StepSource};
use std::fmt;

/// A plan laid open: `stead inspect --plan` prints it.
#[derive(Debug, Clone, Default)]
pub struct PlanView {
    /// The steps in order, those of continuations that have run included.
    pub steps: Vec<StepView>,
    /// Arena bytes of each segment.
    pub arena_bytes: Vec<usize>,
}

/// One step.
#[derive(Debug, Clone)]
pub struct StepView {
    /// The segment it belongs to.
    pub segment: usize,
    /// The kernel.
    pub kernel: &'static str,
    /// The node it works for.
    pub node: String,
    /// The branch that it belongs to, counted from 1, and how many run at the same time; `None` outside of branches.
    pub branch: Option<(usize, usize)>,
    /// What it reads, as `type[shape]@place+bytes`; the place is `const`, `input N` or `segment:offset`.
    pub reads: Vec<String>,
    /// What it writes, in the same form.
    pub writes: Vec<String>,
}

impl PlanView {
    pub(crate) fn add(&mut self, node: &PlanNode) {
        let segment = self.arena_bytes.len();
        self.arena_bytes.push(node.segment.arena_bytes);
        let branches = |at: usize| {
            node.segment.parts.iter().find_map(|part| match part {
                Part::Chain(_) => None,
                Part::Branches(ranges, _) => {
                    let branch = ranges.iter().position(|range| range.contains(&at))?;
                    Some((branch + 1, ranges.len()))
                }
            })
        };
        for (at, step) in node.segment.steps.iter().enumerate() {
            let mut types = step.types.iter();
            let mut typed = |place: String| match types.next() {
                Some((dtype, shape)) => format!("{dtype}{shape}@{place}"),
                None => place,
            };
            let arena = |s: &stead_tensor::Span| format!("{}:{}+{}", s.block, s.offset, s.len);
            let mut reads = Vec::new();
            for source in &step.sources {
                reads.push(typed(match source {
                    StepSource::Arena(i) => {
                        step.spans.reads().get(*i).map_or_else(String::new, arena)
                    }
                    StepSource::Const(_, range) => format!("const+{}", range.len()),
                    StepSource::Input(i, range) => format!("input {i}+{}", range.len()),
                    StepSource::Text(_) => "strings".to_owned(),
                    StepSource::Grown(i, range) => format!("state {i}+{}", range.len()),
                }));
            }
            let writes = step.spans.writes().iter().map(|s| typed(arena(s))).collect();
            self.steps.push(StepView {
                segment,
                kernel: step.name,
                node: step.label.to_string(),
                branch: branches(at),
                reads,
                writes,
            });
        }
        if let End::Branch(_) = node.end {
            self.steps.push(StepView {
                segment,
                kernel: "branch",
                node: "the value read here selects the next segment".into(),
                branch: None,
                reads: Vec::new(),
                writes: Vec::new(),
            });
        }
    }
}

impl fmt::Display for PlanView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps.iter().enumerate() {
            let (reads, writes) = (step.reads.join(" "), step.writes.join(" "));
            let branch = match step.branch {
                None => String::new(),
                Some((branch, count)) => format!(" (branch {branch} of {count})"),
            };
            let StepView { kernel, node, .. } = step;
            writeln!(f, "{index:4} {kernel:18} {node}{branch} [{reads}] -> [{writes}]")?;
        }
        let total: usize = self.arena_bytes.iter().sum();
        write!(f, "{} steps, arena {total} bytes", self.steps.len())
    }
}

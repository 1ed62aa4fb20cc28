//! Plans as text, for people who look into one.

use super::planner::{End, PlanNode};
use super::segment::StepSource;
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
    /// What it reads, as `type[shape]@place+bytes`; the place is `const`, `input N` or `segment:offset`.
    pub reads: Vec<String>,
    /// What it writes, in the same form.
    pub writes: Vec<String>,
}

impl PlanView {
    pub(crate) fn add(&mut self, node: &PlanNode) {
        let segment = self.arena_bytes.len();
        self.arena_bytes.push(node.segment.arena_bytes);
        for step in &node.segment.steps {
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
                    StepSource::Grown(i, range) => format!("state {i}+{}", range.len()),
                }));
            }
            let writes = step.spans.writes().iter().map(|s| typed(arena(s))).collect();
            self.steps.push(StepView {
                segment,
                kernel: step.name,
                node: step.label.to_string(),
                reads,
                writes,
            });
        }
        if let End::Branch(_) = node.end {
            self.steps.push(StepView {
                segment,
                kernel: "branch",
                node: "the value read here selects the next segment".into(),
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
            writeln!(f, "{index:4} {:18} {} [{reads}] -> [{writes}]", step.kernel, step.node)?;
        }
        let total: usize = self.arena_bytes.iter().sum();
        write!(f, "{} steps, arena {total} bytes", self.steps.len())
    }
}

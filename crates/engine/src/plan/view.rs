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
    /// What it reads: `const`, `input N` or `segment:offset`, each with its bytes.
    pub reads: Vec<String>,
    /// What it writes, as `segment:offset+bytes`.
    pub writes: Vec<String>,
}

impl PlanView {
    pub(crate) fn add(&mut self, node: &PlanNode) {
        let segment = self.arena_bytes.len();
        self.arena_bytes.push(node.segment.arena_bytes);
        for step in &node.segment.steps {
            let place = |s: &stead_tensor::Span| format!("{}:{}+{}", s.block, s.offset, s.len);
            let read = |source: &StepSource| match source {
                StepSource::Arena(i) => step.spans.reads().get(*i).map_or_else(String::new, place),
                StepSource::Const(_, range) => format!("const+{}", range.len()),
                StepSource::Input(i, range) => format!("input {i}+{}", range.len()),
            };
            self.steps.push(StepView {
                segment,
                kernel: step.name,
                node: step.label.to_string(),
                reads: step.sources.iter().map(read).collect(),
                writes: step.spans.writes().iter().map(place).collect(),
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

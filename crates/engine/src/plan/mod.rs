//! Plans: flat programs for concrete shapes.
//!
//! `facts` is what the planner knows of each value, `cx` is what an operator sees while it plans itself,
//! `lists` what it knows of sequences and maps, `bounds` what a plan may cost, `segment` collects steps and places their buffers, `branches` finds those that may run at the same time, `planner` walks
//! the graph, `fold` computes what is known before a run, `ends` says where results are found and what continues a plan, `run` executes.

mod bounds;
mod branches;
mod cx;
mod elements;
mod ends;
mod facts;
mod fold;
mod free;
mod layout;
mod lists;
mod place;
mod planner;
mod profile;
mod repeat;
mod run;
mod segment;
mod texts;
mod view;
mod work;

pub use cx::{Operand, PlanCx, Slot, Strided};
pub use profile::{Profile, ProfileRow};
pub use run::{Args, Growing};
pub use view::{PlanView, StepView};
pub use work::{StepRun, Work};

pub(crate) use ends::{Branch, End, OutputPlace, PlaceSource, PlanNode};
pub(crate) use facts::{Fact, Facts, Place, View};
pub(crate) use fold::fold_node;
pub(crate) use lists::{Arranged, MAX_ELEMENTS};
pub(crate) use planner::{GrowingShape, continue_plan, start_plan};
pub(crate) use run::{RunEnv, read_source, read_strings, run_segment};
#[cfg(test)]
pub(crate) use segment::Source;
pub(crate) use texts::Texts;
pub(crate) use work::product_flops;

//! Which documents a query asks for.
//!
//! A tree is evaluated block by block: each test of an attribute becomes a set of rows, and the sets are joined as the tree says. Tests of
//! numbers run over whole columns in loops that the compiler turns into vector instructions; tests that cost more see only the
//! rows that the cheaper ones of the same `and` have left. Where an attribute has an index (`fast-search`) it tells how many rows a
//! test leaves at most, which goes before everything else if that is less than looking, the rarest first; blocks that it leaves nothing of
//! are not looked at. What ranking wants to know of a match, which terms it has and
//! with what scores, is found when it is asked for, of few documents.

mod beside;
mod column;
mod evaluate;
mod explain;
mod frequency;
mod graph;
mod index;
mod neighbors;
mod order;
mod patience;
mod rows;
mod same_element;
mod segment;
mod shares;
mod texts;
mod told;
mod value;
mod wand;
mod weak;

pub use evaluate::{Matcher, Matches};
pub use patience::{GraphTime, Patience};
pub use rows::RowSet;
pub use segment::Segment;
pub(crate) use segment::alive;
pub(crate) use value::element_passes;

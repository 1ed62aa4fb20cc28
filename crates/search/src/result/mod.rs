//! Results of searches: what one node found, what several found together, and how it is written.
//!
//! A [`Partial`] is what matching and ranking leave of a query on one node; it can be sent. [`merge`] makes one of several. With the
//! summaries of its hits it becomes a [`SearchResult`], which [`render`] writes as JSON or CBOR.

mod cbor;
mod item;
mod json;
mod partial;
mod render;
mod values;

pub use item::Item;
pub use partial::{
    Coverage, Degraded, FeatureValue, HitKind, Partial, PartialHit, SortValue, compare, merge,
};
pub(crate) use render::hit_item;
pub use render::{Hit, SearchResult, Timing, render};
pub use values::item_of;

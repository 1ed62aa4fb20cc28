//! Text as it is searched: words, their stems, and an index of them that is read while it changes.
//!
//! ```
//! use stead_text::{Analysis, Language};
//!
//! let terms: Vec<String> = Analysis::default()
//!     .terms("Jumping: the Caf\u{e9}s of Oslo", Language::of_tag("en"))
//!     .map(|term| term.text.into_owned())
//!     .collect();
//! assert_eq!(terms, ["jump", "the", "cafe", "of", "oslo"]);
//! ```
#![forbid(unsafe_code)]

mod address;
mod analysis;
mod bm25;
mod grams;
mod guess;
mod index;
mod kstem;
mod language;
mod letters;
mod words;

pub use address::{AddressPart, HOST_BEGINS, HOST_ENDS, address_words};
pub use analysis::{Analysis, Term, Unit};
pub use bm25::Bm25;
pub use guess::guessed_language;
pub use index::{
    Affix, Counter, Element, FieldIndex, FieldWriter, Merge, Merged, Near, Occurrence, Pattern,
    Phrases, Scored, Segment, SegmentError, Top,
};
pub use language::Language;
pub use letters::{compared, fold, fold_letter, without_accents};
pub use words::Words;

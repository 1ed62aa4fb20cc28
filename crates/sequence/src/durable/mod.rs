//! What a log of states consists of: records of sequences, and what they add up to.
//!
//! A record tells what became of one sequence. Its bytes, all numbers little-endian:
//!
//! | | | |
//! |---|---|---|
//! | `u8` | format version | [`VERSION`] |
//! | `u8` | kind | 0 nothing, 1 alive, 2 ended, 3 gone |
//! | text | model | as every text: `u32` length, UTF-8 bytes |
//! | `u64` | version of the model | |
//! | `u64` | fingerprint of its states | [`fingerprint`] |
//! | id | sequence | `u8` 0 and `u64`, or `u8` 1 and text |
//! | `u64` | time | milliseconds since 1970 |
//!
//! A record of kind 0 ends after the kind. *Alive* goes on with `u64` steps done, `u64` time of the START, text name of
//! the START's request, `u8` flags (1: the server chose the id, 2: forget the answers of records before), `u32`
//! answers to keep, the answers, and the state: `u32` count, and for each value `u8` 0, or `u8` 1 and a tensor.
//! *Ended* goes on with `u8` 0, or `u8` 1, `u64` step, text request of the END, text request of the START by which a
//! repetition finds the id (may be empty), and one answer. *Gone* has nothing more.
//!
//! Answers are `u32` count, then for each `u64` step and an answer; an answer is `u32` count, then for each output a
//! text and a tensor. A tensor is `u8` type (ONNX's number), `u8` rank, a `u64` for each dimension, and the bytes of
//! its elements; of strings `u32` length and bytes each.

mod decode;
mod encode;
mod image;
#[cfg(test)]
mod tests;

pub use decode::{DecodeError, decode, decode_state};
pub use encode::{NOTHING, encode, encode_state, fingerprint};
pub use image::{Found, Image, Sequences, Was};

use crate::SequenceId;
use std::sync::Arc;
use stead_tensor::Tensor;

/// The version of the format of records.
pub const VERSION: u8 = 1;

/// The values of a model's states, in its order; `None` where one has not been given yet.
pub type StateValues = Arc<[Option<Tensor>]>;

/// The outputs of a step by name.
pub type Answer = Arc<[(String, Tensor)]>;

/// What became of one sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The model's name.
    pub model: Arc<str>,
    /// Its version.
    pub version: u64,
    /// What its states look like: a state fits no model of another fingerprint.
    pub fingerprint: u64,
    /// The sequence.
    pub id: SequenceId,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// What.
    pub event: Event,
}

/// What became of a sequence.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// It lives, and is like this.
    Alive(Alive),
    /// A client ended it. The last answer is kept for a repetition if the step was numbered.
    Ended(Option<Ending>),
    /// It was idle for too long, or somebody else ended it.
    Gone,
}

/// A sequence that lives.
#[derive(Debug, Clone, PartialEq)]
pub struct Alive {
    /// Steps done.
    pub step: u64,
    /// When it began, in milliseconds since 1970.
    pub began: u64,
    /// The client's name of the START.
    pub request: String,
    /// Whether the server chose the id.
    pub auto: bool,
    /// Whether the answers of records before are to be forgotten.
    pub fresh: bool,
    /// How many answers are kept; the oldest go first.
    pub keep: u32,
    /// Answers of numbered steps, oldest first: all of them in a record that is `fresh`, else those that are new.
    pub answers: Vec<(u64, Answer)>,
    /// What the last step left.
    pub state: StateValues,
}

/// The last answer of a sequence that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// The number of the step.
    pub step: u64,
    /// The client's name of the END.
    pub request: String,
    /// The client's name of the START, by which a repetition of it finds the id that the server chose; may be empty.
    pub start: String,
    /// The answer.
    pub answer: Answer,
}

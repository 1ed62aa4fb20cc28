//! Sequences: memory that one request leaves for the next.
//!
//! A [`Table`] knows which sequences of a model live, in which order their requests came, and what each of them
//! may do next. It is a state machine: it holds no lock, knows no clock and runs nothing. Whoever owns it
//! tells it that a request arrived or a step ended, together with the time, and gets back what is to be done.
//! So every interleaving can be tested without threads, and nothing here ever waits.
//!
//! ```
//! use stead_sequence::{Limits, Next, Order, Outcome, SequenceId, Table};
//! use std::time::Duration;
//!
//! // Jobs are names here, a state is a sum, an answer is a text.
//! let mut table: Table<&str, u32, String> = Table::new(Limits::default());
//! let now = Duration::ZERO;
//! let start = Order::start(SequenceId::Number(7));
//! let mut next = Vec::new();
//! table.arrive(start, "first", now, &mut next);
//! let Some(Next::Run(run)) = next.pop() else { panic!("an idle sequence runs at once") };
//! assert_eq!((run.job, run.step, run.state), ("first", 1, None));
//!
//! // The second request waits for the first: a step of a sequence follows the one before it.
//! table.arrive(Order::step(SequenceId::Number(7)), "second", now, &mut next);
//! assert!(next.is_empty());
//! table.finish(run.ticket, Outcome::Done { state: 5, answer: "five".into() }, now, &mut next);
//! let Some(Next::Run(run)) = next.pop() else { panic!("its turn has come") };
//! assert_eq!((run.job, run.step, run.state), ("second", 2, Some(5)));
//! ```
//!
//! [`mod@durable`] writes sequences as records of a log and reads them again after a restart; [`pair_states`] finds
//! the inputs and outputs of a model that carry its memory.
#![forbid(unsafe_code)]

pub mod durable;
mod error;
mod id;
mod order;
mod pairing;
mod table;

pub use error::SequenceError;
pub use id::{IdError, MAX_TEXT, SequenceId};
pub use order::Order;
pub use pairing::{PairError, StatePair, pair_states};
pub use table::{
    Age, Counters, Ended, Ids, Image, Job, Limits, Next, Origin, Outcome, Replay, Rules, Run,
    Summary, Table, Ticket, Weight,
};

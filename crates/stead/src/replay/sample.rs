//! What became of one request.

use std::fmt;
use std::time::Duration;

use tonic::Code;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// An answer over HTTP with this status.
    Http(u16),
    /// An answer over gRPC with this code.
    Grpc(i32),
    /// No connection, or one that broke.
    Broken,
    /// No answer in time.
    Late,
}

impl Outcome {
    /// Whether the server did what was asked: HTTP's 200 and gRPC's OK, nothing else.
    pub fn is_good(self) -> bool {
        matches!(self, Outcome::Http(200) | Outcome::Grpc(0))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Http(status) => write!(f, "{status}"),
            Outcome::Grpc(code) => write!(f, "{:?}", Code::from_i32(*code)),
            Outcome::Broken => f.write_str("no connection"),
            Outcome::Late => f.write_str("no answer in time"),
        }
    }
}

/// An answer, or what there was instead of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// How the request ended.
    pub outcome: Outcome,
    /// What the server said, of an answer that is not good.
    pub text: Option<String>,
}

impl Ending {
    /// A good answer.
    pub fn good(outcome: Outcome) -> Ending {
        Ending { outcome, text: None }
    }

    /// Another ending, with the beginning of what is said about it.
    pub fn bad(outcome: Outcome, text: &str) -> Ending {
        let text: String = text.trim().chars().take(300).collect();
        Ending { outcome, text: Some(text) }
    }
}

/// A request with its times, from the beginning of the load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// When it was to be sent, from which its latency counts.
    pub due: Duration,
    /// When it was on its way to a connection.
    pub sent: Duration,
    /// When it had ended.
    pub done: Duration,
    /// How.
    pub ending: Ending,
}

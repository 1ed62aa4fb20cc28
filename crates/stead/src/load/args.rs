//! The command line of a load.

use std::path::PathBuf;
use std::time::Duration;

use super::MOST_SEQUENCES;
use super::carry::Carry;
use crate::http_client::{AccessArgs, Target};
use crate::replay::time;

/// Arguments for the load on a server.
#[derive(Debug, clap::Args)]
pub struct LoadArgs {
    /// Measure a server instead: http://HOST:PORT of the protocol that is spoken.
    #[arg(long, value_name = "URL", value_parser = target, requires = "sent")]
    pub target: Option<Target>,
    #[command(flatten)]
    pub access: AccessArgs,
    /// The server's model.
    #[arg(long = "model", value_name = "NAME", requires = "target", group = "sent")]
    pub name: Option<String>,
    /// How requests are sent, in the KServe V2 protocol.
    #[arg(long, value_enum, default_value_t = Protocol::Http, requires = "target")]
    pub protocol: Protocol,
    /// Sequences at a time; with --find-largest where the search begins.
    #[arg(long, value_name = "N", requires = "target", value_parser = clap::value_parser!(u32).range(1..=MOST_SEQUENCES as i64))]
    pub sequences: Option<u32>,
    /// A model without sequences: requests at a time, each sent when the one before is answered (closed loop).
    #[arg(long, value_name = "N", requires = "target", conflicts_with_all = ["sequences", "interval", "find_largest"],
        value_parser = clap::value_parser!(u32).range(1..=MOST_SEQUENCES as i64))]
    pub concurrency: Option<u32>,
    /// State that the client keeps because the server does not: INPUT of a step is OUTPUT of the step before. The
    /// first step sends zeros, or what --input gives. Repeat it for each state; requests then name no sequence.
    #[arg(long, value_name = "INPUT=OUTPUT", requires = "target")]
    pub carry: Vec<Carry>,
    /// Steps of each sequence; with --concurrency the requests of each of the N.
    #[arg(long, value_name = "K", default_value_t = 300, requires = "target", value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: u32,
    /// Time between two steps of a sequence: 32ms, 500us, 1s.
    #[arg(long, value_name = "TIME", default_value = "32ms", requires = "target", value_parser = time)]
    pub interval: Duration,
    /// Compare every answer with those of this model, run in this process: a model file, or a config.json or
    /// folder that has the model with its options.
    #[arg(long, value_name = "MODEL", requires = "target")]
    pub expect: Option<PathBuf>,
    /// Search the most sequences with a p99 of at most the interval. A trial that fails narrowly, or by a pause of
    /// the machine, is repeated up to twice.
    #[arg(long, requires = "target")]
    pub find_largest: bool,
}

impl LoadArgs {
    /// Whether the server keeps the state.
    pub fn has_sequences(&self) -> bool {
        self.concurrency.is_none() && self.carry.is_empty()
    }
}

/// How requests are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Protocol {
    /// HTTP/1.1, tensors in binary form.
    Http,
    /// A call for each step.
    Grpc,
    /// Many sequences on one ModelStreamInfer.
    GrpcStream,
}

fn target(text: &str) -> Result<Target, String> {
    text.parse()
}

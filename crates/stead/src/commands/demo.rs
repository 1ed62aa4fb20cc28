//! `stead demo`: the quickstart models, served and asked.

use crate::failure::Failure;

/// Serve the built-in example models and show what requests and answers look like
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  stead demo\n  stead demo --once")]
pub struct DemoArgs {
    /// Use free ports, show the requests and exit.
    #[arg(long)]
    once: bool,
    /// HTTP port.
    #[arg(long = "rest_port", default_value_t = 8080)]
    rest_port: u16,
    /// gRPC port.
    #[arg(long = "port", default_value_t = 9000)]
    port: u16,
}

/// Runs the command.
pub fn run(args: &DemoArgs) -> Result<(), Failure> {
    let _ = (args.once, args.rest_port, args.port);
    Err(Failure::failed("the demo needs the server"))
}

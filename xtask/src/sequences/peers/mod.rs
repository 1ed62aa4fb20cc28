//! What a user would do without stead: the same streams served in other ways.

mod mlserver;
mod plain_loop;
mod triton;

use super::Context;
use super::load::{self, Largest};
use super::streams::{self, Streams};
use crate::results::{Table, goal, line};

/// Where a search begins: peers hold fewer streams than stead.
const FIRST: &str = "100";

/// What stead should have over them, in streams.
const OVER_MLSERVER: f64 = 2.0;
const OVER_TRITON: f64 = 5.0;

/// What a search found, or why there was none.
type Measured = Result<Largest, String>;

/// The table. A peer that cannot run has a row that says why.
pub fn table(context: &Context, streams: &mut Streams) -> Result<Table, String> {
    let mut rows = Vec::new();
    for protocol in ["grpc", "grpc-stream"] {
        let stead = streams.over(context, protocol)?;
        let of = stead.sequences as f64;
        rows.push(row("stead", protocol, &Ok(stead), of, None));
        if protocol == "grpc" {
            let carried = carried(context, protocol);
            rows.push(row(
                "stead, stateless, state carried by the client",
                protocol,
                &carried,
                of,
                None,
            ));
            let name = format!("MLServer {}, state carried by the client", mlserver::VERSION);
            let peer = mlserver::largest(context, protocol);
            rows.push(row(&name, protocol, &peer, of, Some(OVER_MLSERVER)));
        }
        let name = format!(
            "NVIDIA Triton (nvidia-pytriton {}), sequence model in Python",
            crate::triton::VERSION
        );
        let peer = triton::largest(context, protocol);
        rows.push(row(&name, protocol, &peer, of, Some(OVER_TRITON)));
    }
    match plain_loop::rates(context) {
        Ok(rates) => {
            for (form, steps) in rates {
                rows.push(vec![
                    format!("Python loop, {form}"),
                    "none".to_owned(),
                    format!("{:.0} at most", (steps / STEPS_PER_S).floor()),
                    "-".to_owned(),
                    "-".to_owned(),
                    format!("{steps:.0}"),
                    "-".to_owned(),
                    "-".to_owned(),
                ]);
            }
        }
        Err(reason) => rows.push(missing("Python loop", "none", &reason)),
    }
    Ok(Table {
        title: "beside other ways to serve the same streams".to_owned(),
        note: format!(
            "The most real-time silero streams with a p99 of at most 32 ms, found and checked as above, one server at a time beside the \
             generator, {} steps of each stream. All peers run ONNX Runtime on one thread. Triton's model keeps its states by correlation id \
             and runs all requests of a call as one batch (`oldest` strategy); MLServer has no sequences, so the client sends the state along \
             (`--carry`). \"Over\" is stead's streams (first row of the protocol) over the peer's. The Python loop has no clients and no \
             deadline: its streams are its steps per second over 31.25.",
            load::steps(context)
        ),
        header: vec![
            "set-up",
            "protocol",
            "streams",
            "stead over it",
            "goal",
            "steps/s",
            "p50 ms",
            "p99 ms",
        ],
        rows,
    })
}

/// Of one stream with a step each 32 ms.
const STEPS_PER_S: f64 = 31.25;

/// stead as a stateless server.
fn carried(context: &Context, protocol: &str) -> Measured {
    let config = context.config("stateless.json", false)?;
    let server = streams::start(context, &config)?;
    let expect = config.to_string_lossy().into_owned();
    let args = ["--carry", "state=stateN", "--expect", &expect];
    load::largest(context, &server, protocol, FIRST, &args)
}

fn row(
    name: &str,
    protocol: &str,
    measured: &Measured,
    stead: f64,
    wanted: Option<f64>,
) -> Vec<String> {
    let largest = match measured {
        Ok(largest) if largest.sequences > 0 => largest,
        Ok(largest) => {
            let reason = largest.limited_by.as_deref().unwrap_or("no load was fine");
            return missing(name, protocol, reason);
        }
        Err(reason) => return missing(name, protocol, reason),
    };
    println!("{name}, {protocol}: {}", largest.sequences);
    let over = stead / largest.sequences as f64;
    let wanted = wanted.map_or("-".to_owned(), |w| format!("{w} {}", goal(over >= w)));
    let [steps, p50, p99, ..] = largest.numbers.clone();
    let streams = largest.sequences.to_string();
    vec![
        name.to_owned(),
        protocol.to_owned(),
        streams,
        format!("{over:.2}"),
        wanted,
        steps,
        p50,
        p99,
    ]
}

fn missing(name: &str, protocol: &str, reason: &str) -> Vec<String> {
    let reason = format!("not measured: {}", line(reason));
    println!("{name}, {protocol}: {reason}");
    let mut row = vec![name.to_owned(), protocol.to_owned(), reason];
    row.resize(8, "-".to_owned());
    row
}

//! Side-by-side measurements for `cargo xtask bench`, which builds this and sets the variables it reads.
//!
//! ```text
//! peers [engine|server] [--quick] --results FILE
//! peers documents SPEC.json                             (clients of a search, a line of JSON for each number of them)
//! peers batch [--quick]                                    (silero at batch 32, a line of JSON)
//! peers echo|http|grpc PORT REQUEST_BYTES ANSWER_BYTES     (the bare servers, as child processes)
//! ```

mod bare;
mod documents;
mod engine;
mod load;
mod payload;
mod report;
mod rust_peers;
mod server;

use std::time::Duration;

/// Errors are only ever printed.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [kind @ ("echo" | "http" | "grpc"), port, request, answer] =
        args.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        return bare::serve(kind, port.parse()?, request.parse()?, answer.parse()?);
    }
    if let [task, spec] = &args[..]
        && task == "documents"
    {
        return documents::run(spec.as_ref());
    }
    let has = |name: &str| args.iter().any(|a| a == name);
    let seconds = if has("--quick") { 0.5 } else { 5.0 };
    let budget = Duration::from_secs_f64(seconds);
    if has("batch") {
        println!("{}", engine::batch(budget)?);
        return Ok(());
    }
    let all = !has("engine") && !has("server");
    let mut report = report::Report::new();
    if all || has("engine") {
        engine::run(&mut report, budget)?;
    }
    if all || has("server") {
        server::run(&mut report, budget)?;
    }
    print!("{}", report.text());
    if let Some(at) = args.iter().position(|a| a == "--results") {
        let path = args.get(at + 1).ok_or("--results needs a file")?;
        report.merge_into(path)?;
    }
    Ok(())
}

/// A variable that `cargo xtask bench` sets.
pub fn variable(name: &str) -> Result<String> {
    std::env::var(name).map_err(|_| format!("{name} is not set: run cargo xtask bench").into())
}

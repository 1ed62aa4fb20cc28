//! Searches with `stead bench --target ... --find-largest`.

use serde_json::Value;

use super::Context;
use crate::process;
use crate::server::Server;

/// Steps of each trial: 6 s, or 3 s for a first look.
const STEPS: [&str; 2] = ["188", "94"];

/// The largest load that a server kept up with.
#[derive(Debug, Clone, PartialEq)]
pub struct Largest {
    /// Sequences at a time; 0 when it kept up with none.
    pub sequences: u64,
    /// Steps per second, then milliseconds at p50, p99, p99.9 and the maximum, for a table.
    pub numbers: [String; 5],
    /// Why it is not more, if an error or a wrong answer says so.
    pub limited_by: Option<String>,
}

/// How many steps each sequence of a trial takes.
pub fn steps(context: &Context) -> &'static str {
    STEPS[usize::from(context.quick)]
}

/// Searches from `first` sequences on. `args` say what else the load tool is told.
pub fn largest(
    context: &Context,
    server: &Server,
    protocol: &str,
    first: &str,
    args: &[&str],
) -> Result<Largest, String> {
    let target = if protocol == "http" { &server.rest } else { &server.grpc };
    let mut load = process::command(&context.stead, ["bench", "--target", target]);
    load.args(["--model", "vad", "--protocol", protocol, "--sequences", first])
        .args(["--interval", "32ms", "--steps", steps(context), "--json", "--find-largest"])
        .args(args);
    let answer = process::capture(&mut load, "stead bench")?;
    let answer = serde_json::from_str(&answer);
    Ok(read(&answer.map_err(|_| "stead bench gave no report".to_owned())?))
}

/// The trial of the largest load.
fn read(answer: &Value) -> Largest {
    let largest = &answer["largest"];
    let trials = answer["trials"].as_array().map(Vec::as_slice).unwrap_or_default();
    let best = trials.iter().find(|t| t["sequences"] == *largest && t["keeps_up"] == true);
    let number = |key: &str, digits: usize| match best.and_then(|t| t[key].as_f64()) {
        Some(value) => format!("{value:.digits$}"),
        None => "-".to_owned(),
    };
    Largest {
        sequences: largest.as_u64().unwrap_or(0),
        numbers: [
            number("steps_per_s", 0),
            number("p50_ms", 2),
            number("p99_ms", 2),
            number("p99_9_ms", 2),
            number("max_ms", 2),
        ],
        limited_by: answer["limited_by"].as_str().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_numbers_are_those_of_the_trial_that_kept_up() {
        let trial = |sequences: u64, keeps_up: bool, p99: f64| {
            json!({"sequences": sequences, "keeps_up": keeps_up, "steps_per_s": 31.25, "p50_ms": 1.0,
                "p99_ms": p99, "p99_9_ms": p99, "max_ms": p99})
        };
        let trials = [trial(10, false, 40.0), trial(10, true, 20.0), trial(20, false, 90.0)];
        let largest = read(&json!({"largest": 10, "limited_by": null, "trials": trials}));
        assert_eq!((largest.sequences, &*largest.numbers[2]), (10, "20.00"));
        assert_eq!(largest.numbers[0], "31");
        let none = read(&json!({"largest": 0, "limited_by": "no", "trials": []}));
        assert_eq!((&*none.numbers[1], none.limited_by.as_deref()), ("-", Some("no")));
    }
}

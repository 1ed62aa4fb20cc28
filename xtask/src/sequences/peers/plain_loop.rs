//! ONNX Runtime in a Python loop: `bench/peers/sequences/loop/loop.py`.

use serde_json::Value;

use super::Context;
use crate::{models, paths, process, python};

/// Steps per second of each form of the loop.
pub fn rates(context: &Context) -> Result<Vec<(&'static str, f64)>, String> {
    let python = python::peer("sequences/loop")?;
    let seconds = if context.quick { "2" } else { "6" };
    let mut command =
        process::command(python, [paths::root().join("bench/peers/sequences/loop/loop.py")]);
    command.arg(models::silero_batch()?).arg(seconds);
    let output = process::capture(&mut command, "loop.py")?;
    let answer: Value =
        serde_json::from_str(output.trim()).map_err(|_| "loop.py gave no numbers".to_owned())?;
    let forms = [
        ("a step at a time, one thread", "one_thread"),
        ("a step at a time, two threads", "two_threads"),
        ("batches of 32, two threads", "two_threads_batch_32"),
    ];
    let rate = |(form, key): (&'static str, &str)| {
        answer[key]
            .as_f64()
            .map(|rate| (form, rate))
            .ok_or_else(|| format!("loop.py gave no {key}"))
    };
    forms.into_iter().map(rate).collect()
}

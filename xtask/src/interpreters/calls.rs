//! What a call costs.

use super::{Context, number, speed};
use crate::results::{Table, goal};

/// A call over a bare hand-over to a thread and back.
const RATIO: f64 = 1.5;

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let rounds = if context.quick { 5 } else { 41 };
    let found = speed(&context.python, "calls", rounds, &[])?;
    let bare = number(&found, "hand_over_us")?;
    let ratio = number(&found, "ratio")?;
    let row = |what: &str, key: &str, ratio: Option<f64>, wanted: String| {
        let us = number(&found, key)?;
        let ratio = ratio.unwrap_or(us / bare);
        Ok::<_, String>(vec![what.to_owned(), format!("{us:.2}"), format!("{ratio:.2}"), wanted])
    };
    let none = || "-".to_owned();
    let wanted = format!("{RATIO} {}", goal(ratio <= RATIO));
    Ok(Table {
        title: "calls".to_owned(),
        note: format!(
            "`def echo(x): return x`, called 2,000 times in a turn (100 with the tensor), turn by turn, medians of {rounds} rounds, \
             `--example interpreter_speed` of stead-python. The hand-over is that of a number through `std::sync::mpsc` to a thread and back. The \
             tensor is read where it lies, both ways, in process; a worker gets it in sealed memory."
        ),
        header: vec!["what", "us", "over the hand-over", "goal"],
        rows: vec![
            row("hand-over to a thread and back", "hand_over_us", Some(1.0), none())?,
            row("call in process", "call_us", Some(ratio), wanted)?,
            row("call of a worker process", "worker_us", None, none())?,
            row("call in process with 1 MiB to and fro", "tensor_us", None, none())?,
            row(
                "call of a worker process with 1 MiB to and fro",
                "worker_tensor_us",
                None,
                none(),
            )?,
        ],
    })
}

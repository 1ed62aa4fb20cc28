//! The engine at the batch that many streams make.

use std::process::Command;

use serde_json::Value;

use super::Context;
use crate::results::{Table, goal};
use crate::{bench, models, process};

/// Microseconds an item on one thread.
const GOAL: f64 = 20.0;

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let program = bench::peers(true)?;
    let mut command: Command = bench::peers_command(&program)?;
    command.arg("batch").env("STEAD_SILERO_BATCH", models::silero_batch()?);
    if context.quick {
        command.arg("--quick");
    }
    let output = process::capture(&mut command, "bench/peers")?;
    let answer = output.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
    let answer = answer.ok_or("bench/peers gave no numbers")?;
    let items = answer["items"].as_f64().unwrap_or(1.0);
    let stead = answer["stead_us"].as_f64().ok_or("bench/peers gave no time of stead")? / items;
    let wanted = format!("{GOAL} {}", goal(stead <= GOAL));
    let mut rows = vec![vec!["stead".to_owned(), format!("{stead:.1}"), "1.00".to_owned(), wanted]];
    let peers = [("ONNX Runtime", "onnxruntime_us"), ("rten", "rten_us"), ("tract", "tract_us")];
    for (name, key) in peers {
        let cells = match answer[key].as_f64() {
            Some(us) => [format!("{:.1}", us / items), format!("{:.2}", us / items / stead)],
            None => [answer[key].as_str().unwrap_or("-").to_owned(), "-".to_owned()],
        };
        let [us, ratio] = cells;
        rows.push(vec![name.to_owned(), us, ratio, "-".to_owned()]);
    }
    Ok(Table {
        title: format!("silero at batch {items}"),
        note: "Microseconds an item (one step of one stream) on one thread, in process, turn by turn of 20 ms, medians; answers agree \
               within 1e-3. The ratio is the peer's time over stead's."
            .to_owned(),
        header: vec!["engine", "us an item", "ratio", "goal us"],
        rows,
    })
}

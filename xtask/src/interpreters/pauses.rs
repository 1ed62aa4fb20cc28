//! What collections of garbage do to the slowest calls.

use super::{Context, speed};
use crate::results::Table;

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let rounds = if context.quick { 8 } else { 40 };
    let found = speed(&context.python, "pauses", rounds, &[])?;
    let row = |what: &str, key: &str| {
        let cell = |quantile: &str| {
            let time = found[key][quantile].as_f64();
            time.map(|us| format!("{us:.0}")).ok_or_else(|| format!("no `{key}` among the numbers"))
        };
        let quantiles = ["p50_us", "p99_us", "p999_us", "max_us"];
        let cells = quantiles.into_iter().map(cell).collect::<Result<Vec<_>, String>>()?;
        Ok::<_, String>([vec![what.to_owned()], cells].concat())
    };
    Ok(Table {
        title: "pauses".to_owned(),
        note: format!(
            "Microseconds of a call that makes 150 circles of garbage and keeps its last results, in a module with 500,000 objects, from asking for the \
             interpreter until it is given back; one caller, 4,000 calls in a turn, {} turns of each, in process. stead freezes what was loaded, and \
             collects when nobody waits or past a bound; the other row is the same interpreter as Python collects by itself.",
            rounds / 4
        ),
        header: vec!["collections", "p50", "p99", "p99.9", "slowest"],
        rows: vec![row("stead's", "frozen")?, row("Python's own", "as_python")?],
    })
}

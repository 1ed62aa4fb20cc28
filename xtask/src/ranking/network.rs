//! The network of a rank profile.

use super::{Context, answer, example, made, text};
use crate::python;
use crate::results::{Table, goal};

/// Milliseconds for 200 documents; ONNX Runtime's time for them at once, and one by one, over stead's.
const GOAL_MS: f64 = 0.32;
const AT_ONCE: f64 = 1.3;
const ONE_BY_ONE: f64 = 5.0;

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let python = python::environment("onnx")?;
    let folder = context.folder.join("network");
    let script = made(&python, "ranking/rankers.py", &folder)?;
    let rounds = if context.quick { "31" } else { "301" };
    let args =
        [text(&folder), "--rounds".to_owned(), rounds.to_owned(), text(&python), text(&script)];
    let found = answer("network_speed", &example("stead-search", "network_speed", &args)?)?;
    let number =
        |key: &str| found[key].as_f64().ok_or_else(|| format!("no `{key}` among the numbers"));
    let (own, kept) = (number("network_ms")?, number("kept_ms")?);
    let row = |what: &str, ms: f64, wanted: String| {
        vec![what.to_owned(), format!("{ms:.3}"), format!("{:.2}", ms / own), wanted]
    };
    let ratio = |ms: f64, least: f64| format!("{least} {}", goal(ms / own >= least));
    let (products, at_once) = (number("products_ms")?, number("peer_ms")?);
    let one_by_one = number("peer_one_by_one_ms")?;
    Ok(Table {
        title: "a network over query and documents".to_owned(),
        note: format!(
            "256-512-128-1 in f32 over {} documents, a vector of 128 of the query joined with one of each document, as the model \
             function of a rank profile, the query's half once; with kept halves that of the documents is known from earlier queries, in \
             another order; {}, medians of {rounds} rounds, turn by turn, `--example network_speed` \
             of stead-search. The two large products of the documents alone are what the kernels reach on this machine with nothing around \
             them. ONNX Runtime computes the joined rows, with bound inputs and outputs through its Python package, whose calls \
             are part of the last line.",
            found["documents"],
            found["isa"].as_str().unwrap_or_default()
        ),
        header: vec!["what", "ms", "over stead", "goal"],
        rows: vec![
            row("stead", own, "-".to_owned()),
            row("stead, with kept halves", kept, format!("{GOAL_MS} ms {}", goal(kept <= GOAL_MS))),
            row("stead, the products alone", products, "-".to_owned()),
            row("ONNX Runtime, all at once", at_once, ratio(at_once, AT_ONCE)),
            row("ONNX Runtime, one by one", one_by_one, ratio(one_by_one, ONE_BY_ONE)),
        ],
    })
}

//! Expressions.

use serde_json::Value;

use super::{Context, answer, example, text};
use crate::results::{Table, goal};
use crate::{paths, python};

/// A line of the table: the key of the measurement, its name, what numpy does, and the goal.
struct Line {
    key: &'static str,
    name: &'static str,
    goal: Goal,
}

enum Goal {
    /// The share of the speed of a sum that only reads the same bytes.
    OfReading(f64),
    Milliseconds(f64),
    /// 10^9 values in a second.
    Values(f64),
}

const LINES: [Line; 6] = [
    Line {
        key: "dot 1000000",
        name: "dot product 128 x 10^6 documents",
        goal: Goal::OfReading(0.8),
    },
    Line {
        key: "dot 2000",
        name: "dot product 128 x 2,000, 500 times",
        goal: Goal::OfReading(0.8),
    },
    Line {
        key: "maxsim",
        name: "MaxSim 32 x 128, 1,000 documents, f32",
        goal: Goal::Milliseconds(9.0),
    },
    Line {
        key: "maxsim-bits",
        name: "the same, f32 x unpacked bits",
        goal: Goal::Milliseconds(8.0),
    },
    Line { key: "hamming", name: "the same, bits x bits", goal: Goal::Milliseconds(1.0) },
    Line { key: "weighted", name: "sum of 30 weighted f32 x 10^6", goal: Goal::Values(2.0) },
];

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let python = python::environment("onnx")?;
    let script = paths::root().join("bench/peers/ranking/rankers.py");
    let mut args = vec!["--rounds".to_owned(), if context.quick { "5" } else { "15" }.to_owned()];
    args.extend(["--peer".to_owned(), text(&python), text(&script), text(&context.folder)]);
    let found = answer("expression_speed", &example("stead-expr", "expression_speed", &args)?)?;
    Ok(Table {
        title: "expressions beside numpy".to_owned(),
        note: "The best of some rounds, turn by turn, `--example expression_speed` of stead-expr. numpy computes the same arithmetic in \
               its quickest form over arrays of the same bytes; the last column but one compares with a sum that only reads them."
            .to_owned(),
        header: vec!["expression", "stead ms", "numpy ms", "numpy over stead", "of reading", "goal"],
        rows: LINES.iter().map(|line| row(line, &found[line.key])).collect::<Result<_, _>>()?,
    })
}

fn row(line: &Line, found: &Value) -> Result<Vec<String>, String> {
    let own = found["ms"].as_f64().ok_or_else(|| format!("no time of {}", line.key))?;
    let (peer, read) = (found["peer_ms"].as_f64(), found["read_ms"].as_f64());
    let of_reading = read.map(|read| read / own);
    let wanted = match line.goal {
        Goal::OfReading(share) => {
            format!("{:.0} % {}", share * 100.0, goal(of_reading.is_some_and(|of| of >= share)))
        }
        Goal::Milliseconds(most) => format!("{most} ms {}", goal(own <= most)),
        Goal::Values(least) => {
            let values = found["values"].as_f64().unwrap_or(0.0) / own / 1e6;
            format!("{least} G values/s {} ({values:.2})", goal(values >= least))
        }
    };
    let text = |x: Option<f64>, of: &dyn Fn(f64) -> String| x.map_or("-".to_owned(), of);
    Ok(vec![
        line.name.to_owned(),
        format!("{own:.2}"),
        text(peer, &|ms| format!("{ms:.1}")),
        text(peer, &|ms| format!("{:.1}", ms / own)),
        text(of_reading, &|of| format!("{:.0} %", of * 100.0)),
        wanted,
    ])
}

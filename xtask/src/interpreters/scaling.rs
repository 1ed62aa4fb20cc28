//! Throughput of several interpreters beside one.

use super::{Context, number, speed};
use crate::results::{Table, goal};

/// What two interpreters shall give over one.
const PURE: f64 = 1.9;
const SMALL: f64 = 1.85;

/// Of two, that four on two cores shall keep.
const FOUR: f64 = 0.95;

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let rounds = if context.quick { 3 } else { 15 };
    let found = speed(&context.python, "scaling", rounds, &[])?;
    let works = [
        ("pure", "pure Python, a loop", Some(PURE)),
        ("small", "small numpy operations", Some(SMALL)),
        ("large", "numpy products of 512x512", None),
    ];
    let mut rows = Vec::new();
    for (key, what, wanted) in works {
        let of = |name: &str| number(&found[key], name);
        let (two, four) = (of("two")?, of("four")?);
        let cell = |ratio: f64| format!("{ratio:.2}");
        rows.push(vec![
            what.to_owned(),
            cell(of("spin")?),
            cell(two),
            cell(four),
            cell(of("threads_2")?),
            cell(of("threads_4")?),
            wanted.map_or_else(
                || "-".to_owned(),
                |wanted| {
                    let (at_two, at_four) = (goal(two >= wanted), goal(four >= FOUR * two));
                    format!("two {wanted} {at_two}; four no worse {at_four}")
                },
            ),
        ]);
    }
    Ok(Table {
        title: "throughput over one thread in one interpreter".to_owned(),
        note: format!(
            "Interpreters inside one process, each on its own thread, and several threads inside one interpreter; windows of 0.4 s of \
             all configurations in turn, medians of the ratios of {rounds} rounds, `--example interpreter_speed` of stead-python. \
             The spin is of two native threads over one: what there was of the second core. BLAS runs on one thread."
        ),
        header: vec![
            "work",
            "native spin, 2 threads",
            "2 interpreters",
            "4 interpreters",
            "2 threads in one",
            "4 threads in one",
            "goal",
        ],
        rows,
    })
}

//! What interpreters and weights take.

use std::path::PathBuf;

use super::{Context, made, number, speed};
use crate::results::{Table, goal};

/// Goals in megabytes (of 10^6 bytes), the last for what three further interpreters add to weights of 200 MB: less than a
/// hundredth of a copy in each, for their own objects around the arrays.
const BARE: f64 = 6.0;
const NUMPY: f64 = 16.0;
const OTHERS: f64 = 6.0;

/// Of the weights.
const MEGABYTES: usize = 200;

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let (small, large) = (weights(context, 0)?, weights(context, MEGABYTES)?);
    let found = speed(&context.python, "memory", 1, &[small.as_os_str(), large.as_os_str()])?;
    let row = |what: &str, key: &str, most: Option<f64>| {
        let megabytes = number(&found, key)? / 1e6;
        let wanted = most.map_or_else(
            || "-".to_owned(),
            |most| format!("{most} MB {}", goal(megabytes <= most)),
        );
        Ok::<_, String>(vec![what.to_owned(), format!("{megabytes:.1} MB"), wanted])
    };
    Ok(Table {
        title: "memory".to_owned(),
        note: format!(
            "Four interpreters in one process: what each after the first adds to the pages that have been written (`Private_Dirty`), without \
             imports and with numpy. Then all of them open a package without weights, which is what opening any takes, and after that one with \
             weights of {MEGABYTES} MB, which they add up: what the first adds to `Pss`, in which a page counts once however often it is \
             mapped, and what the other three add together. `--example interpreter_speed` of \
             stead-python."
        ),
        header: vec!["what", "measured", "goal"],
        rows: vec![
            row("each further interpreter", "bare_bytes", Some(BARE))?,
            row("... with numpy", "numpy_bytes", Some(NUMPY))?,
            row("opening a package in each", "open_bytes", None)?,
            row("weights in the first interpreter", "weights_first_bytes", None)?,
            row("... in three others, together", "weights_others_bytes", Some(OTHERS))?,
        ],
    })
}

/// A package with an array of so many megabytes, made once.
fn weights(context: &Context, megabytes: usize) -> Result<PathBuf, String> {
    let file = context.folder.join(format!("weights-{megabytes}.pkg"));
    if !file.exists() {
        made(context, "make_weights.py", &[file.as_os_str(), megabytes.to_string().as_ref()])?;
    }
    Ok(file)
}

//! Forests of gradient-boosted trees.

use super::{Context, example, made, text};
use crate::python;
use crate::results::{Table, goal};

/// The library's time over stead's.
const GOAL: f64 = 3.0;

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let python = python::peer("trees")?;
    let folder = context.folder.join("trees");
    let script = made(&python, "trees/forests.py", &folder)?;
    let mut args = vec![text(&folder)];
    if context.quick {
        args.push("--quick".to_owned());
    }
    args.extend([text(&python), text(&script)]);
    let output = example("stead-trees", "forest_speed", &args)?;
    // Lines such as `| xgboost 300 | 1.23 | 45.6 | 37.1 | 0.41 |`.
    let cells = |line: &str| -> Option<Vec<String>> {
        let line = line.strip_prefix("| ")?.strip_suffix(" |")?;
        let mut cells: Vec<String> = line.split(" | ").map(str::to_owned).collect();
        let ratio: f64 = cells.get(3)?.parse().ok()?;
        cells.push(format!("{GOAL} {}", goal(ratio >= GOAL)));
        Some(cells)
    };
    let rows: Vec<Vec<String>> = output.lines().filter_map(cells).collect();
    if rows.is_empty() {
        return Err("forest_speed gave no numbers".to_owned());
    }
    Ok(Table {
        title: "forests beside XGBoost and LightGBM".to_owned(),
        note: format!(
            "{}. Trees of 64 leaves; all predictions of the library on parsed arrays beside stead's in mode `exact`, equal to 1e-6; \
             medians, turn by turn, `--example forest_speed` of stead-trees.",
            output.lines().next().unwrap_or_default()
        ),
        header: vec!["model", "stead ms", "library ms", "ratio", "ns for a tree and row", "goal"],
        rows,
    })
}

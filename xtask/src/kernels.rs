//! `cargo xtask bench kernels`: models of one node in stead beside ONNX Runtime, and products beside the peak of a core.

mod peaks;
mod tiles;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};

use serde_json::{Value, json};

use crate::engine::{holds, measure, ratio, times};
use crate::results::{Section, Table, each_part, goal, line};
use crate::{Outcome, bench, paths, python};

/// Its tables.
pub const PARTS: [&str; 4] = ["elementwise", "products", "peaks", "tiles"];

const SECTION: Section = Section {
    title: "Kernels",
    task: "kernels",
    about: "Written by `cargo xtask bench kernels`: models of one node, f32, one thread, both sides in one process turn by turn. Ratios are ONNX Runtime's time over \
            stead's, the median over pairs of turns: above 1 stead is quicker. Both times include what a run costs around its node. A goal of 1.0 is met from 0.97 on. The last two tables are of products alone. Goals are those for a processor with AMX; \
            tables of others stand behind, by the newest instructions that they have.",
    parts: &PARTS,
    by_processor: true,
};

/// A node: its operator, the shape of its input and, of products, the columns of the constant matrix.
type Node = (&'static str, &'static [usize], usize);

/// Functions of elements and of rows: what stays in the first cache, in the second, and neither.
const ELEMENTWISE: &[Node] = &[
    ("Sigmoid", &[1, 1024], 0),
    ("Sigmoid", &[64, 1024], 0),
    ("Sigmoid", &[1024, 1024], 0),
    ("Tanh", &[1, 1024], 0),
    ("Tanh", &[64, 1024], 0),
    ("Tanh", &[1024, 1024], 0),
    ("Softmax", &[1, 128], 0),
    ("Softmax", &[1536, 128], 0),
    ("Softmax", &[1, 32000], 0),
    ("Softmax", &[512, 512], 0),
    ("LayerNormalization", &[1, 768], 0),
    ("LayerNormalization", &[128, 384], 0),
    ("LayerNormalization", &[128, 768], 0),
    ("LayerNormalization", &[1024, 1024], 0),
];

/// Matrices of transformers, of recurrences, and sizes that leave ragged ends; then vectors.
const PRODUCTS: &[Node] = &[
    ("MatMul", &[128, 384], 384),
    ("MatMul", &[128, 384], 1536),
    ("MatMul", &[128, 768], 768),
    ("MatMul", &[128, 768], 3072),
    ("MatMul", &[40, 512], 1536),
    ("MatMul", &[512, 512], 512),
    ("MatMul", &[1024, 1024], 1024),
    ("MatMul", &[37, 251], 103),
    ("MatMul", &[8, 512], 512),
    ("MatMul", &[1, 256], 512),
    ("MatMul", &[1, 768], 768),
    ("MatMul", &[1, 768], 3072),
    ("MatMul", &[1, 2048], 2048),
    ("MatMul", &[1, 4096], 4096),
];

/// Runs the task.
///
/// # Errors
/// Builds that fail.
pub fn run(parts: &[&str], quick: bool) -> Outcome {
    let folder = paths::target().join("bench-kernels");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let pairs = if quick { 5 } else { 20 };
    each_part(&SECTION, parts, quick, |part| {
        if part == "peaks" {
            return peaks::table();
        }
        if part == "tiles" {
            return tiles::table();
        }
        let program = bench::peers(true)?;
        let nodes = if part == "products" { PRODUCTS } else { ELEMENTWISE };
        make(&folder, nodes)?;
        let told = nodes.iter().map(|node| {
            let path = folder.join("case.json");
            fs::write(&path, spec(&folder, *node, pairs).to_string())
                .map_err(|e| format!("{}: {e}", path.display()))?;
            measure(&program, &title(*node), &path)
        });
        let told = told.collect::<Result<Vec<_>, String>>()?;
        Ok(table(part, nodes, &told, pairs))
    })
}

/// What people read: `GEMM 128x384x1536` is 128 rows, an inner size of 384 and 1536 columns.
fn title((op, shape, columns): Node) -> String {
    let dims: Vec<String> =
        shape.iter().chain(Some(&columns).filter(|c| **c > 0)).map(usize::to_string).collect();
    let name = match (op, shape.first()) {
        ("MatMul", Some(1)) => "GEMV",
        ("MatMul", _) => "GEMM",
        ("LayerNormalization", _) => "LayerNorm",
        (op, _) => op,
    };
    format!("{name} {}", dims.join("x"))
}

fn file(node: Node) -> String {
    title(node).replace(' ', "-").to_lowercase()
}

/// Additions and multiplications of a product.
fn flops((_, shape, columns): Node) -> f64 {
    2.0 * shape.iter().product::<usize>() as f64 * columns as f64
}

/// Elements that are read and written once, with those of the matrix, in bytes.
fn bytes((_, shape, columns): Node) -> f64 {
    let elements: usize = shape.iter().product();
    let inner = shape.last().copied().unwrap_or(1);
    let all = match columns {
        0 => 2 * elements,
        columns => elements + inner * columns + elements / inner.max(1) * columns,
    };
    (all * size_of::<f32>()) as f64
}

/// As the program that measures reads it.
fn spec(folder: &Path, node: Node, pairs: usize) -> Value {
    let input = json!({"name": "x", "dtype": "f32", "shape": node.1, "low": -3.0, "high": 3.0});
    let model = folder.join(format!("{}.onnx", file(node)));
    json!({"model": model, "runtime_model": null, "inputs": [input], "all_cores": false, "pairs": pairs, "agree": 1e-4})
}

/// Makes the models.
fn make(folder: &Path, nodes: &[Node]) -> Result<(), String> {
    let case = |node: &Node| {
        let columns = (node.2 > 0).then_some(node.2);
        json!({"name": file(*node), "op": node.0, "shape": node.1, "columns": columns})
    };
    let cases: Vec<Value> = nodes.iter().map(case).collect();
    let failed = |e: io::Error| format!("kernels.py: {e}");
    let mut child = Command::new(python::environment("onnx")?)
        .arg(paths::root().join("bench/graphs/kernels.py"))
        .arg(folder)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut input = child.stdin.take().ok_or("kernels.py has no input")?;
    input.write_all(Value::Array(cases).to_string().as_bytes()).map_err(failed)?;
    drop(input);
    match child.wait().map_err(failed)?.success() {
        true => Ok(()),
        false => Err("kernels.py failed".to_owned()),
    }
}

fn table(part: &str, nodes: &[Node], told: &[Value], pairs: usize) -> Table {
    let is_product = part == "products";
    let peak = told.iter().filter_map(|t| t["peak_flops"].as_f64()).fold(f64::NAN, f64::max);
    let row = |(node, told): (&Node, &Value)| {
        let ratio = ratio(told);
        let nanos = told["stead"]["median"].as_f64().map(|us| us * 1e3);
        // Operations or bytes a nanosecond, which are GFLOP/s and GB/s.
        let amount = if is_product { flops(*node) } else { bytes(*node) };
        vec![
            title(*node),
            match told["stead"]["refused"].as_str() {
                Some(reason) => format!("refused: {}", line(reason)),
                None => times(&told["stead"]),
            },
            times(&told["onnxruntime"]),
            ratio.map_or("-".to_owned(), |r| format!("{r:.2}")),
            format!("1.0 {}", goal(ratio.is_some_and(|r| holds(r, 1.0)))),
            nanos.map_or("-".to_owned(), |nanos| format!("{:.1}", amount / nanos)),
            match (told["difference"].as_f64(), told["scale"].as_f64()) {
                (Some(difference), Some(scale)) => format!("{difference:.1e} of {scale:.1e}"),
                _ => "-".to_owned(),
            },
        ]
    };
    let met = told.iter().filter(|t| ratio(t).is_some_and(|r| holds(r, 1.0))).count();
    let rate = match is_product {
        true => format!(
            "Multiply-adds in registers reach {:.0} GFLOP/s on this core in the same run. B is constant, so both sides may pack it.",
            peak / 1e9
        ),
        false => "GB/s count each operand and result once.".to_owned(),
    };
    Table {
        title: if is_product {
            "products with a constant matrix"
        } else {
            "functions of elements and rows"
        }
        .to_owned(),
        note: format!(
            "{pairs} pairs of turns of 20 ms or one run, ONNX Runtime 1.31.1 with bound inputs and outputs. Medians of all runs, the shortest in brackets. {rate}\n\n{met} of {} goals met.",
            told.len()
        ),
        header: vec![
            "node",
            "stead (min)",
            "ONNX Runtime (min)",
            "ratio",
            "goal",
            if is_product { "GFLOP/s" } else { "GB/s" },
            "difference",
        ],
        rows: nodes.iter().zip(told).map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_tell_nodes_apart() {
        let mut titles: Vec<String> =
            ELEMENTWISE.iter().chain(PRODUCTS).map(|n| title(*n)).collect();
        assert!(
            ["Sigmoid 64x1024", "GEMM 128x384x1536", "GEMV 1x256x512"]
                .iter()
                .all(|t| titles.iter().any(|k| k == t))
        );
        let count = titles.len();
        titles.sort_unstable();
        titles.dedup();
        assert_eq!(titles.len(), count);
    }

    #[test]
    fn rows_tell_rates_and_goals() {
        let told = json!({
            "stead": {"median": 2.0, "min": 1.5}, "onnxruntime": {"median": 3.0, "min": 2.0, "ratio": 1.5},
            "peak_flops": 2e11, "difference": 1e-6, "scale": 2.0,
        });
        let refused = json!({"stead": {"refused": "no | such"}, "onnxruntime": {"median": 3.0, "min": 2.0, "ratio": null}});
        let nodes: [Node; 2] = [("MatMul", &[10, 100], 50), ("MatMul", &[1, 100], 50)];
        let table = table("products", &nodes, &[told.clone(), refused], 5);
        let row: Vec<&str> = table.rows[0].iter().map(String::as_str).collect();
        let expected = [
            "GEMM 10x100x50",
            "2.00 us (1.50 us)",
            "3.00 us (2.00 us)",
            "1.50",
            "1.0 met",
            "50.0",
            "1.0e-6 of 2.0e0",
        ];
        assert_eq!(row, expected);
        assert_eq!(
            table.rows[1][1..6],
            ["refused: no / such", "3.00 us (2.00 us)", "-", "1.0 missed", "-"]
        );
        assert!(
            table.note.contains("200 GFLOP/s") && table.note.contains("1 of 2 goals met"),
            "{}",
            table.note
        );
        // 1000 elements there and back, 8000 bytes in 2000 ns.
        let table = super::table("elementwise", &[("Tanh", &[10, 100], 0)], &[told], 5);
        assert_eq!(table.rows[0][5], "4.0");
    }
}

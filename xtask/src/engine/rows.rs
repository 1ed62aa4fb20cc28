//! The tables of engines.

use serde_json::Value;

use super::Measured;
use super::cases::Case;
use super::flops::Work;
use crate::results::{Table, goal, line};

/// A difference of more than this part of the largest output is told beside that of ONNX Runtime from itself.
const LARGE: f64 = 0.01;

/// A ratio that is to be 1 holds from here on: runs of the same differ by as much.
const EVEN: f64 = 0.97;

/// Weights beyond this lie outside of all caches of the usual machine, and have to be read from memory in each run.
const CACHE: u64 = 32 << 20;

const MODELS: [&str; 11] = [
    "model",
    "stead (min)",
    "ONNX Runtime (min)",
    "ratio",
    "goal",
    "of the floor",
    "over rten",
    "over tract",
    "peak MB",
    "ONNX Runtime MB",
    "difference",
];

/// The table of models on one thread.
pub fn models(measured: &[Measured], pairs: usize) -> Table {
    let most =
        |key: &str| measured.iter().filter_map(|m| m.told[key].as_f64()).fold(f64::NAN, f64::max);
    let (peak, memory) = (most("peak_flops"), most("memory_bytes"));
    let mut notes = String::new();
    let rows = measured.iter().map(|m| row(m, peak, memory, &mut notes)).collect();
    let met = measured.iter().filter(|m| ratio(&m.told).is_some_and(|r| holds(r, m.case.goal)));
    Table {
        title: "models, one thread each".to_owned(),
        note: format!(
            "{pairs} pairs of turns of 20 ms or one run, both sides in one process on the same inputs, ONNX Runtime 1.31.1 with bound inputs and outputs, one \
             intra-op thread and all optimisations; rten 0.27.0 with prepacked weights, tract 0.23.9 optimised for the concrete shapes, and over them the same ratio. Medians of \
             all runs, the shortest in brackets. The floor is the time of the products at the {:.0} GFLOP/s that multiply-adds in registers reach on this core in the same \
             run, or, marked `bytes`, that of reading weights of more than {} MB once at {:.1} GB/s where it is longer. Peak memory is that of a process with one engine. The difference is the largest over all outputs from the nearer of ONNX Runtime's answers with all optimisations and with none, beside the largest output; answers of networks of bytes may differ by as much as these two do. \
             Weights are real for MiniLM and silero and seeded for the others ([graphs](graphs/README.md)).\n\n{} of {} goals met, {}.{}",
            peak / 1e9,
            CACHE >> 20,
            memory / 1e9,
            met.count(),
            measured.len(),
            mean(measured),
            if notes.is_empty() { String::new() } else { format!("\n\nNot measured:{notes}") },
        ),
        header: MODELS.to_vec(),
        rows,
    }
}

/// The geometric mean of the ratios, with its goal.
fn mean(measured: &[Measured]) -> String {
    const GOAL: f64 = 1.3;
    let ratios: Vec<f64> = measured.iter().filter_map(|m| ratio(&m.told)).collect();
    let mean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
    format!(
        "geometric mean of {} ratios {mean:.2} (goal {GOAL} {})",
        ratios.len(),
        goal(mean >= GOAL)
    )
}

/// ONNX Runtime's time over stead's; none where stead refuses the model.
pub fn ratio(told: &Value) -> Option<f64> {
    told["stead"]["median"].as_f64()?;
    told["onnxruntime"]["ratio"].as_f64()
}

/// Whether a ratio is what is wanted.
pub fn holds(ratio: f64, wanted: f64) -> bool {
    ratio >= if wanted == 1.0 { EVEN } else { wanted }
}

fn row(measured: &Measured, peak: f64, memory: f64, notes: &mut String) -> Vec<String> {
    let Measured { case, told, work, memory: held } = measured;
    let mut over = |side: &str| match told[side]["ratio"].as_f64() {
        Some(ratio) if told["stead"]["median"].is_f64() => {
            format!("{ratio:.2}{}", if ratio < EVEN { " missed" } else { "" })
        }
        Some(_) => "-".to_owned(),
        None => {
            let reason = line(told[side]["refused"].as_str().unwrap_or_default());
            *notes += &format!("\n* {side}, {}: {reason}", case.title);
            "-".to_owned()
        }
    };
    let [rten, tract] = ["rten", "tract"].map(&mut over);
    let stead = told["stead"]["median"].as_f64();
    let ratio = ratio(told);
    let part = |work: &Work| of_floor(work, peak, memory, stead? / 1e6);
    let is_less = matches!(held, [Some(own), Some(other)] if own > other);
    vec![
        case.title.to_owned(),
        own_times(told),
        times(&told["onnxruntime"]),
        ratio.map_or("-".to_owned(), |r| format!("{r:.2}")),
        format!("{:.1} {}", case.goal, goal(ratio.is_some_and(|r| holds(r, case.goal)))),
        work.as_ref().and_then(part).unwrap_or_else(|| "-".to_owned()),
        rten,
        tract,
        format!("{}{}", megabytes(held[0]), if is_less { " missed" } else { "" }),
        megabytes(held[1]),
        difference(told),
    ]
}

/// The shortest possible time over one in seconds, and by what it is bound.
fn of_floor(work: &Work, peak: f64, memory: f64, seconds: f64) -> Option<String> {
    if work.flops == 0 {
        return None;
    }
    let by_flops = work.flops as f64 / peak;
    let by_bytes = if work.held > CACHE { work.held as f64 / memory } else { 0.0 };
    let percent = 100.0 * by_flops.max(by_bytes) / seconds;
    Some(format!("{percent:.0} %{}", if by_bytes > by_flops { " bytes" } else { "" }))
}

/// Stead's times, or why it refuses the model.
fn own_times(told: &Value) -> String {
    match told["stead"]["refused"].as_str() {
        Some(reason) => format!("refused: {}", line(reason)),
        None => times(&told["stead"]),
    }
}

/// A median with the shortest time.
pub fn times(side: &Value) -> String {
    match (side["median"].as_f64(), side["min"].as_f64()) {
        (Some(median), Some(min)) => format!("{} ({})", us(median), us(min)),
        _ => "-".to_owned(),
    }
}

/// Microseconds with as many digits as they deserve.
fn us(value: f64) -> String {
    match value {
        v if v >= 1000.0 => format!("{:.2} ms", v / 1000.0),
        v if v >= 100.0 => format!("{v:.0} us"),
        v => format!("{v:.2} us"),
    }
}

/// The table of weights in bf16.
pub fn halved(rows: &[(&Case, Value)], pairs: usize) -> Table {
    let row = |(case, told): &(&Case, Value)| {
        let ratio = ratio(told).unwrap_or(f64::NAN);
        vec![
            case.title.to_owned(),
            own_times(told),
            times(&told["onnxruntime"]),
            format!("{ratio:.2}"),
            format!("{:.1} {}", case.goal, goal(holds(ratio, case.goal))),
            difference(told),
        ]
    };
    Table {
        title: "weights in bf16 beside f32".to_owned(),
        note: format!(
            "As above, {pairs} pairs: stead with `precision` bf16, ONNX Runtime in f32, the only one that it computes with on x86. Goals are those for a core with AMX, whose products of bf16 are eight \
             times as quick as those of f32; AVX512-BF16 makes them twice as quick."
        ),
        header: vec!["model", "stead (min)", "ONNX Runtime (min)", "ratio", "goal", "difference"],
        rows: rows.iter().map(row).collect(),
    }
}

/// What was measured of weights of 8 bits.
pub struct InBytes<'a> {
    pub case: &'a Case,
    pub told: Value,
    /// Peak memory of stead and of ONNX Runtime.
    pub memory: [Option<f64>; 2],
    /// The same graph with weights of f32, and stead's peak memory with it.
    pub wide: Value,
    pub held: Option<f64>,
}

/// The table of weights of 8 bits.
pub fn in_bytes(rows: &[InBytes<'_>], pairs: usize) -> Table {
    let row = |InBytes { case, told, memory, wide, held }: &InBytes<'_>| {
        let ratio = ratio(told).unwrap_or(f64::NAN);
        let of = |told: &Value| told["stead"]["median"].as_f64().unwrap_or(f64::NAN);
        let [own, other] = memory.map(megabytes);
        vec![
            case.title.to_owned(),
            own_times(told),
            times(&told["onnxruntime"]),
            format!("{ratio:.2}"),
            format!("{:.1} {}", case.goal, goal(holds(ratio, case.goal))),
            format!("{:.2}", of(wide) / of(told)),
            own,
            megabytes(*held),
            other,
            difference(told),
        ]
    };
    Table {
        title: "recurrent weights of 8 bits".to_owned(),
        note: format!(
            "As above, {pairs} pairs, both sides with the same file: weights as `stead quantize --mode weight-only` writes them, bytes behind DequantizeLinear. The ratio over \
             f32 is stead's time with the weights in f32, measured in another process, over that with bytes."
        ),
        header: vec![
            "model",
            "stead (min)",
            "ONNX Runtime (min)",
            "ratio",
            "goal",
            "over f32",
            "peak MB",
            "in f32",
            "ONNX Runtime MB",
            "difference",
        ],
        rows: rows.iter().map(row).collect(),
    }
}

fn megabytes(bytes: Option<f64>) -> String {
    bytes.map_or("-".to_owned(), |b| format!("{:.0}", b / 1e6))
}

/// The largest difference of the outputs, and the largest output; where that is more than it is of most, also how far ONNX Runtime is from itself.
fn difference(told: &Value) -> String {
    match (told["difference"].as_f64(), told["scale"].as_f64()) {
        (Some(difference), Some(scale)) => {
            let own = told["runtime_difference"].as_f64().filter(|_| difference > LARGE * scale);
            let own = own.map_or_else(String::new, |own| format!(", its own {own:.1e}"));
            format!("{difference:.1e} of {scale:.1e}{own}")
        }
        _ => "-".to_owned(),
    }
}

/// The table of runs on all cores.
pub fn cores(rows: &[(&Case, Value, Value)], pairs: usize) -> Table {
    let row = |(case, told, one): &(&Case, Value, Value)| {
        let ratio = ratio(told).unwrap_or(f64::NAN);
        let gain = |side: &str| {
            let of = |told: &Value| told[side]["median"].as_f64().unwrap_or(f64::NAN);
            format!("{:.2}", of(one) / of(told))
        };
        vec![
            case.title.to_owned(),
            own_times(told),
            times(&told["onnxruntime"]),
            format!("{ratio:.2}"),
            format!("{:.1} {}", case.goal, goal(holds(ratio, case.goal))),
            gain("stead"),
            gain("onnxruntime"),
        ]
    };
    Table {
        title: "all cores for one run".to_owned(),
        note: format!(
            "As above, {pairs} pairs, with a pause of 60 ms before each turn, in which threads that look for work fall asleep. ONNX Runtime has its default number of \
             threads, stead a pool of one for each core. The gain is the time on one thread over that on all, measured in another process."
        ),
        header: vec![
            "model",
            "stead (min)",
            "ONNX Runtime (min)",
            "ratio",
            "goal",
            "gain",
            "ONNX Runtime's gain",
        ],
        rows: rows.iter().map(row).collect(),
    }
}

/// The table of graphs that compute next to nothing: those of no node and of a hundred.
pub fn overhead(told: &[Value], pairs: usize) -> Table {
    const NODES: f64 = 100.0;
    let of = |at: usize, side: &str| {
        told.get(at).and_then(|t| t[side]["median"].as_f64()).map_or(f64::NAN, |us| us * 1e3)
    };
    let row = |name: &str, value: &dyn Fn(&str) -> f64| {
        let [own, other] = ["stead", "onnxruntime"].map(value);
        let ratio = other / own;
        vec![
            name.to_owned(),
            format!("{own:.0}"),
            format!("{other:.0}"),
            format!("{ratio:.2}"),
            format!("1.0 {}", goal(holds(ratio, 1.0))),
        ]
    };
    Table {
        title: "what a run and a node cost".to_owned(),
        note: format!(
            "Nanoseconds, medians of {pairs} turns. The empty graph hands its input on; in the other a vector of 4 goes through 100 products with matrices of 4x4, one after the other."
        ),
        header: vec!["what", "stead ns", "ONNX Runtime ns", "ratio", "goal"],
        rows: vec![
            row("a run of an empty graph", &|side| of(0, side)),
            row("a run of 100 nodes", &|side| of(1, side)),
            row("each node", &|side| (of(1, side) - of(0, side)) / NODES),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    use crate::engine::cases::CASES;

    fn measured(told: Value, work: Option<Work>) -> Measured {
        Measured { case: &CASES[0], told, work, memory: [Some(2e6), Some(3e6)] }
    }

    #[test]
    fn rows_tell_ratios_goals_and_reasons() {
        let side = |median: f64, ratio: f64| json!({"median": median, "min": median / 2.0, "ratio": ratio});
        let told = json!({
            "stead": {"median": 2000.0, "min": 1000.0}, "onnxruntime": side(4000.0, 2.0), "rten": side(1000.0, 0.5),
            "tract": {"refused": "no | such\nthing"}, "difference": 1e-6, "scale": 2.0, "peak_flops": 1e11,
            "memory_bytes": 1e10,
        });
        let work = Work { flops: 100_000_000, held: 0 };
        let table = models(&[measured(told, Some(work))], 20);
        let row: Vec<&str> = table.rows[0].iter().map(String::as_str).collect();
        let expected = [
            "satellite",
            "2.00 ms (1.00 ms)",
            "4.00 ms (2.00 ms)",
            "2.00",
            "1.8 met",
            "50 %",
            "0.50 missed",
            "-",
            "2",
            "3",
            "1.0e-6 of 2.0e0",
        ];
        assert_eq!(row, expected);
        assert!(
            table.note.contains("1 of 1 goals met, geometric mean of 1 ratios 2.00 (goal 1.3 met)"),
            "{}",
            table.note
        );
        assert!(table.note.contains("* tract, satellite: no / such thing"), "{}", table.note);
    }

    #[test]
    fn a_model_that_is_refused_misses_its_goal() {
        let told = json!({
            "stead": {"refused": "no operator X"}, "onnxruntime": {"median": 10.0, "min": 9.0, "ratio": null},
            "rten": {"median": 1.0, "min": 1.0, "ratio": null}, "tract": {"refused": "x"}, "difference": null,
        });
        let table = models(&[measured(told, None)], 5);
        let row = &table.rows[0];
        assert_eq!(
            (row[1].as_str(), row[3].as_str(), row[4].as_str()),
            ("refused: no operator X", "-", "1.8 missed")
        );
        assert!(table.note.contains("0 of 1 goals met"), "{}", table.note);
    }

    #[test]
    fn the_floor_is_the_longer_of_arithmetic_and_reading() {
        let work = |flops, held| Work { flops, held };
        let cases = [
            ("arithmetic", work(1000, 0), Some("50 %")),
            ("reading", work(100, 2 * CACHE), Some("75 % bytes")),
            ("in the cache", work(1000, CACHE), Some("50 %")),
            ("nothing counted", work(0, 2 * CACHE), None),
        ];
        let memory = CACHE as f64 / 0.75;
        for (label, work, expected) in cases {
            assert_eq!(of_floor(&work, 1000.0, memory, 2.0).as_deref(), expected, "{label}");
        }
    }

    #[test]
    fn even_is_a_little_below_one() {
        assert!(holds(0.97, 1.0) && !holds(0.96, 1.0));
        assert!(holds(1.3, 1.3) && !holds(1.29, 1.3));
    }

    #[test]
    fn a_node_costs_what_a_hundred_add() {
        let told = |own: f64, other: f64| json!({"stead": {"median": own}, "onnxruntime": {"median": other}});
        let table = overhead(&[told(0.5, 2.0), told(1.5, 12.0)], 20);
        assert_eq!(table.rows[2], ["each node", "10", "100", "10.00", "1.0 met"]);
        assert_eq!(table.rows[0][1..3], ["500", "2000"]);
    }
}

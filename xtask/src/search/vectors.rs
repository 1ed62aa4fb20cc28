//! Vectors: graphs beside hnswlib's, and with filters beside usearch's.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::Context;
use crate::results::{Table, goal};
use crate::{paths, process, python};

/// stead's searches and insertions over hnswlib's at no less recall, and its searches over usearch's where one of a hundred passes.
const SEARCH: f64 = 1.1;
const BUILD: f64 = 1.1;
const FILTERED: f64 = 3.0;
const FILTERED_PERCENT: f64 = 1.0;

/// The recall of searches with filters, and memory over that of vectors and links.
const RECALL: f64 = 0.95;
const MEMORY: f64 = 1.15;

/// How many vectors of how many numbers, and of how many of them there are graphs before anything is measured: what takes minutes,
/// what takes hours the first time, and a first look.
type Shape = (usize, usize, usize);
const SHAPES: [Shape; 1] = [(100_000, 128, 0)];
const MANY: [Shape; 1] = [(200_000, 384, 190_000)];
const MILLION: [Shape; 1] = [(1_000_000, 128, 980_000)];
const QUICK: [Shape; 2] = [(20_000, 128, 0), (10_000, 384, 8_000)];

/// Threads that build.
const THREADS: &str = "2";

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    of_shapes(context, &SHAPES)
}

/// The same of longer ones.
pub fn many(context: &Context) -> Result<Table, String> {
    of_shapes(context, &MANY)
}

/// The same of very many.
pub fn million(context: &Context) -> Result<Table, String> {
    of_shapes(context, &MILLION)
}

fn of_shapes(context: &Context, shapes: &[Shape]) -> Result<Table, String> {
    let (shapes, sweeps) = if context.quick { (&QUICK[..], "3") } else { (shapes, "11") };
    let python = python::peer("search")?;
    let script = paths::root().join("bench/peers/search/hnswlib_peer.py");
    let [python, script] = [&python, &script].map(|path| path.to_string_lossy().into_owned());
    let mut rows_of_all = Vec::new();
    for (count, size, before) in shapes {
        let folder = graphs_folder(context, &format!("vectors-{count}-{size}-{before}"))?;
        let folder = folder.to_string_lossy();
        let [count, size, before] = [count, size, before].map(|number| number.to_string());
        let mut args = vec!["graphs", &count, &size, THREADS, &before, &folder, &python, &script];
        context.told(&args)?;
        args[0] = "vectors";
        args.push(sweeps);
        rows_of_all.extend(rows(&format!("{count} of {size}"), &context.told(&args)?));
    }
    Ok(Table {
        title: "vectors beside hnswlib and usearch".to_owned(),
        note: format!(
            "`search-peers vectors` of bench/peers/search. Vectors of length 1 with 32 hidden numbers and noise, by their products; 500 queries for the 10 nearest, `kept` while searching (ef): of hnswlib as many as are said, of stead the fewest with which its recall is no less. \
             All graphs with M 16 and efConstruction 200 in f32, built by {THREADS} threads in 20 turns (`from .. on`: the first so many before, in files) and searched by one: hnswlib 0.8.0 by its Python \
             package, which is given all queries in one call, usearch 2.26.6, built before, by its crate with the kernels of numkong. Recall is of the 10 that numpy finds by a look at all. Filters let vectors pass by chance; of 64, 128 and 256 kept the fewest that find {RECALL} are asked for, of both; usearch has a closure \
             that looks into the same bits, by 100 of the queries in up to 3 sweeps. stead's are documents with one field, put into a collection, which links them, and searched through a view of it: columns and links lie on huge pages as a server's do. Memory is over vectors and as many links as lists have room for. {sweeps} sweeps of the queries, turn by turn; medians."
        ),
        header: vec!["vectors", "what", "stead", "recall", "peer", "its recall", "ratio", "goal"],
        rows: rows_of_all,
    })
}

/// Where graphs are kept between runs; stead's is built again when its crate has changed.
fn graphs_folder(context: &Context, name: &str) -> Result<PathBuf, String> {
    let folder = context.folder.join(name);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut git = process::command("git", ["log", "-1", "--format=%H", "--", "crates/ann"]);
    let commit = process::capture(git.current_dir(paths::root()), "git log")?;
    let stamp = folder.join("own.commit");
    if fs::read_to_string(&stamp).is_ok_and(|built| built == commit) {
        return Ok(folder);
    }
    let _ = fs::remove_file(folder.join("own.links")); // absent the first time
    fs::write(&stamp, commit).map_err(|e| format!("{}: {e}", stamp.display()))?;
    Ok(folder)
}

fn rows(name: &str, told: &Value) -> Vec<Vec<String>> {
    let number = |of: &Value, key: &str| of[key].as_f64().unwrap_or(f64::NAN);
    let rate = |at: usize| told["rates"][at].as_f64().unwrap_or(f64::NAN);
    let row = |what: String, cells: [String; 5], wanted: String| {
        [vec![name.to_owned(), what], cells.to_vec(), vec![wanted]].concat()
    };
    let none = || "-".to_owned();
    let built = {
        let ratio = number(told, "ratio");
        let [own, peer] = [0, 1].map(|at| format!("{:.0}/s", rate(at)));
        let cells = [own, none(), peer, none(), format!("{ratio:.2}")];
        let what = match told["before"].as_u64() {
            None | Some(0) => "built".to_owned(),
            Some(before) => format!("built, from {before} on"),
        };
        row(format!("{what}, beside hnswlib"), cells, format!("{BUILD} {}", goal(ratio >= BUILD)))
    };
    let searched = |what: String, of: &Value, wanted: &dyn Fn(f64, f64, f64) -> String| {
        let [recall, peer_recall, ratio] =
            ["recall", "peer_recall", "ratio"].map(|key| number(of, key));
        let cells = [
            format!("{:.0}/s", number(of, "per_second")),
            format!("{recall:.4}"),
            format!("{:.0}/s", number(of, "peer_per_second")),
            format!("{peer_recall:.4}"),
            format!("{ratio:.2}"),
        ];
        row(what, cells, wanted(recall, peer_recall, ratio))
    };
    let of_list = |key: &str| told[key].as_array().cloned().unwrap_or_default();
    let mut rows = vec![built];
    rows.extend(of_list("found").iter().map(|of| {
        let what = format!("{} kept, beside hnswlib with {}", of["kept"], of["peer_kept"]);
        searched(what, of, &|recall, peer, ratio| {
            format!("{SEARCH} at its recall {}", goal(ratio >= SEARCH && recall >= peer))
        })
    }));
    rows.extend(of_list("passing").iter().map(|of| {
        let percent = number(of, "percent");
        let what = format!("{percent} % pass, {} kept, beside usearch", of["kept"]);
        searched(what, of, &|recall, _, ratio| {
            let recall = format!("recall {RECALL} {}", goal(recall >= RECALL));
            match percent == FILTERED_PERCENT {
                true => format!("{recall}; {FILTERED} {}", goal(ratio >= FILTERED)),
                false => recall,
            }
        })
    }));
    let [own, least, peer] = ["memory", "least_memory", "peer_memory"].map(|key| number(told, key));
    let cells = [
        format!("{:.0} MB", own / 1e6),
        none(),
        format!("{:.0} MB", peer / 1e6),
        none(),
        format!("{:.3}", own / least),
    ];
    let wanted = format!("at most {MEMORY} {}", goal(own / least <= MEMORY));
    rows.push(row("memory, beside hnswlib; over vectors and links".to_owned(), cells, wanted));
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::rows;

    #[test]
    fn recall_and_ratio_meet_a_goal_together() {
        let of = |recall: f64, ratio: f64| {
            json!({"kept": 15, "peer_kept": 16, "percent": 1.0, "recall": recall, "peer_recall": 0.96, "ratio": ratio,
                "per_second": 1000.0, "peer_per_second": 500.0})
        };
        let told = json!({"rates": [300.0, 200.0], "ratio": 1.5, "before": 0,
            "found": [of(0.97, 1.2), of(0.95, 1.2), of(0.97, 1.0)], "passing": [of(0.94, 3.5)],
            "memory": 1.1e6, "least_memory": 1e6, "peer_memory": 2e6});
        let expected = [
            "v|built, beside hnswlib|300/s|-|200/s|-|1.50|1.1 met",
            "v|15 kept, beside hnswlib with 16|1000/s|0.9700|500/s|0.9600|1.20|1.1 at its recall met",
            "v|15 kept, beside hnswlib with 16|1000/s|0.9500|500/s|0.9600|1.20|1.1 at its recall missed",
            "v|15 kept, beside hnswlib with 16|1000/s|0.9700|500/s|0.9600|1.00|1.1 at its recall missed",
            "v|1 % pass, 15 kept, beside usearch|1000/s|0.9400|500/s|0.9600|3.50|recall 0.95 missed; 3 met",
            "v|memory, beside hnswlib; over vectors and links|1 MB|-|2 MB|-|1.100|at most 1.15 met",
        ];
        let told: Vec<String> = rows("v", &told).iter().map(|row| row.join("|")).collect();
        assert_eq!(told, expected);
    }
}

//! Searches by words and vectors whose best hits a network reads, by clients over HTTP.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Context;
use crate::documents::store::Store;
use crate::results::{Table, middle};
use crate::{context, paths, process, python};

/// Documents and the numbers of their vectors; fewer for a first look.
const SHAPE: (usize, usize) = (100_000, 384);
const QUICK: (usize, usize) = (5_000, 64);

const CLIENTS: &str = "1,2,4,8,16,32,64";

/// Seconds for each number of clients.
const SECONDS: &str = "8";
const SECONDS_QUICK: &str = "2";

/// The network that reads a query with a document: `make_model.py` of `examples/cross-encoder`.
const NETWORK: [(&str, &str); 4] =
    [("--hidden", "128"), ("--layers", "2"), ("--heads", "4"), ("--vocabulary", "8192")];

/// The queries whose phases are timed, by one client.
const EXPLAINED: usize = 40;

const SERVICES: &str = r#"<services version="1.0">
  <container id="default" version="1.0"><search/><document-api/></container>
  <content id="passages" version="1.0">
    <redundancy>1</redundancy>
    <documents><document type="passage" mode="index"/></documents>
  </content>
</services>
"#;

fn schema(size: usize) -> String {
    format!(
        "schema passage {{
  document passage {{
    field text type string {{
      indexing: index | summary
      index: enable-bm25
      stemming: none
    }}
    field embedding type tensor<float>(x[{size}]) {{
      indexing: attribute | index
      attribute {{ distance-metric: prenormalized-angular }}
      index {{ hnsw {{ max-links-per-node: 16 neighbors-to-explore-at-insert: 100 }} }}
    }}
    field tokens type tensor<float>(d0[40]) {{ indexing: attribute }}
  }}
  onnx-model reader {{
    file: models/reader.onnx
    input input_ids: input_ids
    input token_type_ids: token_type_ids
    input attention_mask: attention_mask
    output score: score
  }}
  rank-profile hybrid {{
    inputs {{
      query(q) tensor<float>(x[{size}])
      query(tokens) tensor<float>(d0[8])
    }}
    function input_ids() {{ expression: tokenInputIds(64, query(tokens), attribute(tokens)) }}
    function token_type_ids() {{ expression: tokenTypeIds(64, query(tokens), attribute(tokens)) }}
    function attention_mask() {{ expression: tokenAttentionMask(64, query(tokens), attribute(tokens)) }}
    first-phase {{ expression: bm25(text) + 10 * closeness(field, embedding) }}
    second-phase {{
      rerank-count: 50
      expression: sum(onnx(reader).score)
    }}
  }}
}}
"
    )
}

/// The table. The first run feeds a store, which later ones open again.
pub fn table(of_search: &Context) -> Result<Table, String> {
    let quick = of_search.quick;
    let mut build = process::cargo();
    process::run(build.args(["build", "--release", "--package", "stead"]), "cargo build")?;
    let context = context::Context {
        quick,
        stead: paths::stead("release"),
        // Nothing of them takes part.
        peers: PathBuf::new(),
        folder: of_search.folder.join("hybrid"),
    };
    fs::create_dir_all(&context.folder)
        .map_err(|e| format!("{}: {e}", context.folder.display()))?;
    let (count, size) = if quick { QUICK } else { SHAPE };
    let store = store(of_search, &context, (count, size))?;
    let queries = context.folder.join("queries.jsonl");
    let seconds = if quick { SECONDS_QUICK } else { SECONDS };
    let mut bench = process::command(&context.stead, ["bench", "--target", &store.server.rest]);
    bench.arg("--queries").arg(&queries).args(["--clients", CLIENTS, "--seconds", seconds]);
    let told = process::capture(bench.arg("--json"), "stead bench")?;
    let told: Value = serde_json::from_str(&told).map_err(|e| format!("stead bench: {e}"))?;
    let mut rows: Vec<Vec<String>> =
        told["clients"].as_array().into_iter().flatten().map(of_clients).collect();
    rows.extend(phases(&context, &store, &queries)?);
    Ok(Table {
        title: "words, vectors and a network that reads the best 50".to_owned(),
        note: format!(
            "`stead serve` and `stead bench` on the same cores, over HTTP with a connection for each client, {seconds} s for each number of them. {count} documents: 8 to 40 words of a Zipf \
             vocabulary, a vector of {size} f32 (M 16, efConstruction 100). A query wants 10 hits: the nearest 100 or, by `weakAnd`, the best 100 of 1 to 5 words, ranked by \
             bm25 + 10 closeness; of the best 50 a transformer of 2 layers of 128 reads query and document, up to 51 tokens. \
             Phases: medians over {EXPLAINED} queries of one client, each asked as it is for the whole and once more with `trace.explainLevel=1` for its parts; `rest` is what lies between the parts."
        ),
        header: vec!["what", "clients", "QPS", "p50 ms", "p95 ms", "p99 ms", "part of a query"],
        rows,
    })
}

/// A server with the documents.
fn store(
    of_search: &Context,
    context: &context::Context,
    (count, size): (usize, usize),
) -> Result<Store, String> {
    let app = write_application(context, size)?;
    let fed = context.folder.join("fed");
    let wanted = format!("{count} {}", schema(size));
    if fs::read_to_string(&fed).is_ok_and(|found| found == wanted) {
        return Store::open(context, "data", None);
    }
    let _ = fs::remove_file(&fed); // absent the first time
    let folder = context.folder.to_string_lossy().into_owned();
    of_search.told(&["hybrid", &count.to_string(), &size.to_string(), &folder])?;
    let store = Store::start(context, "data", None)?;
    store.deploy(&app)?;
    store.feed(&context.folder.join("documents.jsonl"), 16)?;
    context.write("fed", &wanted)?;
    Ok(store)
}

fn write_application(context: &context::Context, size: usize) -> Result<PathBuf, String> {
    context.write("app/services.xml", SERVICES)?;
    context.write("app/schemas/passage.sd", &schema(size))?;
    let model = context.folder.join("app/models/reader.onnx");
    if !model.exists() {
        fs::create_dir_all(context.folder.join("app/models")).map_err(|e| e.to_string())?;
        let script = paths::root().join("examples/cross-encoder/make_model.py");
        let mut make = process::command(python::environment("onnx")?, [script]);
        for (option, value) in NETWORK {
            make.args([option, value]);
        }
        make.env("PYTHONDONTWRITEBYTECODE", "1").arg("-o").arg(&model);
        process::run(&mut make, "make_model.py")?;
    }
    Ok(context.folder.join("app"))
}

fn of_clients(told: &Value) -> Vec<String> {
    let number = |key: &str| told[key].as_f64().unwrap_or(f64::NAN);
    let mut row = vec!["all".to_owned(), told["clients"].to_string()];
    row.push(format!("{:.1}", number("good_per_s")));
    row.extend(["p50_ms", "p95_ms", "p99_ms"].map(|key| format!("{:.2}", number(key))));
    row.push("-".to_owned());
    row
}

/// The phases of a query, as traces name them, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Phases {
    words: f64,
    nearest: f64,
    matching: f64,
    first: f64,
    second: f64,
}

/// How long each phase takes.
fn phases(
    context: &context::Context,
    store: &Store,
    queries: &Path,
) -> Result<Vec<Vec<String>>, String> {
    let text = fs::read_to_string(queries).map_err(|e| format!("{}: {e}", queries.display()))?;
    let (mut wholes, mut parts) = (Vec::new(), Vec::new());
    for line in text.lines().take(EXPLAINED) {
        let file = context.write("query.json", line)?;
        let asked = |more: &str| {
            let mut query = process::command(&context.stead, ["query", "--json", "--file"]);
            query.arg(&file).args(["--target", &store.server.rest, "presentation.timing=true"]);
            let answer = process::capture(query.arg(more), "stead query")?;
            serde_json::from_str::<Value>(&answer).map_err(|e| format!("stead query: {e}"))
        };
        let whole = asked("trace.explainLevel=0")?;
        if whole["root"]["children"].as_array().is_none_or(|hits| hits.len() != 10) {
            return Err(format!("not ten hits: {whole}"));
        }
        let ms = |key: &str| whole["timing"][key].as_f64().map(|seconds| seconds * 1e3);
        let times = ["querytime", "summaryfetchtime"].map(ms);
        let [Some(query), Some(summary)] = times else { return Err(format!("no times: {whole}")) };
        wholes.push((query, summary));
        parts.push(of_trace(&asked("trace.explainLevel=1")?).ok_or("a trace without phases")?);
    }
    let median = |of: &mut dyn Iterator<Item = f64>| middle(of.collect()).unwrap_or(f64::NAN);
    let query = median(&mut wholes.iter().map(|(query, _)| *query));
    let summary = median(&mut wholes.iter().map(|(_, summary)| *summary));
    let of = |get: fn(&Phases) -> f64| median(&mut parts.iter().map(get));
    let named = [
        ("words: weakAnd", of(|p| p.words)),
        ("nearest neighbours", of(|p| p.nearest)),
        ("matches joined", of(|p| p.matching)),
        ("first phase", of(|p| p.first)),
        ("second phase: network", of(|p| p.second)),
    ];
    let rest = query - named.iter().map(|(_, ms)| ms).sum::<f64>();
    let all = named
        .into_iter()
        .chain([("rest: query tree, order, merge", rest), ("fields of hits", summary)]);
    let row = |(name, ms): (&str, f64)| {
        let none = "-".to_owned();
        let part = format!("{:.1} %", ms / (query + summary) * 100.0);
        vec![
            name.to_owned(),
            "1".to_owned(),
            none.clone(),
            format!("{ms:.3}"),
            none.clone(),
            none,
            part,
        ]
    };
    Ok(all.map(row).collect())
}

/// What a trace tells of one query.
fn of_trace(answer: &Value) -> Option<Phases> {
    let messages = answer["trace"]["children"].as_array()?;
    let message = messages.iter().map(|of| &of["message"]).find(|of| of["ranking"].is_object())?;
    let ms = |of: &Value, key: &str| of[key].as_f64().unwrap_or(0.0) / 1e6;
    let mut phases =
        Phases { matching: ms(&message["matching"], "nanoseconds"), ..Phases::default() };
    for part in message["matching"]["parts"].as_array()? {
        let took = ms(part, "search_nanoseconds");
        match part["what"].as_str()? {
            what if what.starts_with("weakAnd") => phases.words += took,
            what if what.starts_with("nearestNeighbor") => phases.nearest += took,
            _ => {}
        }
    }
    for stage in message["ranking"]["stages"].as_array()? {
        match stage["name"].as_str()? {
            "first-phase" => phases.first += ms(stage, "nanoseconds"),
            "second-phase" => phases.second += ms(stage, "nanoseconds"),
            _ => {}
        }
    }
    Some(phases)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Phases, of_clients, of_trace};

    #[test]
    fn traces_tell_phases() {
        let matching = json!({"what": "or", "nanoseconds": 1e6, "parts": [
            {"what": "nearestNeighbor(v, q) targetHits 100, by the graph", "nanoseconds": 9.0, "search_nanoseconds": 2e6},
            {"what": "weakAnd of 2 parts, targetHits 100", "nanoseconds": 9.0, "search_nanoseconds": 3e6}]});
        let ranking = json!({"stages": [
            {"name": "first-phase", "nanoseconds": 4e6}, {"name": "second-phase", "nanoseconds": 5e6},
            {"name": "match-features", "nanoseconds": 6e6}]});
        let message = json!({"message": {"matching": matching, "ranking": ranking}});
        let answer = json!({"trace": {"children": [{"message": "matched"}, message]}});
        let expected = Phases { words: 3.0, nearest: 2.0, matching: 1.0, first: 4.0, second: 5.0 };
        assert_eq!(of_trace(&answer), Some(expected));
        assert_eq!(of_trace(&json!({"root": {}})), None);
    }

    #[test]
    fn a_row_has_what_clients_met() {
        let told = json!({"clients": 4, "good_per_s": 50.25, "p50_ms": 1.0, "p95_ms": 2.0, "p99_ms": 3.125});
        assert_eq!(of_clients(&told).join("|"), "all|4|50.2|1.00|2.00|3.12|-");
    }
}

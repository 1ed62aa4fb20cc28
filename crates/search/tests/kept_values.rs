//! What models keep of documents never changes a score, whatever is put, changed, removed and deployed between queries.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value as Json, json};
use stead_app::application::Application;
use stead_app::application::rank::PackageModels;
use stead_app::services::ServicesOptions;
use stead_expr::{Cells, Labels, Value, parse_type};
use stead_onnx::ModelBuilder;
use stead_search::matching::Matcher;
use stead_search::models::{KeptValues, Loaded, Probe};
use stead_search::query::{QueryTree, Tree};
use stead_search::rank::{Means, RankOptions, Ranked, Wanted};
use stead_search::{Parallel, RankPlan, RankQuery, Serial};
use stead_store::{Collection, DocumentType, FieldValue, View};
use stead_tensor::{DType, Tensor};

use crate::chance::Chance;
use crate::harness::{Package, Threads};

impl Chance {
    fn numbers(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.below(201) as f64 - 100.0).collect()
    }

    fn weight(&mut self, dims: &[usize]) -> Tensor {
        let numbers = self.numbers(dims.iter().product());
        let values: Vec<f32> = numbers.iter().map(|x| *x as f32 / 173.0).collect();
        Tensor::from_slice(&values, dims).unwrap()
    }
}

/// Two layers over the query and a field each, whose sum goes through a third.
fn two(chance: &mut Chance) -> Vec<u8> {
    ModelBuilder::new(17)
        .input("q", DType::F32, &["one", "6"])
        .input("a", DType::F32, &["n", "32"])
        .input("b", DType::F32, &["n", "24"])
        .init("wa", chance.weight(&[38, 9]))
        .init("ba", chance.weight(&[9]))
        .init("wb", chance.weight(&[30, 9]))
        .init("last", chance.weight(&[9, 1]))
        .node("Concat", &["q", "a"], &["qa"])
        .attr("axis", 1)
        .node("Concat", &["b", "q"], &["bq"])
        .attr("axis", 1)
        .node("Gemm", &["qa", "wa", "ba"], &["ha"])
        .node("MatMul", &["bq", "wb"], &["hb"])
        .node("Tanh", &["ha"], &["ta"])
        .node("Relu", &["hb"], &["tb"])
        .node("Add", &["ta", "tb"], &["sum"])
        .node("MatMul", &["sum", "last"], &["y"])
        .output("y", DType::F32)
        .bytes()
}

/// A layer over what the package joins, and the field once more behind it.
fn joined(chance: &mut Chance) -> Vec<u8> {
    ModelBuilder::new(17)
        .input("x", DType::F32, &["n", "38"])
        .input("again", DType::F32, &["n", "32"])
        .init("w", chance.weight(&[38, 32]))
        .init("last", chance.weight(&[32, 1]))
        .node("MatMul", &["x", "w"], &["h"])
        .node("Mul", &["h", "again"], &["m"])
        .node("MatMul", &["m", "last"], &["y"])
        .output("y", DType::F32)
        .bytes()
}

/// Takes nothing of the query.
fn alone(chance: &mut Chance) -> Vec<u8> {
    ModelBuilder::new(17)
        .input("b", DType::F32, &["n", "24"])
        .init("w", chance.weight(&[24, 16]))
        .init("last", chance.weight(&[16, 1]))
        .node("MatMul", &["b", "w"], &["h"])
        .node("Sigmoid", &["h"], &["s"])
        .node("MatMul", &["s", "last"], &["y"])
        .output("y", DType::F32)
        .bytes()
}

const PROFILE: &str = "
    inputs { query(user) tensor<float>(d0[1],d1[6]) }
    first-phase { expression: sum(onnx(two).y) + sum(onnx(alone).y) }
    second-phase { rerank-count: 7 expression: firstPhase + sum(onnx(joined).y) }
    match-features { onnx(joined).y }";

/// A package with the models that chance has made, and a profile that keeps what `p` does not.
fn package(chance: &mut Chance) -> Package {
    package_with(chance, "")
}

/// The same, with this said of the threads of each model.
fn package_with(chance: &mut Chance, threads: &str) -> Package {
    let (two, joined, alone) = (two(chance), joined(chance), alone(chance));
    let schema = format!(
        "schema doc {{
  document doc {{
    field a type tensor<float>(d0[1],d1[32]) {{ indexing: attribute }}
    field b type tensor<int8>(d0[1],d1[24]) {{ indexing: attribute }}
  }}
  onnx-model two {{
    file: files/two.onnx
    {threads}
    input q: query(user)
    input a: attribute(a)
    input b: attribute(b)
    output y: y
  }}
  onnx-model joined {{
    file: files/joined.onnx
    {threads}
    input x: concat(query(user), attribute(a), d1)
    input again: attribute(a)
    output y: y
  }}
  onnx-model alone {{
    file: files/alone.onnx
    {threads}
    input b: attribute(b)
    output y: y
  }}
  rank-profile p {{ rank-properties {{ stead.kept-values: off }} {PROFILE} }}
  rank-profile kept {{ rank-properties {{ stead.kept-values: 1 }} {PROFILE} }}
}}"
    );
    let files: [(&str, &[u8]); 4] = [
        ("schemas/doc.sd", schema.as_bytes()),
        ("files/two.onnx", &two),
        ("files/joined.onnx", &joined),
        ("files/alone.onnx", &alone),
    ];
    Package::new(&[], "", &files)
}

/// The profiles of a package: the one that keeps nothing, and the one that does.
struct Deployed {
    plain: RankPlan,
    keeps: RankPlan,
    kept: Arc<KeptValues>,
}

fn deployed(package: &Package) -> (Deployed, DocumentType) {
    let files = package.files();
    let (application, mut report) = Application::read(&files, ServicesOptions::default());
    let models = PackageModels::new(&files).with_probe(&Probe::PLAIN);
    let compiled = application.compile(&models, &mut report);
    assert!(!report.has_errors(), "{:?}", report.diagnostics());
    let (loaded, schema) = (Loaded::new(&files), application.schema("doc").unwrap());
    let plan = |name: &str| {
        RankPlan::new(&application, schema, name, &compiled["doc"], &loaded, &models).unwrap()
    };
    let (plain, keeps) = (plan("p"), plan("kept"));
    (Deployed { plain, keeps, kept: Arc::clone(loaded.kept()) }, DocumentType::stored(schema))
}

fn query(chance: &mut Chance) -> RankQuery {
    let user = chance.numbers(6);
    RankQuery::from_json(&json!({"input.query(user)": [user]})).unwrap()
}

/// Documents with their scores and features, bit by bit.
fn scores(plan: &RankPlan, query: &RankQuery, view: &View) -> Vec<(u32, u64, String)> {
    let options = RankOptions { now: 0.0, seed: 1 };
    bits(&plan.rank(query, view, options, usize::MAX).unwrap())
}

/// The same on some cores.
fn scores_on(
    plan: &RankPlan,
    query: &RankQuery,
    view: &View,
    cores: &dyn Parallel,
) -> Vec<(u32, u64, String)> {
    let tree = QueryTree { root: Tree::All, ..QueryTree::default() };
    let matcher = Matcher::new(&tree, view).unwrap();
    let wanted = Wanted { hits: usize::MAX, features: usize::MAX, explains: false };
    let asked = (wanted, Means { is_late: &|| false, cores });
    let options = RankOptions { now: 0.0, seed: 1 };
    bits(&plan.rank_matches(query, view, (&matcher, None), options, asked).unwrap().0)
}

fn bits(ranked: &Ranked) -> Vec<(u32, u64, String)> {
    let hit = |hit: &stead_search::rank::RankedHit| {
        (hit.document, hit.relevance.to_bits(), format!("{:?}", hit.match_features))
    };
    ranked.hits.iter().map(hit).collect()
}

fn assert_same(deployed: &Deployed, query: &RankQuery, view: &View, label: &str) {
    let (plain, kept) =
        (scores(&deployed.plain, query, view), scores(&deployed.keeps, query, view));
    assert_eq!(kept, plain, "{label}");
}

fn tensor(chance: &mut Chance, kind: &str, count: usize) -> FieldValue {
    let kind = parse_type(kind).unwrap();
    let cells = Cells::from_numbers(kind.cell(), &chance.numbers(count));
    FieldValue::Tensor(Value::new(kind, Labels::default(), cells).unwrap())
}

/// Puts, changes or removes a document.
fn operation(chance: &mut Chance, kind: &DocumentType, collection: &mut Collection, ids: usize) {
    let id = format!("id:n:doc::{}", chance.below(ids));
    let [a, b] = ["a", "b"].map(|name| kind.field(name).unwrap().0);
    let value = |chance: &mut Chance, field: usize| match field == a {
        true => tensor(chance, "tensor<float>(d0[1],d1[32])", 32),
        false => tensor(chance, "tensor<int8>(d0[1],d1[24])", 24),
    };
    match chance.below(6) {
        0 => _ = collection.remove(&id),
        at @ 1..=3 => {
            let field = [a, b][at % 2];
            let value = (at < 3).then(|| value(chance, field));
            collection.update(&id, &[(field, value)]).unwrap();
        }
        _ => {
            let fields = [a, b].map(|field| (field, value(chance, field)));
            let count = chance.below(3);
            collection.put(&id, &fields[..count]).unwrap();
        }
    }
}

#[test]
fn scores_are_those_of_a_deployment_that_keeps_nothing() {
    let seeds = match std::env::var("STEAD_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (1..=8).collect::<Vec<u64>>(),
    };
    for seed in seeds {
        let label = format!("STEAD_SEED={seed} cargo test -p stead-search --test all kept_values");
        let mut chance = Chance::new(seed);
        let (mut current, kind) = deployed(&package(&mut chance));
        let mut collection = Collection::new(kind.clone());
        let mut old = collection.view();
        let (mut found, mut missed) = (0, 0);
        for step in 0..120 {
            for _ in 0..chance.below(6) {
                operation(&mut chance, &kind, &mut collection, 30);
            }
            collection.publish();
            if chance.below(30) == 0 {
                // Other models under the same names, over the same documents.
                let stats = current.kept.stats();
                (found, missed) = (found + stats.found, missed + stats.asked - stats.found);
                current = deployed(&package(&mut chance)).0;
            }
            for _ in 0..chance.below(3) {
                let query = query(&mut chance);
                assert_same(&current, &query, &collection.view(), &format!("step {step}: {label}"));
                assert_same(&current, &query, &old, &format!("step {step}, old view: {label}"));
            }
            if chance.below(8) == 0 {
                old = collection.view();
            }
        }
        assert_same(&current, &query(&mut chance), &collection.view(), &label);
        let stats = current.kept.stats();
        (found, missed) = (found + stats.found, missed + stats.asked - stats.found);
        assert!(found > missed && missed > 0, "{found} known, {missed} not: {label}");
        assert!(stats.bytes > 0 && stats.bytes <= 1 << 20, "{stats:?}: {label}");
    }
}

#[test]
fn readers_and_a_writer_at_once() {
    let mut chance = Chance(77);
    let (deployed, kind) = deployed(&package(&mut chance));
    let mut collection = Collection::new(kind.clone());
    let (reader, is_done) = (collection.reader(), AtomicBool::new(false));
    let queries: Vec<RankQuery> = (0..3).map(|_| query(&mut chance)).collect();
    std::thread::scope(|scope| {
        for query in &queries {
            scope.spawn(|| {
                let mut rounds = 0;
                while !is_done.load(Ordering::Relaxed) || rounds == 0 {
                    assert_same(&deployed, query, &reader.view(), "while others write");
                    rounds += 1;
                }
            });
        }
        for _ in 0..600 {
            operation(&mut chance, &kind, &mut collection, 50);
            collection.publish();
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert_same(&deployed, &queries[0], &collection.view(), "at the end");
}

/// Several runs at a time: those for documents of which nothing is known, and those that take what is known of them.
#[test]
fn runs_at_a_time_keep_and_take_what_one_after_the_other_does() {
    for threads in ["", "execution-mode: parallel", "execution-mode: parallel\nintraop-threads: 1"]
    {
        let mut chance = Chance(31);
        let (deployed, kind) = deployed(&package_with(&mut chance, threads));
        let mut collection = Collection::new(kind.clone());
        let [a, b] = ["a", "b"].map(|name| kind.field(name).unwrap().0);
        let mut known = 0;
        // Each round puts every other document of those before once more, and as many new ones.
        for round in 1..=4 {
            for id in (0..100 * round).step_by(if round == 1 { 1 } else { 2 }) {
                let fields = [
                    (a, tensor(&mut chance, "tensor<float>(d0[1],d1[32])", 32)),
                    (b, tensor(&mut chance, "tensor<int8>(d0[1],d1[24])", 24)),
                ];
                collection.put(&format!("id:n:doc::{id}"), &fields).unwrap();
            }
            collection.publish();
            let (asked, view) = (query(&mut chance), collection.view());
            let expected = scores_on(&deployed.plain, &asked, &view, &Serial);
            let before = deployed.kept.stats();
            let cores = Threads::new(3);
            let found = scores_on(&deployed.keeps, &asked, &view, &cores);
            assert_eq!(found, expected, "{threads:?}, round {round}");
            let after = deployed.kept.stats();
            let (asked, found) = (after.asked - before.asked, after.found - before.found);
            assert!(found < asked, "{threads:?}, round {round}: {found} of {asked}");
            known += found;
            assert!(
                threads.is_empty() || cores.worked() > 0,
                "{threads:?}, round {round}: no other threads worked"
            );
        }
        assert!(known > 0, "{threads:?}: nothing was known");
    }
}

#[test]
fn what_is_kept_is_told() {
    let mut chance = Chance(5);
    let package = package(&mut chance);
    let (deployed, kind) = deployed(&package);
    let mut collection = Collection::new(kind.clone());
    let b = kind.field("b").unwrap().0;
    for id in 0..10 {
        let value = tensor(&mut chance, "tensor<int8>(d0[1],d1[24])", 24);
        collection.put(&format!("id:n:doc::{id}"), &[(b, value)]).unwrap();
    }
    collection.publish();
    let told = |deployed: &Deployed, plan: &RankPlan, query: &RankQuery, view: &View| {
        let options = RankOptions { now: 0.0, seed: 1 };
        let explained = plan.explain(query, view, options, 10).unwrap().1;
        let notes: Vec<String> = explained.values.iter().flat_map(|v| v.notes.clone()).collect();
        let of_two = notes.into_iter().filter(|note| note.starts_with("onnx(two)"));
        (of_two.collect::<Vec<_>>().join("\n"), deployed.kept.stats())
    };
    let asked = query(&mut chance);
    let (none, stats) = told(&deployed, &deployed.plain, &asked, &collection.view());
    assert!(!none.contains("kept") && stats.bytes == 0, "{none}");
    let (first, _) = told(&deployed, &deployed.keeps, &asked, &collection.view());
    assert!(
        first.contains("onnx(two): 72 bytes once for each document, kept while there is room"),
        "{first}"
    );
    assert!(first.contains("onnx(two): kept of 0 of 10 documents; 0.0 of 1 MiB"), "{first}");
    let value = tensor(&mut chance, "tensor<int8>(d0[1],d1[24])", 24);
    collection.update("id:n:doc::3", &[(b, Some(value))]).unwrap();
    collection.publish();
    let (second, stats) = told(&deployed, &deployed.keeps, &asked, &collection.view());
    assert!(second.contains("onnx(two): kept of 9 of 10 documents"), "{second}");
    assert!(stats.bytes > 10 * 72 && stats.limit == 1 << 20, "{stats:?}");
    let json: Json = deployed
        .keeps
        .explain(&asked, &collection.view(), RankOptions { now: 0.0, seed: 1 }, 1)
        .unwrap()
        .1
        .json();
    assert!(json.to_string().contains("kept of 10 of 10 documents"), "{json}");
}

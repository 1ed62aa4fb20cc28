//! Features and phases over small packages. What is expected is computed by hand from the definitions in Vespa's documentation.
#![allow(clippy::unwrap_used)]

use serde_json::{Value as Json, json};
use stead_app::application::Application;
use stead_app::application::rank::PackageModels;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_expr::{Value, text_number};
use stead_search::models::Loaded;
use stead_search::rank::{RankOptions, Ranked};
use stead_search::{RankPlan, RankQuery};
use stead_store::Documents;

const FIELDS: &str = "
    struct price {
      field shop type string {}
      field year type int {}
      field euros type float {}
    }
    field number type int { indexing: attribute }
    field long type long { indexing: attribute }
    field name type string { indexing: attribute }
    field flag type bool { indexing: attribute }
    field list type array<int> { indexing: attribute }
    field words type array<string> { indexing: attribute }
    field weights type weightedset<string> { indexing: attribute }
    field numbered type weightedset<int> { indexing: attribute }
    field stock type map<string,int> {
      indexing: summary
      struct-field key { indexing: attribute }
      struct-field value { indexing: attribute }
    }
    field prices type array<price> {
      indexing: summary
      struct-field shop { indexing: attribute }
      struct-field year { indexing: attribute }
      struct-field euros { indexing: attribute }
    }
    field title type string { indexing: index }
    field place type position { indexing: attribute }
    field vector type tensor<float>(x[2]) { indexing: attribute }
    field parts type tensor<float>(k{}, x[2]) { indexing: attribute }
    field picture type raw { indexing: attribute }";

const SERVICES: &str = "<services version='1.0'><content id='c' version='1.0'><redundancy>1</redundancy>\
    <documents><document type='doc' mode='index'/></documents></content></services>";

/// A plan of a profile with this body, or why there is none.
fn plan(profile: &str) -> Result<RankPlan, String> {
    let schema = format!(
        "schema doc {{\n document doc {{{FIELDS}\n }}\n rank-profile p {{\n{profile}\n }}\n}}"
    );
    let texts = [("schemas/doc.sd", schema.as_str()), ("services.xml", SERVICES)];
    let files = PackageFiles::from_texts(texts).unwrap();
    let (application, mut report) = Application::read(&files, ServicesOptions::default());
    let models = PackageModels::new(&files);
    let compiled = application.compile(&models, &mut report);
    if let Some(error) = report.errors().next() {
        return Err(error.text.clone());
    }
    let schema = application.schema("doc").unwrap();
    RankPlan::new(&application, schema, "p", &compiled["doc"], &Loaded::new(&files), &models)
        .map_err(|e| e.to_string())
}

const NOW: f64 = 1_700_000_000.0;

fn rank(plan: &RankPlan, query: &Json, documents: &[Json]) -> Result<Ranked, String> {
    let lines: Vec<String> = documents.iter().map(|d| json!({"fields": d}).to_string()).collect();
    let lines = lines.join("\n");
    let documents =
        Documents::read(plan.documents().clone(), lines.as_bytes(), &mut |_| {}).unwrap();
    let query = RankQuery::from_json(query).unwrap();
    let options = RankOptions { now: NOW, seed: 42 };
    plan.rank(&query, documents.view(), options, usize::MAX).map_err(|e| e.to_string())
}

/// The values of a feature for documents.
fn feature(
    feature: &str,
    more: &str,
    query: &Json,
    documents: &[Json],
) -> Result<Vec<Value>, String> {
    let profile =
        format!("first-phase {{ expression: 0 }}\n match-features {{\n {feature}\n }}\n {more}");
    let ranked = rank(&plan(&profile)?, query, documents)?;
    Ok(ranked.hits.into_iter().map(|mut hit| hit.match_features.remove(0)).collect())
}

fn numbers(values: &[Value]) -> Vec<f64> {
    values.iter().map(|v| v.as_double().unwrap()).collect()
}

#[test]
fn attributes_have_values_counts_and_weights() {
    let documents = [
        json!({"number": 7, "name": "oslo", "flag": true, "list": [4, 5], "words": ["a", "b"],
               "weights": {"a": 3, "b": 5}, "numbered": {"12": 9}, "stock": {"x": 1, "y": 2},
               "place": {"lat": 0, "lng": 0.000001}}),
        json!({}),
    ];
    let nan = f64::NAN;
    for (name, expected) in [
        ("attribute(number)", [7.0, nan]),
        ("attribute(number).count", [1.0, 1.0]),
        ("attribute(name)", [text_number("oslo"), text_number("")]),
        ("attribute(flag)", [1.0, 0.0]),
        ("attribute(list)", [0.0, 0.0]),
        ("attribute(list).count", [2.0, 0.0]),
        ("attribute(list,1)", [5.0, 0.0]),
        ("attribute(list,2)", [0.0, 0.0]),
        ("attribute(words,0)", [text_number("a"), 0.0]),
        ("attribute(weights).count", [2.0, 0.0]),
        ("attribute(weights,b).weight", [5.0, 0.0]),
        ("attribute(weights,b).contains", [1.0, 0.0]),
        ("attribute(weights,b)", [text_number("b"), 0.0]),
        ("attribute(weights,c).contains", [0.0, 0.0]),
        ("attribute(numbered,12).weight", [9.0, 0.0]),
        ("attribute(stock.value,1)", [2.0, 0.0]),
        ("attribute(stock.key).count", [2.0, 0.0]),
        // One step to the east is the lowest bit of the curve.
        ("attribute(place_zcurve)", [1.0, nan]),
        ("value(2.5)", [2.5, 2.5]),
        ("num_docs_indexed", [2.0, 2.0]),
        ("globalSequence", [281_474_976_645_120.0, 281_474_976_579_584.0]),
    ] {
        let found = numbers(&feature(name, "", &json!({}), &documents).unwrap());
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                *found == expected || (found.is_nan() && expected.is_nan()),
                "{name}: {found} {expected}"
            );
        }
    }
}

#[test]
fn time_makes_documents_old() {
    let day = 86_400;
    let now = NOW as i64;
    let documents = [
        json!({"long": now - 9 * day}),
        json!({"long": now - 200 * day}),
        json!({"long": now + 1}),
        json!({}),
    ];
    let far = NOW + 9_223_372_036_854_775_808.0;
    // The logarithmic scale: with s = 7^2 / (90 - 14) days it is ln((90+s)/(x+s)) / ln((90+s)/s).
    let s: f64 = 49.0 / 76.0;
    let log = |x: f64| ((90.0 + s) / (x + s)).ln() / ((90.0 + s) / s).ln();
    for (name, more, expected) in [
        ("now", "", [NOW; 4]),
        ("age(long)", "", [9.0 * 86_400.0, 200.0 * 86_400.0, 0.0, far]),
        ("freshness(long)", "", [0.9, 0.0, 1.0, 0.0]),
        ("freshness(long).logscale", "", [log(9.0), 0.0, 1.0, 0.0]),
        (
            "freshness(long)",
            "rank-properties { freshness(long).maxAge: 15552000 }",
            [0.95, 0.0, 1.0, 0.0],
        ),
    ] {
        let found = numbers(&feature(name, more, &json!({}), &documents).unwrap());
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found - expected).abs() <= 1e-12 * expected.abs().max(1.0),
                "{name}: {found} {expected}"
            );
        }
    }
}

#[test]
fn fields_become_tensors() {
    let documents = [
        json!({"number": 7, "name": "oslo", "list": [4, 5], "words": ["a", "b"], "weights": {"a": 3, "b": -1},
               "prices": [{"shop": "x", "year": 1, "euros": 2.5}, {"shop": "y", "year": 2, "euros": 4}]}),
        json!({}),
    ];
    let query = json!({"ranking.properties.q": "[u v]", "input.query(w)": {"u": 2}});
    for (name, first, second) in [
        ("tensorFromLabels(attribute(words),w)", "tensor(w{}):{a:1,b:1}", "tensor(w{}):{}"),
        ("tensorFromLabels(attribute(list))", "tensor(list{}):{4:1,5:1}", "tensor(list{}):{}"),
        ("tensorFromLabels(attribute(name),n)", "tensor(n{}):{oslo:1}", "tensor(n{}):{}"),
        ("tensorFromLabels(attribute(number),n)", "tensor(n{}):{7:1}", "tensor(n{}):{}"),
        ("tensorFromWeightedSet(attribute(weights),t)", "tensor(t{}):{a:3,b:-1}", "tensor(t{}):{}"),
        ("tensorFromLabels(query(q),t)", "tensor(t{}):{u:1,v:1}", "tensor(t{}):{u:1,v:1}"),
        ("tensorFromWeightedSet(query(w),t)", "tensor(t{}):{u:2}", "tensor(t{}):{u:2}"),
        (
            "tensorFromLabelsWithOffset(attribute(words),w,at)",
            "tensor<float>(at{},w{}):{{at:0,w:a}:1,{at:1,w:b}:1}",
            "tensor<float>(at{},w{}):{}",
        ),
        (
            "tensorFromStructs(attribute(prices),shop,euros,float)",
            "tensor<float>(shop{}):{x:2.5,y:4}",
            "tensor<float>(shop{}):{}",
        ),
        (
            "tensorFromStructs(attribute(prices),year,shop,euros,double)",
            "tensor(shop{},year{}):{{shop:x,year:1}:2.5,{shop:y,year:2}:4}",
            "tensor(shop{},year{}):{}",
        ),
    ] {
        let found = feature(name, "", &query, &documents).unwrap();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, [first, second], "{name}");
    }
}

#[test]
fn a_vector_of_the_query_meets_sets_arrays_and_maps() {
    let documents = [
        json!({"weights": {"a": 3, "b": 5}, "list": [4, 5, 6], "stock": {"a": 10, "c": 20}}),
        json!({}),
    ];
    for (name, vector, expected) in [
        ("dotProduct(weights,v)", json!("{a:2,b:1,c:9}"), 11.0),
        ("dotProduct(weights,v)", json!({"a": 2, "b": 1}), 11.0),
        ("dotProduct(list,v)", json!("[1 2]"), 14.0),
        ("dotProduct(list,v)", json!([0, 0, 1]), 6.0),
        ("dotProduct(list,v)", json!("{2:3}"), 18.0),
        ("dotProduct(stock,v)", json!("{a:1,c:2}"), 50.0),
    ] {
        let query = json!({"ranking.properties.dotProduct.v": vector});
        let found = numbers(&feature(name, "", &query, &documents).unwrap());
        assert_eq!(found, [expected, 0.0], "{name} {vector}");
    }
}

#[test]
fn chance_is_that_of_the_c_library() {
    let documents = [json!({}), json!({})];
    // lrand48() / 2^31 after srand48(42); after srand48(1024 + 1) and srand48(1024 + 2): computed with glibc.
    for (name, more, expected) in [
        ("random", "", [1_598_855_263.0, 735_945_821.0]),
        ("random", "rank-properties { random.seed: 42 }", [1_598_855_263.0, 735_945_821.0]),
        ("random.match", "", [1_595_997_860.0, 1_318_547_931.0]),
    ] {
        let found = numbers(&feature(name, more, &json!({}), &documents).unwrap());
        assert_eq!(found.map(|x| x * 2_147_483_648.0), expected, "{name}");
    }
    let normal = numbers(&feature("randomNormal(5,0.1)", "", &json!({}), &documents).unwrap());
    assert!(normal.iter().all(|x| (x - 5.0).abs() < 1.0) && normal[0] != normal[1], "{normal:?}");
}

trait Mapped {
    fn map(self, of: impl Fn(f64) -> f64) -> Vec<f64>;
}

impl Mapped for Vec<f64> {
    fn map(self, of: impl Fn(f64) -> f64) -> Vec<f64> {
        self.into_iter().map(of).collect()
    }
}

#[test]
fn features_without_an_index_are_what_vespa_gives_where_nothing_matches() {
    for (name, expected) in [
        ("bm25(title)", "0"),
        ("nativeRank", "0"),
        ("fieldMatch(title).completeness", "0"),
        ("fieldTermMatch(title,0).firstPosition", "1000000"),
        ("fieldTermMatch(title,0).occurrences", "0"),
        ("fieldLength(title)", "1000000"),
        ("term(0).weight", "100"),
        ("term(0).connectedness", "0.1"),
        ("queryTermCount", "0"),
        ("closeness(field,vector)", "0"),
        ("bm25_for_labels(title)", "tensor<float>(label{}):{}"),
    ] {
        let found = feature(name, "", &json!({}), &[json!({})]).unwrap();
        assert_eq!(found[0].to_string(), expected, "{name}");
        let profile = format!("first-phase {{ expression: 0 }}\n match-features {{\n {name}\n }}");
        let notes = plan(&profile).unwrap().notes(&RankQuery::default());
        assert!(notes[0].starts_with(name), "{name}: {notes:?}");
    }
}

/// What a search tells of features: those that it computes have no note.
#[test]
fn a_search_names_the_features_that_are_not_computed() {
    for (name, is_told) in [
        ("nativeRank", false),
        ("queryTermCount", false),
        ("closeness(field,vector)", false),
        ("attribute(number)", false),
        ("fieldMatch(title).completeness", false),
        ("subqueries(title).lsb", false),
        ("bm25_for_labels(title)", false),
        ("bm25(number)", true),
    ] {
        let profile = format!("first-phase {{ expression: 0 }}\n match-features {{\n {name}\n }}");
        let notes = plan(&profile).unwrap().notes_of_search();
        let text = "is not computed: it has the value that Vespa gives where a query has no terms";
        let expected = if is_told { vec![format!("{name} {text}")] } else { Vec::new() };
        assert_eq!(notes, expected, "{name}");
    }
}

#[test]
fn what_cannot_be_computed_is_refused_by_name() {
    for (body, expected) in [
        (
            "first-phase { expression: firstPhase }",
            "firstPhase: is known behind the first phase only",
        ),
        (
            "first-phase { expression: 1 }\n second-phase { expression: secondPhase }",
            "secondPhase: is known behind the second phase only",
        ),
        (
            "first-phase { expression: 1 }\n match-features: secondPhase",
            "secondPhase: the profile has no second phase",
        ),
        (
            "first-phase { expression: relevanceScore }",
            "relevanceScore: is known in the global-phase only",
        ),
        (
            "first-phase { expression: averageFieldLength(list) }",
            "averageFieldLength(list): is not supported: field list has no index of text",
        ),
        (
            "first-phase { expression: fieldMatch(title) }\n rank-properties {\n fieldMatch(title).proximityLimit: 2\n }",
            "fieldMatch(title): proximityTable has 21 numbers, a proximityLimit of 2 wants 5",
        ),
        (
            "first-phase { expression: fieldMatch(title) }\n rank-properties {\n fieldMatch(title).proximityLimit: x\n }",
            "fieldMatch(title): expected a whole number as proximityLimit, found x",
        ),
        (
            "first-phase { expression: attribute(picture) }",
            "attribute(picture): an attribute of type raw is no number; rank by its parts",
        ),
        (
            "first-phase { expression: attribute(list,first) }",
            "attribute(list,first): expected the place of an element as the key, found first",
        ),
        (
            "first-phase { expression: sum(tensorFromLabels(attribute(weights),t)) }",
            "tensorFromLabels(attribute(weights),t): attribute weights is a weightedset<string>, expected an array of strings or whole numbers, or one of them",
        ),
        (
            "first-phase { expression: sum(tensorFromWeightedSet(attribute(list),t)) }",
            "tensorFromWeightedSet(attribute(list),t): attribute list is a array<int>, expected a weightedset of strings or whole numbers",
        ),
    ] {
        assert_eq!(plan(body).err().as_deref(), Some(expected), "{body}");
    }
    let sets = plan("first-phase { expression: dotProduct(weights,v) }").unwrap();
    let error =
        rank(&sets, &json!({"ranking.properties.dotProduct.v": "a"}), &[json!({})]).unwrap_err();
    assert_eq!(error, "dotProduct(weights,v): expected weights such as {a:1,b:2}, found a");
}

#[test]
fn vectors_are_compared_where_the_query_asks_for_neighbors() {
    let documents = [json!({"vector": [3, 4]}), json!({"vector": [0, 1]})];
    let yql = "select * from doc where ({targetHits: 1, label: 'near'}nearestNeighbor(vector, q))";
    let query = json!({"yql": yql, "input.query(q)": [0, 0]});
    let none = json!({"input.query(q)": [0, 0]});
    for (name, expected, without) in [
        ("closeness(field,vector)", [1.0 / 6.0, 0.5], 0.0),
        ("closeness(label,near)", [1.0 / 6.0, 0.5], 0.0),
        ("closeness(label,far)", [0.0, 0.0], 0.0),
        ("distance(field,vector)", [5.0, 1.0], f64::MAX),
    ] {
        assert_eq!(numbers(&feature(name, "", &query, &documents).unwrap()), expected, "{name}");
        assert_eq!(numbers(&feature(name, "", &none, &documents).unwrap()), [without; 2], "{name}");
    }
    let missing = feature("closeness(field,vector)", "", &json!({"yql": yql}), &documents);
    assert_eq!(
        missing.unwrap_err(),
        "closeness(field,vector): nearestNeighbor takes query(q), which the query does not give"
    );
}

#[test]
fn of_several_operators_of_a_field_the_nearest_counts() {
    let parts = |a: f64, b: f64| json!({"vector": [a, 0], "parts": {"a": [a, 0], "b": [b, 0]}});
    let documents = [parts(0.0, 9.0), parts(5.0, 2.0), parts(10.0, 6.0), json!({})];
    let yql = "select * from doc where ({targetHits: 1, label: 'p'}nearestNeighbor(vector, p)) or
        ({targetHits: 1, label: 'q'}nearestNeighbor(vector, q)) or ({targetHits: 1}nearestNeighbor(parts, q)) or
        rank(true, {targetHits: 1}nearestNeighbor(parts, p))";
    let query = json!({"yql": yql, "input.query(p)": [1, 0], "input.query(q)": [7, 0]});
    for (name, distances) in [
        ("vector", [1.0, 2.0, 3.0]),
        ("label,p", [1.0, 4.0, 9.0]),
        ("label,q", [7.0, 2.0, 3.0]),
        ("parts", [1.0, 1.0, 1.0]),
    ] {
        let name = if name.contains(',') { name.to_owned() } else { format!("field,{name}") };
        let of = |name: String| numbers(&feature(&name, "", &query, &documents).unwrap());
        let [a, b, c] = distances;
        assert_eq!(of(format!("distance({name})")), [a, b, c, f64::MAX], "{name}");
        let closeness = [1.0 / (1.0 + a), 1.0 / (1.0 + b), 1.0 / (1.0 + c), 0.0];
        assert_eq!(of(format!("closeness({name})")), closeness, "{name}");
    }
    let found = feature("closest(parts)", "", &query, &documents).unwrap();
    let labels: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        labels,
        ["a", "b", "b", ""].map(|label| match label {
            "" => "tensor<float>(k{}):{}".to_owned(),
            _ => format!("tensor<float>(k{{}}):{{{label}:1}}"),
        })
    );
}

/// The numbers of documents and their scores.
fn scores(profile: &str, query: &Json, numbers: &[i32]) -> Vec<(u32, f64)> {
    let documents: Vec<Json> = numbers.iter().map(|n| json!({"number": n})).collect();
    let ranked = rank(&plan(profile).unwrap(), query, &documents).unwrap();
    ranked.hits.iter().map(|hit| (hit.document, hit.relevance)).collect()
}

#[test]
fn limits_drop_hits_and_counts_bound_phases() {
    let inf = f64::INFINITY;
    for (label, profile, query, expected) in [
        (
            "all",
            "first-phase { expression: attribute(number) }",
            json!({}),
            vec![(2, 30.0), (1, 20.0), (3, 20.0), (0, 10.0)],
        ),
        (
            "at the limit",
            "first-phase { expression: attribute(number)\n rank-score-drop-limit: 20 }",
            json!({}),
            vec![(2, 30.0)],
        ),
        (
            "limit of the query",
            "first-phase { expression: attribute(number)\n rank-score-drop-limit: 20 }",
            json!({"ranking.rankScoreDropLimit": 10}),
            vec![(2, 30.0), (1, 20.0), (3, 20.0)],
        ),
        (
            "two are kept",
            "first-phase { expression: attribute(number)\n keep-rank-count: 2 }",
            json!({}),
            vec![(2, 30.0), (1, 20.0), (0, -inf), (3, -inf)],
        ),
        (
            "no number is the least",
            "first-phase { expression: 1 / (attribute(number) - 30) }",
            json!({}),
            vec![(0, -1.0 / 20.0), (1, -1.0 / 10.0), (3, -1.0 / 10.0), (2, -inf)],
        ),
        (
            // 30 and 20 become 3 and 2; the others go from the range 20..30 to 2..3: at least 1 wide, (x - 20) / 10 + 2.
            "scaled below",
            "first-phase { expression: attribute(number) }\n second-phase { expression: attribute(number) / 10\n rerank-count: 2 }",
            json!({}),
            vec![(2, 3.0), (1, 2.0), (3, 2.0), (0, 1.0)],
        ),
        (
            "a limit of the second phase drops those that it did not take too",
            "first-phase { expression: attribute(number) }\n second-phase { expression: attribute(number) / 10\n rerank-count: 2\n rank-score-drop-limit: 1.5 }",
            json!({}),
            vec![(2, 3.0), (1, 2.0), (3, 2.0)],
        ),
        (
            "the query says how many",
            "first-phase { expression: attribute(number) }\n second-phase { expression: 100 - attribute(number) }",
            json!({"ranking.secondPhase.rerankCount": 1}),
            // One hit: 30 becomes 70, above all others, which stay.
            vec![(2, 70.0), (1, 20.0), (3, 20.0), (0, 10.0)],
        ),
        (
            "ranks of the first phase",
            "first-phase { expression: attribute(number) }\n second-phase { expression: firstPhaseRank + firstPhaseMax }",
            json!({}),
            vec![(0, 34.0), (3, 33.0), (1, 32.0), (2, 31.0)],
        ),
        (
            "two orders at once",
            "first-phase { expression: attribute(number) }\n global-phase { expression: reciprocal_rank_fusion(firstPhase, down) }\n function down() { expression: 0 - attribute(number) }",
            json!({}),
            // 30: first and last; 10: last and first; both 20: 2 and 2, 3 and 3 in the order of the hits.
            vec![
                (1, 1.0 / 62.0 + 1.0 / 62.0),
                (2, 1.0 / 61.0 + 1.0 / 64.0),
                (0, 1.0 / 64.0 + 1.0 / 61.0),
                (3, 1.0 / 63.0 + 1.0 / 63.0),
            ],
        ),
        (
            "the score that a hit came with",
            "first-phase { expression: attribute(number) }\n global-phase { expression: relevanceScore * 2\n rank-score-drop-limit: 40 }",
            json!({}),
            vec![(2, 60.0)],
        ),
    ] {
        let found = scores(profile, &query, &[10, 20, 30, 20]);
        let near = |(a, b): (&(u32, f64), &(u32, f64))| {
            a.0 == b.0 && (a.1 == b.1 || (a.1 - b.1).abs() < 1e-12)
        };
        assert!(
            found.len() == expected.len() && found.iter().zip(&expected).all(near),
            "{label}: {found:?} instead of {expected:?}"
        );
    }
}

#[test]
fn inputs_have_defaults_and_texts() {
    let profile = "inputs {
      query(a): 3
      query(v) tensor<float>(x[2]): [1, 2]
      query(lang) string
    }
    rank-properties { query(b): 4 }
    constants { c tensor(x[2]): [10, 20] }
    first-phase {
      expression: query(a) + 10 * query(b) + 100 * query(unset) + 1000 * sum(query(v) * c) + if (query(lang) == \"no\", 0.5, 0)
    }";
    let plan = plan(profile).unwrap();
    for (query, expected) in [
        (json!({}), 3.0 + 40.0 + 50_000.0),
        (
            json!({"input.query(a)": 1, "input.query(b)": 2, "input.query(unset)": 5}),
            1.0 + 20.0 + 500.0 + 50_000.0,
        ),
        (json!({"input.query(v)": {"x": 0}}), f64::NAN),
        (json!({"input.query(v)": [0, 1], "input.query(lang)": "no"}), 3.0 + 40.0 + 20_000.0 + 0.5),
    ] {
        let found = rank(&plan, &query, &[json!({})]).map(|r| r.hits[0].relevance);
        match expected.is_nan() {
            true => assert!(found.is_err(), "{query}"),
            false => assert_eq!(found, Ok(expected), "{query}"),
        }
    }
}

/// More documents than a block has: values that are computed, in blocks, are those of the columns.
#[test]
fn blocks_of_documents_do_not_show() {
    let documents: Vec<Json> =
        (0..2500).map(|n| json!({"number": n % 700, "list": [n], "vector": [n % 13, 1]})).collect();
    let profile = "inputs { query(v) tensor<float>(x[2]) }
      first-phase { expression: sum(query(v) * attribute(vector)) + attribute(list,0) * 0.001 + attribute(number) }
      match-features: attribute(list,0)";
    let ranked =
        rank(&plan(profile).unwrap(), &json!({"input.query(v)": [100, 1]}), &documents).unwrap();
    assert_eq!(ranked.total, 2500);
    let score =
        |n: u32| f64::from(n % 13) * 100.0 + 1.0 + f64::from(n) * 0.001 + f64::from(n % 700);
    for hit in &ranked.hits {
        assert!((hit.relevance - score(hit.document)).abs() < 1e-9, "{hit:?}");
        assert_eq!(hit.match_features[0].as_double(), Some(f64::from(hit.document)));
    }
    assert!(ranked.hits.windows(2).all(|w| w[0].relevance >= w[1].relevance));
}

/// A function that phases and features name is computed once for each document, and its value is the same everywhere.
#[test]
fn what_phases_and_features_have_in_common_is_computed_once() {
    let documents: Vec<Json> =
        (0..3000).map(|n| json!({"number": n, "vector": [n % 13, n % 7]})).collect();
    let profile = "inputs { query(v) tensor<float>(x[2]) }
      function near() { expression: exp(0 - sum(map(query(v) - attribute(vector), f(x)(x * x)))) }
      first-phase { expression: near() + 0.001 * attribute(number) }
      second-phase { expression: 2 * near() + firstPhase\n rerank-count: 50 }
      match-features { near\n attribute(number) }";
    let plan = plan(profile).unwrap();
    let lines: Vec<String> = documents.iter().map(|d| json!({"fields": d}).to_string()).collect();
    let stored =
        Documents::read(plan.documents().clone(), lines.join("\n").as_bytes(), &mut |_| {})
            .unwrap();
    let query = RankQuery::from_json(&json!({"input.query(v)": [5, 5]})).unwrap();
    let options = RankOptions { now: NOW, seed: 42 };
    let (ranked, explained) = plan.explain(&query, stored.view(), options, 20).unwrap();
    let near = |n: u32| {
        let (x, y) = (f64::from(n % 13) - 5.0, f64::from(n % 7) - 5.0);
        (-(x * x + y * y)).exp()
    };
    for hit in &ranked.hits {
        let first = near(hit.document) + 0.001 * f64::from(hit.document);
        let second = 2.0 * near(hit.document) + first;
        assert!((hit.relevance - second).abs() < 1e-6, "{hit:?} instead of {second}");
        let found = hit.match_features[0].as_double().unwrap();
        assert!((found - near(hit.document)).abs() < 1e-6, "{hit:?}");
    }
    let stages = explained.stages.iter().filter(|s| s.name == "shared");
    let computed: Vec<(&str, usize)> =
        stages.map(|s| (s.expression.as_str(), s.documents)).collect();
    assert_eq!(computed, [("rankingExpression(near)", 3000)]);
}

#[test]
fn documents_of_several_blocks_have_their_own_values() {
    // More than the 4,096 rows that a block has at most.
    let documents: Vec<Json> = (0..5000)
        .map(|n| {
            json!({"number": n, "name": format!("n{n}"), "list": [n, 2 * n], "weights": {"a": n % 50},
                   "vector": [n, 1], "prices": [{"shop": "x", "year": n, "euros": 1}]})
        })
        .collect();
    let features = [
        "attribute(number)",
        "attribute(name)",
        "attribute(list,1)",
        "attribute(weights,a).weight",
        "sum(attribute(vector))",
        "dotProduct(weights,v)",
        "attribute(prices.year,0)",
        "sum(tensorFromLabels(attribute(list),k))",
        "firstPhase",
        "secondPhase",
    ];
    let profile = format!(
        "first-phase {{ expression: attribute(number) * 3 }}
         second-phase {{
 expression: attribute(list,0) + dotProduct(weights,v)
 rerank-count: 3000
 }}
         match-features {{\n {}\n }}",
        features.join("\n ")
    );
    let query = json!({"ranking.properties.dotProduct.v": "{a:2}"});
    let ranked = rank(&plan(&profile).unwrap(), &query, &documents).unwrap();
    assert_eq!(ranked.hits.len(), 5000);
    for hit in &ranked.hits {
        let n = f64::from(hit.document);
        let product = f64::from(hit.document % 50) * 2.0;
        let found = numbers(&hit.match_features);
        let labels = if hit.document == 0 { 1.0 } else { 2.0 };
        let name = text_number(&format!("n{n}"));
        let expected =
            [n, name, 2.0 * n, product / 2.0, n + 1.0, product, n, labels, 3.0 * n, n + product];
        assert_eq!(found, expected, "document {n}");
        assert_eq!(hit.second_phase.is_some(), hit.document >= 2000, "document {n}");
    }
}

#[test]
fn the_second_phase_takes_hits_of_different_groups() {
    let profile = "first-phase { expression: attribute(number) }
      second-phase { expression: attribute(number) * 10 + firstPhaseRank\n rerank-count: 2 }
      diversity { attribute: name\n min-groups: 2 }";
    let documents: Vec<Json> = [("a", 9), ("a", 8), ("a", 7), ("b", 6), ("c", 5)]
        .iter()
        .map(|(name, number)| json!({"name": name, "number": number}))
        .collect();
    let ranked = rank(&plan(profile).unwrap(), &json!({}), &documents).unwrap();
    let found: Vec<(u32, Option<f64>)> =
        ranked.hits.iter().map(|hit| (hit.document, hit.second_phase)).collect();
    // The second and the third are passed over, and count as ranks.
    assert_eq!(found[..2], [(0, Some(91.0)), (3, Some(64.0))]);
    let rest: Vec<u32> = found[2..].iter().map(|(document, _)| *document).collect();
    assert_eq!(rest, [1, 2, 4]);
}

#[test]
fn rank_features_come_where_the_query_asks_for_them() {
    let profile = "first-phase { expression: attribute(number) }
      rank-features { attribute(number) attribute(flag) }
      num-threads-per-search: 2
      termwise-limit: 0.5";
    let documents = [json!({"number": 3, "flag": true})];
    for (body, profile, expected, notes) in [
        (json!({}), profile.to_owned(), &[][..], 1),
        (json!({"ranking.listFeatures": true}), profile.to_owned(), &[3.0, 1.0], 2),
        (
            json!({"rankfeatures": "true"}),
            format!("{profile}\n ignore-default-rank-features"),
            &[3.0, 1.0],
            1,
        ),
    ] {
        let plan = plan(&profile).unwrap();
        let ranked = rank(&plan, &body, &documents).unwrap();
        assert_eq!(numbers(&ranked.hits[0].rank_features), expected, "{body}");
        let found = plan.notes(&RankQuery::from_json(&body).unwrap());
        assert_eq!(found.len(), notes, "{found:?}");
        let options = "without effect here, where every document is ranked: termwise-limit";
        assert_eq!(found[0], options);
    }
}

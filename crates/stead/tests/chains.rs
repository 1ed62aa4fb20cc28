//! Chains of built-in components as a user meets them: declared in a package, with documents that are fed and searched over HTTP, alone
//! and among components in Python.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::server::{Server, free_port, package, stead};

const SCHEMA: &str = "schema song {
  document song {
    field title type string { indexing: summary | attribute }
    field shown type string { indexing: summary }
    field year type int { indexing: summary | attribute }
    field shop type string { indexing: summary | attribute }
    field tokens type tensor<float>(d0[4]) { indexing: summary | attribute }
  }
  rank-profile default { first-phase { expression: attribute(year) } }
  rank-profile old { first-phase { expression: 10 - attribute(year) } }
  document-summary short { summary title {} }
}";

const ALBUM: &str = "schema album {
  document album { field title type string { indexing: summary | attribute } field year type int { indexing: summary | attribute } }
  rank-profile default { first-phase { expression: attribute(year) * 100 } }
}";

const VOCABULARY: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nblue\ntrain\n##s\n";

const SHOP: &str = r#"
import stead

class Seen(stead.Searcher):
    """Writes into hits that it was here, and how often."""
    def __init__(self, settings: stead.Settings):
        self.name = settings["name"]

    def search(self, query, execution):
        query["way"] = query.get("way", "") + self.name
        result = execution.search(query)
        for hit in result.hits:
            # The first that has the result is the last that has the query.
            hit["way"] = hit.get("way", query["way"])
            hit["back"] = hit.get("back", "") + self.name
        return result

class Upper(stead.DocumentProcessor):
    def process(self, operations):
        for operation in operations:
            if isinstance(operation, stead.DocumentPut):
                operation.document["title"] = operation.document["shown"].upper()
            if isinstance(operation, stead.DocumentUpdate):
                operation.assign("year", len(operation.fields["shown"]["assign"]))
        return operations
"#;

const CONTENT: &str = "<content id='stored' version='1.0'><documents><document type='song' mode='index'/><document type='album' mode='index'/></documents></content>";

fn app(container: &str) -> tempfile::TempDir {
    let services = format!(
        "<services version='1.0'><container id='c' version='1.0'><document-api/>{container}</container>{CONTENT}</services>"
    );
    package(&[
        ("services.xml", &services),
        ("schemas/song.sd", SCHEMA),
        ("schemas/album.sd", ALBUM),
        ("models/vocab.txt", VOCABULARY),
        ("python/shop.py", SHOP),
    ])
}

fn put(server: &Server, kind: &str, id: usize, fields: Value) -> (u16, Value) {
    let path = format!("/document/v1/n/{kind}/docid/{id}");
    server.request("POST", &path, &json!({ "fields": fields }).to_string())
}

fn document(server: &Server, id: usize) -> Value {
    server.request("GET", &format!("/document/v1/n/song/docid/{id}"), "").1["fields"].take()
}

fn search(server: &Server, parameters: Value) -> (u16, Value) {
    server.request("POST", "/search/", &parameters.to_string())
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// The titles of hits.
fn titles(told: &Value) -> String {
    let hits = told["root"]["children"].as_array();
    let title = |hit: &Value| hit["fields"]["title"].as_str().unwrap_or("?").to_owned();
    hits.into_iter().flatten().map(title).collect::<Vec<_>>().join(" ")
}

fn has_python() -> bool {
    let found = stead(&["python", "doctor", "--json"]).status.success();
    if !found {
        eprintln!("skipped: no Python on this machine");
    }
    found
}

const ALL: &str = "select * from song where true";

/// Songs a to f: of the years 1 to 6, a and d, b and e, c and f of one shop.
fn feed(server: &Server) {
    for (at, name) in ["a", "b", "c", "d", "e", "f"].into_iter().enumerate() {
        let shop = ["x", "y", "z"][at % 3];
        let fields = json!({"title": name, "year": at + 1, "shop": shop});
        assert_eq!(put(server, "song", at, fields).0, 200);
    }
}

#[test]
fn searchers_that_are_built_in_change_queries_and_results() {
    let rewrite = "<searcher id='rewrite' type='rewrite' before='transformedQuery'><parameter>q</parameter>
        <rules><item><when>old *</when><set><item key='ranking.profile'>old</item></set></item></rules></searcher>";
    let boost = "<searcher id='boost' type='boost' after='rewrite'><rules><item><field>shop</field><equals>x</equals><factor>10</factor></item></rules></searcher>";
    let search_chains = format!(
        "<search><chain id='default' inherits='vespa'>{rewrite}</chain>
         <chain id='shops' inherits='default'><searcher type='collapse' after='boost'><field>shop</field></searcher>{boost}</chain>
         <chain id='all' inherits='shops' excludes='collapse'/></search>"
    );
    let app = app(&search_chains);
    let server = Server::of_package(app.path());
    feed(&server);
    // What is left is counted where all that match were looked at.
    let short = |more: &str| json!({"collapsefield": "shop", "presentation.summary": "short", "collapse.summary": more});
    let of_shop = json!({"collapsefield": "shop,title", "collapsesize.shop": 2});
    let of_title =
        json!({"collapsefield": "shop,title", "collapsesize": 2, "collapsesize.shop": 1});
    for (label, asked, expected, total) in [
        ("the default chain", json!({}), "f e d c b a", 6),
        ("rewritten", json!({"q": "Old songs"}), "a b c d e f", 6),
        ("inherited", json!({"searchChain": "shops"}), "d f e", 3),
        ("rewritten and collapsed", json!({"searchChain": "shops", "q": "old x"}), "a b c", 3),
        ("excluded", json!({"searchChain": "all"}), "d a f e c b", 6),
        ("a page of it", json!({"searchChain": "shops", "hits": 1, "offset": 1}), "e", 6),
        ("collapsed as the query says", json!({"collapsefield": "shop", "hits": 2}), "f e", 6),
        ("two of each", json!({"collapsefield": "shop", "collapsesize": 2}), "f e d c b a", 6),
        ("two of one field", of_shop, "f e d c b a", 6),
        ("one of one field", of_title, "f e d", 3),
        ("by a summary without the field", short("short"), "f e d c b a", 6),
        ("by another summary", short("default"), "f e d", 3),
        ("no built-in chain", json!({"searchChain": "native"}), "f e d c b a", 6),
    ] {
        let mut asked = asked;
        asked["yql"] = ALL.into();
        let (status, told) = search(&server, asked);
        assert_eq!((status, titles(&told).as_str()), (200, expected), "{label}: {told}");
        assert_eq!(told["root"]["fields"]["totalCount"], total, "{label}");
        let has_shop = |hit: &Value| hit["fields"].get("shop").is_some();
        let hits = told["root"]["children"].as_array().unwrap();
        let is_short = label.contains("summary");
        assert!(hits.iter().all(|hit| has_shop(hit) != is_short), "{label}: {told}");
    }
    for (asked, text) in [
        (json!({"collapse.size": 2}), "there are collapsefield, collapsesize, collapsesize.FIELD"),
        (json!({"collapsefield": "shop", "collapsesize.shop": "x"}), "collapsesize.shop"),
        (json!({"collapsefield": "shop", "collapse.summary": "none"}), "none"),
    ] {
        let mut asked = asked;
        asked["yql"] = ALL.into();
        let (status, told) = search(&server, asked);
        let message = told["root"]["errors"][0]["message"].as_str().unwrap();
        assert!(status == 400 && message.contains(text), "{told}");
    }
    let (status, told) =
        search(&server, json!({"yql": ALL, "collapsefield": "shop", "collapsesize": 0}));
    assert_eq!((status, &told["root"]["errors"][0]["code"]), (400, &4.into()), "{told}");
    let (_, told) =
        search(&server, json!({"yql": ALL, "searchChain": "shops", "trace.level": 1, "hits": 500}));
    assert_eq!(
        told["root"]["errors"][0]["code"], 4,
        "hits above maxHits are refused as ever: {told}"
    );
    let page = server.text("/metrics");
    let line = "stead_component_calls_succeeded{component=\"boost@shops\",kind=\"searcher\"}";
    assert!(page.lines().any(|l| l.starts_with(line)), "{page}");
}

#[test]
fn sources_are_searched_one_by_one_and_blended() {
    let blend = |id: &str, more: &str| {
        format!(
            "<chain id='{id}'><searcher id='b{id}' type='blend'><sources><item>song</item><item>album</item></sources>{more}</searcher></chain>"
        )
    };
    let chains = [
        blend("score", ""),
        blend("weights", "<weights><item key='album'>0.001</item></weights>"),
        blend("turns", "<rule>interleave</rule><profiles><item key='song'>old</item></profiles>"),
        blend("normalised", "<rule>normalised</rule>"),
        blend("ranks", "<rule>reciprocal-rank</rule>"),
    ];
    let app = app(&format!("<search>{}</search>", chains.concat()));
    let server = Server::of_package(app.path());
    feed(&server);
    for (at, name) in ["A", "B"].into_iter().enumerate() {
        assert_eq!(put(&server, "album", at, json!({"title": name, "year": at + 1})).0, 200);
    }
    for (chain, expected) in [
        // Without a searcher all types that the query names are in one order of relevance.
        ("native", "B A f e"),
        ("score", "B A f e"),
        ("weights", "f e d c"),
        ("turns", "a B b A"),
        ("normalised", "f B e d"),
        ("ranks", "f B e A"),
    ] {
        let asked =
            json!({"yql": "select * from sources * where true", "searchChain": chain, "hits": 4});
        let (status, told) = search(&server, asked);
        assert_eq!((status, titles(&told).as_str()), (200, expected), "{chain}: {told}");
        assert_eq!(told["root"]["fields"]["totalCount"], 8, "{chain}");
        assert_eq!(told["root"]["coverage"]["documents"], 8, "{chain}");
    }
}

#[test]
fn documents_go_through_processors_that_are_built_in() {
    let chain = "<document-processing><chain id='default'>
        <documentprocessor type='tokenise' after='copy'><tokenizer path='models/vocab.txt'/><from>shown</from><to>tokens</to></documentprocessor>
        <documentprocessor type='copy'><fields><item key='title'>shown</item></fields></documentprocessor>
        <documentprocessor type='constant'><fields><item key='shop'>none</item></fields><documents>song</documents></documentprocessor>
      </chain></document-processing><search/>";
    let app = app(chain);
    let server = Server::of_package(app.path());
    assert_eq!(put(&server, "song", 1, json!({"title": "Blue Trains"})).0, 200);
    let found = document(&server, 1);
    assert_eq!((&found["shown"], &found["shop"]), (&json!("Blue Trains"), &json!("none")));
    assert_eq!(found["tokens"]["values"], json!([5.0, 6.0, 7.0, 0.0]));
    // Another type goes through the chain too, and has none of the fields.
    assert_eq!(put(&server, "album", 1, json!({"title": "Blue"})).0, 200);
    let update = json!({"fields": {"title": {"assign": "train"}}}).to_string();
    let (status, told) = server.request("PUT", "/document/v1/n/song/docid/1", &update);
    assert_eq!(status, 200, "{told}");
    let found = document(&server, 1);
    assert_eq!(
        (&found["shown"], &found["tokens"]["values"]),
        (&json!("train"), &json!([6.0, 0.0, 0.0, 0.0]))
    );
}

#[test]
fn what_is_wrong_with_a_chain_refuses_the_package() {
    let process = |inner: &str| {
        format!("<document-processing><chain id='default'>{inner}</chain></document-processing>")
    };
    for (label, inner, expected) in [
        (
            "a parameter",
            "<search><chain id='default'><searcher id='x' type='collapse'><field>a</field><most>1</most></searcher></chain></search>".to_owned(),
            "searcher x has no parameter most; it has field, size, more",
        ),
        (
            "a field",
            process("<documentprocessor type='copy'><fields><item key='title'>titles</item></fields></documentprocessor>"),
            "documentprocessor copy@default: no type of documents has the fields title, titles",
        ),
        (
            "a file",
            process("<documentprocessor type='tokenise'><tokenizer path='models/none.txt'/><from>title</from><to>tokens</to></documentprocessor>"),
            "documentprocessor tokenise@default: the package has no file models/none.txt",
        ),
        (
            "a component of a program",
            "<search><chain id='default'><searcher native='rank'/></chain></search>".to_owned(),
            "searcher rank@default: this program has no searcher rank; it has none",
        ),
        (
            "a circle",
            "<search><chain id='default'><searcher id='a' type='deduplicate' before='b'><fields>x</fields></searcher><searcher id='b' type='collapse' before='a'><field>x</field></searcher></chain></search>".to_owned(),
            "chain default: each of these must come before the next one: b@default, a@default, b@default",
        ),
        (
            "none of that id",
            "<search><chain id='default'><searcher idref='a'/></chain></search>".to_owned(),
            "chain default names searcher a, which does not stand beside the chains; there are none",
        ),
    ] {
        let app = app(&inner);
        let refused = stead(&["serve", app.path().to_str().unwrap(), "--rest_port", &free_port()]);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && told.contains(expected), "{label}: {told}");
    }
}

#[test]
fn built_in_components_stand_among_those_in_python() {
    if !has_python() {
        return;
    }
    let seen = |name: &str, more: &str| {
        format!(
            "<searcher id='{name}' python='shop:Seen' {more}><config name='s'><name>{name}</name></config></searcher>"
        )
    };
    let chains = format!(
        "<python timeout='20'/><document-processing><chain id='default'>
           <documentprocessor type='copy'><fields><item key='title'>shown</item></fields></documentprocessor>
           <documentprocessor id='upper' python='shop:Upper' after='copy'/>
           <documentprocessor type='tokenise' after='upper'><tokenizer path='models/vocab.txt'/><from>title</from><to>tokens</to></documentprocessor>
         </chain></document-processing>
         <search><chain id='default'>{}{}{}{}
           <searcher id='collapse' type='collapse' after='b' before='c'><field>shop</field></searcher></chain></search>",
        seen("a", ""),
        seen("b", "after='a'"),
        seen("c", "after='b'"),
        seen("d", "after='c'"),
    );
    let app = app(&chains);
    let server = Server::of_package_with(app.path(), &["--python_interpreters", "2"]);
    feed(&server);
    let found = document(&server, 0);
    assert_eq!((&found["title"], &found["shown"]), (&json!("A"), &json!("a")));
    let update = json!({"fields": {"title": {"assign": "blue train"}}}).to_string();
    assert_eq!(server.request("PUT", "/document/v1/n/song/docid/1", &update).0, 200);
    assert_eq!(
        document(&server, 1)["year"],
        10,
        "Python saw what the processor before it assigned"
    );
    // The second and third of Python have a built-in one between them; many at once do not wait for each other for ever.
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..4 {
                        let (status, told) =
                            search(&server, json!({"yql": ALL, "hits": 3, "timeout": "20s"}));
                        assert_eq!(
                            (status, titles(&told).as_str()),
                            (200, "blue train F D"),
                            "{told}"
                        );
                        let first = &told["root"]["children"][0]["fields"];
                        assert_eq!(
                            (&first["way"], &first["back"]),
                            (&json!("abcd"), &json!("dcba"))
                        );
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    // An interpreter for each of the two places is more than there are.
    let refused = stead(&[
        "serve",
        app.path().to_str().unwrap(),
        "--rest_port",
        &free_port(),
        "--python_interpreters",
        "1",
    ]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    let expected = "search chain default: its Python searchers stand in 2 places with others between them, and a search has an interpreter for each; --python_interpreters allows 1";
    assert!(!refused.status.success() && told.contains(expected), "{told}");
}

/// `examples/model-evaluation-python` without its code: the same models in a processor and two searchers that are built in.
#[test]
fn models_stand_where_the_example_has_python() {
    let example = example("model-evaluation-python");
    let vector = "<item key='embedding'>rename(output(output){d0:0,d1:0}, d2, x)</item>";
    let chains = format!(
        "<model-evaluation/>
         <document-processing><chain id='default'><documentprocessor type='model'>
           <model>transformer</model>
           <inputs><item key='input'>tensor(d0[1])(1) * rename(field(tokens), tokens, d1)</item></inputs>
           <outputs>{vector}</outputs>
         </documentprocessor></chain></document-processing>
         <search><chain id='default'>
           <searcher id='vector' type='model'><model>Transformer</model>
             <types><item key='tokens'>tensor&lt;int8>(x[3])</item></types>
             <inputs><item key='input'>tensor(d0[1])(1) * rename(query(tokens), x, d1)</item></inputs>
             <outputs>{vector}</outputs>
           </searcher>
           <searcher id='pairs' type='pairwise-rank' after='vector'><model>pairwise_ranker</model>
             <types><item key='embedding'>tensor&lt;float>(x[16])</item></types>
             <inputs><item key='query'>query(embedding)</item><item key='doc1'>first(embedding)</item><item key='doc2'>second(embedding)</item></inputs>
           </searcher>
         </chain></search>"
    );
    let read = |name: &str| std::fs::read_to_string(example.join(name)).unwrap();
    let services = format!(
        "<services version='1.0'><container id='c' version='1.0'><document-api/>{chains}</container><content id='mydocs' version='1.0'><documents><document type='mydoc' mode='index'/></documents></content></services>"
    );
    let app = package(&[
        ("services.xml", &services),
        ("schemas/mydoc.sd", &read("app/schemas/mydoc.sd")),
    ]);
    std::fs::create_dir(app.path().join("models")).unwrap();
    for name in ["models/transformer.onnx", "models/pairwise_ranker.onnx"] {
        std::fs::copy(example.join("app").join(name), app.path().join(name)).unwrap();
    }
    let server = Server::of_package(app.path());
    let expected: Value = serde_json::from_str(&read("expected.json")).unwrap();
    for line in read("documents.jsonl").lines() {
        let put: Value = serde_json::from_str(line).unwrap();
        let id = put["put"].as_str().unwrap();
        let path = format!("/document/v1/mydoc/mydoc/docid/{}", id.rsplit(':').next().unwrap());
        let body = json!({"fields": put["fields"]}).to_string();
        let (status, told) = server.request("POST", &path, &body);
        assert_eq!(status, 200, "{told}");
        let (_, told) = server.request("GET", &path, "");
        let found = told["fields"]["embedding"]["values"].as_array().unwrap();
        let wanted = expected["documents"][id].as_array().unwrap();
        let close =
            |(a, b): (&Value, &Value)| (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-4;
        assert!(found.len() == 16 && found.iter().zip(wanted).all(close), "{id}: {found:?}");
    }
    let asked = json!({"yql": "select * from mydoc where true", "input.query(tokens)": "[1, 2, 3]", "timeout": "20s"});
    let (status, told) = search(&server, asked);
    assert_eq!((status, &told["root"]["errors"]), (200, &Value::Null), "{told}");
    let hits = told["root"]["children"].as_array().unwrap();
    assert_eq!(hits.len(), expected["wins"].as_object().unwrap().len());
    for hit in hits {
        let id = hit["id"].as_str().unwrap();
        assert_eq!(hit["relevance"].as_f64(), expected["wins"][id].as_f64(), "{id}");
    }
    let won: Vec<f64> = hits.iter().map(|hit| hit["relevance"].as_f64().unwrap()).collect();
    assert!(won.is_sorted_by(|a, b| a >= b), "{won:?}");
    // Without the tensor that the model reads there is none that pairs are compared for.
    let (status, told) = search(&server, json!({"yql": "select * from mydoc where true"}));
    assert_eq!((status, &told["root"]["errors"][0]["code"]), (400, &json!(4)), "{told}");
}

/// `examples/question-answering` as its page says it is used.
#[test]
fn questions_are_answered_with_words_of_passages() {
    let example = example("question-answering");
    let server = Server::of_package(&example.join("app"));
    let feed = stead(&[
        "feed",
        example.join("passages.jsonl").to_str().unwrap(),
        "--target",
        &server.query,
    ]);
    assert!(feed.status.success(), "{feed:?}");
    let expected = std::fs::read_to_string(example.join("expected.json")).unwrap();
    let expected: Vec<Value> = serde_json::from_str(&expected).unwrap();
    assert_eq!(expected.len(), 6);
    for case in expected {
        let asked = json!({
            "yql": "select text from passage where {targetHits: 3}nearestNeighbor(embedding, embedding)",
            "ranking": "answer", "question": case["question"], "hits": 3, "timeout": "20s"
        });
        let (status, told) = search(&server, asked);
        let hits = told["root"]["children"].as_array().unwrap();
        assert_eq!((status, hits.len()), (200, 3), "{told}");
        assert_eq!(hits[0]["fields"]["answer"], case["answer"], "{told}");
        // The passages and what the reader says of them are those of ONNX Runtime.
        let mut found: Vec<(&str, f64)> = hits
            .iter()
            .map(|hit| {
                (hit["id"].as_str().unwrap(), hit["fields"]["answer_score"].as_f64().unwrap())
            })
            .collect();
        let nearest = case["nearest"].as_array().unwrap();
        let mut wanted: Vec<(&str, f64)> = nearest
            .iter()
            .map(|n| (n["id"].as_str().unwrap(), n["score"].as_f64().unwrap()))
            .collect();
        found.sort_by(|a, b| a.0.cmp(b.0));
        wanted.sort_by(|a, b| a.0.cmp(b.0));
        assert_eq!(found, wanted, "{}", case["question"]);
    }
}

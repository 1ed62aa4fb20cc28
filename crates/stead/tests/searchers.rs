//! Searchers in Python as a user meets them: chains of them around the search of documents, over HTTP.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use serde_json::{Value, json};

use crate::server::{Server, package, stead};

const SHOP: &str = r#"
import asyncio, os
import stead

class Mark(stead.Searcher):
    """Writes behind titles that it was here."""
    def __init__(self, settings: stead.Settings):
        self.mark = settings["mark"]

    def search(self, query, execution):
        query["marks"] = query.get("marks", "") + self.mark
        result = execution.search(query)
        for hit in result.hits:
            hit["title"] = hit["title"] + self.mark
            hit["seen"] = query["marks"]
        return result

class Ranked(stead.Searcher):
    """Makes the values of the rank profile of a parameter."""
    def search(self, query, execution):
        assert query["greeting"] == "hello", query.parameters
        x = float(query["x"])
        query.features["v"] = stead.Tensor("tensor<float>(x[2])", [x, 1])
        query.features["query(w)"] = 2
        query.features["labels"] = "{{k:a}:3}"
        query.profile, query.hits = "near", int(query["hits"]) + 1
        query.yql = "select * from music where true"
        return execution.search(query)

class Changed(stead.Searcher):
    """Changes, adds and drops hits and their fields."""
    async def search(self, query, execution):
        result = await execution.search(query)
        first, second, third = result.hits
        assert first["taste"] == stead.Tensor("tensor<float>(x[2])", [3, 1]), first["taste"]
        assert first["summaryfeatures"]["attribute(taste)"] == first["taste"]
        assert first["matchfeatures"]["firstPhase"] == first.relevance
        assert first["ratio"] == 0.10000000149011612 and result.coverage["full"]
        first["taste"] = first["taste"].to_numpy() * 2 if query.get("numpy") else stead.Tensor("tensor<float>(x[2])", [6, 2])
        first["tags"].append("z")
        del first["year"]
        second.relevance = 100
        new = stead.Hit("new", 50, {"title": "new", "raw": b"\x01\x02\x03", "place": stead.Position(1.5, 2)}, source="python")
        result.hits = [first, second, new]
        result.errors.append((5, "not all"))
        result.sort()
        return result

class Twice(stead.Searcher):
    """Two searches at a time, and a third one."""
    async def search(self, query, execution):
        def of(year):
            one = query.clone()
            one.yql = f"select * from music where year = {year}"
            return execution.search(one)
        first, second = await asyncio.gather(of(2), of(3))
        third = await of(1)
        third.hits += second.hits + first.hits
        third.total += first.total + second.total
        return third

class Own(stead.Searcher):
    def search(self, query, execution):
        return stead.Result([stead.Hit("only", 1.0, {"name": query["name"]})])

class Fails(stead.Searcher):
    def search(self, query, execution):
        how = query["how"]
        if how == "input":
            raise stead.InvalidInput("there is no such thing")
        if how == "busy":
            raise stead.Overloaded("later")
        if how == "forever":
            while True:
                pass
        if how == "nothing":
            return None
        if how == "crash":
            os.kill(os.getpid(), 9)
        if how == "code":
            return stead.Result([], errors=[(77, "x")])
        if how == "yql":
            query.yql = "select from"
            result = execution.search(query)
            assert not result.hits and result.errors[0][0] == 4, result.errors
            return result
        if how == "feature":
            query.features["v"] = stead.Tensor("tensor<float>(y[2])", [1, 2])
            query.profile = "near"
            return execution.search(query)
        raise ValueError("a secret")
"#;

const SCHEMA: &str = "schema music {
  document music {
    field title type string { indexing: summary | attribute }
    field year type int { indexing: summary | attribute }
    field taste type tensor<float>(x[2]) { indexing: summary | attribute }
    field ratio type float { indexing: summary | attribute }
    field tags type array<string> { indexing: summary | attribute }
  }
  rank-profile near {
    inputs {
      query(v) tensor<float>(x[2])
      query(w) double: 1.0
      query(labels) tensor<float>(k{})
    }
    first-phase { expression: sum(query(v) * attribute(taste)) * query(w) + sum(query(labels)) }
    match-features: firstPhase
    summary-features: attribute(taste)
  }
}";

fn mark(id: &str, mark: &str, more: &str) -> String {
    format!(
        "<searcher id='{id}' python='shop:Mark' {more}><config name='shop'><mark>{mark}</mark></config></searcher>"
    )
}

/// A server with three documents: years 1 to 3, of tastes [1, 1] to [3, 1].
fn start(python: &str, chains: &str, flags: &[&str]) -> Server {
    let services = format!(
        "<services version='1.0'><container id='c' version='1.0'><python {python}</python><document-api/><search>{chains}</search></container>
  <content id='stored' version='1.0'><redundancy>1</redundancy><documents><document type='music' mode='index'/></documents></content></services>"
    );
    let profile = "<query-profile id='default'><field name='hits'>2</field><field name='greeting'>hello</field></query-profile>";
    let chained =
        "<query-profile id='chained'><field name='searchChain'>own</field></query-profile>";
    let app = package(&[
        ("services.xml", &services),
        ("schemas/music.sd", SCHEMA),
        ("python/shop.py", SHOP),
        ("search/query-profiles/default.xml", profile),
        ("search/query-profiles/chained.xml", chained),
    ]);
    let server = Server::of_package_with(app.path(), flags);
    for year in 1..=3 {
        let fields = json!({"title": format!("t{year}"), "year": year, "taste": [year, 1], "ratio": 0.1, "tags": ["a"]});
        let path = format!("/document/v1/ns/music/docid/{year}");
        let body = json!({ "fields": fields }).to_string();
        assert_eq!(server.request("POST", &path, &body).0, 200);
    }
    server
}

/// Status and answer of a search.
fn search(server: &Server, parameters: Value) -> (u16, Value) {
    server.request("POST", "/search/", &parameters.to_string())
}

fn titles(told: &Value) -> Vec<&str> {
    let hits = told["root"]["children"].as_array();
    hits.into_iter().flatten().map(|hit| hit["fields"]["title"].as_str().unwrap()).collect()
}

/// Whether this machine has a Python; says so if it has none.
fn has_python() -> bool {
    let found = stead(&["python", "doctor", "--json"]).status.success();
    if !found {
        eprintln!("skipped: no Python on this machine");
    }
    found
}

/// The two kinds of interpreters, as services.xml asks for them.
const BOTH: [&str; 2] =
    ["timeout='20'>", "timeout='20'><package name='shop' isolation='process'/>"];

const ALL: &str = "select * from music where true order by year";

#[test]
fn queries_and_results_go_through_the_chain_that_is_asked_for() {
    if !has_python() {
        return;
    }
    let chains = format!(
        "{}<chain id='default' inherits='vespa'><searcher idref='beside'/></chain>
         <chain id='three' inherits='default'>{}{}</chain>
         <chain id='own'><searcher id='own' python='shop:Own'/></chain><chain id='plain'/>",
        mark("beside", "1", ""),
        mark("late", "3", "after='early'"),
        mark("early", "2", "")
    );
    for python in BOTH {
        let server = start(python, &chains, &["--python_interpreters", "2"]);
        for (chain, expected, seen) in [
            (None, ["t11", "t21"], Some("1")),
            (Some("default"), ["t11", "t21"], Some("1")),
            (Some("vespa"), ["t1", "t2"], None),
            (Some("native"), ["t1", "t2"], None),
            (Some("plain"), ["t1", "t2"], None),
        ] {
            let mut asked = json!({ "yql": ALL });
            if let Some(chain) = chain {
                asked["searchChain"] = chain.into();
            }
            let (status, told) = search(&server, asked);
            assert_eq!(
                (status, titles(&told)),
                (200, expected.to_vec()),
                "{python} {chain:?}: {told}"
            );
            let first = &told["root"]["children"][0]["fields"];
            assert_eq!(first["seen"].as_str(), seen, "{chain:?}");
            // What nobody touched is as it is without searchers.
            assert_eq!(first["ratio"], json!(0.1), "{chain:?}");
            assert_eq!(told["root"]["fields"]["totalCount"], 3);
            assert_eq!(told["root"]["coverage"]["documents"], 3);
        }
        // The first sees the query first and the result last.
        let (_, told) = search(&server, json!({"yql": ALL, "searchChain": "three", "hits": 1}));
        let first = &told["root"]["children"][0]["fields"];
        let title = first["title"].as_str().unwrap();
        let marks: String = title.strip_prefix("t1").unwrap().chars().rev().collect();
        assert_eq!(marks.len(), 3, "{title}");
        assert!(marks.find('2') < marks.find('3'), "{title}");
        assert_eq!(first["seen"], marks.as_str());

        let (status, told) = search(&server, json!({"searchChain": "missing", "yql": ALL}));
        let error = &told["root"]["errors"][0];
        assert_eq!((status, error["code"].as_i64()), (400, Some(4)), "{told}");
        assert_eq!(error["message"], "No search chain named 'missing' was found");

        // Nothing is searched for by a searcher that needs nothing; the chain may stand in a profile.
        let asked = json!({"queryProfile": "chained", "name": "x", "presentation.timing": true, "trace.level": 1});
        let (status, told) = search(&server, asked);
        assert_eq!(status, 200, "{told}");
        let hit = json!({"id": "only", "relevance": 1.0, "source": "", "fields": {"name": "x"}});
        assert_eq!(told["root"]["children"], json!([hit]));
        assert!(told["timing"]["searchtime"].as_f64() > Some(0.0), "{told}");
        let trace = told["trace"].to_string();
        assert!(trace.contains("search chain own (own@own) took"), "{trace}");
        let page = server.text("/metrics");
        let line = "stead_component_calls_succeeded{component=\"beside\",kind=\"searcher\"} 3";
        assert!(page.lines().any(|l| l == line), "{page}");
    }
}

#[test]
fn searchers_make_queries_and_results() {
    if !has_python() {
        return;
    }
    let chains = "<chain id='rank'><searcher id='ranked' python='shop:Ranked'/></chain>
        <chain id='change' inherits='rank'><searcher id='changed' python='shop:Changed' before='ranked'/></chain>
        <chain id='twice'><searcher id='twice' python='shop:Twice'/></chain>";
    for python in BOTH {
        let server = start(python, chains, &["--python_interpreters", "1"]);
        let (status, told) = search(&server, json!({"searchChain": "rank", "x": 2, "hits": 1}));
        assert_eq!((status, titles(&told)), (200, vec!["t3", "t2"]), "{python}: {told}");
        let hits = &told["root"]["children"];
        // (2 * 3 + 1) * 2 + 3
        assert_eq!(hits[0]["relevance"], 17.0);
        assert_eq!(hits[0]["fields"]["matchfeatures"]["firstPhase"], 17.0);

        let (status, told) = search(&server, json!({"searchChain": "change", "x": 2}));
        assert_eq!((status, titles(&told)), (200, vec!["t2", "new", "t3"]), "{python}: {told}");
        let hits = &told["root"]["children"];
        assert_eq!(hits[0]["relevance"], 100.0);
        let place = json!({"lat": 1.5, "lng": 2.0});
        assert_eq!(
            hits[1],
            json!({"id": "new", "relevance": 50.0, "source": "python",
            "fields": {"title": "new", "raw": "AQID", "place": place}})
        );
        let changed = &hits[2]["fields"];
        let taste = json!({"type": "tensor<float>(x[2])", "values": [6.0, 2.0]});
        assert_eq!((&changed["taste"], &changed["tags"]), (&taste, &json!(["a", "z"])));
        assert_eq!((&changed["year"], &changed["ratio"]), (&Value::Null, &json!(0.1)));
        assert_eq!(changed["summaryfeatures"]["attribute(taste)"]["values"], json!([3.0, 1.0]));
        let errors = json!([{"code": 5, "summary": "Unspecified error", "message": "not all"}]);
        assert_eq!(told["root"]["errors"], errors);

        let (status, told) = search(&server, json!({"searchChain": "twice"}));
        assert_eq!((status, titles(&told)), (200, vec!["t1", "t3", "t2"]), "{python}: {told}");
        assert_eq!(told["root"]["fields"]["totalCount"], 3);
    }
}

#[test]
fn what_searchers_do_wrong_is_an_error_of_the_search() {
    if !has_python() {
        return;
    }
    let chains = "<chain id='default'><searcher id='fails' python='shop:Fails'/></chain>";
    for python in BOTH {
        let server = start(python, chains, &["--python_interpreters", "1"]);
        for (how, status, code, message) in [
            ("input", 400, 4, "searcher fails@default: there is no such thing"),
            ("busy", 503, 0, "searcher fails@default: later"),
            ("bug", 500, 6, "searcher fails@default: its code raised ValueError"),
            ("nothing", 500, 6, "fails@default.search gave nothing; expected a stead.Result"),
            ("code", 500, 6, "gave an error of code 77; there are 0 to 13"),
            ("yql", 400, 4, "Could not create query from YQL"),
            ("feature", 400, 4, "query(v)"),
            ("forever", 504, 12, "searcher fails@default: the deadline passed before it answered"),
        ] {
            let timeout = if how == "forever" { "1 s" } else { "20 s" };
            let (found, told) =
                search(&server, json!({"how": how, "yql": ALL, "timeout": timeout}));
            let error = &told["root"]["errors"][0];
            assert_eq!(
                (found, error["code"].as_i64()),
                (status, Some(code)),
                "{python} {how}: {told}"
            );
            let text = error["message"].as_str().unwrap();
            assert!(text.contains(message), "{how}: {text}");
            assert!(!text.contains("secret"), "{how}: {text}");
        }
        if python.contains("process") {
            let (status, told) = search(&server, json!({"how": "crash", "yql": ALL}));
            let message = "searcher fails@default: its interpreter died";
            assert_eq!((status, &told["root"]["errors"][0]["message"]), (500, &message.into()));
        }
        // Other chains go on.
        let (status, told) = search(&server, json!({"searchChain": "native", "yql": ALL}));
        assert_eq!((status, titles(&told)), (200, vec!["t1", "t2"]));
    }
    let server = start(BOTH[0], chains, &["--development"]);
    let (_, told) = search(&server, json!({"how": "bug", "yql": ALL}));
    let text = told["root"]["errors"][0]["message"].as_str().unwrap();
    assert!(text.contains("a secret") && text.contains("shop.py"), "{text}");
}

/// Many searches at a time over few interpreters, each with its own answer.
#[test]
fn many_clients_search_through_a_chain() {
    if !has_python() {
        return;
    }
    let chains = "<chain id='rank'><searcher id='ranked' python='shop:Ranked'/></chain>";
    let server = start(BOTH[0], chains, &["--python_interpreters", "2"]);
    std::thread::scope(|scope| {
        for client in 0..8 {
            let server = &server;
            scope.spawn(move || {
                for number in 1..=20 {
                    let x = client * 100 + number;
                    let (status, told) =
                        search(server, json!({"searchChain": "rank", "x": x, "timeout": "20 s"}));
                    let best = told["root"]["children"][0]["relevance"].as_f64();
                    assert_eq!(
                        (status, best),
                        (200, Some(f64::from((3 * x + 1) * 2 + 3))),
                        "{x}: {told}"
                    );
                }
            });
        }
    });
}

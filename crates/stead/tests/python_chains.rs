//! Chains whose components run in interpreters of several kinds: inside the server, in processes, and with a bundled wheel.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::server::{Server, package, stead};

/// What the packages `near` (inside the server), `far` (in processes) and `bundled` (with a wheel) all have.
const CODE: &str = r#"
import asyncio
import stead

def of_wheel():
    """What only package `bundled` has."""
    try:
        import tinylib
    except ImportError:
        return ""
    return tinylib.version

class Mark(stead.Searcher):
    """Writes behind titles that it was here."""
    def __init__(self, settings: stead.Settings):
        self.mark = settings["mark"]

    def search(self, query, execution):
        if query.get("fails") == self.mark:
            self.fail(query["how"])
        query["marks"] = query.get("marks", "") + self.mark + of_wheel()
        if self.mark == "1":
            query.features["v"] = stead.Tensor("tensor<float>(x[2])", [float(query.get("x", 1)), 1])
            query.features["w"] = 2.5
        try:
            result = execution.search(query)
        except stead.HostError as error:
            if query.get("catches") != self.mark:
                raise
            return stead.Result([stead.Hit("caught", 1, {"title": f"{error.code}: {error}"})])
        for hit in result.hits:
            hit["title"] = hit["title"] + self.mark
            if "seen" not in hit.fields:
                hit["seen"] = query["marks"]
        return result

    def fail(self, how):
        if how == "input":
            raise stead.InvalidInput("there is no such thing")
        if how == "busy":
            raise stead.Overloaded("later")
        while how == "forever":
            pass
        raise ValueError("a secret")

class Twice(stead.Searcher):
    """Two searches at a time."""
    async def search(self, query, execution):
        def of(year):
            one = query.clone()
            one.yql = f"select * from music where year = {year}"
            return execution.search(one)
        first, second = await asyncio.gather(of(1), of(3))
        first.hits += second.hits
        return first

class Rank(stead.Searcher):
    def search(self, query, execution):
        assert query.features["v"] == stead.Tensor("tensor<float>(x[2])", [float(query["x"]), 1]), query.features["v"]
        assert query.features["w"] == 2.5, query.features["w"]
        query.profile = "near"
        return execution.search(query)

class Marks(stead.DocumentProcessor):
    def __init__(self, settings: stead.Settings):
        self.mark = settings["mark"]

    def process(self, operations):
        for operation in operations:
            title = operation.document["title"]
            if title.startswith("fails at " + self.mark):
                raise stead.InvalidInput("there is no such thing")
            operation.document["title"] = title + self.mark + of_wheel()
        return operations
"#;

const SCHEMA: &str = "schema music {
  document music {
    field title type string { indexing: summary | attribute }
    field year type int { indexing: summary | attribute }
    field taste type tensor<float>(x[2]) { indexing: summary | attribute }
    field ratio type float { indexing: summary | attribute }
  }
  rank-profile near {
    inputs {
      query(v) tensor<float>(x[2])
      query(w) double
    }
    first-phase { expression: sum(query(v) * attribute(taste)) * query(w) }
  }
}";

/// Whether this machine has a Python; says so if it has none.
fn has_python() -> bool {
    let found = stead(&["python", "doctor", "--json"]).status.success();
    if !found {
        eprintln!("skipped: no Python on this machine");
    }
    found
}

/// A wheel of a library `tinylib`.
fn wheel(folder: &Path) -> PathBuf {
    let path = folder.join("tinylib-7-py3-none-any.whl");
    let program = "
import sys, zipfile
info = 'tinylib-7.dist-info'
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    wheel.writestr('tinylib/__init__.py', 'version = \"w\"')
    wheel.writestr(f'{info}/METADATA', 'Metadata-Version: 2.1\\nName: tinylib\\nVersion: 7\\n')
    wheel.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\\nTag: py3-none-any\\n')
    wheel.writestr(f'{info}/RECORD', '')
";
    let made = Command::new("python3").args(["-c", program]).arg(&path).status().unwrap();
    assert!(made.success());
    path
}

fn component(element: &str, id: &str, class: &str, mark: &str, after: &str) -> String {
    let after = if after.is_empty() { String::new() } else { format!("after='{after}'") };
    format!(
        "<{element} id='{id}' python='{class}' {after}><config name='c'><mark>{mark}</mark></config></{element}>"
    )
}

/// One component behind the other, each of another kind of interpreters than the one before.
fn chain(element: &str, class: &str) -> String {
    [
        component(element, "one", &format!("near:{class}"), "1", ""),
        component(element, "two", &format!("far:{class}"), "2", "one"),
        component(element, "three", &format!("bundled:{class}"), "3", "two"),
        component(element, "four", &format!("bundled:{class}"), "4", "three"),
        component(element, "five", &format!("near:{class}"), "5", "four"),
    ]
    .concat()
}

fn app(chains: &str) -> tempfile::TempDir {
    let services = format!(
        "<services version='1.0'><container id='c' version='1.0'>
  <python timeout='20 s'><package name='far' isolation='process'/></python><document-api/>{chains}</container>
  <content id='stored' version='1.0'><redundancy>1</redundancy><documents><document type='music' mode='index'/></documents></content></services>"
    );
    let app = package(&[
        ("services.xml", &services),
        ("schemas/music.sd", SCHEMA),
        ("python/near.py", CODE),
        ("python/far.py", CODE),
    ]);
    let wheels = tempfile::tempdir().unwrap();
    let recipe = format!(
        "rules = [{{ intern = [\"bundled.**\"] }}, {{ extern = [\"**\"] }}]\nmodules = [\"bundled\"]\nbundles = [{:?}]",
        wheel(wheels.path()).to_str().unwrap()
    );
    let sources = package(&[("bundled.py", CODE), ("bundled.toml", &recipe)]);
    let recipe = sources.path().join("bundled.toml");
    let to = app.path().join("python/bundled.pkg");
    let built = stead(&[
        "package",
        "build",
        "--recipe",
        recipe.to_str().unwrap(),
        "-o",
        to.to_str().unwrap(),
    ]);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    app
}

/// Three documents: years 1 to 3, of tastes [1, 1] to [3, 1].
fn feed(server: &Server) {
    for year in 1..=3 {
        let fields =
            json!({"title": format!("t{year}"), "year": year, "taste": [year, 1], "ratio": 0.1});
        let path = format!("/document/v1/ns/music/docid/{year}");
        let (status, told) =
            server.request("POST", &path, &json!({ "fields": fields }).to_string());
        assert_eq!(status, 200, "{told}");
    }
}

fn search(server: &Server, parameters: &Value) -> (u16, Value) {
    server.request("POST", "/search/", &parameters.to_string())
}

fn titles(told: &Value) -> Vec<&str> {
    let hits = told["root"]["children"].as_array();
    hits.into_iter().flatten().map(|hit| hit["fields"]["title"].as_str().unwrap()).collect()
}

const ALL: &str = "select * from music where true order by year";

#[test]
fn searchers_of_several_kinds_stand_in_one_chain() {
    if !has_python() {
        return;
    }
    let chains = format!(
        "<search><chain id='default'>{}</chain>
         <chain id='rank' inherits='default'><searcher id='rank' python='far:Rank' after='five'/></chain>
         <chain id='twice' inherits='default'><searcher id='twice' python='far:Twice' before='one'/></chain></search>",
        chain("searcher", "Mark")
    );
    let app = app(&chains);
    let server = Server::of_package_with(app.path(), &["--python_interpreters", "2"]);
    feed(&server);
    let (status, told) = search(&server, &json!({"yql": ALL, "hits": 2}));
    assert_eq!((status, titles(&told)), (200, vec!["t154321", "t254321"]), "{told}");
    let first = &told["root"]["children"][0]["fields"];
    // All see what those before them have set; what nobody touched is as it was stored.
    assert_eq!((&first["seen"], &first["ratio"]), (&json!("123w4w5"), &json!(0.1)), "{told}");
    assert_eq!(told["root"]["fields"]["totalCount"], 3);
    assert_eq!(told["root"]["coverage"]["documents"], 3);
    // Tensors and numbers of the query pass from one to the next. (2 * 3 + 1) * 2.5
    let (status, told) = search(
        &server,
        &json!({"searchChain": "rank", "yql": "select * from music where true", "x": 2, "hits": 1}),
    );
    assert_eq!((status, titles(&told)), (200, vec!["t354321"]), "{told}");
    assert_eq!(told["root"]["children"][0]["relevance"], 17.5);
    let (status, told) = search(&server, &json!({"searchChain": "twice", "yql": ALL}));
    assert_eq!((status, titles(&told)), (200, vec!["t154321", "t354321"]), "{told}");

    // More searches than interpreters: nobody waits for ever.
    std::thread::scope(|scope| {
        for client in 0..8 {
            let server = &server;
            scope.spawn(move || {
                let chain = ["default", "rank", "twice"][client % 3];
                for _ in 0..5 {
                    let asked = json!({"yql": ALL, "x": 1, "searchChain": chain});
                    let (status, told) = search(server, &asked);
                    assert_eq!(status, 200, "{chain}: {told}");
                    assert!(titles(&told).iter().all(|title| title.ends_with("54321")), "{told}");
                }
            });
        }
    });
    let page = server.text("/metrics");
    for id in ["one@default", "two@default", "four@default"] {
        let start = format!("stead_component_calls_succeeded{{component=\"{id}\"");
        assert!(page.lines().any(|line| line.starts_with(&start)), "{id}: {page}");
    }
}

#[test]
fn what_goes_wrong_is_an_error_of_the_component() {
    if !has_python() {
        return;
    }
    let app =
        app(&format!("<search><chain id='default'>{}</chain></search>", chain("searcher", "Mark")));
    let server = Server::of_package_with(app.path(), &["--python_interpreters", "2"]);
    feed(&server);
    let ids = ["one", "two", "three", "four", "five"];
    for (how, status, code, message) in [
        ("input", 400, 4, "there is no such thing"),
        ("busy", 503, 0, "later"),
        ("bug", 500, 6, "its code raised ValueError"),
    ] {
        for (at, id) in ids.iter().enumerate() {
            let asked = json!({"yql": ALL, "how": how, "fails": (at + 1).to_string()});
            let (found, told) = search(&server, &asked);
            let error = &told["root"]["errors"][0];
            assert_eq!((found, error["code"].as_i64()), (status, Some(code)), "{how} {id}: {told}");
            let expected = format!("searcher {id}@default: {message}");
            assert_eq!(error["message"], expected, "{how} {id}");
        }
    }
    for (at, id) in [(2, "two"), (4, "four"), (5, "five")] {
        let asked =
            json!({"yql": ALL, "how": "forever", "fails": at.to_string(), "timeout": "3 s"});
        let message = format!("searcher {id}@default: the deadline passed before it answered");
        // Of neighbours that are called together nobody knows which one did not end.
        let of_chain = "search chain default: the deadline passed before it answered";
        // The process of `two` ends each time, and is late itself while it is replaced on a busy machine.
        let again = || search(&server, &asked);
        let is_named = std::iter::repeat_with(again).take(5).any(|(status, told)| {
            let error = &told["root"]["errors"][0];
            assert!(status == 504 && error["code"] == 12, "{id}: {told}");
            error["message"] == message || (at == 4 && error["message"] == of_chain)
        });
        assert!(is_named, "{id}");
    }
    // One that catches what another raises goes on.
    let asked = json!({"yql": ALL, "how": "bug", "fails": "3", "catches": "1"});
    let (status, told) = search(&server, &asked);
    let expected = "internal: searcher three@default: its code raised ValueError";
    assert_eq!((status, titles(&told)), (200, vec![expected]), "{told}");
    let (status, told) = search(&server, &json!({"yql": ALL, "hits": 1}));
    assert_eq!((status, titles(&told)), (200, vec!["t154321"]), "{told}");
}

#[test]
fn chains_that_need_more_interpreters_than_there_are_refuse_a_package() {
    if !has_python() {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_with(data.path(), &["--python_interpreters", "1"]);
    let app =
        app(&format!("<search><chain id='default'>{}</chain></search>", chain("searcher", "Mark")));
    let deployed = stead(&["deploy", app.path().to_str().unwrap(), "--target", &server.deploy]);
    let told = String::from_utf8_lossy(&deployed.stderr);
    let expected = "search chain default: its Python searchers stand in";
    assert!(!deployed.status.success() && told.contains(expected), "{told}");
}

#[test]
fn document_processors_of_several_kinds_stand_in_one_chain() {
    if !has_python() {
        return;
    }
    let chains = format!(
        "<document-processing><chain id='default'>{}</chain></document-processing>",
        chain("documentprocessor", "Marks")
    );
    let app = app(&chains);
    let server = Server::of_package_with(app.path(), &["--python_interpreters", "1"]);
    let put = |id: &str, title: &str| {
        let body = json!({"fields": {"title": title}}).to_string();
        server.request("POST", &format!("/document/v1/ns/music/docid/{id}"), &body)
    };
    std::thread::scope(|scope| {
        for client in 0..4 {
            let put = &put;
            scope.spawn(move || {
                for number in 0..5 {
                    let (status, told) = put(&format!("{client}-{number}"), "t");
                    assert_eq!(status, 200, "{told}");
                }
            });
        }
    });
    let (status, told) = search(&server, &json!({"yql": ALL, "hits": 20}));
    assert_eq!((status, titles(&told)), (200, vec!["t123w4w5"; 20]), "{told}");
    // What is refused is not stored, and whoever refused it is named.
    for (at, id) in ["one", "two", "three", "four", "five"].iter().enumerate() {
        let (status, told) = put("x", &format!("fails at {}", at + 1));
        let expected = format!("documentprocessor {id}@default: there is no such thing");
        assert!(status == 400 && told["message"].as_str().unwrap().contains(&expected), "{told}");
        assert_eq!(server.request("GET", "/document/v1/ns/music/docid/x", "").0, 404);
    }
}

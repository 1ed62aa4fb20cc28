//! The console over HTTP: its files with their headers, who gets what, and what is told of the application.
#![allow(clippy::unwrap_used)] // a panic is the report

use serde_json::{Value, json};
use stead_server::{AuthOptions, ServerOptions};

use crate::common::{Answer, Client, Fixture, zip};

const SERVICES: &str = r#"<services version="1.0">
  <container id="front" version="1.0"><search/><document-api/></container>
  <content id="albums" version="1.0"><documents>
    <document type="artist" mode="index" global="true"/><document type="music" mode="index"/>
  </documents></content>
</services>"#;

const ARTIST: &str = "schema artist {
  document artist { field fame type int { indexing: attribute } }
}";

const MUSIC: &str = "schema music {
  document music {
    field year type int {
      indexing: summary | attribute
      attribute: fast-search
    }
    field title type string {
      indexing: index | summary
      index: enable-bm25
    }
    field taste type tensor<float>(x[2]) {
      indexing: attribute | index
      attribute { distance-metric: angular }
      index { hnsw { } }
    }
    field artist type reference<artist> { indexing: attribute }
  }
  import field artist.fame as fame {}
  fieldset default { fields: title }
  rank-profile taste {
    inputs {
      query(user) tensor<float>(x[2])
      query(weight) double: 2
    }
    function liking() {
      expression {
        sum(query(user) *
          attribute(taste))
      }
    }
    first-phase { expression: liking }
    second-phase {
      rerank-count: 7
      expression: liking * query(weight)
    }
    match-features: liking attribute(year)
  }
}";

fn served(change: impl FnOnce(&mut ServerOptions)) -> Fixture {
    Fixture::deploying_as(tempfile::tempdir().unwrap(), |options| {
        options.console = true;
        change(options);
    })
}

fn deploy(fixture: &Fixture) {
    let files =
        [("services.xml", SERVICES), ("schemas/artist.sd", ARTIST), ("schemas/music.sd", MUSIC)];
    let path = "/application/v2/tenant/default/prepareandactivate";
    let kind = [("Content-Type", "application/zip")];
    let answer = Client::connect(fixture.deploy.unwrap()).send("POST", path, &kind, &zip(&files));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn application(fixture: &Fixture) -> Value {
    let answer = fixture.get("/console/api/application");
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// What a browser does with the page: the files that it names, each of its kind.
#[test]
fn the_page_and_its_files_are_served_with_headers_that_keep_others_out() {
    let fixture = served(|_| {});
    let begin = fixture.get("/console");
    assert_eq!((begin.status, begin.header("location")), (308, Some("console/")));
    let page = fixture.get("/console/");
    let text = page.text();
    let mut named: Vec<&str> = text.split('"').filter_map(|part| part.strip_prefix("./")).collect();
    assert!(named.len() >= 3, "{named:?}");
    let module = fixture.get("/console/main.js").text();
    named.extend(module.split('"').filter_map(|part| part.strip_prefix("./")));
    assert!(named.len() > 6, "{named:?}");
    named.push("");
    for name in named {
        let answer = fixture.get(&format!("/console/{name}"));
        assert_eq!(answer.status, 200, "{name}");
        let kind = match name.rsplit('.').next().unwrap() {
            "" => "text/html; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "svg" => "image/svg+xml",
            other => panic!("{other}"),
        };
        let policy = answer.header("content-security-policy").unwrap();
        for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        for (header, expected) in [
            ("content-type", kind),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-cache"),
        ] {
            assert_eq!(answer.header(header), Some(expected), "{name}");
        }
        let head = fixture.send("HEAD", &format!("/console/{name}"), &[], b"");
        assert_eq!((head.status, head.body.len()), (200, 0), "{name}");
    }
    for (method, path, status) in [
        ("GET", "/console/nothing.js", 404),
        ("GET", "/console/page/main.js", 404),
        ("GET", "/console/../Cargo.toml", 404),
        ("GET", "/console/api", 404),
        ("GET", "/console/api/other", 404),
        ("POST", "/console/", 405),
        ("DELETE", "/console/api/application", 405),
    ] {
        assert_eq!(fixture.send(method, path, &[], b"").status, status, "{method} {path}");
    }
}

#[test]
fn a_console_that_is_off_is_not_there() {
    let fixture = served(|options| options.console = false);
    for path in ["/console", "/console/", "/console/main.js", "/console/api/application"] {
        assert_eq!(fixture.get(path).status, 404, "{path}");
    }
}

/// The page is the same for everybody; what it tells needs a token like every other call.
#[test]
fn files_need_no_token_and_the_application_does() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.toml");
    let token = |role: &str, token: &str| {
        format!("[[tokens]]\nname = \"{role}\"\ntoken = \"{token}\"\nroles = [\"{role}\"]\n")
    };
    let text = token("read", "reader-reader-reader") + &token("admin", "admin-admin-admin-admin");
    std::fs::write(&file, text).unwrap();
    let auth = AuthOptions { tokens: Some(file), ..AuthOptions::default() };
    let fixture = served(|options| options.auth = Some(auth));
    let get = |path: &str, token: &str| -> Answer {
        let headers = [("Authorization", token)];
        fixture.send("GET", path, if token.is_empty() { &[] } else { &headers }, b"")
    };
    assert_eq!(get("/console/", "").status, 200);
    assert_eq!(get("/console/api/application", "").status, 401);
    for (token, is_admin) in [("reader-reader-reader", false), ("admin-admin-admin-admin", true)] {
        let answer = get("/console/api/application", &format!("Bearer {token}"));
        let told = answer.json();
        assert_eq!((answer.status, &told["tokens"]), (200, &json!(true)));
        assert_eq!(told["admin"], json!(is_admin), "{token}");
    }
}

#[test]
fn the_application_is_told_as_it_is_now() {
    let fixture = served(|_| {});
    let none = application(&fixture);
    assert_eq!((&none["application"], &none["deploys"]), (&Value::Null, &json!(true)));
    assert_eq!((&none["tokens"], &none["metrics"]), (&json!(false), &json!(true)));
    // Nobody is an administrator by a token where there are none.
    assert_eq!(none["admin"], json!(false));
    deploy(&fixture);
    for number in 0..3 {
        let path = format!("/document/v1/n/music/docid/{number}");
        assert_eq!(fixture.post(&path, r#"{"fields": {"year": 1}}"#).status, 200);
    }
    let told = application(&fixture)["application"].clone();
    assert!(told["generation"].as_u64().unwrap() > 0 && told["prepared"].as_u64().unwrap() > 0);
    let schemas = told["schemas"].as_array().unwrap();
    let names: Vec<&str> = schemas.iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["artist", "music"]);
    assert_eq!((&schemas[0]["documents"], &schemas[1]["documents"]), (&json!(0), &json!(3)));
    let music = &schemas[1];
    assert_eq!((&music["type"], &music["cluster"]), (&json!("music"), &json!("albums")));
    assert!(music["bytes"].as_u64().unwrap() > 0);
    let field = |name: &str, kind: &str, uses: &[&str], details: &[&str]| json!({"name": name, "type": kind, "uses": uses, "details": details});
    assert_eq!(
        music["fields"],
        json!([
            field("year", "int", &["attribute", "summary"], &["fast-search"]),
            field("title", "string", &["index", "summary"], &["bm25"]),
            field("taste", "tensor<float>(x[2])", &["attribute", "index"], &["hnsw"]),
            field("artist", "reference<artist>", &["attribute"], &[]),
        ])
    );
    assert_eq!(music["imports"], json!([{"name": "fame", "from": "artist.fame", "type": "int"}]));
    assert_eq!(music["fieldSets"], json!([{"name": "default", "fields": ["title"]}]));
    let profiles = music["profiles"].as_array().unwrap();
    let taste = profiles.iter().find(|p| p["name"] == "taste").unwrap();
    assert!(profiles.iter().any(|p| p["name"] == "default"));
    assert_eq!(
        taste["inputs"],
        json!([
            {"name": "user", "type": "tensor<float>(x[2])", "hasDefault": false},
            {"name": "weight", "type": "double", "hasDefault": true},
        ])
    );
    let liking = "sum(query(user) * attribute(taste))";
    assert_eq!(
        taste["functions"],
        json!([{"name": "liking", "parameters": [], "expression": liking}])
    );
    assert_eq!(taste["firstPhase"], json!({"expression": "liking", "count": null}));
    assert_eq!(taste["secondPhase"], json!({"expression": "liking * query(weight)", "count": 7}));
    assert_eq!(taste["globalPhase"], Value::Null);
    assert_eq!(taste["matchFeatures"], json!(["liking", "attribute(year)"]));
}

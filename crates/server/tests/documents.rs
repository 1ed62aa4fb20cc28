//! Documents and searches over HTTP, as clients of Vespa send them.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report

use serde_json::{Value, json};
use stead_node::DocumentOptions;
use stead_store::RoomOptions;

use crate::common::{Answer, Client, Fixture, zip};

const SERVICES: &str = r#"<services version="1.0">
  <container id="front" version="1.0"><search/><document-api/></container>
  <content id="music" version="1.0"><documents><document type="music" mode="index"/></documents></content>
</services>"#;

const SCHEMA: &str = "schema music {
  document music {
    field title type string { indexing: summary | attribute }
    field year type int { indexing: summary | attribute }
    field taste type tensor<float>(x[2]) { indexing: summary | attribute }
  }
  rank-profile taste {
    inputs { query(user) tensor<float>(x[2]) }
    first-phase { expression: sum(query(user) * attribute(taste)) }
  }
}";

fn deploy(fixture: &Fixture, schema: &str) {
    deploy_with(fixture, SERVICES, schema);
}

fn deploy_with(fixture: &Fixture, services: &str, schema: &str) {
    let path = "/application/v2/tenant/default/prepareandactivate";
    let kind = [("Content-Type", "application/zip")];
    let package = zip(&[("services.xml", services), ("schemas/music.sd", schema)]);
    let answer = Client::connect(fixture.deploy.unwrap()).send("POST", path, &kind, &package);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn start() -> Fixture {
    let fixture = Fixture::deploying(tempfile::tempdir().unwrap());
    deploy(&fixture, SCHEMA);
    fixture
}

fn send(fixture: &Fixture, method: &str, path: &str, body: &Value) -> Answer {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    fixture.send(method, &format!("/document/v1/{path}"), &[], body.as_bytes())
}

fn put(fixture: &Fixture, id: &str, title: &str, year: i32, taste: [f32; 2]) {
    let fields = json!({"title": title, "year": year, "taste": taste});
    let answer = send(fixture, "POST", &format!("ns/music/docid/{id}"), &json!({"fields": fields}));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn operations_with_documents_that_are_not_selected_are_ignored() {
    let fixture = start();
    put(&fixture, "old", "a", 1950, [0.0, 0.0]);
    let selected = SERVICES.replace(
        r#"mode="index"/>"#,
        r#"mode="index" selection="music.year &gt; 2000 and id.specific != 'never'"/>"#,
    );
    deploy_with(&fixture, &selected, SCHEMA);
    let year = |year: i32| json!({"fields": {"year": year}});
    let assign = json!({"fields": {"year": {"assign": 1990}}});
    for (label, method, id, body, is_ignored, found) in [
        ("a put that is not selected", "POST", "a", year(1999), true, None),
        ("a put without a value", "POST", "a", json!({"fields": {}}), true, None),
        ("a put that is selected", "POST", "a", year(2001), false, Some(2001)),
        ("what is there stays", "POST", "a", year(1998), true, Some(2001)),
        ("an update", "PUT", "a", assign.clone(), false, Some(1990)),
        ("an update of a document that cannot be", "PUT", "never", assign, true, None),
        ("a removal of a document that cannot be", "DELETE", "never", Value::Null, true, None),
        ("what was there before", "GET", "old", Value::Null, false, Some(1950)),
        ("a removal", "DELETE", "old", Value::Null, false, None),
    ] {
        let path = format!("ns/music/docid/{id}");
        let answer = send(&fixture, method, &path, &body);
        assert_eq!(answer.status, 200, "{label}: {}", answer.text());
        let header = answer.header("x-vespa-ignored-operation");
        assert_eq!(header, is_ignored.then_some("true"), "{label}");
        let answer = send(&fixture, "GET", &path, &Value::Null).json();
        assert_eq!(answer["fields"]["year"].as_i64(), found, "{label}");
    }
    let broken = SERVICES.replace(r#"mode="index"/>"#, r#"mode="index" selection="music.yeer"/>"#);
    let package = zip(&[("services.xml", broken.as_str()), ("schemas/music.sd", SCHEMA)]);
    let path = "/application/v2/tenant/default/prepareandactivate";
    let kind = [("Content-Type", "application/zip")];
    let answer = Client::connect(fixture.deploy.unwrap()).send("POST", path, &kind, &package);
    assert_eq!(answer.status, 400);
    let told = "document type music has no field yeer that a selection can look at";
    assert!(answer.text().contains(told), "{}", answer.text());
}

fn search(fixture: &Fixture, request: &Value) -> Answer {
    let kind = [("Content-Type", "application/json")];
    fixture.send("POST", "/search/", &kind, request.to_string().as_bytes())
}

/// The ids of the hits of a search.
fn ids(fixture: &Fixture, yql: &str) -> Vec<String> {
    let answer = search(fixture, &json!({"yql": yql})).json();
    let hits = answer["root"]["children"].as_array().cloned().unwrap_or_default();
    hits.iter().map(|hit| hit["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn children_are_found_by_what_their_parents_have() {
    let fixture = Fixture::deploying(tempfile::tempdir().unwrap());
    let album = "schema album {
      document album {
        field title type string { indexing: summary | attribute }
        field band type reference<band> { indexing: attribute }
      }
      import field band.country as country {}
      document-summary all { summary title {} summary country {} }
    }";
    let band = "schema band { document band { field country type string { indexing: summary | attribute } } }";
    let services = |is_global: bool| {
        format!(
            r#"<services version="1.0"><container id="front" version="1.0"><search/><document-api/></container>
            <content id="c" version="1.0"><documents><document type="album" mode="index"/>
            <document type="band" mode="index" global="{is_global}"/></documents></content></services>"#
        )
    };
    let path = "/application/v2/tenant/default/prepareandactivate";
    let kind = [("Content-Type", "application/zip")];
    for (is_global, status) in [(false, 400), (true, 200)] {
        let services = services(is_global);
        let package = zip(&[
            ("services.xml", services.as_str()),
            ("schemas/album.sd", album),
            ("schemas/band.sd", band),
        ]);
        let answer = Client::connect(fixture.deploy.unwrap()).send("POST", path, &kind, &package);
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    let put = |path: &str, fields: Value| {
        let answer = send(&fixture, "POST", path, &json!({"fields": fields}));
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    put("ns/album/docid/1", json!({"title": "Leisure", "band": "id:ns:band::blur"}));
    let yql = "select * from album where country contains 'england'";
    assert_eq!(ids(&fixture, yql), [""; 0]);
    put("ns/band/docid/blur", json!({"country": "England"}));
    assert_eq!(ids(&fixture, yql), ["id:ns:album::1"]);
    let everything = "select * from sources * where country contains 'england' order by country";
    assert_eq!(ids(&fixture, everything), ["id:ns:album::1", "id:ns:band::blur"]);
    let all = search(&fixture, &json!({"yql": yql, "summary": "all"})).json();
    let fields = json!({"sddocname": "album", "title": "Leisure", "country": "England"});
    assert_eq!(all["root"]["children"][0]["fields"], fields);
    assert_eq!(send(&fixture, "DELETE", "ns/band/docid/blur", &Value::Null).status, 200);
    assert_eq!(ids(&fixture, yql), [""; 0]);
}

#[test]
fn a_document_is_put_read_updated_and_removed() {
    let fixture = start();
    let path = "ns/music/docid/a%20b/c";
    let id = "id:ns:music::a b/c";
    let whole = format!("/document/v1/{path}");
    let missing = send(&fixture, "GET", path, &Value::Null);
    assert_eq!((missing.status, missing.json()), (404, json!({"pathId": whole, "id": id})));

    let fields = json!({"title": "Blue", "year": 1971, "taste": [1, 2]});
    let answer = send(&fixture, "POST", path, &json!({"fields": fields}));
    assert_eq!((answer.status, answer.json()), (200, json!({"pathId": whole, "id": id})));
    let expected = json!({"title": "Blue", "year": 1971,
        "taste": {"type": "tensor<float>(x[2])", "values": [1.0, 2.0]}});
    let found = send(&fixture, "GET", path, &Value::Null);
    assert_eq!(found.json(), json!({"pathId": whole, "id": id, "fields": expected}));
    assert_eq!(found.header("content-type"), Some("application/json; charset=UTF-8"));
    let part = send(&fixture, "GET", &format!("{path}?fieldSet=music:year"), &Value::Null).json();
    assert_eq!(part["fields"], json!({"year": 1971}));

    let update = json!({"fields": {"year": {"increment": 2}}});
    assert_eq!(send(&fixture, "PUT", path, &update).status, 200);
    assert_eq!(send(&fixture, "GET", path, &Value::Null).json()["fields"]["year"], 1973);
    // Nothing there, nothing done; and the same with create.
    let other = "ns/music/docid/other";
    let update = json!({"fields": {"year": {"assign": 7}}});
    assert_eq!(send(&fixture, "PUT", other, &update).status, 200);
    assert_eq!(send(&fixture, "GET", other, &Value::Null).status, 404);
    assert_eq!(send(&fixture, "PUT", &format!("{other}?create=true"), &update).status, 200);
    assert_eq!(send(&fixture, "GET", other, &Value::Null).json()["fields"], json!({"year": 7}));

    let condition = |year: i32| format!("{path}?condition=music.year%3D%3D{year}");
    let refused = send(&fixture, "DELETE", &condition(1971), &Value::Null);
    assert_eq!(refused.status, 412, "{}", refused.text());
    assert_eq!(refused.json()["id"], id);
    assert_eq!(send(&fixture, "DELETE", &condition(1973), &Value::Null).status, 200);
    assert_eq!(send(&fixture, "GET", path, &Value::Null).status, 404);
    assert_eq!(send(&fixture, "DELETE", path, &Value::Null).status, 200);
}

#[test]
fn what_is_wrong_is_told_as_vespa_tells_it() {
    let fixture = start();
    let music = "ns/music/docid/1";
    for (method, path, body, status, message) in [
        ("GET", "ns/house/docid/1", json!(null), 400, "Document type house does not exist"),
        (
            "GET",
            "not-found",
            json!(null),
            404,
            "Nothing at '/document/v1/not-found'. Available paths are: ",
        ),
        (
            "PATCH",
            music,
            json!(null),
            405,
            "'PATCH' not allowed at '/document/v1/ns/music/docid/1'. Allowed methods are: GET, POST, PUT, DELETE",
        ),
        ("POST", music, json!(null), 400, "Could not read document, no document?"),
        ("POST", music, json!([1]), 400, "expected start of root object"),
        (
            "POST",
            music,
            json!({"fields": {"age": 1}}),
            400,
            "field age: document music has no such field",
        ),
        (
            "POST",
            music,
            json!({"fields": {"year": "x"}}),
            400,
            "field year: expected an int, found \"x\"",
        ),
        (
            "POST",
            "ns/music/docid/1?route=",
            json!({"fields": {}}),
            400,
            "Expected non-empty value for request property 'route'",
        ),
        (
            "DELETE",
            "ns/music/docid/",
            json!(null),
            400,
            "Must specify 'selection' at '/document/v1/ns/music/docid/'",
        ),
        (
            "DELETE",
            "ns/music/docid/?selection=true",
            json!(null),
            400,
            "Must specify 'cluster' at '/document/v1/ns/music/docid/'",
        ),
        (
            "GET",
            "ns/music/docid/?cluster=x",
            json!(null),
            400,
            "Your Vespa deployment has no content cluster 'x', only 'music'",
        ),
        ("GET", "ns/music/docid/?selection=music.", json!(null), 400, "selection: "),
    ] {
        let answer = send(&fixture, method, path, &body);
        let found = answer.json()["message"].as_str().unwrap_or_default().to_owned();
        assert_eq!(answer.status, status, "{method} {path}: {found}");
        assert!(found.contains(message), "{method} {path}: {found}");
    }
}

#[test]
fn documents_are_visited_in_pages_and_removed_by_selection() {
    let fixture = start();
    for year in 0..25 {
        put(&fixture, &year.to_string(), "t", year, [0.0, 0.0]);
    }
    let visit = |parameters: &str| {
        let (mut seen, mut pages, mut next) = (Vec::new(), 0, String::new());
        loop {
            let path = format!("ns/music/docid/?cluster=music&{parameters}{next}");
            let page = send(&fixture, "GET", &path, &Value::Null).json();
            pages += 1;
            let documents = page["documents"].as_array().unwrap();
            assert_eq!(page["documentCount"], documents.len());
            seen.extend(documents.iter().map(|d| d["fields"]["year"].as_i64().unwrap()));
            match page["continuation"].as_str() {
                Some(token) => next = format!("&continuation={token}"),
                None => break,
            }
        }
        seen.sort_unstable();
        (seen, pages)
    };
    assert_eq!(visit("wantedDocumentCount=10"), ((0..25).collect(), 3));
    let (some, _) =
        visit("selection=music.year%20%3C%2010%20and%20music.year%20%3E%207&wantedDocumentCount=9");
    assert_eq!(some, [8, 9]);
    let slices =
        [0, 1, 2].map(|n| visit(&format!("slices=3&sliceId={n}&wantedDocumentCount=50")).0);
    let mut all = slices.concat();
    all.sort_unstable();
    assert_eq!(all, (0..25).collect::<Vec<_>>());

    let path = "ns/music/docid/?cluster=music&selection=music.year%3E%3D5";
    assert_eq!(send(&fixture, "DELETE", path, &Value::Null).json()["documentCount"], 20);
    let path = "ns/music/docid/?cluster=music&selection=music.year%3D%3D4";
    let update = json!({"fields": {"year": {"assign": 100}}});
    assert_eq!(send(&fixture, "PUT", path, &update).json()["documentCount"], 1);
    assert_eq!(visit("wantedDocumentCount=50").0, [0, 1, 2, 3, 100]);
}

#[test]
fn searches_see_what_was_acknowledged() {
    let fixture = start();
    assert_eq!(ids(&fixture, "select * from music where true"), Vec::<String>::new());
    put(&fixture, "blue", "Blue", 1971, [1.0, 0.0]);
    put(&fixture, "hejira", "Hejira", 1976, [0.0, 1.0]);
    let [blue, hejira] = ["blue", "hejira"].map(|id| format!("id:ns:music::{id}"));
    assert_eq!(
        ids(&fixture, "select * from music where year > 1975"),
        std::slice::from_ref(&hejira)
    );
    let ordered = "select * from sources * where true order by year desc";
    assert_eq!(ids(&fixture, ordered), [hejira.clone(), blue.clone()]);

    let ranked = json!({"yql": "select * from music where true", "ranking": "taste",
        "input.query(user)": [3, 2], "presentation.timing": true});
    let answer = search(&fixture, &ranked).json();
    let hits = answer["root"]["children"].as_array().unwrap();
    let scores: Vec<_> = hits.iter().map(|h| (h["id"].clone(), h["relevance"].clone())).collect();
    assert_eq!(scores, [(json!(blue), json!(3.0)), (json!(hejira), json!(2.0))]);
    assert_eq!(hits[0]["fields"]["title"], "Blue");
    assert_eq!(hits[0]["source"], "music");
    assert_eq!(answer["root"]["fields"]["totalCount"], 2);
    assert_eq!(answer["root"]["coverage"]["full"], true);
    assert!(answer["timing"]["searchtime"].is_number());

    // By GET and as a form, with the parameters of a URL.
    let by_url = "yql=select+*+from+music+where+year+%3C+1975";
    assert_eq!(
        fixture.get(&format!("/search/?{by_url}")).json()["root"]["children"][0]["id"],
        blue
    );
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let answer = fixture.send("POST", "/search/", &form, by_url.as_bytes());
    assert_eq!(answer.json()["root"]["children"][0]["id"], blue);
    let cbor =
        fixture.send("GET", &format!("/search/?{by_url}"), &[("Accept", "application/cbor")], b"");
    assert_eq!(cbor.header("content-type"), Some("application/cbor"));

    let path = "ns/music/docid/blue";
    assert_eq!(send(&fixture, "DELETE", path, &Value::Null).status, 200);
    assert_eq!(ids(&fixture, "select * from music where true"), [hejira]);
    for (label, request, status, code) in [
        ("no query", json!({}), 500, 1),
        ("no YQL", json!({"yql": "select"}), 400, 4),
        ("no such field", json!({"yql": "select * from music where age > 1"}), 400, 4),
        ("no such schema", json!({"yql": "select * from house where true"}), 400, 4),
    ] {
        let answer = search(&fixture, &request);
        let error = answer.json()["root"]["errors"][0].clone();
        assert_eq!(
            (answer.status, error["code"].as_u64()),
            (status, Some(code)),
            "{label}: {error}"
        );
    }
}

#[test]
fn documents_outlive_the_process_and_their_schema() {
    let fixture = start();
    put(&fixture, "blue", "Blue", 1971, [1.0, 0.0]);
    put(&fixture, "gone", "Gone", 1, [1.0, 0.0]);
    assert_eq!(send(&fixture, "DELETE", "ns/music/docid/gone", &Value::Null).status, 200);
    let fixture = Fixture::deploying(fixture.end());
    assert_eq!(ids(&fixture, "select * from music where true"), ["id:ns:music::blue"]);

    // A field more, in front of the others.
    deploy(
        &fixture,
        &SCHEMA
            .replace("field title", "field age type int { indexing: attribute }\n    field title"),
    );
    let found = send(&fixture, "GET", "ns/music/docid/blue", &Value::Null).json();
    assert_eq!(
        (&found["fields"]["title"], &found["fields"]["year"]),
        (&json!("Blue"), &json!(1971))
    );
    let update = json!({"fields": {"age": {"assign": 50}}});
    assert_eq!(send(&fixture, "PUT", "ns/music/docid/blue", &update).status, 200);
    assert_eq!(ids(&fixture, "select * from music where age = 50"), ["id:ns:music::blue"]);
}

#[test]
fn scripts_run_when_documents_are_fed() {
    let outside =
        "  field decade type int { indexing: input year / 10 * 10 | attribute | summary }\n}";
    let schema = format!("{}{outside}", SCHEMA.strip_suffix('}').unwrap());
    let fixture = Fixture::deploying(tempfile::tempdir().unwrap());
    deploy(&fixture, &schema);
    put(&fixture, "1", "Blue", 1971, [0.0, 0.0]);
    assert_eq!(ids(&fixture, "select * from music where decade = 1970"), ["id:ns:music::1"]);
    let update = json!({"fields": {"year": {"increment": 30}}});
    assert_eq!(send(&fixture, "PUT", "ns/music/docid/1", &update).status, 200);
    assert_eq!(ids(&fixture, "select * from music where decade = 2000"), ["id:ns:music::1"]);
    let fields = |set: &str| {
        let path = format!("ns/music/docid/1?fieldSet={set}");
        let answer = send(&fixture, "GET", &path, &Value::Null).json();
        answer["fields"].as_object().map(|fields| fields.contains_key("decade"))
    };
    assert_eq!(
        ["[document]", "[all]", "music:[document]"].map(fields),
        [false, true, false].map(Some)
    );
    let refused = send(&fixture, "POST", "ns/music/docid/1", &json!({"fields": {"decade": 1}}));
    let message = "Operation on 'id:ns:music::1' contains invalid input: Field 'decade' is not part of the declared document type 'music'.";
    assert_eq!((refused.status, &refused.json()["message"]), (400, &json!(message)));

    let embedding = outside.replace("input year / 10 * 10", "input title | embed | to_int");
    let schema = format!("{}{embedding}", SCHEMA.strip_suffix('}').unwrap());
    let package = zip(&[("services.xml", SERVICES), ("schemas/music.sd", &schema)]);
    let path = "/application/v2/tenant/default/prepareandactivate";
    let answer = Client::connect(fixture.deploy.unwrap()).send(
        "POST",
        path,
        &[("Content-Type", "application/zip")],
        &package,
    );
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("embed"), "{}", answer.text());
}

#[test]
fn visits_stream_all_documents_with_what_goes_on_behind_them() {
    let fixture = start();
    // Enough that they are sent in several pieces.
    for at in 0..1500 {
        put(&fixture, &at.to_string(), &"title ".repeat(10), at, [0.0, 1.0]);
    }
    let lines = |parameters: &str| {
        let accept = [("Accept", "application/jsonl")];
        let path = format!("/document/v1/?stream=true&{parameters}");
        let answer = fixture.send("GET", &path, &accept, b"");
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("content-type"), Some("application/jsonl; charset=UTF-8"));
        let text = answer.text();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let puts = |lines: &[Value]| {
        let ids = lines.iter().filter_map(|line| line["put"].as_str());
        ids.map(str::to_owned).collect::<Vec<String>>()
    };
    let all = lines("");
    assert_eq!(puts(&all).len(), 1500);
    assert_eq!(all[0]["fields"]["year"], 0);
    let end = json!({"continuation": {"percentFinished": 100.0}});
    assert_eq!(all.last(), Some(&end));
    let stats = json!({"sessionStats": {"documentCount": 1500}});
    assert_eq!(all.get(all.len() - 2), Some(&stats));

    // From a line on everything that comes behind it.
    let at = all.iter().position(|line| line["continuation"]["token"].is_string()).unwrap();
    let token = all[at]["continuation"]["token"].as_str().unwrap();
    let rest = lines(&format!("continuation={token}"));
    assert_eq!(puts(&rest), puts(&all[at..]));

    let mut slices: Vec<String> =
        (0..3).flat_map(|s| puts(&lines(&format!("slices=3&sliceId={s}&fieldSet=[id]")))).collect();
    slices.sort();
    slices.dedup();
    assert_eq!(slices.len(), 1500);
    let some = lines("selection=music.year%3C10&wantedDocumentCount=4");
    assert_eq!(puts(&some).len(), 4);
    assert!(some.last().unwrap()["continuation"]["token"].is_string());

    let object = fixture.send("GET", "/document/v1/?stream=true", &[], b"").json();
    assert_eq!(object["documentCount"], 1500);
    assert_eq!(object["documents"].as_array().unwrap().len(), 1500);
    assert_eq!(object["documents"][7]["id"], "id:ns:music::7");
    for (parameters, message) in [
        ("continuation=x", "continuation: 'x' is none of this server"),
        ("fieldSet=music:x", "No such field 'x' in document type 'music'"),
    ] {
        let path = format!("/document/v1/?stream=true&{parameters}");
        let answer = fixture.send("GET", &path, &[], b"");
        let expected = json!({"pathId": "/document/v1/", "message": message});
        assert_eq!((answer.status, answer.json()), (400, expected));
    }
}

#[test]
fn too_many_operations_at_once_are_refused_and_may_come_again() {
    let room = RoomOptions { operations: 1, ..RoomOptions::default() };
    let options = DocumentOptions { room, ..DocumentOptions::default() };
    let fixture = Fixture::deploying_with(tempfile::tempdir().unwrap(), options);
    deploy(&fixture, SCHEMA);
    let refused = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for feeder in 0..8 {
            let (refused, address) = (&refused, fixture.http);
            scope.spawn(move || {
                let mut client = Client::connect(address);
                for at in 0..50 {
                    let path = format!("/document/v1/ns/music/docid/{feeder}-{at}");
                    let body = json!({"fields": {"year": at}}).to_string();
                    loop {
                        let answer = client.send("POST", &path, &[], body.as_bytes());
                        if answer.status == 200 {
                            break;
                        }
                        assert_eq!(answer.status, 429, "{}", answer.text());
                        let text =
                            "Rejecting execution due to overload: 1 requests already enqueued";
                        assert_eq!(answer.json()["message"], text);
                        refused.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let refused = refused.into_inner();
    assert!(refused > 0, "somebody was refused");
    let page = fixture.get("/metrics").text();
    let line = format!("stead_document_operations_refused {refused}");
    assert!(page.lines().any(|found| found == line), "{line} in\n{page}");
    let found = search(&fixture, &json!({"yql": "select * from music where true"})).json();
    assert_eq!(found["root"]["fields"]["totalCount"], 400, "nothing was lost");
    let path = "/document/v1/ns/music/docid/?selection=true&cluster=music";
    assert_eq!(fixture.send("DELETE", path, &[], b"").status, 200, "many at once wait for room");
    let found = search(&fixture, &json!({"yql": "select * from music where true"})).json();
    assert_eq!(found["root"]["fields"]["totalCount"], 0);
}

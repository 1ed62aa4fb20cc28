//! Documents in `mode="streaming"` as a user meets them: searches of one user's or group's, read when they are searched.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use serde_json::{Value, json};

use crate::server::Server;
use crate::server::app::App;

const SCHEMA: &str = "schema mail {
  document mail {
    field subject type string { indexing: summary | index\n index: enable-bm25 }
    field year type int { indexing: summary | attribute\n attribute: fast-search }
    field taste type tensor<float>(x[2]) { indexing: attribute | index }
  }
  fieldset default { fields: subject }
  rank-profile words { first-phase { expression: bm25(subject) } }
  rank-profile near {
    inputs { query(me) tensor<float>(x[2]) }
    first-phase { expression: closeness(field, taste) }
  }
}";

const MAILS: [(&str, &str, i32, [i32; 2]); 6] = [
    ("group/ann/1", "Meeting on boats", 2020, [1, 0]),
    ("group/ann/2", "A boat to meet on", 2021, [0, 1]),
    ("group/ann/3", "Bills", 2021, [5, 5]),
    ("group/bob/1", "Boats and boats", 2021, [0, 1]),
    ("number/7/1", "Boats of seven", 2022, [0, 1]),
    ("docid/1", "Boats of nobody", 2022, [0, 1]),
];

fn app(mode: &str) -> App {
    let mut app = App::new("mail", SCHEMA);
    app.services = app.services.replace("mode=\"index\"", &format!("mode=\"{mode}\""));
    app
}

/// The ids behind the type of what a search finds, in order.
fn found(server: &Server, parameters: &str) -> Vec<String> {
    let (status, result) = server.request("GET", &format!("/search/?hits=10&{parameters}"), "");
    assert_eq!(status, 200, "{parameters}: {result}");
    let hits = result["root"]["children"].as_array().cloned().unwrap_or_default();
    let id = |hit: &Value| hit["id"].as_str().unwrap().split(":mail:").nth(1).unwrap().to_owned();
    hits.iter().map(id).collect()
}

fn put(server: &Server, (path, subject, year, taste): (&str, &str, i32, [i32; 2])) {
    let body = json!({"fields": {"subject": subject, "year": year, "taste": taste}});
    let path = format!("/document/v1/m/mail/{path}");
    assert_eq!(server.request("POST", &path, &body.to_string()).0, 200);
}

#[test]
fn a_search_reads_the_documents_of_one_user_or_group() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    app("streaming").deploy(&server);
    MAILS.into_iter().for_each(|mail| put(&server, mail));
    let all = "yql=select+*+from+mail+where+true+order+by+year";
    let words = "ranking=words&yql=select+*+from+mail+where+default+contains+";
    let near = "ranking=near&input.query(me)=[0,1]&yql=select+*+from+mail+where+\
                %7BtargetHits:1%7DnearestNeighbor(taste,me)";
    let check = |server: &Server| {
        for (asked, expected) in [
            (format!("{all}&streaming.groupname=ann"), &["g=ann:1", "g=ann:2", "g=ann:3"][..]),
            (format!("{all}&streaming.groupname=bob"), &["g=bob:1"]),
            (format!("{all}&streaming.groupname=eve"), &[]),
            (format!("{all}&streaming.userid=7"), &["n=7:1"]),
            (format!("{all}&streaming.userid=7&streaming.maxbucketspervisitor=5"), &["n=7:1"]),
            (format!("{all}&streaming.userid=07"), &["n=7:1"]),
            (format!("{all}&streaming.selection=mail.year==2022"), &["n=7:1", ":1"]),
            (format!("{all}&streaming.selection=id.group==%22bob%22"), &["g=bob:1"]),
            // Words are not stemmed.
            (format!("{words}'boats'&streaming.groupname=ann"), &["g=ann:1"]),
            (format!("{words}'BOAT'&streaming.groupname=ann"), &["g=ann:2"]),
            (format!("{near}&streaming.groupname=ann"), &["g=ann:2"]),
            (
                "yql=select+*+from+mail+where+year+%3E+2020+order+by+year&streaming.groupname=ann"
                    .to_owned(),
                &["g=ann:2", "g=ann:3"],
            ),
        ] {
            assert_eq!(found(server, &asked), expected, "{asked}");
        }
    };
    check(&server);
    let grouped = "/search/?hits=0&streaming.groupname=ann&yql=select+*+from+mail+where+true+%7C+\
                   all(group(year)+each(output(count())))";
    let (_, result) = server.request("GET", grouped, "");
    let groups = &result["root"]["children"][0]["children"][0]["children"];
    let counts: Vec<(&str, u64)> = groups
        .as_array()
        .unwrap()
        .iter()
        .map(|g| (g["value"].as_str().unwrap(), g["fields"]["count()"].as_u64().unwrap()))
        .collect();
    assert_eq!(counts, [("2020", 1), ("2021", 2)], "{result}");

    // A kill loses nothing, and what changes is seen.
    server.kill();
    let server = server.again(folder.path());
    check(&server);
    let change = r#"{"fields": {"subject": {"assign": "One boat"}}}"#;
    assert_eq!(server.request("PUT", "/document/v1/m/mail/group/ann/3", change).0, 200);
    server.request("DELETE", "/document/v1/m/mail/group/ann/2", "");
    assert_eq!(found(&server, &format!("{words}'boat'&streaming.groupname=ann")), ["g=ann:3"]);
    // Another document may get the number of the one that went.
    put(&server, ("group/bob/2", "Boat", 2021, [1, 1]));
    assert_eq!(found(&server, &format!("{words}'boat'&streaming.groupname=ann")), ["g=ann:3"]);
    assert_eq!(found(&server, &format!("{words}'boat'&streaming.groupname=bob")), ["g=bob:2"]);
}

#[test]
fn words_may_be_parts_of_those_that_are_meant() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let mut app = app("streaming");
    app.schema = app.schema.replace(
        "field year",
        "field place type string { indexing: summary | index\n match: substring }\n field year",
    );
    app.deploy(&server);
    for (id, subject, place) in [
        ("1", "Motorboats and oars", "North Harbour"),
        ("2", "A boat", "Harbourside"),
        ("3", "Houseboat", "the inner harbour, north"),
    ] {
        let body = json!({"fields": {"subject": subject, "place": place, "year": 1}});
        let path = format!("/document/v1/m/mail/group/ann/{id}");
        assert_eq!(server.request("POST", &path, &body.to_string()).0, 200);
    }
    for (asked, expected) in [
        ("subject contains 'boat'", &["2"][..]),
        ("subject contains ({substring: true}'BOAT')", &["1", "2", "3"]),
        ("subject contains ({suffix: true}'boat')", &["2", "3"]),
        ("subject contains ({prefix: true}'boat')", &["2"]),
        // What the schema says holds for words that say nothing.
        ("place contains 'arbo'", &["1", "2", "3"]),
        ("place contains ({suffix: true}'arbour')", &["1", "3"]),
        ("place contains ({prefix: true}'nor')", &["1", "3"]),
        // Several words are a phrase.
        ("place contains 'inner harbour'", &["3"]),
        ("place contains 'harbour inner'", &[]),
    ] {
        let yql = asked.replace(' ', "+").replace('{', "%7B").replace('}', "%7D");
        let asked =
            format!("yql=select+*+from+mail+where+{yql}+order+by+year&streaming.groupname=ann");
        let mut found = found(&server, &asked);
        found.sort();
        let expected: Vec<String> = expected.iter().map(|id| format!("g=ann:{id}")).collect();
        assert_eq!(found, expected, "{asked}");
    }
}

#[test]
fn what_does_not_say_whose_documents_it_means_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    app("streaming").deploy(&server);
    let all = "/search/?yql=select+*+from+mail+where+true";
    for (parameters, expected) in [
        ("", "Streaming search needs one and only one of these query parameters to be set"),
        ("&streaming.userid=1&streaming.groupname=a", "one and only one of these"),
        ("&streaming.userid=x", "streaming.userid: expected a whole number, found 'x'"),
        ("&streaming.selection=mail.year+==", "streaming.selection: "),
        ("&streaming.groupnames=a", "there are groupname, userid, selection, maxBytes"),
        ("&streaming.maxbucketspervisitor=some", "streaming.maxbucketspervisitor"),
    ] {
        let (_, result) = server.request("GET", &format!("{all}{parameters}"), "");
        let message = result["root"]["errors"][0]["message"].as_str().unwrap_or_default();
        assert!(message.contains(expected), "{parameters}: {result}");
    }
}

#[test]
fn what_is_only_stored_is_not_searched() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    app("store-only").deploy(&server);
    put(&server, MAILS[0]);
    let (status, document) = server.request("GET", "/document/v1/m/mail/group/ann/1", "");
    assert_eq!((status, &document["fields"]["year"]), (200, &json!(2020)));
    let (_, result) = server.request("GET", "/search/?yql=select+*+from+mail+where+true", "");
    let message = &result["root"]["errors"][0]["message"];
    assert_eq!(message, "No documents are searched here", "{result}");
}

#[test]
fn documents_can_be_streamed_after_they_were_indexed_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    app("index").deploy(&server);
    MAILS.into_iter().for_each(|mail| put(&server, mail));
    let words = "ranking=words&yql=select+*+from+mail+where+default+contains+'boat'";
    let indexed = found(&server, words);
    assert_eq!(indexed.len(), 5);
    let overrides = "<validation-overrides><allow until='2099-01-01'>indexing-mode-change</allow>\
                     </validation-overrides>";
    for mode in ["streaming", "index"] {
        let package = app(mode).folder();
        std::fs::write(package.path().join("validation-overrides.xml"), overrides).unwrap();
        server.deploy(package.path());
        for _ in 0..2 {
            match mode {
                "index" => assert_eq!(found(&server, words), indexed),
                _ => {
                    let of = format!("{words}&streaming.groupname=ann");
                    assert_eq!(found(&server, &of), ["g=ann:2"]);
                }
            }
            server = server.again(folder.path());
        }
    }
}

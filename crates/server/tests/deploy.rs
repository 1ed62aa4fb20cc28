//! Deployments over HTTP, as a client of Vespa's config server makes them.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report

use serde_json::{Value, json};

use crate::common::{Answer, Client, Fixture, zip};

const TENANT: &str = "/application/v2/tenant/default";
const INSTANCE: &str = "/application/v2/tenant/default/application/default/environment/prod/region/default/instance/default";

const SERVICES: &str = r#"<services version="1.0">
  <container id="front" version="1.0"><search/><document-api/><nodes count="2"/></container>
  <content id="music" version="1.0"><documents><document type="music" mode="index"/></documents></content>
</services>"#;

const SCHEMA: &str =
    "schema music { document music { field year type int { indexing: attribute } } }";

fn package(schema: &str) -> Vec<u8> {
    zip(&[("services.xml", SERVICES), ("schemas/music.sd", schema)])
}

/// Requests to the deploy port.
struct Port<'f>(&'f Fixture);

impl Port<'_> {
    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        Client::connect(self.0.deploy.unwrap()).send(method, path, headers, body)
    }

    fn put(&self, path: &str, body: &str) -> Answer {
        self.send("PUT", path, &[], body.as_bytes())
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    fn post(&self, path: &str, package: &[u8]) -> Answer {
        self.send("POST", path, &[("Content-Type", "application/zip")], package)
    }

    fn deploy(&self, schema: &str) -> Answer {
        self.post(&format!("{TENANT}/prepareandactivate"), &package(schema))
    }
}

fn start() -> Fixture {
    Fixture::deploying(tempfile::tempdir().unwrap())
}

fn error(answer: &Answer) -> (u16, Value, String) {
    let json = answer.json();
    (answer.status, json["error-code"].clone(), json["message"].as_str().unwrap_or("").to_owned())
}

#[test]
fn a_server_waits_for_its_application() {
    let fixture = start();
    let port = Port(&fixture);
    // What clients ask for before they deploy, and after.
    assert_eq!(port.send("HEAD", "/ApplicationStatus", &[], b"").status, 200);
    assert_eq!(fixture.get("/ApplicationStatus").status, 503);
    assert_eq!(fixture.get("/state/v1/health").json()["status"]["code"], "initializing");
    assert_eq!(port.get(&format!("{INSTANCE}/serviceconverge")).status, 404);

    let answer = port.deploy(SCHEMA);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let json = answer.json();
    assert_eq!(json["message"], "Session 1 for tenant 'default' prepared and activated.");
    assert_eq!(json["session-id"], "1");
    assert_eq!(json["configChangeActions"], json!({"restart": [], "refeed": [], "reindex": []}));
    assert_eq!(json["url"], format!("http://localhost{INSTANCE}"));
    let told = json["log"][0]["message"].as_str().unwrap();
    assert!(told.contains("asks for 3 nodes in 2 clusters"), "{told}");

    let status = fixture.get("/ApplicationStatus");
    assert_eq!(
        (status.status, &status.json()["application"]["meta"]["generation"]),
        (200, &json!(1))
    );
    assert_eq!(fixture.get("/state/v1/health").json()["status"]["code"], "up");
    let converged = port.get(&format!("{INSTANCE}/serviceconverge")).json();
    assert_eq!(
        (&converged["converged"], &converged["wantedGeneration"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(converged["services"][0]["clusterName"], "front");
    assert_eq!(port.get(INSTANCE).json()["generation"], 1);
}

#[test]
fn what_an_application_says_without_effect_is_told_when_it_is_deployed() {
    let fixture = start();
    let schema = "schema music { document music { field title type string {
        indexing: summary | index\n summary: dynamic\n bolding: on }
        field year type int { indexing: attribute } }
      rank-profile words { first-phase { expression: bm25(year) } } }";
    let json = Port(&fixture).deploy(schema).json();
    let log = json["log"].as_array().unwrap();
    let expected = "rank-profile words of schema music: bm25(year) is not computed";
    let is_told = |line: &Value| {
        line["level"] == "WARNING" && line["message"].as_str().unwrap().contains(expected)
    };
    assert!(log.iter().any(is_told), "{json}");
}

#[test]
fn a_session_is_created_changed_prepared_and_activated() {
    let fixture = start();
    let port = Port(&fixture);
    let created = port.post(&format!("{TENANT}/session"), &package(SCHEMA)).json();
    assert_eq!(created["message"], "Session 1 for tenant 'default' created.");
    let session = format!("{TENANT}/session/1");
    let content = format!("{session}/content");
    assert_eq!(created["prepared"], format!("http://localhost{session}/prepared"));
    assert_eq!(created["content"], format!("http://localhost{content}/"));

    let early = error(&port.put(&format!("{session}/active"), ""));
    assert_eq!(early, (400, json!("BAD_REQUEST"), "Session not prepared: 1".to_owned()));
    assert_eq!(port.put(&format!("{session}/prepared"), "").status, 200);
    assert_eq!(port.get(&format!("{session}/prepared")).status, 200);

    // A change must be prepared before it is served.
    let other = SCHEMA.replace("year", "age");
    assert_eq!(port.put(&format!("{content}/schemas/music.sd"), &other).status, 200);
    assert_eq!(port.put(&format!("{session}/active"), "").status, 400);
    assert_eq!(port.put(&format!("{session}/prepared"), "").status, 200);
    let activated = port.put(&format!("{session}/active"), "").json();
    assert_eq!(activated["message"], "Session 1 for tenant 'default' activated.");
    assert_eq!(activated["application"]["generation"], 1);

    assert_eq!(port.get(&format!("{content}/schemas/music.sd")).text(), other);
    let listed = port.get(&format!("{content}/?recursive=true")).json();
    let urls = ["schemas/", "schemas/music.sd", "services.xml"];
    assert_eq!(listed, json!(urls.map(|path| format!("http://localhost{content}/{path}"))));
    assert_eq!(port.get(&format!("{INSTANCE}/content/schemas/music.sd")).text(), other);

    for (label, answer, expected) in [
        (
            "of an active session nothing changes",
            port.put(&format!("{content}/schemas/music.sd"), SCHEMA),
            (400, "BAD_REQUEST", "Session is active: 1"),
        ),
        (
            "no such file",
            port.get(&format!("{content}/schemas/other.sd")),
            (404, "NOT_FOUND", "Session 1 does not contain a file 'schemas/other.sd'"),
        ),
        (
            "out of the package",
            port.get(&format!("{content}/..%2F..%2Factive")),
            (400, "BAD_REQUEST", "the path \"../../active\" is not within the package"),
        ),
        (
            "no such session",
            port.put(&format!("{TENANT}/session/9/prepared"), ""),
            (404, "NOT_FOUND", "Local session 9 for 'default' was not found"),
        ),
    ] {
        let (status, code, text) = expected;
        assert_eq!(error(&answer), (status, json!(code), text.to_owned()), "{label}");
    }
}

#[test]
fn of_two_that_deploy_at_once_the_second_is_told() {
    let fixture = start();
    let port = Port(&fixture);
    port.deploy(SCHEMA);
    for id in [2, 3] {
        let from = format!("{TENANT}/session?from=http://localhost{INSTANCE}");
        assert_eq!(port.send("POST", &from, &[], b"").json()["session-id"], id.to_string());
        assert_eq!(port.put(&format!("{TENANT}/session/{id}/prepared"), "").status, 200);
    }
    assert_eq!(port.put(&format!("{TENANT}/session/2/active"), "").status, 200);
    let second = error(&port.put(&format!("{TENANT}/session/3/active"), ""));
    let text = "Cannot activate session 3 because the currently active session (2) has changed since session 3 was created (was 1 at creation time)";
    assert_eq!(second, (409, json!("ACTIVATION_CONFLICT"), text.to_owned()));
    // The way back.
    assert_eq!(port.put(&format!("{TENANT}/session/1/active"), "").status, 200);
    assert_eq!(fixture.get("/ApplicationStatus").json()["application"]["meta"]["generation"], 1);
}

#[test]
fn what_is_refused_changes_nothing() {
    let fixture = start();
    let port = Port(&fixture);
    port.deploy(SCHEMA);
    let post = format!("{TENANT}/prepareandactivate");
    let zip_type = [("Content-Type", "application/zip")];
    for (label, answer, expected) in [
        (
            "a schema with an error",
            port.deploy("schema music { document music { field year type integer {} } }"),
            (400, "INVALID_APPLICATION_PACKAGE", "schemas/music.sd:1:49: "),
        ),
        (
            "no archive",
            port.post(&post, b"text"),
            (400, "INVALID_APPLICATION_PACKAGE", "expected a zip or a tar.gz"),
        ),
        (
            "out of the package",
            port.post(&post, &zip(&[("../../x", "")])),
            (400, "INVALID_APPLICATION_PACKAGE", "the path \"../../x\" is not within the package"),
        ),
        (
            "without a type",
            port.send("POST", &post, &[], b"PK"),
            (400, "BAD_REQUEST", "Request contains no Content-Type header"),
        ),
        (
            "of another type",
            port.send("POST", &post, &[("Content-Type", "text/plain")], b"PK"),
            (400, "BAD_REQUEST", "Request contains invalid Content-Type header (text/plain)"),
        ),
        (
            "from a web page",
            port.send("POST", &post, &[zip_type[0], ("Origin", "http://evil")], &package(SCHEMA)),
            (403, "BAD_REQUEST", "requests that web pages send"),
        ),
        (
            "unknown",
            port.get("/application/v3"),
            (404, "NOT_FOUND", "Nothing at '/application/v3'"),
        ),
    ] {
        let (status, code, text) = expected;
        let found = error(&answer);
        assert_eq!((found.0, &found.1), (status, &json!(code)), "{label}: {}", found.2);
        assert!(found.2.contains(text), "{label}: {}", found.2);
    }
    let meta = fixture.get("/ApplicationStatus").json()["application"]["meta"].clone();
    assert_eq!(meta["generation"], 1);
    // What was refused left no session behind.
    let next = port.post(&format!("{TENANT}/session"), &package(SCHEMA)).json();
    assert_eq!(next["session-id"], "2");
}

#[test]
fn a_change_that_loses_documents_needs_an_override() {
    let fixture = start();
    let port = Port(&fixture);
    port.deploy(SCHEMA);
    let added =
        port.deploy(&SCHEMA.replace("{ field", "{ field name type string { } field")).json();
    let told = added["log"].as_array().unwrap().last().unwrap()["message"].clone();
    assert_eq!(told, "Document type 'music': Field 'name' added");

    let text = SCHEMA.replace("type int", "type string");
    let (status, code, message) = error(&port.deploy(&text));
    assert_eq!((status, code), (400, json!("INVALID_APPLICATION_PACKAGE")));
    assert!(message.starts_with("field-type-change:\n\tDocument type 'music'"), "{message}");

    let allow = "<validation-overrides><allow until='2999-01-01'>field-type-change</allow></validation-overrides>";
    let files = [
        ("services.xml", SERVICES),
        ("schemas/music.sd", &text),
        ("validation-overrides.xml", allow),
    ];
    let allowed = port.post(&format!("{TENANT}/prepareandactivate"), &zip(&files));
    assert_eq!(allowed.status, 200, "{}", allowed.text());
    let refeed = &allowed.json()["configChangeActions"]["refeed"][0];
    assert_eq!(
        (&refeed["name"], &refeed["clusterName"]),
        (&json!("field-type-change"), &json!("music"))
    );
}

#[test]
fn an_application_is_there_after_a_restart_until_it_is_deleted() {
    let fixture = start();
    Port(&fixture).deploy(SCHEMA);
    Port(&fixture).deploy(SCHEMA);
    let before = fixture.get("/ApplicationStatus").json()["application"]["meta"].clone();
    let fixture = Fixture::deploying(fixture.end());
    let after = fixture.get("/ApplicationStatus").json()["application"]["meta"].clone();
    assert_eq!(
        (&after["generation"], &after["checksum"]),
        (&before["generation"], &before["checksum"])
    );
    let deleted = Port(&fixture).send("DELETE", INSTANCE, &[], b"");
    assert_eq!(deleted.json()["message"], "Application 'default:default:default' deleted");
    assert_eq!(fixture.get("/ApplicationStatus").status, 503);
    let fixture = Fixture::deploying(fixture.end());
    assert_eq!(fixture.get("/ApplicationStatus").status, 503);
}

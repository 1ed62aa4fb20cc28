//! A server in a program that brings components along, over HTTP.
#![allow(clippy::unwrap_used)] // a panic is the report

#[allow(dead_code)] // it is a program
#[path = "../examples/native_components.rs"]
mod example;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;
use stead_app::package::PackageFiles;
use stead_node::native::NativeComponents;
use stead_node::{DeployOptions, Deployments};

/// Status and JSON of a request.
fn request(at: SocketAddr, method: &str, path: &str, body: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(at).unwrap();
    let length = body.len();
    write!(stream, "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer[9..12].parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (status, serde_json::from_str(body).unwrap())
}

#[test]
fn components_of_the_program_stand_beside_those_that_are_built_in() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(example::start("127.0.0.1:0".parse().unwrap())).unwrap();
    let at = server.http_addresses()[0];
    for (id, title) in [(1, "Blue"), (2, "Blue"), (3, "Hejira")] {
        let body = format!("{{\"fields\": {{\"title\": \"{title}\"}}}}");
        let (status, told) =
            request(at, "POST", &format!("/document/v1/n/music/docid/{id}"), &body);
        assert_eq!(status, 200, "{told}");
    }
    let (status, told) = request(at, "GET", "/document/v1/n/music/docid/3", "");
    assert_eq!(status, 200);
    assert_eq!(
        (&told["fields"]["length"], &told["fields"]["shown"]),
        (&6.into(), &"Hejira".into())
    );
    // An update goes through the same processors.
    let update = r#"{"fields": {"title": {"assign": "Court and Spark"}}}"#;
    assert_eq!(request(at, "PUT", "/document/v1/n/music/docid/3", update).0, 200);
    let (_, told) = request(at, "GET", "/document/v1/n/music/docid/3", "");
    assert_eq!(
        (&told["fields"]["length"], &told["fields"]["shown"]),
        (&15.into(), &"Court and Spark".into())
    );

    let all = r#"{"yql": "select * from music where true order by length"}"#;
    let (status, told) = request(at, "POST", "/search/", all);
    let hits = told["root"]["children"].as_array().unwrap();
    let marks: Vec<&str> = hits.iter().map(|hit| hit["fields"]["mark"].as_str().unwrap()).collect();
    assert_eq!((status, marks), (200, vec!["\"Blue\"!", "\"Court and Spark\"!"]));
    let nobody = r#"{"yql": "select * from music where true", "user": "nobody"}"#;
    let (status, told) = request(at, "POST", "/search/", nobody);
    let error = &told["root"]["errors"][0];
    assert_eq!((status, error["code"].as_i64()), (400, Some(4)), "{told}");
    assert_eq!(error["message"], "searcher mark@default: nobody may search");
    drop(server);
}

#[test]
fn packages_that_name_components_of_another_program_are_refused() {
    let package = example::package().unwrap();
    let told =
        Deployments::of_package(&package, DeployOptions::default()).err().unwrap().to_string();
    for expected in [
        "documentprocessor length@default: this program has no documentprocessor length; it has none",
        "searcher mark@default: this program has no searcher mark; it has none",
    ] {
        assert!(told.contains(expected), "{told}");
    }
    // What a factory says of settings is told too, with the place.
    let native = NativeComponents::default()
        .searcher("mark", |_| Err("it needs the setting text".to_owned()))
        .searcher("other", |_| Err("never made".to_owned()));
    let services = "<services><container id='c' version='1.0'><search><chain><searcher id='x' native='mark'/></chain></search></container></services>";
    let files = PackageFiles::from_texts([("services.xml", services)]).unwrap();
    let options = DeployOptions { native, ..Default::default() };
    let told = Deployments::of_package(&files, options).err().unwrap().to_string();
    assert!(told.contains("services.xml:1:"), "{told}");
    assert!(told.ends_with("searcher x@default: it needs the setting text"), "{told}");
}

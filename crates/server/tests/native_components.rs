//! A server in a program that brings components along, over HTTP.
#![allow(clippy::unwrap_used)] // a panic is the report

#[allow(dead_code)] // it is a program
#[path = "../examples/native_components.rs"]
mod example;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};
use stead_app::package::PackageFiles;
use stead_node::native::{
    Call, HandlerAnswer, HandlerRequest, NativeComponents, NativeError, RequestHandler,
};
use stead_node::{DeployOptions, Deployments};
use stead_server::Server;

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
    assert_eq!(request(at, "GET", "/measure/H%C3%A9jira", ""), (200, json!({"length": 6})));
    let (status, told) = request(at, "GET", "/measure/%20", "");
    let expected = json!({"error": "handler measure: the text is empty", "component": "measure"});
    assert_eq!((status, told), (400, expected));
    drop(server);
}

/// Does as the path says.
struct Obedient;

impl RequestHandler for Obedient {
    fn handle(&self, request: HandlerRequest, call: &Call) -> Result<HandlerAnswer, NativeError> {
        match request.matched.first().map(String::as_str) {
            Some("echo") => {
                let shown = json!({
                    "method": request.method,
                    "body": String::from_utf8_lossy(&request.body),
                    "a": request.parameter("a"),
                    "host": request.headers.get("Host"),
                    "none": request.headers.get("none"),
                });
                let mut answer = HandlerAnswer::json(201, shown.to_string());
                answer.headers.push(("x-more".to_owned(), "1".to_owned()));
                Ok(answer)
            }
            Some("busy") => Err(NativeError::Overloaded("later".to_owned())),
            Some("fails") => Err(NativeError::Failed("no such table".to_owned())),
            Some("panics") => panic!("a panic of a handler"),
            Some("odd") => Ok(HandlerAnswer::new(99, "text/plain", "")),
            Some("waits") => {
                while !call.is_over() {
                    std::thread::yield_now();
                }
                Err(NativeError::Late)
            }
            _ => Err(NativeError::Invalid("there is no such word".to_owned())),
        }
    }
}

const CODE: &str = "
import stead

class Own(stead.RequestHandler):
    def handle(self, request):
        return stead.Response({'python': request.path})
";

#[test]
fn handlers_of_the_program_are_bound_beside_those_in_python() {
    let services = "<services version='1.0'><container id='c' version='1.0'><python timeout='5 s'/>
      <handler id='own' python='own:Own'><binding>http://*/do/python</binding></handler>
      <handler id='obeys' native='obedient'><binding>http://*/do/*</binding></handler>
    </container></services>";
    let files =
        PackageFiles::from_texts([("services.xml", services), ("python/own.py", CODE)]).unwrap();
    let builder = Server::builder()
        .package(files)
        .http("127.0.0.1:0".parse().unwrap())
        .components(NativeComponents::default().handler("obedient", |_| Ok(Box::new(Obedient))));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(builder.start()).unwrap();
    let at = server.http_addresses()[0];
    // The more specific binding has its requests, whatever its code is written in.
    assert_eq!(request(at, "GET", "/do/python", ""), (200, json!({"python": "/do/python"})));
    let echo = json!({"method": "PATCH", "body": "{}", "a": "b c", "host": "x", "none": null});
    assert_eq!(request(at, "PATCH", "/do/echo?a=b+c", "{}"), (201, echo));
    for (word, status, text) in [
        ("else", 400, "there is no such word"),
        ("busy", 429, "later"),
        ("fails", 500, "no such table"),
        ("panics", 500, "its code panicked"),
        ("odd", 500, "gave the status 99; there are 200 to 599"),
        ("waits", 504, "the deadline passed before it answered"),
    ] {
        let (found, told) = request(at, "GET", &format!("/do/{word}"), "");
        let error = format!("handler obeys: {text}");
        assert_eq!((found, told["error"].as_str()), (status, Some(error.as_str())), "{word}");
        assert_eq!(told["component"], "obeys", "{word}");
    }
    assert_eq!(request(at, "GET", "/elsewhere", "").0, 404);
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
        "handler measure: this program has no handler measure; it has none",
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

//! Handlers in Python as a user meets them: a package with code is deployed and answers over HTTP.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use serde_json::Value;

use crate::server::{Server, package, stead};

const SHOP: &str = r#"
import json, os, time
import stead

class Greet(stead.RequestHandler):
    def __init__(self, settings: stead.Settings):
        self.greeting = settings["greeting"]

    def handle(self, request):
        return stead.Response({"text": f"{self.greeting} {request.parameter('name')}", "matched": request.matched,
                               "method": request.method, "q": request.parameter("q"), "body": request.text()})

class Echo(stead.RequestHandler):
    async def handle(self, request):
        return stead.Response(request.body, status=201, headers=[("x-a", "1"), ("x-a", "2")], content_type="text/csv")

class Fails(stead.RequestHandler):
    def handle(self, request):
        kind = request.matched[0]
        if kind == "input":
            raise stead.InvalidInput("there is no such thing")
        if kind == "nothing":
            return None
        if kind == "forever":
            while True:
                pass
        if kind == "exit":
            os._exit(3)
        if kind == "crash":
            os.kill(os.getpid(), 9)
        if kind == "null":
            import ctypes
            ctypes.string_at(0)
        if kind == "header":
            return stead.Response("", headers=[("connection", "close")])
        raise ValueError("a secret") from KeyError("cause")

class Meet(stead.RequestHandler):
    """Two requests of which each waits for the other."""
    def handle(self, request):
        me, other = request.matched
        folder = request.text()
        open(os.path.join(folder, me), "w").close()
        while not os.path.exists(os.path.join(folder, other)):
            time.sleep(0.01)
        return stead.Response({"met": other})
"#;

fn services(timeout: &str, handlers: &str) -> String {
    format!(
        "<services version='1.0'><container id='c' version='1.0'><python timeout='{timeout}'/>{handlers}</container></services>"
    )
}

const HANDLERS: &str = "
  <handler id='greet' python='shop:Greet'><binding>http://*/greet/{name}/*</binding>
    <config name='shop'><greeting>Hello</greeting></config></handler>
  <handler id='echo' python='shop:Echo'><binding>http://*/echo</binding><binding>http://*/*</binding></handler>
  <handler id='fails' python='shop:Fails'><binding>http://*/fails/*</binding></handler>
  <handler id='meet' python='shop:Meet'><binding>http://*/meet/{me}/{other}</binding></handler>";

/// Whether this machine has a Python; says so if it has none.
fn has_python() -> bool {
    let found = stead(&["python", "doctor", "--json"]).status.success();
    if !found {
        eprintln!("skipped: no Python on this machine");
    }
    found
}

/// Status, headers and body of an answer.
fn request(server: &Server, method: &str, path: &str, body: &str) -> (u16, String, String) {
    server.exchange(method, path, "", body.as_bytes())
}

fn json(server: &Server, method: &str, path: &str, body: &str) -> (u16, Value) {
    let (status, _, body) = request(server, method, path, body);
    (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("{path}: {body}")))
}

#[test]
fn handlers_answer_what_is_bound_to_them() {
    if !has_python() {
        return;
    }
    let app = package(&[("services.xml", &services("20", HANDLERS)), ("python/shop.py", SHOP)]);
    let server = Server::of_package_with(app.path(), &["--python_interpreters", "2"]);

    let (status, told) = json(&server, "PUT", "/greet/J%C3%BCrg/a%20b/c?q=1+2", "x");
    assert_eq!(status, 200, "{told}");
    assert_eq!(told["text"], "Hello J\u{fc}rg");
    assert_eq!(told["matched"], serde_json::json!(["J\u{fc}rg", "a b/c"]));
    assert_eq!(
        (&told["method"], &told["q"], &told["body"]),
        (&"PUT".into(), &"1 2".into(), &"x".into())
    );

    let (status, head, body) = request(&server, "POST", "/echo", "a,b");
    assert_eq!((status, body.as_str()), (201, "a,b"));
    assert!(
        head.contains("content-type: text/csv")
            && head.contains("x-a: 1")
            && head.contains("x-a: 2"),
        "{head}"
    );

    // The least specific binding gets the rest, and never what the server answers itself.
    assert_eq!(request(&server, "DELETE", "/any/thing", "z").0, 201);
    assert_eq!(json(&server, "GET", "/v2/nothing", "").0, 404);
    assert_eq!(json(&server, "GET", "/ApplicationStatus", "").0, 200);

    // Two at a time: each of them waits for the other.
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().to_str().unwrap();
    std::thread::scope(|scope| {
        for (me, other) in [("a", "b"), ("b", "a")] {
            let server = &server;
            scope.spawn(move || {
                let (status, told) = json(server, "POST", &format!("/meet/{me}/{other}"), text);
                assert_eq!((status, &told["met"]), (200, &Value::from(other)), "{told}");
            });
        }
    });

    // Many at a time, with an answer each.
    std::thread::scope(|scope| {
        for client in 0..8 {
            let server = &server;
            scope.spawn(move || {
                for number in 0..25 {
                    let name = format!("c{client}n{number}");
                    let (status, told) = json(server, "GET", &format!("/greet/{name}/"), "");
                    assert_eq!(
                        (status, told["text"].as_str()),
                        (200, Some(format!("Hello {name}").as_str()))
                    );
                }
            });
        }
    });
    let (_, _, page) = request(&server, "GET", "/metrics", "");
    let line = "stead_component_calls_succeeded{component=\"greet\",kind=\"handler\"} 201";
    assert!(page.lines().any(|l| l == line), "{page}");
}

#[test]
fn what_handlers_do_wrong_is_an_answer() {
    if !has_python() {
        return;
    }
    let app = package(&[("services.xml", &services("20", HANDLERS)), ("python/shop.py", SHOP)]);
    for (development, message) in
        [(false, "handler fails: its code raised ValueError"), (true, "handler fails: a secret")]
    {
        let flags: &[&str] = if development { &["--development"] } else { &[] };
        let server = Server::of_package_with(app.path(), flags);
        let (status, told) = json(&server, "GET", "/fails/error", "");
        assert_eq!((status, told["error"].as_str()), (500, Some(message)), "{told}");
        assert_eq!((&told["component"], &told["type"]), (&"fails".into(), &"ValueError".into()));
        let traceback = told["traceback"].as_str();
        assert_eq!(
            traceback.is_some_and(|t| t.contains("KeyError") && t.contains("shop.py")),
            development,
            "{told}"
        );
        if development {
            continue;
        }
        for (path, status, message) in [
            ("input", 400, "handler fails: there is no such thing"),
            ("nothing", 500, "handler fails: fails.handle gave nothing; expected a stead.Response"),
            ("exit", 500, "handler fails: its code raised SystemExit"),
            (
                "header",
                500,
                "handler fails: gave the header connection, which belongs to the connection",
            ),
        ] {
            let (found, told) = json(&server, "GET", &format!("/fails/{path}"), "");
            assert_eq!((found, told["error"].as_str()), (status, Some(message)), "{path}");
        }
        assert_eq!(request(&server, "POST", "/echo", "still").2, "still");
    }
}

/// A package that is kept apart may crash: its process is replaced, and others never notice.
#[test]
fn a_crash_of_a_package_apart_ends_one_request() {
    if !has_python() {
        return;
    }
    let apart = services("20", HANDLERS).replace(
        "<python timeout='20'/>",
        "<python timeout='20'><package name='shop' isolation='process'/></python>",
    );
    let app = package(&[("services.xml", &apart), ("python/shop.py", SHOP)]);
    let server = Server::of_package_with(app.path(), &["--python_interpreters", "1"]);
    for round in 0..2 {
        assert_eq!(json(&server, "GET", "/greet/a/", "").1["text"], "Hello a", "{round}");
        let (status, told) = json(&server, "GET", "/fails/crash", "");
        let expected = Some("handler fails: its interpreter died");
        assert_eq!((status, told["error"].as_str()), (500, expected), "{told}");
    }
    let (_, _, page) = request(&server, "GET", "/metrics", "");
    let line = "stead_component_calls_failed{component=\"fails\",kind=\"handler\"} 2";
    assert!(page.lines().any(|l| l == line), "{page}");
}

/// Where it is asked for, a crash inside the server ends one request, and the server says that it wants to be replaced.
#[test]
fn a_crash_inside_the_server_can_be_contained() {
    if !has_python() {
        return;
    }
    let app = package(&[("services.xml", &services("20", HANDLERS)), ("python/shop.py", SHOP)]);
    let flags = ["--python_contain_crashes", "--python_interpreters", "2"];
    let server = Server::of_package_with(app.path(), &flags);
    let report = stead(&["python", "doctor", "--json"]).stdout;
    let report: Value = serde_json::from_slice(&report).unwrap();
    let is_inside = report["pythons"][0]["mode"] == "in process";
    assert_eq!(request(&server, "GET", "/v2/health/ready", "").0, 200);
    let (_, told) = json(&server, "GET", "/state/v1/health", "");
    assert_eq!(told["status"]["code"], "up", "{told}");
    for round in 0..2 {
        let (status, told) = json(&server, "GET", "/fails/null", "");
        let expected = Some("handler fails: its interpreter died");
        assert_eq!((status, told["error"].as_str()), (500, expected), "{round}: {told}");
        assert_eq!(json(&server, "GET", "/greet/a/", "").1["text"], "Hello a", "{round}");
    }
    assert_eq!(request(&server, "GET", "/v2/health/live", "").0, 200);
    let (_, told) = json(&server, "GET", "/state/v1/health", "");
    match is_inside {
        true => {
            assert_eq!(told["status"]["code"], "down", "{told}");
            let message = told["status"]["message"].as_str().unwrap();
            assert!(message.contains("2 Python interpreters crashed"), "{message}");
            assert_eq!(request(&server, "GET", "/v2/health/ready", "").0, 400);
            assert_eq!(request(&server, "GET", "/status.html", "").0, 503);
        }
        // A process of its own that crashed was replaced.
        false => assert_eq!(told["status"]["code"], "up", "{told}"),
    }
}

#[test]
fn a_deadline_ends_what_never_ends() {
    if !has_python() {
        return;
    }
    let app = package(&[("services.xml", &services("0.5 s", HANDLERS)), ("python/shop.py", SHOP)]);
    let server = Server::of_package_with(app.path(), &["--python_interpreters", "1"]);
    let (status, told) = json(&server, "GET", "/fails/forever", "");
    assert_eq!((status, told["component"].as_str()), (504, Some("fails")), "{told}");
    let (_, _, page) = request(&server, "GET", "/metrics", "");
    let line = "stead_component_calls_timed_out{component=\"fails\",kind=\"handler\"} 1";
    assert!(page.lines().any(|l| l == line), "{page}");
}

fn deploy(server: &Server, files: &[(&str, &str)]) -> Result<(), String> {
    let app = package(files);
    let deployed = stead(&["deploy", app.path().to_str().unwrap(), "--target", &server.deploy]);
    let told = String::from_utf8_lossy(&deployed.stderr).into_owned();
    deployed.status.success().then_some(()).ok_or(told)
}

#[test]
fn a_package_that_is_broken_changes_nothing() {
    if !has_python() {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let handler = |class: &str, binding: &str| {
        services(
            "20",
            &format!("<handler id='h' python='{class}'><binding>{binding}</binding></handler>"),
        )
    };
    let good = handler("one:H", "http://*/h");
    let source = |text: &str| {
        format!(
            "import stead\nclass H(stead.RequestHandler):\n  def handle(self, request):\n    return stead.Response('{text}')\n"
        )
    };
    let one = source("one");
    deploy(&server, &[("services.xml", &good), ("python/one.py", &one)]).unwrap();
    assert_eq!(request(&server, "GET", "/h", "").2, "one");
    for (label, services, code, expected) in [
        ("import", &good, "import no_such_module_x\n".to_owned() + &one, "no_such_module_x"),
        ("syntax", &good, "def".to_owned(), "SyntaxError"),
        ("raises", &good, "raise RuntimeError('at the top')".to_owned(), "at the top"),
        ("class", &good, "import stead".to_owned(), "there is no one:H"),
        (
            "base",
            &good,
            "class H: pass".to_owned(),
            "is no class derived from stead.RequestHandler",
        ),
        (
            "constructor",
            &good,
            one.replace("  def", "  def __init__(self, x: int): pass\n  def"),
            "the parameter x",
        ),
        ("route", &handler("one:H", "http://*/v2/*"), one.clone(), "hides KServe at /v2/*"),
        ("no package", &handler("two:H", "http://*/h"), one.clone(), "there is no python/two.pkg"),
    ] {
        let told =
            deploy(&server, &[("services.xml", services), ("python/one.py", &code)]).unwrap_err();
        assert!(told.contains(expected), "{label}: {told}");
        assert_eq!(request(&server, "GET", "/h", "").2, "one", "{label}");
    }
    // The next one takes its place, and code of the same name does not mix; a folder works as a module does.
    for round in 0..3 {
        let text = format!("round {round}");
        let files = [
            ("services.xml", good.as_str()),
            ("python/one/__init__.py", "from .deep.er import H"),
            ("python/one/deep/er.py", &source(&text)),
        ];
        deploy(&server, &files).unwrap();
        assert_eq!(request(&server, "GET", "/h", "").2, text);
    }
}

#[test]
fn without_python_only_what_needs_it_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_with(data.path(), &["--python", "/nowhere/python3"]);
    let plain = services("20", "<document-api/>");
    deploy(&server, &[("services.xml", &plain)]).unwrap();
    let app = [("services.xml", services("20", HANDLERS)), ("python/shop.py", SHOP.to_owned())];
    let app: Vec<(&str, &str)> = app.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let told = deploy(&server, &app).unwrap_err();
    assert!(told.contains("Python package shop") && told.contains("/nowhere/python3"), "{told}");
    assert!(told.contains("install Python 3.9 or later"), "{told}");
    assert_eq!(json(&server, "GET", "/ApplicationStatus", "").0, 200);
}

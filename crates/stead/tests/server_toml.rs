//! Components in Python beside models, declared in `stead.toml`.
#![cfg(unix)]
#![allow(clippy::print_stdout, clippy::unwrap_used)] // helpers of tests, and skipped tests say so

use serde_json::json;

use crate::server::{Server, free_port, package, stead};

const SHOP: &str = r#"
import stead

class Greet(stead.RequestHandler):
    def __init__(self, settings: stead.Settings):
        self.settings = settings

    def handle(self, request):
        return stead.Response({"settings": self.settings, "name": request.parameter("name")})
"#;

const TOML: &str = r#"
[python]
timeout = 20

[[python.handlers]]
id = "greet"
class = "shop:Greet"
bindings = ["http://*/greet/{name}"]
settings = { greeting = "Hello", times = 2, share = 0.5, loud = true, words = ["a", "b"] }
"#;

fn has_python() -> bool {
    let found = stead(&["python", "doctor", "--json"]).status.success();
    if !found {
        println!("skipped: no Python on this machine");
    }
    found
}

/// A folder of models with these files beside them.
fn models(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = package(files);
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../search/tests/data/onnx/float.onnx");
    std::fs::create_dir_all(folder.path().join("float/1")).unwrap();
    std::fs::copy(model, folder.path().join("float/1/model.onnx")).unwrap();
    folder
}

#[test]
fn handlers_stand_beside_models() {
    if !has_python() {
        return;
    }
    let folder = models(&[("stead.toml", TOML), ("python/shop.py", SHOP)]);
    std::fs::write(folder.path().join("config.json"), r#"{"model_config_list": []}"#).unwrap();
    let config = folder.path().join("config.json");
    for (path, has_model) in [(folder.path(), true), (config.as_path(), false)] {
        if has_model {
            std::fs::rename(&config, folder.path().join("other.json")).unwrap();
        } else {
            std::fs::rename(folder.path().join("other.json"), &config).unwrap();
        }
        let server = Server::of_package(path);
        let (status, told) = server.request("GET", "/greet/Ada", "");
        assert_eq!(status, 200, "{told}");
        let settings = json!({"greeting": "Hello", "times": 2, "share": 0.5, "loud": true, "words": ["a", "b"]});
        assert_eq!(told, json!({"settings": settings, "name": "Ada"}));
        let (status, _) = server.request("GET", "/v2/models/float", "");
        assert_eq!(status == 200, has_model);
    }
}

#[test]
fn what_is_wrong_is_told_at_the_start() {
    if !has_python() {
        return;
    }
    let with = |from: &str, to: &str| {
        assert!(TOML.contains(from));
        TOML.replace(from, to)
    };
    for (label, toml, code, expected) in [
        ("key", with("bindings", "binding"), SHOP, "unknown key /python/handlers/0/binding"),
        (
            "route",
            with("/greet/{name}", "/v2/*"),
            SHOP,
            "stead.toml: binding http://*/v2/* hides KServe at /v2/*; choose other paths",
        ),
        (
            "package",
            with("shop:Greet", "shops:Greet"),
            SHOP,
            "stead.toml: handler greet is of the Python package shops, and there is no python/shops.pkg, python/shops/ or python/shops.py",
        ),
        ("class", with("shop:Greet", "shop:Greets"), SHOP, "stead.toml: handler greet: "),
        ("import", TOML.to_owned(), "import no_such_module_x", "no_such_module_x"),
    ] {
        let folder = models(&[("stead.toml", &toml), ("python/shop.py", code)]);
        let (path, port) = (folder.path().to_str().unwrap(), free_port());
        let ended = stead(&["serve", path, "--rest_port", &port]);
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success() && told.contains(expected), "{label}: {told}");
    }
}

/// Options of a model stay what they are.
#[test]
fn the_file_of_a_model_is_none_of_a_server() {
    let folder = models(&[("float/stead.toml", "max_batch_size = 4")]);
    let server = Server::of_package(&folder.path().join("float"));
    assert_eq!(server.request("GET", "/v2/models/float", "").0, 200);
    assert_eq!(server.request("GET", "/greet/Ada", "").0, 404);
}

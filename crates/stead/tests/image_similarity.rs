//! `image-embedder`: `examples/image-similarity` beside what Pillow and ONNX Runtime make of its pictures, and images that are none.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::server::{Server, free_port, stead};

fn example(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/image-similarity").join(file)
}

fn lines(file: &str) -> Vec<Value> {
    let text = fs::read_to_string(example(file)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn expected() -> Vec<Value> {
    serde_json::from_str(&fs::read_to_string(example("expected.json")).unwrap()).unwrap()
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
}

fn names(answer: &Value) -> Vec<&str> {
    let hits = answer["root"]["children"].as_array().unwrap();
    hits.iter().map(|hit| hit["fields"]["name"].as_str().unwrap()).collect()
}

fn put(server: &Server, name: &str, image: &str) -> (u16, Value) {
    let body = json!({"fields": {"name": name, "image": image}}).to_string();
    server.request("POST", &format!("/document/v1/p/picture/docid/{name}"), &body)
}

#[test]
fn pictures_are_found_as_pillow_and_onnx_runtime_find_them() {
    let server = Server::of_package(&example("app"));
    for picture in lines("pictures.jsonl") {
        let fields = &picture["fields"];
        let (status, answer) =
            put(&server, fields["name"].as_str().unwrap(), fields["image"].as_str().unwrap());
        assert_eq!(status, 200, "{answer}");
    }
    let (queries, expected) = (lines("queries.jsonl"), expected());
    assert_eq!(queries.len(), 12);
    for (query, expected) in queries.iter().zip(&expected) {
        let (status, answer) = server.request("POST", "/search/", &query.to_string());
        assert_eq!(status, 200, "{answer}");
        let best: Vec<&str> =
            expected["best"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
        assert_eq!(names(&answer), best, "{}", expected["asked"]);
    }
    // All of them at once, as a client: several runs, each answer in its place.
    let images: Vec<&Value> = queries.iter().map(|query| &query["image"]).collect();
    let body = json!({"inputs": images, "embedder": "pictures"}).to_string();
    let (status, answer) = server.request("POST", "/embed", &body);
    assert_eq!(status, 200, "{answer}");
    for (found, expected) in answer.as_array().unwrap().iter().zip(&expected) {
        let (found, wanted) = (numbers(found), numbers(&expected["vector"]));
        assert_eq!(found.len(), wanted.len());
        let worst = found.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-5, "{}: {worst}", expected["asked"]);
    }
    // The vector of the store is that of the field, and goes when the picture does.
    let other = &expected[5];
    assert_eq!(put(&server, "red-disc-0", queries[5]["image"].as_str().unwrap()).0, 200);
    let (_, answer) = server.request("POST", "/search/", &queries[5].to_string());
    assert_eq!(names(&answer)[0], "red-disc-0", "{}", other["asked"]);
}

#[test]
fn images_that_are_none_are_refused_by_name() {
    let server = Server::of_package(&example("app"));
    let whole = lines("pictures.jsonl")[0]["fields"]["image"].as_str().unwrap().to_owned();
    let data = whole.find(',').unwrap() + 1;
    let half = whole[..data + (whole.len() - data) / 8 * 4].to_owned();
    for (image, expected) in [
        ("a red disc!", "expected base64 or a data: URI"),
        ("R0lGODlhAQABAAAAACw=", "the image is none of BMP, JPEG, JPEG 2000, PNG, PNM, TIFF, WebP"),
        ("data:image/gif;base64,AAAA", "image/gif is not read; types of BMP, JPEG, "),
        (half.as_str(), "the image cannot be read: "),
    ] {
        let (status, answer) = put(&server, "wrong", image);
        assert_eq!(status, 400, "{image:.30}: {answer}");
        let text = answer["message"].as_str().unwrap();
        assert!(text.contains(expected) && text.contains("vector"), "{image:.30}: {text}");
        assert_eq!(server.request("GET", "/document/v1/p/picture/docid/wrong", "").0, 404);

        let query = json!({"yql": "select name from picture where true", "ranking": "near",
            "input.query(q)": "embed(pictures, @image)", "image": image});
        let (status, answer) = server.request("POST", "/search/", &query.to_string());
        assert_eq!(status, 400, "{image:.30}: {answer}");
        assert!(answer.to_string().contains(expected), "{image:.30}: {answer}");

        // A client is told of the one that is wrong.
        let body = json!({"inputs": [whole, image]}).to_string();
        let (status, answer) = server.request("POST", "/embed", &body);
        assert_eq!(status, 400, "{image:.30}: {answer}");
        assert!(answer.to_string().contains(expected), "{image:.30}: {answer}");
    }
    let (status, answer) = server.request("POST", "/embed", r#"{"inputs": [[1, 2]]}"#);
    assert_eq!(status, 400, "{answer}");
    assert!(answer.to_string().contains("takes images, which have no token ids"), "{answer}");
    assert_eq!(put(&server, "right", &whole).0, 200);
}

/// A copy of the package with a change to its services.
fn changed(from: &str, to: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "services.xml",
        "schemas/picture.sd",
        "models/pictures.onnx",
        "models/preprocessor_config.json",
    ] {
        let at = folder.path().join(name);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        let mut bytes = fs::read(example("app").join(name)).unwrap();
        if name == "services.xml" {
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.contains(from), "{from}");
            bytes = text.replace(from, to).into_bytes();
        }
        fs::write(at, bytes).unwrap();
    }
    folder
}

#[test]
fn embedders_that_do_not_fit_their_model_are_not_deployed() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let pooling = "<pooling-strategy>mean</pooling-strategy>";
    for (from, to, expected) in [
        (
            pooling,
            "<pooling-strategy>mean</pooling-strategy><crop>30x32</crop>",
            "the input pixel_values of models/pictures.onnx takes [?, 3, 32, 32], and an image is [1, 3, 32, 30]; write another crop or resize",
        ),
        (
            pooling,
            "",
            "pooling-strategy none needs an output of [batch, size]: features of models/pictures.onnx has the shape [1, 24, 8, 8]",
        ),
        (
            pooling,
            "<image-output>logits</image-output>",
            "Model does not contain required output: 'logits'. Model contains: features",
        ),
        (
            "models/preprocessor_config.json",
            "models/none.json",
            "the package has no file models/none.json",
        ),
        (
            pooling,
            "<resample>best</resample>",
            "expected nearest, bilinear, bicubic or lanczos for resample of component pictures, found best",
        ),
    ] {
        let package = changed(from, to);
        let done = stead(&["deploy", package.path().to_str().unwrap(), "--target", &server.deploy]);
        let error = String::from_utf8(done.stderr).unwrap();
        assert!(!done.status.success(), "{to}");
        assert!(error.contains(expected), "{to}: {error}");
    }
    server.deploy(&example("app"));
    // An image of more pixels than the component reads.
    let package = changed(pooling, &format!("{pooling}<max-pixels>100</max-pixels>"));
    server.deploy(package.path());
    let image = lines("pictures.jsonl")[0]["fields"]["image"].as_str().unwrap().to_owned();
    let (status, answer) = put(&server, "large", &image);
    assert_eq!(status, 400, "{answer}");
    assert!(answer.to_string().contains("pixels, and at most 100 are read"), "{answer}");
}

#[test]
fn the_script_of_the_example_runs() {
    let done = Command::new("sh")
        .arg(example("run.sh"))
        .env("STEAD", env!("CARGO_BIN_EXE_stead"))
        .env("PORT", free_port())
        .output()
        .unwrap();
    let (out, error) =
        (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{out}{error}");
    let answers = out.lines().filter(|line| line.starts_with('{'));
    let answers: Vec<Value> = answers.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 12, "{out}{error}");
    for (answer, expected) in answers.iter().zip(expected()) {
        assert_eq!(names(answer)[0], expected["best"][0], "{}", expected["asked"]);
    }
}

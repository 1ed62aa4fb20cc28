//! Every command that talks to a server, over TLS with certificates on both sides.
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use stead_onnx::ModelBuilder;
use stead_tensor::DType;

use crate::server::app::App;
use crate::server::{Server, free_port, stead};

/// An authority whose certificates are for this machine.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn write_pair(&self, folder: &Path, name: &str) {
        let key = KeyPair::generate().unwrap();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = CertificateParams::new(names).unwrap().signed_by(&key, &self.0).unwrap();
        std::fs::write(folder.join(format!("{name}.pem")), made.pem()).unwrap();
        std::fs::write(folder.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }
}

/// Files of a server and a client, `ca.pem` for both.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Files {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new("first");
        std::fs::write(folder.path().join("ca.pem"), authority.0.pem()).unwrap();
        authority.write_pair(folder.path(), "server");
        authority.write_pair(folder.path(), "client");
        Files(folder)
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn of_server(&self) -> Vec<String> {
        let [cert, key, ca] = ["server.pem", "server.key", "ca.pem"].map(|name| self.at(name));
        ["--tls_cert", &cert, "--tls_key", &key, "--tls_client_ca", &ca].map(str::to_owned).to_vec()
    }

    fn of_client(&self) -> Vec<String> {
        let [cert, key, ca] = ["client.pem", "client.key", "ca.pem"].map(|name| self.at(name));
        ["--cert", &cert, "--key", &key, "--cacert", &ca].map(str::to_owned).to_vec()
    }
}

fn refs(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

#[test]
fn documents_are_deployed_fed_got_found_and_visited() {
    let (files, data) = (Files::new(), tempfile::tempdir().unwrap());
    let server = Server::start_with(data.path(), &refs(&files.of_server()));
    let query = server.query.replace("http://", "https://");
    assert!(server.deploy.starts_with("https://"), "{}", server.deploy);
    let (app, access) = (App::music("", "").folder(), files.of_client());
    let documents = files.at("docs.jsonl");
    let put =
        json!({"put": "id:ns:music::1", "fields": {"title": "one", "year": 1990, "taste": [1, 2]}});
    std::fs::write(&documents, format!("{put}\n")).unwrap();
    let app = app.path().to_str().unwrap();
    let cases: [(&[&str], &str, &str); 6] = [
        (&["deploy", app], &server.deploy, ""),
        (&["feed", &documents], &query, ""),
        (&["get", "id:ns:music::1"], &query, "\"title\":\"one\""),
        (
            &["query", "select * from music where year > 1980", "--json"],
            &query,
            "\"title\":\"one\"",
        ),
        (&["visit"], &query, "\"title\":\"one\""),
        (&["store", "snapshot"], &server.deploy, "snapshot at position"),
    ];
    for (args, target, expected) in cases {
        let output = stead(&[args, &["--target", target], &refs(&access)[..]].concat());
        assert!(output.status.success(), "{args:?}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(expected), "{args:?}: {text}");
    }
    let get = |target: &str, more: &[&str]| {
        let output = stead(&[&["get", "id:ns:music::1", "--target", target], more].concat());
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let none = Files::new();
    for (label, target, more, expected) in [
        (
            "no certificate of the client",
            &query,
            &["--cacert", &files.at("ca.pem")][..],
            "no answer",
        ),
        ("an unknown authority", &query, &refs(&none.of_client())[..], "invalid peer certificate"),
        ("the wrong scheme", &server.query, &[], "no HTTP"),
        ("no file", &query, &["--cacert", "/no/such/file"], "--cacert: /no/such/file"),
    ] {
        let (is_good, text) = get(target, more);
        assert!(!is_good && text.contains(expected), "{label}: {text}");
    }
}

#[test]
fn models_are_measured_by_http_and_grpc() {
    let (files, models) = (Files::new(), tempfile::tempdir().unwrap());
    let model = ModelBuilder::new(17)
        .input("x", DType::F32, &["batch", "2"])
        .node("Identity", &["x"], &["y"])
        .output("y", DType::F32)
        .bytes();
    std::fs::create_dir_all(models.path().join("same/1")).unwrap();
    std::fs::write(models.path().join("same/1/model.onnx"), model).unwrap();
    let (grpc, flags) = (free_port(), files.of_server());
    let flags = [&["--port", &grpc], &refs(&flags)[..]].concat();
    let server = Server::of_package_with(models.path(), &flags);
    let query = server.query.replace("http://", "https://");
    for (protocol, target) in [("http", query), ("grpc", format!("https://127.0.0.1:{grpc}"))] {
        let args = ["bench", "--model", "same", "--concurrency", "2", "--steps", "5", "--json"];
        let more = ["--dim", "x[0]=1", "--protocol", protocol, "--target", &target];
        let output = stead(&[&args[..], &more, &refs(&files.of_client())].concat());
        assert!(output.status.success(), "{protocol}: {output:?}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["errors"], 0, "{protocol}: {report}");
    }
}

#[test]
fn certificates_that_are_changed_are_used_without_a_word() {
    // Looked for every second, or only when it is told.
    for (poll, signal) in [("1", None), ("0", Some("HUP"))] {
        changed(&["--file_system_poll_wait_seconds", poll], signal);
    }
}

fn changed(flags: &[&str], signal: Option<&str>) {
    let (files, data) = (Files::new(), tempfile::tempdir().unwrap());
    // A server that asks for none of clients.
    let of_server = files.of_server();
    let server = Server::start_with(data.path(), &[&refs(&of_server[..4]), flags].concat());
    let query = server.query.replace("http://", "https://");
    let second = Authority::new("second");
    let other = files.at("other.pem");
    std::fs::write(&other, second.0.pem()).unwrap();
    let trusts = |ca: &str| {
        let output = stead(&["visit", "--target", &query, "--cacert", ca]);
        !String::from_utf8(output.stderr).unwrap().contains("invalid peer certificate")
    };
    assert!(trusts(&files.at("ca.pem")) && !trusts(&other));
    second.write_pair(files.0.path(), "server");
    signal.iter().for_each(|name| server.signal(name));
    let begin = Instant::now();
    while !trusts(&other) {
        assert!(begin.elapsed() < Duration::from_secs(120), "the files were not read again");
        std::thread::yield_now();
    }
    assert!(!trusts(&files.at("ca.pem")));
}

#[test]
fn a_server_does_not_start_with_bad_files() {
    let (files, data) = (Files::new(), tempfile::tempdir().unwrap());
    let [cert, key] = ["server.pem", "client.key"].map(|name| files.at(name));
    let started = Command::new(env!("CARGO_BIN_EXE_stead"))
        .args(["serve", "--rest_port", &free_port(), "--deploy_port", &free_port(), "--data"])
        .arg(data.path())
        .args(["--tls_cert", &cert, "--tls_key", &key])
        .output()
        .unwrap();
    let text = String::from_utf8(started.stderr).unwrap();
    assert_eq!(started.status.code(), Some(1), "{text}");
    assert!(text.contains("--tls_cert and --tls_key do not go together"), "{text}");
}

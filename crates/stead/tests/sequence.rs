//! `stead sequence` against a server, both the real binary.

#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use stead_onnx::ModelBuilder;
use stead_tensor::DType;

use crate::server::ports::free_port;

/// A server with the stateful model `sum`, which adds up what it is sent.
struct Server {
    process: Child,
    address: String,
    folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Server {
        let folder = tempfile::tempdir().unwrap();
        let model = ModelBuilder::new(17)
            .input("x", DType::F32, &["n"])
            .input("state", DType::F32, &["n"])
            .node("Add", &["x", "state"], &["state_out"])
            .node("Identity", &["state_out"], &["y"])
            .output("y", DType::F32)
            .output("state_out", DType::F32)
            .bytes();
        let version = folder.path().join("sum/1");
        std::fs::create_dir_all(&version).unwrap();
        std::fs::write(version.join("model.onnx"), model).unwrap();
        let port = free_port();
        let mut process = Command::new(env!("CARGO_BIN_EXE_stead"))
            .args(["serve", "--model_name", "sum", "--stateful", "--model_path"])
            .arg(folder.path().join("sum"))
            .args(["--rest_port", &port])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("HTTP on") {
            line.clear();
            assert!(log.read_line(&mut line).unwrap() > 0, "the server has ended");
        }
        // The rest of the log must be read, or the server would wait for a reader.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Server { process, address: format!("127.0.0.1:{port}"), folder }
    }

    /// One step over KServe; gives the sum.
    fn step(&self, parameters: &str, value: f32) -> f64 {
        let body = format!(
            r#"{{"parameters": {{{parameters}}}, "inputs": [{{"name": "x", "datatype": "FP32", "shape": [1], "data": [{value}]}}]}}"#
        );
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        write!(
            stream,
            "POST /v2/models/sum/infer HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let value: serde_json::Value = serde_json::from_str(body).unwrap();
        value["outputs"][0]["data"][0].as_f64().unwrap_or_else(|| panic!("{answer}"))
    }

    fn run(&self, args: &[&str]) -> Output {
        let target = format!("http://{}", self.address);
        let mut command = Command::new(env!("CARGO_BIN_EXE_stead"));
        command.arg("sequence").args(args).args(["--target", &target]);
        command.current_dir(self.folder.path()).output().unwrap()
    }

    /// What a command that succeeds prints.
    fn says(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a command that fails with exit code 1 says.
    fn fails(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const START: &str = r#""sequence_id": 5, "sequence_start": true"#;

#[test]
fn a_sequence_is_looked_after_from_the_command_line() {
    let server = Server::start();
    assert_eq!(server.says(&["list", "sum"]), "no live sequences of sum\n");
    server.step(START, 1.0);
    server.step(r#""sequence_id": 5"#, 2.0);
    let shown = server.says(&["show", "sum", "5"]);
    assert!(shown.contains("sequence 5: idle, 2 steps done"), "{shown}");
    assert!(shown.contains("state FP32[1]"), "{shown}");

    assert_eq!(
        server.says(&["fork", "sum", "5", "\"5\""]),
        "sequence \"5\" begun as a copy, after step 2\n"
    );
    assert_eq!(server.step(r#""sequence_id": "5""#, 10.0), 13.0);
    assert!(server.says(&["export", "sum", "\"5\"", "five.npz"]).starts_with("wrote five.npz"));
    assert!(Path::new(&server.folder.path().join("five.npz")).exists());
    assert_eq!(
        server.says(&["import", "sum", "a/b", "five.npz", "--version", "1"]),
        "sequence a/b begun, after step 3\n"
    );
    assert_eq!(server.step(r#""sequence_id": "a/b""#, 1.0), 14.0);

    let list = server.says(&["list", "sum"]);
    let ids: Vec<&str> = list.lines().map(|l| l.split(' ').next().unwrap()).collect();
    assert_eq!(ids, ["id", "5", "\"5\"", "a/b"], "{list}");
    let rest = server.says(&["list", "sum", "--after", "5", "--limit", "1", "--json"]);
    let rest: serde_json::Value = serde_json::from_str(&rest).unwrap();
    assert_eq!((&rest["sequences"][0]["id"], &rest["next"]), (&"5".into(), &"\"5\"".into()));

    assert_eq!(server.says(&["end", "sum", "5"]), "sequence 5 ended, after step 2\n");
    assert!(server.fails(&["show", "sum", "5"]).contains("`stead sequence list sum`"));
}

#[test]
fn errors_say_what_to_do_next() {
    let server = Server::start();
    server.step(START, 1.0);
    let cases: [(&[&str], &str); 5] = [
        (&["list", "nothing"], "/v2/repository/index"),
        (&["end", "sum", "6"], "`stead sequence list sum` shows those that live"),
        (&["fork", "sum", "5", "5"], "choose another id"),
        (&["import", "sum", "6", "none.npz"], "none.npz: No such file"),
        (&["list", "sum", "--version", "2"], "requested version"),
    ];
    for (args, expected) in cases {
        let text = server.fails(args);
        assert!(text.contains(expected), "{args:?}: {text}");
    }
    std::fs::write(server.folder.path().join("there.npz"), b"x").unwrap();
    let text = server.fails(&["export", "sum", "5", "there.npz"]);
    assert!(text.contains("give another name or remove it"), "{text}");
    let text = server.fails(&["import", "sum", "6", "there.npz"]);
    assert!(text.contains("no npz archive"), "{text}");
}

#[test]
fn wrong_usage_is_told_before_anything_is_sent() {
    let cases: [(&[&str], &str); 4] = [
        (&["show", "sum", "0"], "a number above 0 or a text"),
        (&["list", "sum", "--target", "ftp://host"], "https://HOST:PORT"),
        (&["list", "sum", "--limit", "0"], "1..=1000"),
        (&["list"], "<MODEL>"),
    ];
    for (args, expected) in cases {
        let output =
            Command::new(env!("CARGO_BIN_EXE_stead")).arg("sequence").args(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(64), "{args:?}: {text}");
        assert!(text.contains(expected), "{args:?}: {text}");
    }
    let nobody = ["sequence", "list", "sum", "--target", "http://127.0.0.1:1"];
    let output = Command::new(env!("CARGO_BIN_EXE_stead")).args(nobody).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("is the server running (`stead serve`)?"), "{text}");
}

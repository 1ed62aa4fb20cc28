//! The examples that store documents as a user meets them: deployed, fed and asked over HTTP, beside what numpy and ONNX
//! Runtime computed.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::server::ports::free_port;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// A server of the package; it is killed when it is dropped.
struct Server {
    child: Child,
    connection: BufReader<TcpStream>,
}

impl Server {
    fn start(data: &Path, example: &Path) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stead"))
            .args(["serve", "--rest_port", &free_port(), "--deploy_port", &free_port(), "--data"])
            .arg(data)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut address = |sign: &str| {
            let line = lines.find(|line| line.as_ref().unwrap().contains(sign)).unwrap();
            line.unwrap().split_once(sign).unwrap().1.to_owned()
        };
        let (rest, deploy) = (address("HTTP on http://"), address("deployments on "));
        // Somebody must read on, or the server would stop when the pipe is full.
        std::thread::spawn(move || lines.for_each(drop));
        let deployed = Command::new(env!("CARGO_BIN_EXE_stead"))
            .args(["deploy", example.join("app").to_str().unwrap(), "--target", &deploy])
            .output();
        assert!(deployed.as_ref().unwrap().status.success(), "{deployed:?}");
        let connection = TcpStream::connect(rest).unwrap();
        connection.set_nodelay(true).unwrap();
        Server { child, connection: BufReader::new(connection) }
    }

    /// The body of a good answer.
    fn post(&mut self, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.connection.get_mut().write_all(&[head.as_bytes(), body.as_bytes()].concat()).unwrap();
        let (mut status, mut length) = (String::new(), 0);
        self.connection.read_line(&mut status).unwrap();
        loop {
            let mut line = String::new();
            self.connection.read_line(&mut line).unwrap();
            match line.trim().to_ascii_lowercase().split_once(": ") {
                Some(("content-length", value)) => length = value.parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.connection.read_exact(&mut body).unwrap();
        let text = String::from_utf8_lossy(&body).into_owned();
        assert!(status.contains(" 200 "), "{path}: {status}{text}");
        serde_json::from_str(&text).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

impl Server {
    /// Puts documents.
    fn feed(&mut self, text: &str) {
        for operation in lines(text) {
            let id = operation["put"].as_str().unwrap();
            let [_, space, kind, _, name] = id.split(':').collect::<Vec<_>>()[..] else {
                panic!("{id}")
            };
            let path = format!("/document/v1/{space}/{kind}/docid/{name}");
            self.post(&path, &json!({"fields": operation["fields"]}));
        }
    }

    /// The best hits are these, with these scores.
    fn expect(&mut self, query: &Value, expected: &Value, of: u64) {
        let expected = expected.as_array().unwrap();
        let answer = self.post("/search/", query);
        assert_eq!(answer["root"]["fields"]["totalCount"], of, "{answer}");
        let hits = answer["root"]["children"].as_array().unwrap();
        assert_eq!(hits.len(), expected.len());
        for (hit, pair) in hits.iter().zip(expected) {
            let score = hit["relevance"].as_f64().unwrap();
            assert_eq!(hit["id"], pair[0], "{query}");
            assert!((score - pair[1].as_f64().unwrap()).abs() < 2e-5, "{hit} {pair}");
        }
    }
}

#[test]
fn readers_get_the_posts_that_numpy_finds_best_for_them() {
    let (data, example) = (tempfile::tempdir().unwrap(), example("blog-recommendation"));
    let mut server = Server::start(data.path(), &example);
    let mut posts = String::new();
    let packed = std::fs::File::open(example.join("posts.jsonl.gz")).unwrap();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut posts).unwrap();
    server.feed(&posts);
    let expected = std::fs::read_to_string(example.join("best.jsonl")).unwrap();
    for line in lines(&expected) {
        let user = line["user"].as_str().unwrap();
        for profile in ["nearest", "recommend"] {
            let query = json!({
                "yql": "select * from post where true",
                "ranking": profile,
                "input.query(user_profile)": format!("document({user}).embedding"),
            });
            server.expect(&query, &line[profile], 1000);
        }
    }
}

#[test]
fn passages_are_read_as_onnx_runtime_reads_them() {
    let (data, example) = (tempfile::tempdir().unwrap(), example("cross-encoder"));
    let mut server = Server::start(data.path(), &example);
    let read = |name: &str| std::fs::read_to_string(example.join(name)).unwrap();
    server.feed(&read("passages.jsonl"));
    for (query, expected) in lines(&read("queries.jsonl")).zip(lines(&read("best.jsonl"))) {
        server.expect(&query, &expected, 100);
    }
}

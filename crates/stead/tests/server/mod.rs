//! A server process over a folder.
#![allow(dead_code, clippy::unwrap_used, clippy::print_stderr)] // each test file uses its part; a panic in a test is its report

pub mod app;
pub mod library;
pub mod ports;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;

pub use ports::free_port;
use serde_json::Value;

/// Runs the command to its end.
pub fn stead(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stead")).args(args).output().unwrap()
}

/// A package of these files in a folder.
pub fn package(files: &[(&str, &str)]) -> tempfile::TempDir {
    let app = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = app.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    app
}

/// A server over a folder or of a package; it is killed when it is dropped.
pub struct Server {
    child: Mutex<Child>,
    ports: [String; 2],
    /// Where it answers queries.
    pub query: String,
    /// Where it takes deployments; empty if it does not.
    pub deploy: String,
}

impl Server {
    /// Starts one over a folder.
    pub fn start(data: &Path) -> Server {
        Server::start_with(data, &[])
    }

    /// The same with more flags.
    pub fn start_with(data: &Path, flags: &[&str]) -> Server {
        Server::at(data, flags, [free_port(), free_port()])
    }

    /// Kills it and starts another one on the same ports.
    pub fn again(self, data: &Path) -> Server {
        let ports = self.ports.clone();
        drop(self);
        Server::at(data, &[], ports)
    }

    fn at(data: &Path, flags: &[&str], ports: [String; 2]) -> Server {
        let of_data = ["--deploy_port", &ports[1], "--data", data.to_str().unwrap()];
        Server::run(&[&of_data, flags].concat(), "deployments on ", ports.clone())
    }

    /// Starts one of a package, in memory.
    pub fn of_package(package: &Path) -> Server {
        Server::of_package_with(package, &[])
    }

    /// The same with more flags.
    pub fn of_package_with(package: &Path, flags: &[&str]) -> Server {
        let args = [&[package.to_str().unwrap()], flags].concat();
        Server::run(&args, "HTTP on ", [free_port(), String::new()])
    }

    /// Starts one that its flags tell what to serve.
    pub fn of_flags(flags: &[&str]) -> Server {
        Server::run(flags, "HTTP on ", [free_port(), String::new()])
    }

    /// Waits for the last line that is told at the start.
    fn run(args: &[&str], last: &str, ports: [String; 2]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stead"))
            .args(["serve", "--rest_port", &ports[0]])
            .args(args)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.find(|line| line.as_ref().unwrap().contains(last)).unwrap().unwrap();
        let deploy = line.split_once("deployments on ").map_or("", |(_, at)| at).to_owned();
        // Somebody must read on, or the server would stop when the pipe is full.
        std::thread::spawn(move || lines.for_each(drop));
        let query = format!("http://127.0.0.1:{}", ports[0]);
        Server { child: Mutex::new(child), ports, query, deploy }
    }

    /// Deploys the package in a folder.
    pub fn deploy(&self, app: &Path) {
        let deployed = stead(&["deploy", app.to_str().unwrap(), "--target", &self.deploy]);
        assert!(deployed.status.success(), "{deployed:?}");
    }

    /// The body of an answer to a GET on the query port.
    pub fn text(&self, path: &str) -> String {
        self.answer("GET", path, "").1
    }

    /// The status and JSON of an answer on the query port.
    pub fn request(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let (status, body) = self.answer(method, path, body);
        (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("{status} {body}")))
    }

    pub fn answer(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let kind = "Content-Type: application/json\r\n";
        // Nothing is chunked in this version.
        let (status, _, body) = self.ask(method, path, "HTTP/1.0", kind, body.as_bytes());
        (status, body)
    }

    /// The status, the head in lower case and the body of an answer to a request with these lines of headers.
    pub fn exchange(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &[u8],
    ) -> (u16, String, String) {
        self.ask(method, path, "HTTP/1.1", headers, body)
    }

    fn ask(
        &self,
        method: &str,
        path: &str,
        version: &str,
        headers: &str,
        body: &[u8],
    ) -> (u16, String, String) {
        let host = self.query.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} {version}\r\nHost: {host}\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses a body need not read all of it.
        let _ = stream.write_all(body);
        let (mut head, mut reader) = (String::new(), BufReader::new(stream));
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{method} {path}: {head}");
        }
        let mut body = Vec::new();
        let _ = reader.read_to_end(&mut body);
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_ascii_lowercase(), String::from_utf8(body).unwrap())
    }

    /// Sends a signal by its name, such as `HUP`.
    pub fn signal(&self, name: &str) {
        let id = self.child.lock().unwrap().id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap();
        assert!(sent.success());
    }

    /// `kill -9`.
    pub fn kill(&self) {
        let mut child = self.child.lock().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

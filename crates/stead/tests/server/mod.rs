//! The program as a user starts it.
#![allow(dead_code, clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Runs the program to its end.
pub fn stead(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stead")).args(args).output().unwrap()
}

/// A port that was free a moment ago: 0 turns a port of the server off.
pub fn free_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}

/// A server over a folder; it is killed when it is dropped.
pub struct Server {
    child: Child,
    /// Where it takes deployments.
    pub deploy: String,
    /// Where it answers queries.
    pub query: String,
}

impl Server {
    pub fn start(data: &Path) -> Server {
        let (rest, deploy) = (free_port(), free_port());
        let mut child = Command::new(env!("CARGO_BIN_EXE_stead"))
            .args(["serve", "--rest_port", &rest, "--deploy_port", &deploy, "--data"])
            .arg(data)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.find(|line| line.as_ref().unwrap().contains("deployments on")).unwrap();
        let deploy = line.unwrap().split_once("deployments on ").unwrap().1.to_owned();
        // Somebody must read on, or the server would stop when the pipe is full.
        std::thread::spawn(move || lines.for_each(drop));
        let query = format!("http://127.0.0.1:{rest}");
        Server { child, deploy, query }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

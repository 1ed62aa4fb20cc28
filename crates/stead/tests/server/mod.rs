//! A server process over a folder.
#![allow(dead_code, clippy::unwrap_used)] // each test file uses its part; a panic in a test is its report

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;

/// Runs the command to its end.
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
    child: Mutex<Child>,
    ports: [String; 2],
    /// Where it answers queries.
    pub query: String,
    /// Where it takes deployments.
    pub deploy: String,
}

impl Server {
    /// Starts one.
    pub fn start(data: &Path) -> Server {
        Server::at(data, [free_port(), free_port()])
    }

    /// Kills it and starts another one on the same ports.
    pub fn again(self, data: &Path) -> Server {
        let ports = self.ports.clone();
        drop(self);
        Server::at(data, ports)
    }

    fn at(data: &Path, ports: [String; 2]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stead"))
            .args(["serve", "--rest_port", &ports[0], "--deploy_port", &ports[1], "--data"])
            .arg(data)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.find(|line| line.as_ref().unwrap().contains("deployments on")).unwrap();
        let deploy = line.unwrap().split_once("deployments on ").unwrap().1.to_owned();
        // Somebody must read on, or the server would stop when the pipe is full.
        std::thread::spawn(move || lines.for_each(drop));
        let query = format!("http://127.0.0.1:{}", ports[0]);
        Server { child: Mutex::new(child), ports, query, deploy }
    }

    /// Deploys a package of these files.
    pub fn deploy(&self, files: &[(&str, &str)]) {
        let app = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = app.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let deployed = stead(&["deploy", app.path().to_str().unwrap(), "--target", &self.deploy]);
        assert!(deployed.status.success(), "{deployed:?}");
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

//! A server over a temporary repository, and a small HTTP client that sends exactly what it is told.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)] // each test file uses its part; a panic is the report

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use stead_app::Source;
use stead_node::{Deployments, DocumentOptions, Embedded, NodeConfig};
use stead_onnx::{ModelBuilder, ValueType, dims_of};
use stead_server::{MetricsOptions, ServerHandle, ServerOptions, serve};
use stead_tensor::DType;
use tempfile::TempDir;

/// A running server with its models.
pub struct Fixture {
    pub http: SocketAddr,
    pub grpc: SocketAddr,
    /// Of a server that deploys.
    pub deploy: Option<SocketAddr>,
    pub node: Arc<Embedded>,
    pub handle: Option<ServerHandle>,
    runtime: Option<tokio::runtime::Runtime>,
    /// The repository.
    pub folder: TempDir,
}

/// The models: `acc` is the stateless twin of the recorded model, `two` has two inputs and outputs, `text`
/// passes strings through, one model for each element type passes it through.
fn write_models(folder: &Path) {
    let write = |name: &str, bytes: Vec<u8>, options: &str| {
        let version = folder.join(name).join("1");
        std::fs::create_dir_all(&version).unwrap();
        std::fs::write(version.join("model.onnx"), bytes).unwrap();
        if !options.is_empty() {
            std::fs::write(folder.join(name).join("stead.toml"), options).unwrap();
        }
    };
    let tensor = |dtype, dims: &[&str]| ValueType::tensor(dtype, Some(dims_of(dims)));
    let identity = |dtype, dims: &[&str]| {
        ModelBuilder::new(17)
            .input("INPUT", dtype, dims)
            .node("Identity", &["INPUT"], &["OUTPUT"])
            .output_of("OUTPUT", tensor(dtype, dims))
            .bytes()
    };
    write("acc", identity(DType::F32, &["batch", "1"]), "max_batch_size = 4\n");
    for dtype in TYPES {
        write(&format!("id_{dtype}"), identity(*dtype, &["n"]), "");
    }
    let two = ModelBuilder::new(17)
        .input("a", DType::F32, &["n", "2"])
        .input("b", DType::F32, &["n", "2"])
        .node("Concat", &["a", "b"], &["ab"])
        .attr("axis", 1)
        .node("Concat", &["b", "a"], &["ba"])
        .attr("axis", 1)
        .output_of("ab", tensor(DType::F32, &["n", "4"]))
        .output_of("ba", tensor(DType::F32, &["n", "4"]))
        .bytes();
    write("two", two, "");
}

/// The state is the sum of all inputs, and the output is the state.
fn summator(input: &str, output: &str) -> Vec<u8> {
    let vector = ValueType::tensor(DType::F32, Some(dims_of(&["batch", "1"])));
    ModelBuilder::new(17)
        .input(input, DType::F32, &["batch", "1"])
        .input("sum", DType::F32, &["batch", "1"])
        .node("Add", &[input, "sum"], &["sum_out"])
        .node("Identity", &["sum_out"], &[output])
        .output_of(output, vector.clone())
        .output_of("sum_out", vector)
        .bytes()
}

/// A sum, and its three-fold repetition along the first axis.
fn wide() -> Vec<u8> {
    let vector = ValueType::tensor(DType::F32, Some(dims_of(&["batch", "1"])));
    ModelBuilder::new(17)
        .input("b", DType::F32, &["batch", "1"])
        .input("sum", DType::F32, &["batch", "1"])
        .node("Add", &["b", "sum"], &["sum_out"])
        .node("Identity", &["sum_out"], &["y"])
        .node("Concat", &["sum_out", "sum_out", "sum_out"], &["yyy"])
        .attr("axis", 0)
        .output_of("y", vector.clone())
        .output_of("yyy", ValueType::tensor(DType::F32, Some(dims_of(&["many", "1"]))))
        .output_of("sum_out", vector)
        .bytes()
}

/// Types that an identity model is made for.
pub const TYPES: &[DType] = &[
    DType::F32,
    DType::F64,
    DType::F16,
    DType::BF16,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::Bool,
    DType::String,
];

impl Fixture {
    pub fn start() -> Fixture {
        Fixture::with(|_| {})
    }

    /// A server whose options were changed by `change`.
    pub fn with(change: impl FnOnce(&mut ServerOptions)) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        write_models(folder.path());
        let node = Embedded::start(NodeConfig::path(folder.path())).unwrap();
        Fixture::over(folder, node, change)
    }

    /// A server of stateful models that add up their input: `acc` has Triton's rules and a batch of at most 4,
    /// `sum` those of OpenVINO Model Server, and `wide` two outputs that differ in their first dimension.
    pub fn stateful(change: impl FnOnce(&mut ServerOptions)) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let mut list = Vec::new();
        for (name, model, stead) in [
            (
                "acc",
                summator("INPUT", "OUTPUT"),
                r#""max_batch_size": 4, "triton_compat": true, "sequence_idle_timeout_ms": 3000"#,
            ),
            ("sum", summator("b", "y"), r#""sequence_ids": "counter""#),
            ("wide", wide(), r#""sequence_ids": "counter""#),
        ] {
            let version = folder.path().join(name).join("1");
            std::fs::create_dir_all(&version).unwrap();
            std::fs::write(version.join("model.onnx"), model).unwrap();
            list.push(format!(
                r#"{{"config": {{"name": "{name}", "base_path": "{name}", "stateful": true, "stead": {{{stead}}}}}}}"#
            ));
        }
        let config = folder.path().join("config.json");
        let text = format!(r#"{{"model_config_list": [{}]}}"#, list.join(","));
        std::fs::write(&config, text).unwrap();
        let node = Embedded::start(NodeConfig::path(config)).unwrap();
        Fixture::over(folder, node, change)
    }

    /// A server of what `write` puts into a folder, among it a `config.json`.
    pub fn of(write: impl FnOnce(&Path)) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        let config = NodeConfig::path(folder.path().join("config.json"));
        Fixture::over(folder, Embedded::start(config).unwrap(), |_| {})
    }

    /// A server that deploys to `folder`.
    pub fn deploying(folder: TempDir) -> Fixture {
        Fixture::deploying_with(folder, DocumentOptions::default())
    }

    /// The same with options that were changed by `change`.
    pub fn deploying_as(folder: TempDir, change: impl FnOnce(&mut ServerOptions)) -> Fixture {
        let deployments =
            Deployments::open_with(folder.path(), DocumentOptions::default()).unwrap();
        let config =
            NodeConfig { deployments: Some(deployments), ..NodeConfig::new(Source::Nothing) };
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let node = Embedded::start(config).unwrap();
        Fixture::over(folder, node, |options| {
            options.deploy = vec![any];
            change(options);
        })
    }

    /// [`Fixture::deploying`] with documents that are kept in another way.
    pub fn deploying_with(folder: TempDir, options: DocumentOptions) -> Fixture {
        let deployments = Deployments::open_with(folder.path(), options).unwrap();
        let config =
            NodeConfig { deployments: Some(deployments), ..NodeConfig::new(Source::Nothing) };
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let node = Embedded::start(config).unwrap();
        Fixture::over(folder, node, |options| options.deploy = vec![any])
    }

    /// Ends the server; what it left in its folder.
    pub fn end(mut self) -> TempDir {
        drop(self.handle.take());
        // Tasks that still run hold the node, and it the folder.
        self.runtime.take().unwrap().shutdown_timeout(Duration::from_secs(20));
        let empty = tempfile::tempdir().unwrap();
        std::mem::replace(&mut self.folder, empty)
    }

    fn over(
        folder: TempDir,
        node: Arc<Embedded>,
        change: impl FnOnce(&mut ServerOptions),
    ) -> Fixture {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let mut options = ServerOptions {
            http: vec![any],
            grpc: vec![any],
            metrics: MetricsOptions { enabled: true, list: vec![] },
            ..ServerOptions::default()
        };
        change(&mut options);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let handle = runtime.block_on(serve(options, node.clone())).unwrap();
        Fixture {
            http: handle.http_addresses()[0],
            grpc: handle.grpc_addresses()[0],
            deploy: handle.deploy_addresses().first().copied(),
            node,
            handle: Some(handle),
            runtime: Some(runtime),
            folder,
        }
    }

    pub fn runtime(&self) -> &tokio::runtime::Runtime {
        self.runtime.as_ref().unwrap()
    }

    pub fn connect(&self) -> Client {
        Client::connect(self.http)
    }

    /// One request on a connection of its own.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.connect().send(method, path, headers, body)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Answer {
        self.send("POST", path, &[], body.as_ref())
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        drop(self.handle.take());
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("{e}: {} {}", self.status, self.text()))
    }
}

/// A connection.
pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, buffer: Vec::new() }
    }

    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        self.write(&[text.as_bytes(), body].concat()).unwrap();
        self.read(method == "HEAD").expect("an answer")
    }

    pub fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Waits until bytes are there to be read.
    pub fn await_bytes(&self) {
        self.stream.peek(&mut [0]).unwrap();
    }

    /// Reads one answer; `None` when the connection ends first.
    pub fn read(&mut self, head: bool) -> Option<Answer> {
        let end = loop {
            if let Some(at) = self.buffer.windows(4).position(|w| w == b"\r\n\r\n") {
                break at;
            }
            self.fill()?;
        };
        let text = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end + 4);
        let mut lines = text.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers: Vec<(String, String)> = lines
            .filter_map(|l| l.split_once(": "))
            .map(|(n, v)| (n.to_lowercase(), v.to_owned()))
            .collect();
        let length = headers.iter().find(|(n, _)| n == "content-length");
        let length: usize = length.map_or(0, |(_, v)| v.parse().unwrap());
        let length = if head || status == 100 { 0 } else { length };
        if headers.iter().any(|(n, v)| n == "transfer-encoding" && v == "chunked") && !head {
            return Some(Answer { status, headers, body: self.chunks()? });
        }
        while self.buffer.len() < length {
            self.fill()?;
        }
        let body = self.buffer.drain(..length).collect();
        Some(Answer { status, headers, body })
    }

    /// A body in chunks, as RFC 9112 has them.
    fn chunks(&mut self) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let end = loop {
                match self.buffer.windows(2).position(|w| w == b"\r\n") {
                    Some(at) => break at,
                    None => self.fill()?,
                }
            };
            let size = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
            let size = usize::from_str_radix(&size, 16).unwrap();
            while self.buffer.len() < end + 2 + size + 2 {
                self.fill()?;
            }
            body.extend_from_slice(&self.buffer[end + 2..end + 2 + size]);
            self.buffer.drain(..end + 2 + size + 2);
            if size == 0 {
                return Some(body);
            }
        }
    }

    fn fill(&mut self) -> Option<()> {
        let mut chunk = [0; 16384];
        match self.stream.read(&mut chunk) {
            Ok(0) | Err(_) => None,
            Ok(n) => {
                self.buffer.extend_from_slice(&chunk[..n]);
                Some(())
            }
        }
    }
}

/// The bytes of `hex`.
pub fn from_hex(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect()
}

/// A zip of texts by their paths.
pub fn zip<B: AsRef<[u8]>>(files: &[(&str, B)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in files {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_ref()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

//! stead's server beside a bare TCP echo and empty HTTP and gRPC handlers that move the same bytes.

#[path = "../../../crates/stead/tests/server/ports.rs"]
mod ports;

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::load::{Call, ask, run as load};
use crate::report::{Report, us};
use crate::{Result, bare, payload, variable};

const CONNECTIONS: [usize; 3] = [1, 8, 64];

/// A server process, stopped when it is dropped.
struct Server {
    child: Child,
    rest: SocketAddr,
    grpc: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill(); // gone already, if it cannot be killed
        let _ = self.child.wait();
    }
}

/// Measures requests, start and memory.
pub fn run(report: &mut Report, budget: Duration) -> Result<()> {
    requests(report, budget)?;
    resources(report)
}

fn requests(report: &mut Report, budget: Duration) -> Result<()> {
    let model = Path::new(&variable("STEAD_MLP")?).join("model.onnx");
    let stead = start_stead(&["--model_name", "mlp", "--model_path", &model.to_string_lossy()])?;
    let http = Call::Http(payload::binary());
    let grpc = Call::Grpc(payload::GRPC_METHOD, bare::framed(&payload::message()));
    let (kserve, tfs) = (Call::Http(payload::kserve_json()), Call::Http(payload::tfs_json()));
    // The bare servers answer with as many bytes as stead does.
    let (http_answer, grpc_answer) = (ask(stead.rest, &http)?.len(), ask(stead.grpc, &grpc)?.len());
    let json_answer = ask(stead.rest, &kserve)?.len();
    ask(stead.rest, &tfs)?;
    let request = payload::binary();
    let (echo, empty_http, empty_json, empty_grpc) = (
        start_bare("echo", request.len(), http_answer)?,
        start_bare("http", 0, http_answer)?,
        start_bare("http", 0, json_answer)?,
        start_bare("grpc", 0, grpc_answer)?,
    );
    let sides = [
        ("TCP echo", echo.rest, Call::Echo(request, http_answer)),
        ("empty HTTP handler (hyper)", empty_http.rest, http.clone()),
        ("stead HTTP, binary tensors", stead.rest, http),
        ("empty HTTP handler, bytes of the JSON", empty_json.rest, kserve.clone()),
        ("stead HTTP, JSON of KServe", stead.rest, kserve),
        ("stead HTTP, JSON rows of TensorFlow Serving", stead.rest, tfs),
        ("empty gRPC handler (h2)", empty_grpc.rest, grpc.clone()),
        ("stead gRPC", stead.grpc, grpc),
    ];
    let mut rows: Vec<Vec<String>> =
        sides.iter().map(|(name, ..)| vec![(*name).to_owned()]).collect();
    for connections in CONNECTIONS {
        for ((_, address, call), row) in sides.iter().zip(&mut rows) {
            let result = load(*address, call, connections, budget)?;
            row.push(format!("{:.0}", result.per_second));
            row.push(us(result.p50_us));
            row.push(us(result.p99_us));
            println!("{connections:>3} {}", row.join("  "));
        }
    }
    let note = "MLP 256-512-128-1 at batch 1 (256 numbers in, one out), client and servers on the same machine; the client \
                uses one thread. Goals: p50 at 1 connection within 60 us of the echo; at 64 connections at least 40 % of \
                the empty handler's requests a second.";
    let header = [
        "server",
        "1 conn: req/s",
        "p50",
        "p99",
        "8 conns: req/s",
        "p50",
        "p99",
        "64 conns: req/s",
        "p50",
        "p99",
    ];
    report.table("Server", note, &header, &rows);
    Ok(())
}

fn resources(report: &mut Report) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let models = root.join("examples/quickstart/models");
    let mut ready = Vec::new();
    let mut rss = 0;
    for _ in 0..5 {
        let started = Instant::now();
        let server = start_stead(&[&models.to_string_lossy()])?;
        ready.push(started.elapsed());
        std::thread::sleep(Duration::from_millis(500));
        rss = rss_bytes(server.child.id()).unwrap_or(0);
    }
    ready.sort_unstable();
    let binary = std::fs::metadata(variable("STEAD_BIN")?)?.len();
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let rows = vec![
        vec![
            "start to ready".into(),
            format!("{:.0} ms", ready[2].as_secs_f64() * 1e3),
            "200 ms".into(),
        ],
        vec!["resident memory, idle".into(), megabytes(rss), "30 MB".into()],
        vec!["release binary".into(), megabytes(binary), "30 MB".into()],
    ];
    let note = "`stead serve examples/quickstart/models` (three models), median of five starts.";
    report.table("Start and memory", note, &["what", "measured", "goal"], &rows);
    Ok(())
}

/// Starts the binary on free ports and waits until it is ready.
fn start_stead(args: &[&str]) -> Result<Server> {
    let (rest, grpc) = (free_address()?, free_address()?);
    let mut command = Command::new(variable("STEAD_BIN")?);
    if args.first().is_some_and(|a| !a.starts_with("--")) {
        command.arg("serve");
    }
    command.args(args).args(["--log_level", "ERROR"]);
    command.args(["--rest_port", &rest.port().to_string(), "--port", &grpc.port().to_string()]);
    let child = command.stdout(Stdio::null()).spawn()?;
    let server = Server { child, rest, grpc };
    let ready = Call::Http(Bytes::from_static(b"GET /v2/health/ready HTTP/1.1\r\nHost: x\r\n\r\n"));
    wait(|| ask(rest, &ready).map(drop))?;
    Ok(server)
}

fn start_bare(kind: &str, request: usize, answer: usize) -> Result<Server> {
    let address = free_address()?;
    let arguments =
        [kind.to_owned(), address.port().to_string(), request.to_string(), answer.to_string()];
    let child = Command::new(std::env::current_exe()?).args(arguments).spawn()?;
    let server = Server { child, rest: address, grpc: address };
    wait(|| Ok(std::net::TcpStream::connect(address).map(drop)?))?;
    Ok(server)
}

/// Tries every millisecond for ten seconds.
fn wait(mut try_it: impl FnMut() -> Result<()>) -> Result<()> {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        match try_it() {
            Ok(()) => return Ok(()),
            Err(e) if Instant::now() > until => {
                return Err(format!("not ready after 10 s: {e}").into());
            }
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

fn free_address() -> Result<SocketAddr> {
    Ok((std::net::Ipv4Addr::LOCALHOST, ports::free_port().parse::<u16>()?).into())
}

fn rss_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}

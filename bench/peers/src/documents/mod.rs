//! Clients of a search over stored documents: those that get ranked posts, and those that fetch the best posts with their
//! vectors to rank them with ONNX Runtime, in the process that merges or behind HTTP.
//!
//! A closed loop: each client sends its next query when the last one is answered. What is measured, and by how many clients, is
//! read from a file of JSON.

mod candidates;
mod network;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::Result;
use crate::load::http_answer;
use crate::report::quantile_us;
use network::Networks;

/// What is measured.
#[derive(Debug, Deserialize)]
struct Spec {
    /// Where searches go.
    addresses: Vec<SocketAddr>,
    /// The processes whose time is counted.
    pids: Vec<u32>,
    seconds: f64,
    /// Numbers of clients, one after the other.
    clients: Vec<usize>,
    /// Bodies of searches, which clients send in turn.
    searches: Vec<String>,
    /// The vector of the reader of each search.
    users: Vec<Vec<f32>>,
    /// What is done with the answers; nothing if they are ranked already.
    rank: Option<Rank>,
}

/// Ranking outside of the store.
#[derive(Debug, Deserialize)]
struct Rank {
    /// The network, run in this process.
    model: Option<PathBuf>,
    /// Or a server of it.
    server: Option<SocketAddr>,
    /// One post at a time, and not all at once.
    single: bool,
    /// How many candidates each address gives.
    candidates: usize,
    /// How many are left at the end.
    hits: usize,
}

/// Where a client sends to, and what it does with the answers.
struct Shared {
    spec: Spec,
    requests: Vec<Bytes>,
    networks: Option<Networks>,
}

/// Measures what a file says and prints a line of JSON for each number of clients.
pub fn run(file: &Path) -> Result<()> {
    let spec: Spec = serde_json::from_slice(&std::fs::read(file)?)?;
    let requests = spec.searches.iter().map(|body| post("/search/", body.as_bytes(), "")).collect();
    let model = spec.rank.as_ref().and_then(|rank| rank.model.clone());
    let networks = model.map(|model| Networks::new(&model)).transpose()?;
    // Ranking takes all cores; a client that only reads answers leaves them to the server.
    let workers = if spec.rank.is_some() { 2 } else { 1 };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()?;
    let shared = Arc::new(Shared { spec, requests, networks });
    for clients in shared.spec.clients.clone() {
        let line = runtime.block_on(load(shared.clone(), clients))?;
        println!("{line}");
    }
    Ok(())
}

async fn load(shared: Arc<Shared>, count: usize) -> Result<serde_json::Value> {
    let mut clients = Vec::new();
    for number in 0..count {
        let mut client = Client::connect(shared.clone(), number).await?;
        for _ in 0..WARM_UP {
            client.once().await?;
        }
        clients.push(client);
    }
    let before = cpu_ms(&shared.spec.pids);
    let started = Instant::now();
    let until = started + Duration::from_secs_f64(shared.spec.seconds);
    let tasks: Vec<_> = clients
        .into_iter()
        .map(|mut client| {
            tokio::spawn(async move {
                let mut times = Vec::new();
                client.received = 0;
                while Instant::now() < until {
                    let sent = Instant::now();
                    client.once().await.map_err(|e| e.to_string())?;
                    times.push(sent.elapsed().as_nanos() as u64);
                }
                Ok::<_, String>((times, client.received))
            })
        })
        .collect();
    let (mut times, mut received) = (Vec::new(), 0);
    for task in tasks {
        let (of_one, bytes) = task.await??;
        times.extend(of_one);
        received += bytes;
    }
    let seconds = started.elapsed().as_secs_f64();
    let cpu = cpu_ms(&shared.spec.pids) - before;
    let queries = times.len().max(1) as f64;
    let mean = times.iter().sum::<u64>() as f64 / queries / 1e6;
    let mut quantile = |fraction| quantile_us(&mut times, fraction) / 1e3;
    let (p50, p95, p99) = (quantile(0.5), quantile(0.95), quantile(0.99));
    Ok(json!({
        "clients": count, "queries": queries, "qps": queries / seconds, "mean_ms": mean, "p50_ms": p50, "p95_ms": p95,
        "p99_ms": p99, "cpu_ms": cpu / queries, "bytes": received as f64 / queries,
    }))
}

/// Queries of each client before the clock starts.
const WARM_UP: usize = 5;

/// The time that processes have computed, in milliseconds (`proc_pid_stat(5)`).
fn cpu_ms(pids: &[u32]) -> f64 {
    let ticks = |pid: &u32| -> Option<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |at: usize| fields.get(at)?.parse::<f64>().ok();
        Some(field(11)? + field(12)?)
    };
    // Linux counts in hundredths of a second, whatever its own clock.
    pids.iter().filter_map(ticks).sum::<f64>() * 10.0
}

/// A client with its connections.
struct Client {
    shared: Arc<Shared>,
    stores: Vec<TcpStream>,
    server: Option<TcpStream>,
    buffer: Vec<u8>,
    next: usize,
    received: usize,
}

impl Client {
    async fn connect(shared: Arc<Shared>, number: usize) -> Result<Client> {
        let mut stores = Vec::new();
        for address in &shared.spec.addresses {
            stores.push(open(*address).await?);
        }
        let server = match shared.spec.rank.as_ref().and_then(|rank| rank.server) {
            Some(address) => Some(open(address).await?),
            None => None,
        };
        Ok(Client { shared, stores, server, buffer: Vec::new(), next: number, received: 0 })
    }

    /// One query, from its first byte to the best posts.
    async fn once(&mut self) -> Result<()> {
        let shared = self.shared.clone();
        let at = self.next % shared.requests.len();
        self.next += 1;
        for store in &mut self.stores {
            store.write_all(&shared.requests[at]).await?;
        }
        let mut answers = Vec::with_capacity(self.stores.len());
        for store in &mut self.stores {
            answers.push(http_answer(store, &mut self.buffer).await?);
        }
        self.received += answers.iter().map(Vec::len).sum::<usize>();
        let Some(rank) = &shared.spec.rank else { return Ok(()) };
        let mut rows = candidates::Rows::new(&shared.spec.users[at]);
        for answer in &answers {
            rows.add(answer)?;
        }
        if rows.count() != rank.candidates * answers.len() {
            return Err(format!("{} candidates", rows.count()).into());
        }
        let step = if rank.single { 1 } else { rows.count() };
        let mut scores = Vec::with_capacity(rows.count());
        for first in (0..rows.count()).step_by(step) {
            let features = rows.features(first, step);
            match (&shared.networks, &mut self.server) {
                (Some(networks), _) => scores.extend(networks.run(features, step)?),
                (None, Some(server)) => {
                    scores.extend(network::ask(server, &mut self.buffer, features, step).await?);
                }
                (None, None) => return Err("neither a model nor a server of it".into()),
            }
        }
        let best = rows.best(&scores, rank.hits);
        if best.len() != rank.hits { Err("too few hits".into()) } else { Ok(()) }
    }
}

async fn open(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A whole HTTP/1.1 request with a body of JSON.
fn post(path: &str, body: &[u8], headers: &str) -> Bytes {
    // JSON with tensors behind it too: MLServer does not read a body of another type.
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat().into()
}

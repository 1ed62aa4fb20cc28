//! Clients of a search over stored documents: those that get ranked documents, and those that fetch the best with their tensors to
//! rank them with ONNX Runtime, in the process that merges or behind a server.
//!
//! A closed loop: each client sends its next query when the last one is answered. What is measured, and by how many clients, is
//! read from a file of JSON.

mod candidates;
mod cross_encoder;
mod network;
mod sessions;

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
use crate::load::{self, http_answer};
use crate::payload::post_json;
use crate::turns::quantile_us;
use candidates::Candidates;
use network::{Protocol, Rows};
use sessions::Sessions;

/// What is measured.
#[derive(Debug, Deserialize)]
struct Spec {
    /// Where searches go: to all of them, and the answers are merged.
    addresses: Vec<SocketAddr>,
    /// The processes whose time is counted.
    pids: Vec<u32>,
    seconds: f64,
    /// Queries of all clients together before the clock starts, if there is time for them.
    warm_up: usize,
    /// Numbers of clients, one after the other.
    clients: Vec<usize>,
    /// Bodies of searches, which clients send in turn.
    searches: Vec<String>,
    /// The vector or the tokens of each search.
    users: Vec<Vec<f32>>,
    /// What is done with the answers; nothing if they are ranked already.
    rank: Option<Rank>,
}

/// Ranking outside of the store.
#[derive(Debug, Deserialize)]
struct Rank {
    ranker: Ranker,
    /// One document at a time, and not all at once.
    single: bool,
    /// How many candidates each address gives.
    candidates: usize,
    /// How many are left at the end.
    hits: usize,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ranker {
    /// The network over two vectors, run in this process.
    Network { model: PathBuf },
    /// A server of it.
    Server { address: SocketAddr, protocol: Protocol },
    /// The cross encoder, run in this process by so many threads for a query; padded to a length, or else to the longest.
    CrossEncoder { model: PathBuf, threads: usize, length: Option<usize> },
}

/// Where a client sends to, and what it does with the answers.
struct Shared {
    spec: Spec,
    requests: Vec<Bytes>,
    sessions: Option<Sessions>,
}

/// Measures what a file says and prints a line of JSON for each number of clients.
pub fn run(file: &Path) -> Result<()> {
    let spec: Spec = serde_json::from_slice(&std::fs::read(file)?)?;
    let requests = spec.searches.iter().map(|body| post_json("/search/", body)).collect();
    let sessions = match spec.rank.as_ref().map(|rank| &rank.ranker) {
        Some(Ranker::Network { model }) => Some(Sessions::new(model, 1)?),
        Some(Ranker::CrossEncoder { model, threads, .. }) => Some(Sessions::new(model, *threads)?),
        Some(Ranker::Server { .. }) | None => None,
    };
    // Ranking takes all cores; a client that only reads answers leaves them to the server.
    let workers = if spec.rank.is_some() { sessions::RANKING } else { 1 };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    let shared = Arc::new(Shared { spec, requests, sessions });
    for clients in shared.spec.clients.clone() {
        let line = runtime.block_on(measure(shared.clone(), clients))?;
        println!("{line}");
    }
    Ok(())
}

/// The longest time before the clock starts.
const WARM: Duration = Duration::from_millis(500);

async fn measure(shared: Arc<Shared>, count: usize) -> Result<serde_json::Value> {
    let mut clients = Vec::new();
    for number in 0..count {
        clients.push(Client::connect(shared.clone(), number).await?);
    }
    let warm = Instant::now() + WARM;
    for number in 0..shared.spec.warm_up {
        clients[number % count].once().await?;
        if Instant::now() > warm {
            break;
        }
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
    server: Option<load::Client>,
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
        let server = match shared.spec.rank.as_ref().map(|rank| &rank.ranker) {
            Some(Ranker::Server { address, protocol }) => {
                Some(network::connect(*address, *protocol).await?)
            }
            _ => None,
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
        let mut candidates = Candidates::default();
        for answer in &answers {
            candidates.add(answer)?;
        }
        if candidates.count() != rank.candidates * answers.len() {
            return Err(format!("{} candidates", candidates.count()).into());
        }
        let scores = self.scores(rank, &shared.spec.users[at], &candidates).await?;
        let best = candidates.best(&scores, rank.hits);
        if best.len() != rank.hits { Err("too few hits".into()) } else { Ok(()) }
    }

    async fn scores(
        &mut self,
        rank: &Rank,
        user: &[f32],
        candidates: &Candidates,
    ) -> Result<Vec<f32>> {
        let sessions = self.shared.sessions.as_ref();
        if let Ranker::CrossEncoder { length, .. } = &rank.ranker {
            let sessions = sessions.ok_or("no sessions")?;
            return cross_encoder::run(sessions, user, candidates, *length);
        }
        let rows = Rows::new(user, candidates);
        let mut scores = Vec::with_capacity(candidates.count());
        for some in rows.steps(rank.single) {
            scores.extend(match (&rank.ranker, sessions, &mut self.server) {
                (Ranker::Server { protocol, .. }, _, Some(server)) => {
                    rows.ask(server, *protocol, some).await?
                }
                (_, Some(sessions), _) => rows.run(sessions, some)?,
                _ => return Err("neither a model nor a server of it".into()),
            });
        }
        Ok(scores)
    }
}

async fn open(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

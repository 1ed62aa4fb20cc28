//! A closed-loop load generator: every connection sends its next request when the last answer is read.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::SendRequest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Result;
use crate::turns::quantile_us;

/// What a connection sends.
#[derive(Clone)]
pub enum Call {
    /// These bytes, answered with so many.
    Echo(Bytes, usize),
    /// A whole HTTP/1.1 request.
    Http(Bytes),
    /// A framed message to a method.
    Grpc(&'static str, Bytes),
}

/// What came of it.
pub struct Load {
    /// Answers a second.
    pub per_second: f64,
    /// Median time of an answer.
    pub p50_us: f64,
    /// Time that 99 % of the answers did not exceed.
    pub p99_us: f64,
}

/// Requests before the clock starts.
const WARM_UP: usize = 20;

/// Loads `address` from `connections` connections for `budget`. The generator itself uses one thread.
pub fn run(address: SocketAddr, call: &Call, connections: usize, budget: Duration) -> Result<Load> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut clients = Vec::new();
        for _ in 0..connections {
            let mut client = Client::connect(address, call).await?;
            for _ in 0..WARM_UP {
                client.once().await?;
            }
            clients.push(client);
        }
        let started = Instant::now();
        let until = started + budget;
        let tasks: Vec<_> = clients
            .into_iter()
            .map(|mut client| {
                tokio::spawn(async move {
                    let mut times = Vec::new();
                    while Instant::now() < until {
                        let sent = Instant::now();
                        client.once().await.map_err(|e| e.to_string())?;
                        times.push(sent.elapsed().as_nanos() as u64);
                    }
                    Ok::<_, String>(times)
                })
            })
            .collect();
        let mut times = Vec::new();
        for task in tasks {
            times.extend(task.await??);
        }
        let per_second = times.len() as f64 / started.elapsed().as_secs_f64();
        let (p50_us, p99_us) = (quantile_us(&mut times, 0.5), quantile_us(&mut times, 0.99));
        Ok(Load { per_second, p50_us, p99_us })
    })
}

/// One request, for its answer: the body or the message.
pub fn ask(address: SocketAddr, call: &Call) -> Result<Vec<u8>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { Client::connect(address, call).await?.once().await })
}

/// A connection.
pub enum Client {
    Echo { stream: TcpStream, request: Bytes, answer: Vec<u8> },
    Http { stream: TcpStream, request: Bytes, buffer: Vec<u8> },
    Grpc { send: SendRequest<Bytes>, uri: String, message: Bytes },
}

impl Client {
    pub async fn connect(address: SocketAddr, call: &Call) -> Result<Client> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(match call.clone() {
            Call::Echo(request, answer) => {
                Client::Echo { stream, request, answer: vec![0; answer] }
            }
            Call::Http(request) => Client::Http { stream, request, buffer: Vec::new() },
            Call::Grpc(path, message) => {
                let (send, connection) = h2::client::handshake(stream).await?;
                tokio::spawn(connection);
                Client::Grpc { send, uri: format!("http://{address}{path}"), message }
            }
        })
    }

    /// Sends something else from now on: a whole HTTP/1.1 request, or a framed message.
    pub fn set_request(&mut self, bytes: Bytes) {
        match self {
            Client::Echo { request, .. } | Client::Http { request, .. } => *request = bytes,
            Client::Grpc { message, .. } => *message = bytes,
        }
    }

    /// One request, for its answer: the body or the message.
    pub async fn once(&mut self) -> Result<Vec<u8>> {
        match self {
            Client::Echo { stream, request, answer } => {
                stream.write_all(request).await?;
                stream.read_exact(answer).await?;
                Ok(Vec::new())
            }
            Client::Http { stream, request, buffer } => {
                stream.write_all(request).await?;
                http_answer(stream, buffer).await
            }
            Client::Grpc { send, uri, message } => grpc_answer(send, uri, message).await,
        }
    }
}

/// Reads one answer with a content length; leaves nothing in the buffer.
pub async fn http_answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<Vec<u8>> {
    buffer.clear();
    let (head, length) = loop {
        if stream.read_buf(buffer).await? == 0 {
            return Err("the server closed the connection".into());
        }
        if let Some(end) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = std::str::from_utf8(&buffer[..end])?;
            if !head.starts_with("HTTP/1.1 200") {
                return Err(head.lines().next().unwrap_or_default().to_owned().into());
            }
            let field = head.lines().find_map(|l| {
                let (name, value) = l.split_once(':')?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.trim().parse::<usize>().ok())?
            });
            break (end + 4, field.ok_or("no content length")?);
        }
    };
    while buffer.len() < head + length {
        if stream.read_buf(buffer).await? == 0 {
            return Err("the server closed the connection".into());
        }
    }
    Ok(buffer[head..].to_vec())
}

async fn grpc_answer(send: &mut SendRequest<Bytes>, uri: &str, message: &Bytes) -> Result<Vec<u8>> {
    std::future::poll_fn(|cx| send.poll_ready(cx)).await?;
    let request = http::Request::post(uri)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())?;
    let (response, mut body) = send.send_request(request, false)?;
    body.send_data(message.clone(), true)?;
    let response = response.await?;
    let status = response.headers().get("grpc-status").cloned();
    let mut body = response.into_body();
    let mut answer = Vec::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk?;
        body.flow_control().release_capacity(chunk.len())?;
        answer.extend_from_slice(&chunk);
    }
    let trailers = body.trailers().await?;
    let status = status.or_else(|| trailers.as_ref().and_then(|t| t.get("grpc-status").cloned()));
    match status {
        Some(status) if status == "0" => Ok(answer.split_off(answer.len().min(5))),
        other => Err(format!("grpc status {other:?}, {trailers:?}").into()),
    }
}

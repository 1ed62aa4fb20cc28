//! Servers that do nothing: what the operating system, hyper and h2 cost without stead.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::Result;

/// Serves forever on loopback: every request of `request` bytes is answered with `answer` bytes.
pub fn serve(kind: &str, port: u16, request: usize, answer: usize) -> Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            // A client that closes its connection ends the task with an error that concerns nobody.
            match kind {
                "echo" => drop(tokio::spawn(echo(stream, request, answer))),
                "http" => drop(tokio::spawn(http(stream, answer))),
                _ => drop(tokio::spawn(grpc(stream, answer))),
            }
        }
    })
}

async fn echo(mut stream: TcpStream, request: usize, answer: usize) -> std::io::Result<()> {
    let (mut input, output) = (vec![0; request], vec![0; answer]);
    loop {
        stream.read_exact(&mut input).await?;
        stream.write_all(&output).await?;
    }
}

async fn http(stream: TcpStream, answer: usize) -> hyper::Result<()> {
    let body = Bytes::from(vec![b'x'; answer]);
    let service = service_fn(move |request: Request<Incoming>| {
        let body = body.clone();
        async move {
            let _ = request.into_body().collect().await;
            Ok::<_, Infallible>(Response::new(Full::new(body)))
        }
    });
    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await
}

async fn grpc(stream: TcpStream, answer: usize) -> std::result::Result<(), h2::Error> {
    let message = framed(&vec![0; answer]);
    let mut connection = h2::server::handshake(stream).await?;
    while let Some(accepted) = connection.accept().await {
        let (request, mut respond) = accepted?;
        let message = message.clone();
        tokio::spawn(async move {
            let mut body = request.into_body();
            while let Some(chunk) = body.data().await {
                let chunk = chunk?;
                body.flow_control().release_capacity(chunk.len())?;
            }
            let head = Response::builder().header("content-type", "application/grpc");
            let mut send = respond.send_response(head.body(()).unwrap_or_default(), false)?;
            send.send_data(message, false)?;
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
            send.send_trailers(trailers)
        });
    }
    Ok(())
}

/// A gRPC message on the wire: no compression, length, bytes.
pub fn framed(message: &[u8]) -> Bytes {
    let mut out = vec![0];
    out.extend((message.len() as u32).to_be_bytes());
    out.extend_from_slice(message);
    out.into()
}

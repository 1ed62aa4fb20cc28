//! Just enough of an HTTP client to ask the demo's own server.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::failure::Failure;

/// Posts a JSON body and returns the body of the answer.
///
/// # Errors
/// No connection, or an answer other than 200.
pub async fn post(address: SocketAddr, path: &str, body: &str) -> Result<String, Failure> {
    let answer = exchange(address, path, body).await.map_err(Failure::failed)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    match head.lines().next() {
        Some(status) if status.starts_with("HTTP/1.1 200") => Ok(body.to_owned()),
        status => {
            Err(Failure::failed(format!("{path}: {}: {body}", status.unwrap_or("no answer"))))
        }
    }
}

async fn exchange(address: SocketAddr, path: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

//! Addresses and the orderly end.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use stead_server::{ServeError, ServerOptions, resolve, serve};

use crate::common::{Client, Fixture};

#[test]
fn several_addresses_serve_and_taken_ones_are_reported() {
    let fixture = Fixture::with(|o| {
        o.http = resolve("127.0.0.1,127.0.0.2", 0).unwrap();
    });
    let handle = fixture.handle.as_ref().unwrap();
    assert_eq!(handle.http_addresses().len(), 2);
    for &address in handle.http_addresses() {
        assert_eq!(Client::connect(address).send("GET", "/v2", &[], b"").status, 200, "{address}");
    }
    let options = ServerOptions { http: vec![fixture.http], ..ServerOptions::default() };
    let error = fixture.runtime().block_on(serve(options, fixture.node.clone())).unwrap_err();
    assert!(matches!(error, ServeError::Bind { address, .. } if address == fixture.http));
}

#[test]
fn draining_answers_what_is_in_and_refuses_what_is_new() {
    let mut fixture = Fixture::start();
    let body = r#"{"inputs":[{"name":"INPUT","shape":[1,1],"datatype":"FP32","data":[2]}]}"#;
    let head = format!(
        "POST /v2/models/acc/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    // A request whose body has not arrived yet, and a connection that rests.
    let mut half = fixture.connect();
    half.write(head.as_bytes()).unwrap();
    let mut idle = fixture.connect();
    assert_eq!(idle.send("GET", "/v2/health/ready", &[], b"").status, 200);
    let handle = fixture.handle.take().unwrap();
    let address: SocketAddr = fixture.http;
    let drain = fixture.runtime().spawn(handle.drain(Duration::from_secs(5)));
    let since = Instant::now();
    while fixture.node.ready() {
        assert!(since.elapsed() < Duration::from_secs(5));
        std::thread::yield_now();
    }
    assert!(idle.read(false).is_none(), "resting connections close");
    while TcpStream::connect(address).is_ok() {
        assert!(since.elapsed() < Duration::from_secs(5), "still listening");
    }
    half.write(body.as_bytes()).unwrap();
    // It came before the end and is answered, with the refusal of a server that stops.
    assert_eq!(half.read(false).map(|a| a.status), Some(503));
    assert!(fixture.runtime().block_on(drain).unwrap(), "everything was answered");
}

#[test]
fn a_drain_ends_at_its_deadline() {
    let mut fixture = Fixture::start();
    let mut stuck = fixture.connect();
    stuck
        .write(b"POST /v2/models/acc/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
        .unwrap();
    assert_eq!(fixture.get("/v2/health/live").status, 200);
    let handle = fixture.handle.take().unwrap();
    let done = fixture.runtime().block_on(handle.drain(Duration::from_millis(200)));
    assert!(!done);
    assert!(stuck.read(false).is_none(), "the connection is dropped");
}

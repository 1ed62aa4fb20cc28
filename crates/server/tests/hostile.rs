//! Bad input and bad clients: each gets a clear error or nothing, and the server goes on.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::common;
use crate::common::{Client, Fixture};

const INFER: &str = "/v2/models/acc/infer";
const GOOD: &str = r#"{"inputs":[{"name":"INPUT","shape":[1,1],"datatype":"FP32","data":[2]}]}"#;

fn assert_alive(fixture: &Fixture) {
    let answer = fixture.post(INFER, GOOD);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn bad_bodies_are_client_errors() {
    let fixture = Fixture::start();
    let input = |rest: &str| format!(r#"{{"inputs":[{{"name":"INPUT",{rest}}}]}}"#).into_bytes();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", vec![]),
        ("zeros", vec![0; 1000]),
        ("deep", "[".repeat(100_000).into_bytes()),
        (
            "deep data",
            input(&format!(r#""shape":[1,1],"datatype":"FP32","data":{}"#, "[".repeat(100_000))),
        ),
        ("deep unknown", format!("{{\"x\":{}", "{\"a\":".repeat(100_000)).into_bytes()),
        (
            "count overflow",
            input(r#""shape":[16,1152921504606846978],"datatype":"FP32","data":[1]"#),
        ),
        ("size overflow", input(r#""shape":[4,1152921504606846978],"datatype":"FP32","data":[1]"#)),
        ("size above u64", input(r#""shape":[99999999999999999999],"datatype":"FP32","data":[1]"#)),
        ("negative", input(r#""shape":[-1,1],"datatype":"FP32","data":[1]"#)),
        ("zero dim", input(r#""shape":[0,1],"datatype":"FP32","data":[1]"#)),
        (
            "rank 100000",
            input(&format!(r#""shape":[{}1],"datatype":"FP32","data":[1]"#, "1,".repeat(99_999))),
        ),
        ("number above f32", input(r#""shape":[1,1],"datatype":"FP32","data":[1e39]"#)),
        ("bad utf-8", b"{\"inputs\":[{\"name\":\"\xff\xfe\"}]}".to_vec()),
        (
            "long name",
            input(&format!(r#""shape":[1,1],"datatype":"{}","data":[1]"#, "A".repeat(1 << 20))),
        ),
        ("cut off", GOOD.as_bytes()[..40].to_vec()),
        ("more behind", [GOOD.as_bytes(), b"{}"].concat()),
    ];
    for (label, body) in cases {
        let answer = fixture.post(INFER, &body);
        assert_eq!(answer.status, 400, "{label}: {}", answer.text());
        assert!(answer.body.len() < 8192, "{label}: the error repeats the request");
    }
    let index = fixture.post("/v2/repository/index", "{\"a\":".repeat(250_000));
    assert_eq!(index.status, 400);
    assert_alive(&fixture);
}

#[test]
fn every_prefix_and_many_flips_of_a_good_request_are_survived() {
    let fixture = Fixture::start();
    let mut client = fixture.connect();
    for cut in 0..GOOD.len() {
        let answer = client.send("POST", INFER, &[], &GOOD.as_bytes()[..cut]);
        assert_eq!(answer.status, 400, "{cut}: {}", answer.text());
    }
    let mut seed = 1u32;
    for _ in 0..600 {
        let mut body = GOOD.as_bytes().to_vec();
        for _ in 0..2 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = (seed >> 8) as usize % body.len();
            body[at] = (seed >> 24) as u8;
        }
        let status = client.send("POST", INFER, &[], &body).status;
        assert!(matches!(status, 200 | 400), "{status} {}", String::from_utf8_lossy(&body));
    }
    assert_alive(&fixture);
}

#[test]
fn sizes_are_limited_before_and_after_decompression() {
    let fixture = Fixture::with(|o| o.max_body_bytes = 1 << 20);
    let large = vec![b' '; (1 << 20) + 1];
    assert_eq!(fixture.connect_and_declare(1 << 40).status, 413, "by its length alone");
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..8 {
        gz.write_all(&large).unwrap();
    }
    let bomb = gz.finish().unwrap();
    assert!(bomb.len() < 200_000);
    for encoding in ["gzip", "deflate"] {
        let headers = [("Content-Encoding", encoding)];
        let answer = fixture.send("POST", INFER, &headers, &bomb);
        assert!(matches!(answer.status, 400 | 413), "{encoding}: {}", answer.text());
    }
    assert_eq!(fixture.send("POST", INFER, &[("Content-Encoding", "br")], b"x").status, 501);
    assert_eq!(
        fixture.send("POST", "/v1/models/acc:predict", &[("Content-Encoding", "br")], b"x").status,
        415
    );
    // A chunked body has no length: the limit holds while it arrives.
    let mut client = fixture.connect();
    client
        .write(
            format!("POST {INFER} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
                .as_bytes(),
        )
        .unwrap();
    let chunk = [b"10000\r\n".as_slice(), &[b' '; 0x10000], b"\r\n"].concat();
    for _ in 0..20 {
        client.write(&chunk).unwrap();
    }
    assert_eq!(client.read(false).unwrap().status, 413);
    assert_alive(&fixture);
}

#[test]
fn an_early_answer_reaches_a_client_that_sends_all_before_it_reads() {
    let fixture = Fixture::with(|o| o.max_body_bytes = 1 << 20);
    let large = vec![b' '; 32 << 20];
    // Refused by its length, by its encoding, by its URL.
    let cases: [(&str, &[(&str, &str)], u16); 3] =
        [(INFER, &[], 413), (INFER, &[("Content-Encoding", "br")], 501), ("/v2/nowhere", &[], 404)];
    for (path, headers, status) in cases {
        let answer = fixture.send("POST", path, headers, &large);
        assert_eq!(answer.status, status, "{path} {headers:?}");
    }
    let mut client = fixture.connect();
    let head = format!("POST {INFER} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.write(head.as_bytes()).unwrap();
    for _ in 0..32 {
        client.write(&[b"100000\r\n", &large[..1 << 20], b"\r\n"].concat()).unwrap();
    }
    assert_eq!(client.read(false).unwrap().status, 413);
    assert_alive(&fixture);
}

#[test]
fn an_early_answer_is_sent_while_much_of_the_request_is_in_the_buffer() {
    let fixture = Fixture::with(|o| o.max_body_bytes = 10);
    let mut client = fixture.connect();
    let head = format!("POST {INFER} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    // One write and one read of the server: the limit is met by the first of many chunks.
    let body = "10\r\n                \r\n".repeat(50);
    client.write(format!("{head}{body}").as_bytes()).unwrap();
    assert_eq!(client.read(false).unwrap().status, 413);
    assert_eq!(fixture.get("/v2/health/live").status, 200);
}

impl Fixture {
    /// The answer to a request that declares `length` bytes and sends none.
    fn connect_and_declare(&self, length: u64) -> common::Answer {
        let mut client = self.connect();
        let head = format!("POST {INFER} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
        client.write(head.as_bytes()).unwrap();
        client.read(false).unwrap()
    }
}

#[test]
fn a_flood_of_tiny_chunks_is_cut_off() {
    let fixture = Fixture::start();
    let mut client = fixture.connect();
    client
        .write(
            format!("POST {INFER} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
                .as_bytes(),
        )
        .unwrap();
    let flood = b"1\r\n \r\n".repeat(10_000);
    for _ in 0..20 {
        client.write(&flood).unwrap();
    }
    assert_eq!(client.read(false).unwrap().status, 400);
    assert_alive(&fixture);
}

#[test]
fn inference_header_lengths() {
    let fixture = Fixture::start();
    for value in ["-5", "abc", "99999999999", "18446744073709551616", "", "1 2", "\u{e9}"] {
        let headers = [("Inference-Header-Content-Length", value)];
        let answer = fixture.send("POST", INFER, &headers, GOOD.as_bytes());
        assert_eq!(answer.status, 400, "{value:?}: {}", answer.text());
    }
    let whole = GOOD.len().to_string();
    let headers = [("Inference-Header-Content-Length", whole.as_str())];
    assert_eq!(fixture.send("POST", INFER, &headers, GOOD.as_bytes()).status, 200);
}

#[test]
fn odd_but_legal_http() {
    let fixture = Fixture::start();
    let mut client = fixture.connect();
    // Three requests in one write are answered in order.
    let one =
        format!("POST {INFER} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{GOOD}", GOOD.len());
    client.write(one.repeat(3).as_bytes()).unwrap();
    for _ in 0..3 {
        assert_eq!(client.read(false).unwrap().status, 200);
    }
    // A client that asks first.
    let head = format!(
        "POST {INFER} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        GOOD.len()
    );
    client.write(head.as_bytes()).unwrap();
    assert_eq!(client.read(false).unwrap().status, 100);
    client.write(GOOD.as_bytes()).unwrap();
    assert_eq!(client.read(false).unwrap().status, 200);
    let old = format!("POST {INFER} HTTP/1.0\r\nContent-Length: {}\r\n\r\n{GOOD}", GOOD.len());
    client.write(old.as_bytes()).unwrap();
    assert_eq!(client.read(false).unwrap().status, 200);
    assert!(client.read(false).is_none(), "HTTP/1.0 closes");
    let paths = [
        ("/v2/models/%61cc/ready", 200),
        ("/v2/models/%61CC/ready", 400),
        ("/v2/models/..%2f..%2fetc%2fpasswd", 404),
        ("/v2/models/../acc/ready", 404),
        ("/v2/models/%00", 404),
        ("/v2/models/%zz", 404),
        ("//v2", 404),
        ("/v2?x=1", 200),
    ];
    for (path, status) in paths {
        assert_eq!(fixture.get(path).status, status, "{path}");
    }
}

#[test]
fn broken_http_ends_the_connection_only() {
    let fixture = Fixture::with(|o| o.header_timeout = Duration::from_millis(300));
    let long = format!("GET /v2 HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(1 << 20));
    let many = format!("GET /v2 HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(1000));
    let cases: [(&str, &[u8]); 6] = [
        ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
        ("NUL in a header", b"GET /v2 HTTP/1.1\r\nX: a\0b\r\n\r\n"),
        ("two lengths", b"POST /v2 HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx"),
        ("large header", long.as_bytes()),
        ("many headers", many.as_bytes()),
        ("never ends", b"GET /v2 HTTP/1.1\r\nX: "),
    ];
    for (label, bytes) in cases {
        let mut client = fixture.connect();
        let _ = client.write(bytes);
        let status = client.read(false).map(|a| a.status);
        assert!(!matches!(status, Some(200..=299 | 500..)), "{label}: {status:?}");
        assert!(client.read(false).is_none(), "{label}: the connection goes on");
    }
    assert_alive(&fixture);
}

#[test]
fn slow_bodies_and_clients_that_leave() {
    let fixture = Fixture::with(|o| o.body_timeout = Duration::from_millis(300));
    let head =
        format!("POST {INFER} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", GOOD.len());
    let mut slow = fixture.connect();
    slow.write(head.as_bytes()).unwrap();
    slow.write(&GOOD.as_bytes()[..10]).unwrap();
    assert_eq!(slow.read(false).map(|a| a.status), Some(504));
    for cut in [0, 20, head.len(), head.len() + 10] {
        let mut client = fixture.connect();
        client.write(&format!("{head}{GOOD}").as_bytes()[..cut]).unwrap();
    }
    // Whole requests whose answers nobody reads.
    for _ in 0..50 {
        let mut client = fixture.connect();
        client.write(format!("{head}{GOOD}").as_bytes()).unwrap();
    }
    let idle: Vec<Client> = (0..200).map(|_| fixture.connect()).collect();
    assert_alive(&fixture);
    drop(idle);
}

#[test]
fn an_answer_that_nobody_takes_is_dropped() {
    let fixture = Fixture::with(|o| o.body_timeout = Duration::from_millis(200));
    let size = 16 << 20;
    let json = format!(
        r#"{{"inputs":[{{"name":"INPUT","shape":[{size}],"datatype":"UINT8","parameters":{{"binary_data_size":{size}}}}}],"parameters":{{"binary_data_output":true}}}}"#
    );
    let head = format!(
        "POST /v2/models/id_u8/infer HTTP/1.1\r\nHost: x\r\nInference-Header-Content-Length: {}\r\n\
         Content-Length: {}\r\n\r\n{json}",
        json.len(),
        json.len() + size
    );
    let mut client = fixture.connect();
    client.write(head.as_bytes()).unwrap();
    client.write(&vec![1; size]).unwrap();
    // The answer begins, but not a byte of it is read in time; what the system's buffers hold is not all of it.
    client.await_bytes();
    std::thread::sleep(Duration::from_millis(1500));
    assert!(client.read(false).is_none(), "the whole answer came");
    assert_alive(&fixture);
}

#[test]
fn broken_grpc_is_survived() {
    let fixture = Fixture::start();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let cases: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\n\r\n",
        preface,
        &[preface.as_slice(), &[0xff; 100]].concat(),
        &[preface.as_slice(), &[0, 0, 0, 4, 0, 0, 0, 0, 0], &[0, 0, 1, 1, 5, 0, 0, 0, 1, 0xff]]
            .concat(),
        &[0; 1000],
    ];
    for bytes in cases {
        let mut client = Client::connect(fixture.grpc);
        let _ = client.write(bytes);
    }
    let address = format!("http://{}", fixture.grpc);
    use stead_server::proto::kserve as pb;
    let live = fixture.runtime().block_on(async {
        pb::grpc_inference_service_client::GrpcInferenceServiceClient::connect(address)
            .await
            .unwrap()
            .server_live(pb::ServerLiveRequest {})
            .await
            .unwrap()
            .into_inner()
            .live
    });
    assert!(live);
}

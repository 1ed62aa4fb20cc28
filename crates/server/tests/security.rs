//! Who may do what: every call of the table and every method of gRPC with no token, bad ones and those of each role.
#![allow(clippy::unwrap_used)] // a panic is the report

use std::net::SocketAddr;
use std::path::PathBuf;

use stead_server::proto::kserve as pb;
use stead_server::{AuthOptions, ENDPOINTS, GRPC_METHODS, LimitOptions, Port, Role};
use tempfile::TempDir;
use tonic::transport::Channel;
use tonic::{Code, Request};

use crate::common::{Answer, Client, Fixture};

/// What clients show, and the role that they have with it.
const SHOWN: [(&str, Role); 6] = [
    ("", Role::Anyone),
    ("Bearer no-such-token-here", Role::Anyone),
    ("Basic reader-reader-reader", Role::Anyone),
    ("Bearer reader-reader-reader", Role::Read),
    ("bearer writer-writer-writer", Role::Write),
    ("Bearer admin-admin-admin-admin", Role::Admin),
];

const TOKENS: &str = r#"
[[tokens]]
name = "reader"
token = "reader-reader-reader"
roles = ["read", "other:admin"]
[[tokens]]
name = "writer"
# writer-writer-writer
sha256 = "HASH"
roles = ["default:write"]
[[tokens]]
name = "admin"
token = "admin-admin-admin-admin"
roles = ["admin"]
[[tokens]]
name = "stranger"
token = "stranger-stranger"
roles = ["other:admin"]
"#;

fn tokens(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("tokens.toml");
    let hash: String = ring::digest::digest(&ring::digest::SHA256, b"writer-writer-writer")
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    std::fs::write(&path, TOKENS.replace("HASH", &hash)).unwrap();
    path
}

/// A server that deploys and wants tokens.
fn guarded(change: impl FnOnce(&mut stead_server::ServerOptions)) -> (Fixture, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let auth = AuthOptions { tokens: Some(tokens(&folder)), ..AuthOptions::default() };
    let fixture = Fixture::deploying_as(tempfile::tempdir().unwrap(), |options| {
        options.auth = Some(auth);
        change(options);
    });
    (fixture, folder)
}

fn send(at: SocketAddr, method: &str, path: &str, shown: &str) -> Answer {
    let headers = [("Authorization", shown)];
    let headers = if shown.is_empty() { &[][..] } else { &headers[..] };
    Client::connect(at).send(method, path, headers, b"")
}

/// Paths of a row: with and without what may be left out, something in the place of each name.
fn paths(path: &str) -> Vec<String> {
    let parts = path.split_once('[').and_then(|(a, rest)| Some((a, rest.split_once(']')?)));
    let all = match parts {
        Some((front, (part, end))) => {
            vec![format!("{front}{end}"), format!("{front}{part}{end}")]
        }
        None => vec![path.to_owned()],
    };
    let fill = |text: String| {
        let mut out = String::new();
        for (i, piece) in text.split(['{', '}']).enumerate() {
            out += match piece {
                "tenant" | "application" | "instance" if i % 2 == 1 => "default",
                _ if i % 2 == 1 => "1",
                _ => piece,
            };
        }
        out
    };
    all.into_iter().map(fill).collect()
}

#[test]
fn every_call_with_every_token() {
    let (server, _folder) = guarded(|_| {});
    let mut asked = 0;
    for endpoint in ENDPOINTS {
        let at = if endpoint.port == Port::Deploy { server.deploy.unwrap() } else { server.http };
        for path in paths(endpoint.path) {
            for (shown, role) in SHOWN {
                let answer = send(at, endpoint.method, &path, shown);
                let label = format!("{} {path} with {shown:?}: {}", endpoint.method, answer.status);
                let challenge = answer.header("www-authenticate");
                if role >= endpoint.role {
                    assert!(![401, 403].contains(&answer.status), "{label}: {}", answer.text());
                    assert_eq!(challenge, None, "{label}");
                } else if role == Role::Anyone {
                    assert_eq!(answer.status, 401, "{label}");
                    let says_invalid = challenge.unwrap().contains("error=\"invalid_token\"");
                    assert_eq!(says_invalid, !shown.is_empty(), "{label}");
                } else {
                    assert_eq!(answer.status, 403, "{label}");
                    let scope = format!("scope=\"{}\"", endpoint.role.name());
                    assert!(challenge.unwrap().contains(&scope), "{label}: {challenge:?}");
                }
                asked += 1;
            }
        }
    }
    assert!(asked > 500, "{asked}");
    // What a handler of an application could be bound to.
    for (method, needed) in [("GET", Role::Read), ("HEAD", Role::Read), ("POST", Role::Write)] {
        for (shown, role) in SHOWN {
            let status = send(server.http, method, "/mine/own", shown).status;
            let expected = match role >= needed {
                true => 404,
                false if role == Role::Anyone => 401,
                false => 403,
            };
            assert_eq!(status, expected, "{method} with {shown:?}");
        }
    }
}

#[test]
fn every_method_of_grpc_with_every_token() {
    let (server, _folder) = guarded(|_| {});
    let channel = server
        .runtime()
        .block_on(Channel::from_shared(format!("http://{}", server.grpc)).unwrap().connect());
    let mut client = tonic::client::Grpc::new(channel.unwrap());
    for (path, needed) in GRPC_METHODS {
        for (shown, role) in SHOWN {
            // No fields: every message reads it as its own.
            let mut request = Request::new(pb::ServerLiveRequest {});
            if !shown.is_empty() {
                request.metadata_mut().insert("authorization", shown.parse().unwrap());
            }
            let code = server.runtime().block_on(async {
                client.ready().await.unwrap();
                let codec = tonic_prost::ProstCodec::<_, pb::ServerLiveResponse>::default();
                client
                    .unary(request, path.parse().unwrap(), codec)
                    .await
                    .map_or_else(|s| s.code(), |_| Code::Ok)
            });
            let refused = [Code::Unauthenticated, Code::PermissionDenied].contains(&code);
            let label = format!("{path} with {shown:?}: {code:?}");
            match role {
                role if role >= *needed => assert!(!refused, "{label}"),
                Role::Anyone => assert_eq!(code, Code::Unauthenticated, "{label}"),
                _ => assert_eq!(code, Code::PermissionDenied, "{label}"),
            }
        }
    }
}

#[test]
fn refusals_speak_the_dialect_of_their_protocol() {
    let (server, _folder) = guarded(|options| options.cors.allowed_origins = "*".to_owned());
    let deploy = server.deploy.unwrap();
    let reader = "Bearer reader-reader-reader";
    for (at, method, path, shown, members) in [
        (server.http, "GET", "/v2", "", &["error"][..]),
        (server.http, "GET", "/v1/config", "", &["error"]),
        (server.http, "GET", "/search/", "", &["error"]),
        (server.http, "POST", "/document/v1/ns/t/docid/1", reader, &["message", "pathId"]),
        (deploy, "GET", "/application/v2/tenant/", reader, &["error-code", "message"]),
    ] {
        let answer = send(at, method, path, shown);
        let json = answer.json();
        let names: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(names, members, "{path}");
        assert!(
            !answer.text().contains("reader") && !answer.text().contains("tokens.toml"),
            "{path}"
        );
    }
    // Good elsewhere is good for nothing here, and two tokens are none.
    assert_eq!(send(server.http, "GET", "/v2", "Bearer stranger-stranger").status, 403);
    let two = [("Authorization", reader), ("Authorization", reader)];
    assert_eq!(Client::connect(server.http).send("GET", "/v2", &two, b"").status, 401);
    // A preflight of a browser has no token.
    let preflight = [("Origin", "https://a.example"), ("Access-Control-Request-Method", "POST")];
    assert_eq!(Client::connect(server.http).send("OPTIONS", "/v2", &preflight, b"").status, 200);
}

#[test]
fn with_a_port_of_its_own_administration_is_taken_nowhere_else() {
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let admin = "Bearer admin-admin-admin-admin";
    let (guarded, _folder) = guarded(|options| options.admin = vec![any]);
    let open = Fixture::with(|options| options.admin = vec![any]);
    for (server, shown) in [(&guarded, admin), (&open, "")] {
        let port = server.handle.as_ref().unwrap().admin_addresses()[0];
        let rows =
            ENDPOINTS.iter().filter(|row| row.port != Port::Deploy && row.role == Role::Admin);
        for row in rows {
            let path = paths(row.path).remove(0);
            let answer = send(server.http, row.method, &path, shown);
            assert_eq!(answer.status, 403, "{path}");
            assert!(answer.text().contains("--admin_port"), "{}", answer.text());
            let status = send(port, row.method, &path, shown).status;
            assert!(![401, 403].contains(&status), "{path}: {status}");
        }
        assert_eq!(send(port, "GET", "/v2", shown).status, 200);
        assert_eq!(send(server.http, "GET", "/v2", shown).status, 200);
        let page = [("Authorization", shown), ("Origin", "https://a.example")];
        let loaded =
            Client::connect(port).send("POST", "/v2/repository/models/acc/unload", &page, b"");
        // With tokens it matters who asks, not how.
        assert_eq!(loaded.status == 403, shown.is_empty(), "{}", loaded.text());
    }
    let port = guarded.handle.as_ref().unwrap().admin_addresses()[0];
    assert_eq!(send(port, "POST", "/v1/config/reload", "").status, 401);
}

#[test]
fn without_tokens_administration_is_for_this_machine() {
    let server = Fixture::start();
    let load = |headers: &[(&str, &str)]| {
        server.send("POST", "/v2/repository/models/acc/load", headers, b"").status
    };
    for (headers, expected) in [
        (&[][..], 200),
        (&[("Origin", "https://a.example")][..], 403),
        (&[("X-Forwarded-For", "10.0.0.1")], 403),
        // A token that nobody asked for is none.
        (&[("Authorization", "Bearer x")], 200),
    ] {
        assert_eq!(load(headers), expected, "{headers:?}");
    }
    let page = [("Origin", "https://a.example")];
    assert_eq!(server.send("GET", "/v2", &page, b"").status, 200);
}

#[test]
fn one_client_may_ask_so_much() {
    let limits = LimitOptions { rate: Some(0.001), burst: Some(2), concurrent: None };
    let (server, _folder) = guarded(|options| options.limits = limits);
    let asked = |shown: &str| send(server.http, "GET", "/v2", shown);
    let (reader, writer) = ("Bearer reader-reader-reader", "Bearer writer-writer-writer");
    for (shown, good) in [(reader, 200), ("", 401)] {
        assert_eq!([asked(shown).status, asked(shown).status], [good, good], "{shown:?}");
        let answer = asked(shown);
        assert_eq!(answer.status, 429, "{shown:?}");
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((900..=1000).contains(&wait), "{wait}");
    }
    // Whoever guesses tokens is known by the address, which has asked enough.
    assert_eq!(asked("Bearer no-such-token-here").status, 429);
    assert_eq!(asked(writer).status, 200);
    let document = send(server.http, "GET", "/document/v1/", reader);
    assert_eq!((document.status, document.json()["pathId"].is_string()), (429, true));
    let deploy = send(server.deploy.unwrap(), "GET", "/application/v2/tenant/", reader);
    assert_eq!((deploy.status, deploy.json()["message"].is_string()), (429, true));
    // Who looks whether it lives is not counted.
    for _ in 0..5 {
        assert_eq!(send(server.http, "GET", "/v2/health/live", "").status, 200);
    }
    let status = server.runtime().block_on(async {
        let channel = Channel::from_shared(format!("http://{}", server.grpc)).unwrap();
        let mut client = pb::grpc_inference_service_client::GrpcInferenceServiceClient::new(
            channel.connect().await.unwrap(),
        );
        let mut request = Request::new(pb::ServerMetadataRequest {});
        request.metadata_mut().insert("authorization", reader.parse().unwrap());
        client.server_metadata(request).await.unwrap_err()
    });
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.metadata().get("grpc-retry-pushback-ms").is_some());
}

#[test]
fn an_answer_ends_what_is_counted() {
    let limits = LimitOptions { concurrent: Some(1), ..LimitOptions::default() };
    let server = Fixture::with(|options| options.limits = limits);
    let mut client = server.connect();
    for path in ["/v2", "/v2/models/acc", "/metrics", "/v2/nothing", "/v2"] {
        assert_ne!(client.send("GET", path, &[], b"").status, 429, "{path}");
    }
}

//! `kill -9` of the real binary at random moments while documents are fed over HTTP and snapshots are written: every operation that was
//! acknowledged is there after the next start, none is half there, and the indexes of words and vectors find what is there.
//!
//! `STEAD_KILLS` and `STEAD_SEED` make it longer and repeat it: `cargo xtask soak kills`.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a panic in a test is its report; a soak tells its seed

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::chance::{Chance, kills_and_seed};
use crate::server::Server;
use crate::server::app::App;

/// Clients at a time, and documents of each.
const CLIENTS: u64 = 6;
const DOCUMENTS: u64 = 12;

const SCHEMA: &str = "schema item {
  document item {
    field n type long { indexing: attribute | summary }
    field text type string { indexing: index | summary }
    field vector type tensor<float>(x[8]) {
      indexing: attribute | summary
      attribute: paged
    }
    field near type tensor<float>(x[2]) { indexing: attribute | index }
  }
  rank-profile near {
    inputs { query(q) tensor<float>(x[2]) }
    first-phase { expression: closeness(field, near) }
  }
}";

/// What a client knows of a document: the number in it, if it is there, and what it may be instead since an answer did not come.
#[derive(Default, Clone, Debug)]
struct Known {
    number: Option<u64>,
    instead: Option<Option<u64>>,
}

/// A connection that is kept.
struct Connection(BufReader<TcpStream>);

impl Connection {
    fn new(url: &str) -> Option<Connection> {
        let address = url.strip_prefix("http://")?;
        Some(Connection(BufReader::new(TcpStream::connect(address).ok()?)))
    }

    /// Status and body; nothing when the connection breaks.
    fn send(&mut self, method: &str, path: &str, body: &str) -> Option<(u64, Value)> {
        let length = body.len();
        let kind = "Content-Type: application/json";
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: stead\r\n{kind}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.0.get_mut().write_all(request.as_bytes()).ok()?;
        let mut line = String::new();
        self.0.read_line(&mut line).ok().filter(|n| *n > 0)?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut length = 0;
        loop {
            line.clear();
            self.0.read_line(&mut line).ok().filter(|n| *n > 0)?;
            let Some((name, value)) = line.split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).ok()?;
        Some((status, serde_json::from_slice(&body).ok()?))
    }
}

fn path(client: u64, document: u64) -> String {
    format!("/document/v1/n/item/docid/{client}-{document}")
}

/// The fields of a document with a number: each tells it.
fn fields(number: u64) -> Value {
    let vector: Vec<u64> = (0..8).map(|x| (number + x) % 1000).collect();
    let text = format!("{number} ").repeat(1 + number as usize % 60);
    json!({"n": number, "text": text, "vector": {"values": vector}, "near": {"values": near(number)}})
}

/// A vector that hardly another number has.
fn near(number: u64) -> [u64; 2] {
    [number % 9973, number / 9973 % 9973]
}

/// The ids of the hits of a search.
fn search(connection: &mut Connection, yql: &str, vector: [u64; 2]) -> Vec<String> {
    let body = json!({"yql": yql, "ranking": "near", "timeout": "20s", "input.query(q)": vector});
    let (status, result) = connection.send("POST", "/search/", &body.to_string()).unwrap();
    assert_eq!(status, 200, "{yql}: {result}");
    let hits = result["root"]["children"].as_array().into_iter().flatten();
    hits.map(|hit| hit["id"].as_str().unwrap().to_owned()).collect()
}

/// Compares what the indexes find of the documents of a client with what it knows: a word that only one document has, and its vector.
/// Tells how many vectors were there and how many of these were the nearest to themselves.
fn check_indexes(url: &str, client: u64, known: &[Known]) -> (usize, usize) {
    let mut connection = Connection::new(url).unwrap();
    let (mut all, mut nearest) = (0, 0);
    for (document, known) in known.iter().enumerate() {
        let Some(number) = known.number else { continue };
        let id = format!("id:n:item::{client}-{document}");
        let yql = format!("select * from item where text contains '{number}'");
        let found = search(&mut connection, &yql, near(number));
        assert_eq!(found, [id.as_str()], "the word {number}");
        let yql = "select * from item where ({targetHits: 10}nearestNeighbor(near, q)) limit 1";
        nearest += usize::from(search(&mut connection, yql, near(number)) == [id]);
        all += 1;
    }
    (all, nearest)
}

/// Puts, updates and removes documents until the server is gone.
fn feed(url: &str, client: u64, known: &mut [Known], mut chance: Chance, answered: &AtomicU64) {
    let Some(mut connection) = Connection::new(url) else { return };
    loop {
        let document = chance.below(DOCUMENTS);
        let number = chance.below(1 << 40);
        let path = path(client, document);
        let (next, answer) = match chance.below(5) {
            0 => (None, connection.send("DELETE", &path, "")),
            1 => {
                let assigned = fields(number);
                let assigned = assigned.as_object().unwrap().iter();
                let edits: serde_json::Map<String, Value> = assigned
                    .map(|(name, value)| (name.clone(), json!({"assign": value})))
                    .collect();
                let body = json!({"fields": edits}).to_string();
                (Some(number), connection.send("PUT", &format!("{path}?create=true"), &body))
            }
            _ => {
                let body = json!({"fields": fields(number)}).to_string();
                (Some(number), connection.send("POST", &path, &body))
            }
        };
        let known = &mut known[document as usize];
        match answer {
            Some((200, _)) => {
                *known = Known { number: next, instead: None };
                answered.fetch_add(1, Ordering::Relaxed);
            }
            Some((status, body)) if status < 500 => panic!("{path}: {status} {body}"),
            _ => {
                known.instead = Some(next);
                return;
            }
        }
    }
}

/// Compares the documents of a client with what it knows.
fn check(url: &str, client: u64, known: &mut [Known]) {
    let mut connection = Connection::new(url).unwrap();
    for (document, known) in known.iter_mut().enumerate() {
        let path = path(client, document as u64);
        let (status, body) = connection.send("GET", &path, "").unwrap();
        let found = match status {
            404 => None,
            200 => {
                let number =
                    body["fields"]["n"].as_u64().unwrap_or_else(|| panic!("{path}: {body}"));
                let expected = fields(number);
                assert_eq!(
                    body["fields"]["text"], expected["text"],
                    "{path} is half there: {body}"
                );
                let cells = body["fields"]["vector"]["values"].as_array().unwrap().iter();
                let cells: Vec<u64> = cells.map(|cell| cell.as_f64().unwrap() as u64).collect();
                assert_eq!(
                    json!(cells),
                    expected["vector"]["values"],
                    "{path} is half there: {body}"
                );
                Some(number)
            }
            _ => panic!("{path}: {status} {body}"),
        };
        assert!(
            found == known.number || known.instead == Some(found),
            "{path}: {found:?} {known:?}"
        );
        *known = Known { number: found, instead: None };
    }
}

/// Has snapshots written one after the other.
fn snapshots(url: &str, is_over: &AtomicBool, mut chance: Chance, written: &AtomicU64) {
    let Some(mut connection) = Connection::new(url) else { return };
    while !is_over.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(chance.below(15)));
        match connection.send("POST", "/stead/v1/snapshot", "") {
            Some((200, _)) => drop(written.fetch_add(1, Ordering::Relaxed)),
            Some((status, body)) if status < 500 => panic!("{status} {body}"),
            _ => return,
        }
    }
}

#[test]
fn no_acknowledged_operation_is_lost_or_half_there() {
    let (kills, seed) = kills_and_seed();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    App::new("item", SCHEMA).deploy(&Server::start(&data));
    let mut known = vec![vec![Known::default(); DOCUMENTS as usize]; CLIENTS as usize];
    let (answered, written, mut chance) = (AtomicU64::new(0), AtomicU64::new(0), Chance(seed | 1));
    for kill in 0..=kills {
        let server = Server::start(&data);
        let (mut all, mut nearest) = (0, 0);
        for (client, known) in known.iter_mut().enumerate() {
            check(&server.query, client as u64, known);
            let (vectors, found) = check_indexes(&server.query, client as u64, known);
            (all, nearest) = (all + vectors, nearest + found);
        }
        // A search by a graph is not exact.
        assert!(nearest * 10 >= all * 9, "{nearest} of {all} vectors");
        if kill == kills {
            break;
        }
        let is_over = AtomicBool::new(false);
        let (query, deploy, answered, written) =
            (&server.query, &server.deploy, &answered, &written);
        std::thread::scope(|scope| {
            for (client, known) in known.iter_mut().enumerate() {
                let client = client as u64;
                let chance = Chance(seed.wrapping_mul(kill * CLIENTS + client + 2) | 1);
                scope.spawn(move || feed(query, client, known, chance, answered));
            }
            let chance_of_snapshots = Chance(chance.below(1 << 30) | 1);
            scope.spawn(|| snapshots(deploy, &is_over, chance_of_snapshots, written));
            std::thread::sleep(Duration::from_millis(1 + chance.below(150)));
            server.kill();
            is_over.store(true, Ordering::SeqCst);
        });
        if (kill + 1) % 20 == 0 {
            let (answered, written) =
                (answered.load(Ordering::Relaxed), written.load(Ordering::Relaxed));
            println!("{} kills, {answered} operations, {written} snapshots", kill + 1);
        }
    }
    let (answered, written) = (answered.into_inner(), written.into_inner());
    println!("{kills} kills, {answered} operations acknowledged, {written} snapshots");
    assert!(answered > 5 * kills && written > 0, "{answered} operations, {written} snapshots");
}

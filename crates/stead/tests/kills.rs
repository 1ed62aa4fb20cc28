//! `kill -9` of the real binary at random moments under load: with `state_durability: every_step` no step that was
//! answered is lost, and none runs twice. Half of the clients use a model, half a pipeline of two stateful models.
//!
//! `STEAD_KILLS` and `STEAD_SEED` make it longer and repeat it: `cargo xtask soak kills`.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a panic in a test is its report; a soak tells its seed

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use stead_onnx::ModelBuilder;
use stead_tensor::DType;

use crate::chance::{Chance, kills_and_seed};
use crate::server::ports::free_port;

/// Clients at a time, and sequences of each.
const CLIENTS: u64 = 8;
const SEQUENCES: u64 = 4;

/// Where the server is now; changes with each start.
struct Place {
    address: Mutex<(u64, String)>,
    changed: Condvar,
    over: AtomicBool,
}

impl Place {
    /// The address of a start after `last`; none at the end.
    fn after(&self, last: u64) -> Option<(u64, String)> {
        let at = self.address.lock().unwrap();
        let waits = |at: &mut (u64, String)| at.0 <= last && !self.over.load(Ordering::SeqCst);
        let at = self.changed.wait_while(at, waits).unwrap();
        (at.0 > last).then(|| at.clone())
    }

    fn tell(&self, address: String) {
        let mut at = self.address.lock().unwrap();
        *at = (at.0 + 1, address);
        self.changed.notify_all();
    }

    fn end(&self) {
        let _at = self.address.lock().unwrap();
        self.over.store(true, Ordering::SeqCst);
        self.changed.notify_all();
    }
}

fn prepare(folder: &Path) {
    let model = ModelBuilder::new(17)
        .input("x", DType::I64, &["n"])
        .input("state", DType::I64, &["n"])
        .node("Add", &["x", "state"], &["state_out"])
        .node("Identity", &["state_out"], &["y"])
        .output("y", DType::I64)
        .output("state_out", DType::I64)
        .bytes();
    std::fs::create_dir_all(folder.join("sum/1")).unwrap();
    std::fs::write(folder.join("sum/1/model.onnx"), model).unwrap();
    let config = r#"{"model_config_list": [{"config": {"name": "sum", "base_path": "sum", "stateful": true,
        "stead": {"state_durability": "every_step"}}}],
        "pipeline_config_list": [{"name": "sums", "inputs": ["x"], "nodes": [
            {"name": "first", "model_name": "sum", "type": "DL model",
             "inputs": [{"x": {"node_name": "request", "data_item": "x"}}],
             "outputs": [{"data_item": "y", "alias": "y"}]},
            {"name": "second", "model_name": "sum", "type": "DL model",
             "inputs": [{"x": {"node_name": "first", "data_item": "y"}}],
             "outputs": [{"data_item": "y", "alias": "y"}]}],
         "outputs": [{"y": {"node_name": "second", "data_item": "y"}}]}]}"#;
    std::fs::write(folder.join("config.json"), config).unwrap();
}

fn start(folder: &Path, port: &str) -> (Child, String) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_stead"))
        .args(["serve", "--config_path"])
        .arg(folder.join("config.json"))
        .arg("--state_path")
        .arg(folder.join("states"))
        .args(["--rest_port", port])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(process.stderr.take().unwrap());
    let (mut line, mut all) = (String::new(), String::new());
    while !line.contains("HTTP on") {
        line.clear();
        assert!(log.read_line(&mut line).unwrap() > 0, "the server has ended: {all}");
        all += &line;
    }
    // The rest of the log must be read, or the server would wait for a reader.
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    (process, format!("127.0.0.1:{port}"))
}

/// A step as it is sent, and sent again.
#[derive(Clone)]
struct Step {
    flags: &'static str,
    number: u64,
    value: u64,
    sum: u64,
    /// The sum of the sums, which a pipeline answers.
    sums: u64,
}

/// What a client knows of a sequence.
#[derive(Default)]
struct Sequence {
    /// Steps answered and their sums; 0 when it is to begin.
    steps: u64,
    sum: u64,
    sums: u64,
    last: Option<Step>,
}

struct Client<'a> {
    /// `sum` or `sums`.
    model: &'static str,
    place: &'a Place,
    start: u64,
    stream: Option<BufReader<TcpStream>>,
    answered: &'a AtomicU64,
    repeated: &'a AtomicU64,
}

impl Client<'_> {
    /// Sends a step until it is answered; checks the answer. `false` at the end of the test.
    fn send(&mut self, id: u64, step: &Step) -> bool {
        let mut first = true;
        loop {
            match self.try_send(id, step) {
                Some((200, body)) => {
                    let answer: serde_json::Value = serde_json::from_str(&body).unwrap();
                    let sum = answer["outputs"][0]["data"][0].as_u64();
                    let expected = if self.model == "sum" { step.sum } else { step.sums };
                    let what = format!("{} {id} step {}: {body}", self.model, step.number);
                    assert_eq!(sum, Some(expected), "{what}");
                    let number = answer["parameters"]["sequence_step"].as_u64();
                    assert_eq!(number, Some(step.number), "sequence {id}: {body}");
                    self.answered.fetch_add(1, Ordering::Relaxed);
                    return true;
                }
                // The server is about to end.
                Some((503, _)) | None => self.stream = None,
                Some((status, body)) => {
                    panic!(
                        "sequence {id} step {} (again: {}): {status} {body}",
                        step.number, !first
                    )
                }
            }
            if std::mem::take(&mut first) {
                self.repeated.fetch_add(1, Ordering::Relaxed);
            }
            let Some((start, address)) = self.place.after(self.start) else { return false };
            self.start = start;
            self.stream = TcpStream::connect(address).ok().map(BufReader::new);
        }
    }

    /// One request; none when the connection breaks.
    fn try_send(&mut self, id: u64, step: &Step) -> Option<(u64, String)> {
        let stream = self.stream.as_mut()?;
        let Step { flags, number, value, .. } = step;
        let body = format!(
            r#"{{"parameters": {{"sequence_id": {id}, "sequence_step": {number}{flags}}},
                "inputs": [{{"name": "x", "datatype": "INT64", "shape": [1], "data": [{value}]}}]}}"#
        );
        let path = format!("/v2/models/{}/infer", self.model);
        let head = format!("POST {path} HTTP/1.1\r\nHost: stead\r\nContent-Length:");
        stream
            .get_mut()
            .write_all(format!("{head} {}\r\n\r\n{body}", body.len()).as_bytes())
            .ok()?;
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|n| *n > 0)?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut length = 0;
        loop {
            line.clear();
            stream.read_line(&mut line).ok().filter(|n| *n > 0)?;
            let Some((name, value)) = line.split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).ok()?;
        String::from_utf8(body).ok().map(|body| (status, body))
    }
}

/// Steps of some sequences, one after the other, until the end.
fn client(mut client: Client<'_>, first_id: u64, mut chance: Chance) {
    let mut sequences: Vec<Sequence> = (0..SEQUENCES).map(|_| Sequence::default()).collect();
    loop {
        let place = chance.below(SEQUENCES);
        let sequence = &mut sequences[place as usize];
        let id = first_id + place;
        if let Some(last) = sequence.last.as_ref().filter(|_| chance.below(10) == 0) {
            // The answer may have been lost on the way as well.
            if !client.send(id, last) {
                return;
            }
            continue;
        }
        let value = chance.below(1000);
        let flags = match (sequence.steps, chance.below(20)) {
            (0, _) => r#", "sequence_start": true"#,
            (_, 0) => r#", "sequence_end": true"#,
            _ => "",
        };
        let (number, sum) = (sequence.steps + 1, sequence.sum + value);
        let step = Step { flags, number, value, sum, sums: sequence.sums + sum };
        if !client.send(id, &step) {
            return;
        }
        let is_end = flags.contains("end");
        *sequence = Sequence {
            steps: if is_end { 0 } else { step.number },
            sum: if is_end { 0 } else { step.sum },
            sums: if is_end { 0 } else { step.sums },
            last: Some(step),
        };
    }
}

#[test]
fn no_answered_step_is_lost_or_repeated() {
    let (kills, seed) = kills_and_seed();
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let port = free_port();
    let place = Place {
        address: Mutex::new((0, String::new())),
        changed: Condvar::new(),
        over: AtomicBool::new(false),
    };
    let (answered, repeated) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut chance = Chance(seed | 1);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|n| {
                let chance = Chance(seed.wrapping_mul(n + 2) | 1);
                let own = Client {
                    model: if n % 2 == 0 { "sum" } else { "sums" },
                    place: &place,
                    start: 0,
                    stream: None,
                    answered: &answered,
                    repeated: &repeated,
                };
                scope.spawn(move || client(own, 1 + n * SEQUENCES, chance))
            })
            .collect();
        for kill in 1..=kills {
            // On a busy machine little may happen in a while: a life has some steps too.
            let wanted = answered.load(Ordering::Relaxed) + chance.below(200);
            let (mut process, address) = start(folder.path(), &port);
            place.tell(address);
            std::thread::sleep(Duration::from_millis(1 + chance.below(200)));
            while answered.load(Ordering::Relaxed) < wanted
                && !clients.iter().any(|c| c.is_finished())
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            process.kill().unwrap();
            process.wait().unwrap();
            if kill % 20 == 0 {
                println!("{kill} kills, {} steps answered", answered.load(Ordering::Relaxed));
            }
            if clients.iter().any(|c| c.is_finished()) {
                break;
            }
        }
        // What was on its way at the last kill is asked for once more.
        let (mut process, address) = start(folder.path(), &port);
        place.tell(address);
        std::thread::sleep(Duration::from_millis(200));
        process.kill().unwrap();
        process.wait().unwrap();
        place.end();
    });
    let (answered, repeated) = (answered.into_inner(), repeated.into_inner());
    println!("{kills} kills, {answered} steps answered, {repeated} sent again after a kill");
    assert!(answered > 20 * kills && repeated > 0, "{answered} steps, {repeated} sent again");
}

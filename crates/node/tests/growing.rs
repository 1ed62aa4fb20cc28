//! States that become longer with every step: a decoder with a cache of keys and values.
#![allow(clippy::unwrap_used)]

#[path = "../../engine/tests/decoder/mod.rs"]
mod decoder;

use decoder::{Sizes, decoder};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use stead_engine::{LoadOptions, Model, Session, SessionOptions};
use stead_node::{
    Code, Embedded, Error, InferRequest, NodeConfig, Param, Parameters, Protocol, SequenceId,
    VersionRef,
};
use stead_tensor::{DType, Shape, Tensor};

const SIZES: Sizes = Sizes { layers: 2, heads: 2, head: 4, vocabulary: 11, positions: 64 };

struct Server {
    node: Arc<Embedded>,
    runtime: tokio::runtime::Runtime,
    _folder: Option<tempfile::TempDir>,
}

impl Server {
    fn new(options: &str) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::on(folder.path(), options, None);
        Server { _folder: Some(folder), ..server }
    }

    /// A server in a folder that may have been used before, with the folder of its states in it.
    fn on(folder: &Path, options: &str, states: Option<&str>) -> Server {
        let path = folder.join("models/m/1");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("model.onnx"), decoder(SIZES)).unwrap();
        let config = format!(
            r#"{{"model_config_list": [{{"config":
               {{"name": "m", "base_path": "models/m", "stateful": true, "stead": {{{options}}}}}}}]}}"#
        );
        std::fs::write(folder.join("config.json"), config).unwrap();
        let config = NodeConfig {
            threads: Some(2),
            state_path: states.map(|s| folder.join(s)),
            ..NodeConfig::path(folder.join("config.json"))
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        Server { node: Embedded::start(config).unwrap(), runtime, _folder: None }
    }

    /// The logits of one row of tokens.
    fn step(&self, id: u64, start: bool, ids: &[i64]) -> Result<Vec<f32>, Error> {
        self.runtime
            .block_on(self.node.infer(request(id, start, &[ids])))
            .map(|a| logits(&a.outputs))
    }
}

fn logits(outputs: &[(String, Tensor)]) -> Vec<f32> {
    assert_eq!(outputs.len(), 1, "the cache is not shown");
    outputs[0].1.as_slice::<f32>().unwrap().to_vec()
}

fn request(id: u64, start: bool, rows: &[&[i64]]) -> InferRequest {
    let parameters = Parameters::from([
        ("sequence_id".into(), Param::U64(id)),
        ("sequence_start".into(), Param::Bool(start)),
    ]);
    let ids = Tensor::from_slice(&rows.concat(), &[rows.len(), rows[0].len()]).unwrap();
    InferRequest {
        model: "m".to_owned(),
        version: VersionRef::Latest,
        id: String::new(),
        inputs: vec![("ids".to_owned(), ids)],
        outputs: Vec::new(),
        parameters,
        deadline: None,
        protocol: Protocol::KserveGrpc,
    }
}

/// The logits of all positions, from one run over all tokens with an empty cache.
fn whole(ids: &[i64]) -> Vec<f32> {
    static SESSION: LazyLock<Session> = LazyLock::new(|| {
        let model = Model::from_bytes(&decoder(SIZES), None, &LoadOptions::default()).unwrap();
        Session::new(model, &SessionOptions::default()).unwrap()
    });
    let session = &*SESSION;
    let ids = Tensor::from_slice(ids, &[1, ids.len()]).unwrap();
    let empty = Shape::new(&[1, SIZES.heads, 0, SIZES.head]).unwrap();
    let empty = Tensor::zeros(DType::F32, empty).unwrap();
    let names: Vec<String> = session.model().inputs().iter().map(|i| i.name.clone()).collect();
    let inputs: Vec<_> =
        names.iter().map(|n| (&**n, if n == "ids" { ids.view() } else { empty.view() })).collect();
    session.run(&inputs, &["logits"]).unwrap()[0].as_slice::<f32>().unwrap().to_vec()
}

fn assert_close(label: &str, got: &[f32], expected: &[f32]) {
    assert_eq!(got.len(), expected.len(), "{label}");
    for (i, (a, b)) in got.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= 1e-4, "{label}: {a} for {b} at {i}");
    }
}

const TEXT: [i64; 24] = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4];

#[test]
fn a_decoder_step_by_step_gives_what_the_whole_prefix_gives() {
    let expected = whole(&TEXT);
    let server = Server::new("");
    for (id, lengths) in [(1, vec![1; 24]), (2, vec![7, 1, 1, 10, 5]), (3, vec![24])] {
        let (mut from, mut got) = (0, Vec::new());
        for len in &lengths {
            got.extend(server.step(id, from == 0, &TEXT[from..from + len]).unwrap());
            from += len;
        }
        assert_close(&format!("{lengths:?}"), &got, &expected);
    }
    let config = server.node.model_config("m", &VersionRef::Latest).unwrap();
    let (name, text) = &config.parameters[0];
    assert_eq!(name, "state.past.0.key");
    assert_eq!(
        text,
        "past.0.key <- present.0.key f32[batch,2,past,4], batch axis 0, grows along axis 2, begins with zeros"
    );
}

/// Sequences of the same length share a run, those of other lengths do not.
#[test]
fn decoders_share_batches() {
    let server = Server::new(r#""max_batch_size": 4, "max_queue_delay_microseconds": 1000"#);
    let play = |id: u64| {
        let node = server.node.clone();
        // Every other sequence is one token ahead.
        let lead = 1 + id as usize % 2;
        server.runtime.spawn(async move {
            let mut got = logits(&node.infer(request(id, true, &[&TEXT[..lead]])).await?.outputs);
            for at in lead..TEXT.len() {
                let answer = node.infer(request(id, false, &[&TEXT[at..at + 1]])).await?;
                got.extend(logits(&answer.outputs));
            }
            Ok::<_, Error>(got)
        })
    };
    let expected = whole(&TEXT);
    for (i, task) in (1..=6).map(play).collect::<Vec<_>>().into_iter().enumerate() {
        let got = server.runtime.block_on(task).unwrap().unwrap();
        assert_close(&format!("sequence {i}"), &got, &expected);
    }
}

/// Options by which the caches hold at most `max` positions.
fn limited(max: usize) -> String {
    let state = |layer: usize, part: &str| {
        format!(
            r#"{{"input": "past.{layer}.{part}", "output": "present.{layer}.{part}",
                "growable": {{"axis": 2, "max": {max}}}}}"#
        )
    };
    let states: Vec<String> =
        (0..2).flat_map(|l| ["key", "value"].map(|part| state(l, part))).collect();
    format!(r#""states": [{}]"#, states.join(","))
}

/// A step beyond the limit fails and leaves the sequence as it was.
#[test]
fn a_cache_has_its_limit() {
    let server = Server::new(&limited(8));
    server.step(1, true, &TEXT[..6]).unwrap();
    let error = server.step(1, false, &TEXT[6..9]).unwrap_err();
    assert_eq!(error.code, Code::ResourceExhausted);
    assert!(error.to_string().contains("past.0.key") && error.to_string().contains('8'), "{error}");
    let got = server.step(1, false, &TEXT[6..8]).unwrap();
    assert_close("the two that fit", &got, &whole(&TEXT[..8])[6 * SIZES.vocabulary..]);
    assert_eq!(server.step(1, false, &TEXT[8..9]).unwrap_err().code, Code::ResourceExhausted);
    assert_eq!(server.step(2, true, &TEXT[..9]).unwrap_err().code, Code::ResourceExhausted);
}

/// The same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Steps of several sequences at a time, forks, ends, copies by export and import, wrong tokens and full caches, in any
/// order: each sequence gives what a run over its own tokens gives.
#[test]
fn whatever_happens_to_a_cache_a_sequence_sees_its_own_tokens() {
    const MAX: usize = 20;
    for (seed, batched) in
        [(1, ""), (2, r#", "max_batch_size": 4, "max_queue_delay_microseconds": 500"#)]
    {
        let server = Server::new(&format!("{}{batched}", limited(MAX)));
        let node = &server.node;
        let mut random = Random(seed);
        let mut alive: BTreeMap<u64, Vec<i64>> = BTreeMap::new();
        let mut next = 1;
        for round in 0..150 {
            if alive.len() < 4 {
                alive.insert(next, Vec::new());
                next += 1;
            }
            // A step each for some of them.
            let steps: Vec<(u64, Vec<i64>)> = alive
                .iter()
                .filter_map(|(&id, tokens)| {
                    if !tokens.is_empty() && random.below(4) == 0 {
                        return None;
                    }
                    let wrong = random.below(8) == 0;
                    let token = |r: &mut Random| if wrong { 99 } else { r.below(11) as i64 };
                    let count = 1 + random.below(3);
                    Some((id, (0..count).map(|_| token(&mut random)).collect()))
                })
                .collect();
            let begin = |(id, new): &(u64, Vec<i64>)| {
                let request = request(*id, alive[id].is_empty(), &[new]);
                let node = Arc::clone(node);
                server.runtime.spawn(async move { node.infer(request).await })
            };
            let running: Vec<_> = steps.iter().map(begin).collect();
            for ((id, new), answer) in steps.into_iter().zip(running) {
                let label = format!("seed {seed}, round {round}, sequence {id}");
                let answer = server.runtime.block_on(answer).unwrap();
                let tokens = alive.get_mut(&id).unwrap();
                let fits = tokens.len() + new.len() <= MAX && new[0] < 11;
                assert_eq!(answer.is_ok(), fits, "{label}: {:?}", answer.as_ref().err());
                match answer {
                    Ok(answer) => {
                        tokens.extend(&new);
                        let expected = whole(tokens);
                        let last = &expected[(tokens.len() - new.len()) * SIZES.vocabulary..];
                        assert_close(&label, &logits(&answer.outputs), last);
                    }
                    Err(_) if tokens.is_empty() => drop(alive.remove(&id)),
                    Err(_) => {}
                }
            }
            let Some((&id, tokens)) = alive.iter().nth(random.below(5)) else { continue };
            let (sequence, tokens) = (SequenceId::Number(id), tokens.clone());
            let to = SequenceId::Number(next);
            match random.below(3) {
                0 => node.fork_sequence("m", &VersionRef::Latest, &sequence, to).map(drop),
                1 => {
                    let (step, values) =
                        node.export_sequence("m", &VersionRef::Latest, &sequence).unwrap();
                    assert_eq!(values[0].1.shape()[2], tokens.len());
                    node.import_sequence("m", &VersionRef::Latest, to, step, values)
                }
                _ => {
                    alive.remove(&id);
                    node.end_sequence("m", &VersionRef::Latest, &sequence).unwrap();
                    continue;
                }
            }
            .unwrap();
            alive.insert(next, tokens);
            next += 1;
        }
    }
}

/// What a sequence may take counts with the room that its caches have to grow.
#[test]
fn the_room_to_grow_is_counted() {
    let server = Server::new("");
    let mut before = 0;
    for step in 0..9 {
        server.step(1, step == 0, &TEXT[step..step + 1]).unwrap();
        let bytes = server.node.metrics().models[0].versions[0].sequences.unwrap().bytes;
        let doubled = step.is_power_of_two() || step == 0;
        assert_eq!(bytes != before, doubled, "step {step}: {before} to {bytes} bytes");
        before = bytes;
    }
    // Two layers, keys and values, sixteen positions of eight numbers.
    assert!(before >= 2 * 2 * 16 * 8 * 4, "{before}");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (from, name) = entry.map(|e| (e.path(), e.file_name())).unwrap();
        match from.is_dir() {
            true => copy(&from, &to.join(name)),
            false => drop(std::fs::copy(from, to.join(name)).unwrap()),
        }
    }
}

/// A crash, which is a copy of the folder of states taken while the node runs, or an orderly stop where only that promises
/// something: the caches are as the last answers left them, and grow on.
#[test]
fn caches_outlive_the_process() {
    const PIECES: [&[i64]; 5] =
        [&[3, 1, 4], &[1], &[5], &[9, 2, 6, 5], &[3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4]];
    for (durability, extra) in [
        ("every_step", ""),
        ("every_step", r#", "max_batch_size": 4, "max_queue_delay_microseconds": 500"#),
        ("snapshot", ""),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let options = format!(r#""state_durability": "{durability}"{extra}"#);
        let mut server = Server::on(folder.path(), &options, Some("0"));
        let mut said: Vec<i64> = Vec::new();
        for (restart, piece) in PIECES.iter().enumerate() {
            let label = format!("{durability}{extra}, restart {restart}");
            for token in *piece {
                // Two sequences with the same tokens, one token and one piece at a time.
                let got = server.step(1, said.is_empty(), &[*token]).unwrap();
                said.push(*token);
                assert_close(&label, &got, &whole(&said)[(said.len() - 1) * SIZES.vocabulary..]);
            }
            let got = server.step(2, said.len() == piece.len(), piece).unwrap();
            let from = (said.len() - piece.len()) * SIZES.vocabulary;
            assert_close(&label, &got, &whole(&said)[from..]);
            let [before, behind] = [restart, restart + 1].map(|n| n.to_string());
            if durability == "snapshot" {
                server.runtime.block_on(server.node.drain(Duration::from_secs(10)));
            }
            copy(&folder.path().join(before), &folder.path().join(&behind));
            server = Server::on(folder.path(), &options, Some(&behind));
        }
        let sequences = server.node.sequences("m", &VersionRef::Latest, None, 10).unwrap();
        let steps: Vec<u64> = sequences.iter().map(|s| s.step).collect();
        assert_eq!(steps, [said.len() as u64, PIECES.len() as u64], "{durability}{extra}");
    }
}

/// Caches that went to disk because all together took too much memory come back when they are needed, and grow on.
#[test]
fn caches_on_disk_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path(), r#""state_budget_bytes": 20000"#, Some("states"));
    let metrics = || server.node.metrics().models[0].versions[0].sequences.unwrap();
    let token = |id: u64, at: u64| ((id * 7 + at * 3) % 11) as i64;
    for at in 0..12 {
        for id in 1..=20 {
            let said: Vec<i64> = (0..=at).map(|at| token(id, at)).collect();
            let got = server.step(id, at == 0, &[token(id, at)]).unwrap();
            let last = &whole(&said)[at as usize * SIZES.vocabulary..];
            assert_close(&format!("sequence {id}, step {at}"), &got, last);
        }
        if at > 5 {
            let deadline = Instant::now() + Duration::from_secs(20);
            while metrics().spilled == 0 {
                assert!(Instant::now() < deadline, "nothing goes to disk: {:?}", metrics());
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

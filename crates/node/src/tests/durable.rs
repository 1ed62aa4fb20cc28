//! Sequences that outlive the process. A crash is a copy of the folder of states, taken while the node runs.

use super::fake::runtime;
use super::sequences::{config_json, request, sum, summator};
use crate::evaluate::engine_loader;
use crate::states::States;
use crate::{Code, Embedded, NodeConfig, Param, SequenceId, VersionRef};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use stead_log::{Rng, SeededRng, SimIo, SystemClock, VirtualClock};
use stead_tensor::Tensor;

struct Server {
    node: Arc<Embedded>,
    runtime: tokio::runtime::Runtime,
}

fn prepare(folder: &Path, options: &str) {
    let path = folder.join("models/m/1");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("model.onnx"), summator()).unwrap();
    std::fs::write(folder.join("config.json"), config_json(options)).unwrap();
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

impl Server {
    fn start(folder: &Path, states: &str) -> Server {
        let config = NodeConfig {
            threads: Some(2),
            state_path: Some(folder.join(states)),
            ..NodeConfig::path(folder.join("config.json"))
        };
        Server { node: Embedded::start(config).unwrap(), runtime: runtime() }
    }

    /// A numbered step: the sum, or the code.
    fn step(&self, id: u64, flags: &[&str], step: u64, value: f32) -> Result<f32, Code> {
        self.named(id, flags, step, value, "").map(|(sum, _)| sum)
    }

    fn named(
        &self,
        id: u64,
        flags: &[&str],
        step: u64,
        value: f32,
        name: &str,
    ) -> Result<(f32, u64), Code> {
        let mut request = request(value);
        name.clone_into(&mut request.id);
        let p = &mut request.parameters;
        p.insert("sequence_id".into(), Param::U64(id));
        if step > 0 {
            p.insert("sequence_step".into(), Param::U64(step));
        }
        flags
            .iter()
            .for_each(|f| drop(p.insert(format!("sequence_{f}").into(), Param::Bool(true))));
        let answer = self.runtime.block_on(self.node.infer(request)).map_err(|e| e.code)?;
        let Param::U64(id) = *answer.parameters.get("sequence_id").unwrap() else {
            panic!("a number")
        };
        Ok((sum(&answer), id))
    }

    fn active(&self) -> u64 {
        self.node.metrics().models[0].versions[0].sequences.unwrap().active
    }
}

#[test]
fn every_step_survives_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path(), r#", "stead": {"state_durability": "every_step"}"#);
    let server = Server::start(folder.path(), "a");
    assert_eq!(server.step(1, &["start"], 1, 1.0), Ok(1.0));
    assert_eq!(server.step(1, &[], 2, 2.0), Ok(3.0));
    assert_eq!(server.step(2, &["start"], 1, 5.0), Ok(5.0));
    assert_eq!(server.step(2, &["end"], 2, 5.0), Ok(10.0));
    assert_eq!(server.step(3, &["start"], 0, 7.0), Ok(7.0));
    assert_eq!(server.step(4, &["start"], 1, 7.0), Ok(7.0));
    server.node.end_sequence("m", &VersionRef::Latest, &SequenceId::Number(4)).unwrap();
    let (first, auto) = server.named(0, &["start"], 1, 4.0, "req").unwrap();
    assert_eq!(first, 4.0);
    let fork = SequenceId::Number(9);
    server.node.fork_sequence("m", &VersionRef::Latest, &SequenceId::Number(1), fork).unwrap();
    copy(&folder.path().join("a"), &folder.path().join("b"));

    let server = Server::start(folder.path(), "b");
    assert_eq!(server.active(), 4, "1, 3, 9 and the one without an id");
    assert_eq!(server.step(1, &[], 2, 2.0), Ok(3.0), "the stored answer");
    assert_eq!(server.step(1, &[], 3, 2.0), Ok(5.0));
    assert_eq!(server.step(1, &[], 5, 2.0), Err(Code::FailedPrecondition), "a gap");
    assert_eq!(server.step(2, &["end"], 2, 5.0), Ok(10.0), "a repeated END");
    assert_eq!(server.step(2, &[], 0, 5.0), Err(Code::NotFound));
    assert_eq!(server.step(3, &[], 0, 1.0), Ok(8.0));
    assert_eq!(server.step(4, &[], 0, 1.0), Err(Code::NotFound), "ended by an administrator");
    assert_eq!(server.named(0, &["start"], 1, 4.0, "req"), Ok((4.0, auto)), "a repeated START");
    assert_eq!(server.step(9, &[], 3, 1.0), Ok(4.0), "a fork");
}

#[test]
fn a_snapshot_is_taken_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path(), r#", "stead": {"state_durability": "snapshot", "replay_depth": 2}"#);
    let server = Server::start(folder.path(), "a");
    assert_eq!(server.step(1, &["start"], 1, 1.0), Ok(1.0));
    assert_eq!(server.step(1, &[], 2, 2.0), Ok(3.0));
    assert_eq!(server.step(2, &["start"], 1, 5.0), Ok(5.0));
    assert_eq!(server.step(2, &["end"], 2, 5.0), Ok(10.0));
    drop(server);
    let server = Server::start(folder.path(), "a");
    assert_eq!(server.active(), 1);
    assert_eq!(server.step(1, &["start"], 1, 1.0), Ok(1.0), "both answers are kept");
    assert_eq!(server.step(1, &[], 2, 2.0), Ok(3.0));
    assert_eq!(server.step(1, &[], 3, 2.0), Ok(5.0));
    assert_eq!(server.step(2, &["end"], 2, 5.0), Ok(10.0));
}

/// Every ten seconds, by a clock that the test moves: a crash loses what came after the last snapshot, and no more.
#[test]
fn snapshots_are_taken_by_the_clock() {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path(), r#", "stead": {"state_durability": "snapshot"}"#);
    let (disk, clock) = (SimIo::new(1), Arc::new(VirtualClock::default()));
    let start = || {
        let states = States::open_on(Arc::new(disk.clone()), folder.path(), clock.clone()).unwrap();
        let config =
            NodeConfig { threads: Some(1), ..NodeConfig::path(folder.path().join("config.json")) };
        let node = Embedded::start_on(config, engine_loader(), Some(Arc::clone(&states))).unwrap();
        (Server { node, runtime: runtime() }, states)
    };
    let (server, states) = start();
    let records = || states.stats().unwrap().records;
    let passes = |seconds| {
        clock.advance(std::time::Duration::from_secs(seconds));
        states.wake();
    };
    assert_eq!(server.step(1, &["start"], 0, 1.0), Ok(1.0));
    let before = records();
    passes(9);
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(records(), before, "not yet");
    passes(1);
    until("a snapshot", || records() > before);
    states.flush().unwrap();
    assert_eq!(server.step(1, &[], 0, 2.0), Ok(3.0));
    assert_eq!(server.step(2, &["start"], 0, 9.0), Ok(9.0));
    let before = records();
    passes(10);
    until("a snapshot of what has changed", || records() >= before + 2);
    states.flush().unwrap();
    assert_eq!(server.step(1, &[], 0, 100.0), Ok(103.0), "behind the last snapshot");
    disk.power_off_after(0);
    drop((server, states));
    disk.crash();
    let (server, _states) = start();
    assert_eq!(server.active(), 2);
    assert_eq!(server.step(1, &[], 0, 1.0), Ok(4.0), "as in the last snapshot");
    assert_eq!(server.step(2, &[], 0, 1.0), Ok(10.0));
}

#[test]
fn what_does_not_fit_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path(), r#", "stead": {"state_durability": "every_step"}"#);
    let server = Server::start(folder.path(), "a");
    assert_eq!(server.step(1, &["start"], 1, 1.0), Ok(1.0));
    drop(server);
    // The same states, another file.
    let path = folder.path().join("models/m/1/model.onnx");
    let file = std::fs::read(&path).unwrap();
    let mut other = file.clone();
    // An unknown field at the end of the protobuf message changes nothing else.
    other.extend([0xa0, 0x3f, 0x01]);
    std::fs::write(&path, other).unwrap();
    assert_eq!(Server::start(folder.path(), "a").active(), 0);
    // A model that asks for no durability finds nothing.
    std::fs::write(&path, file).unwrap();
    prepare(folder.path(), "");
    assert_eq!(Server::start(folder.path(), "a").active(), 0);
    // The option needs the folder.
    prepare(folder.path(), r#", "stead": {"state_durability": "snapshot"}"#);
    let node = Embedded::start(NodeConfig::path(folder.path().join("config.json"))).unwrap();
    let statuses = node.model_status("m", &VersionRef::Latest).unwrap();
    assert!(statuses[0].error_message.contains("state_durability needs --state_path"));
}

#[test]
fn one_process_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path(), r#", "stead": {"state_durability": "every_step"}"#);
    let _server = Server::start(folder.path(), "a");
    let config = NodeConfig {
        state_path: Some(folder.path().join("a")),
        ..NodeConfig::path(folder.path().join("config.json"))
    };
    let error = Embedded::start(config).err().unwrap().to_string();
    assert!(error.contains("in use by another process"), "{error}");
}

/// Crashes at any moment of many writers, while the log is written anew again and again: an answered step is there.
#[test]
fn a_log_that_is_written_anew_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path(), r#", "stead": {"state_durability": "every_step", "replay_depth": 3}"#);
    let server = Server::start(folder.path(), "a");
    let ended = AtomicBool::new(false);
    let acknowledged: Vec<_> = (0..4).map(|_| std::sync::atomic::AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for (i, last) in acknowledged.iter().enumerate() {
            let (server, ended) = (&server, &ended);
            scope.spawn(move || {
                let client = Server { node: Arc::clone(&server.node), runtime: runtime() };
                let id = i as u64 + 1;
                let mut n = 0;
                while !ended.load(Ordering::Relaxed) {
                    n += 1;
                    let flags: &[&str] = if n == 1 { &["start"] } else { &[] };
                    assert_eq!(client.step(id, flags, n, 1.0), Ok(n as f32));
                    last.store(n, Ordering::SeqCst);
                }
            });
        }
        for crash in 0..8 {
            for _ in 0..5 {
                server.node.states.as_ref().unwrap().rewrite().unwrap();
            }
            let before: Vec<u64> = acknowledged.iter().map(|n| n.load(Ordering::SeqCst)).collect();
            let name = format!("crash{crash}");
            copy(&folder.path().join("a"), &folder.path().join(&name));
            let server = Server::start(folder.path(), &name);
            for (i, answered) in before.into_iter().enumerate().filter(|(_, n)| *n > 0) {
                let id = SequenceId::Number(i as u64 + 1);
                let (step, values) =
                    server.node.export_sequence("m", &VersionRef::Latest, &id).unwrap();
                assert!(step >= answered, "sequence {i}: {step} of {answered}");
                let expected = Tensor::from_slice(&[step as f32], &[1, 1]).unwrap();
                assert_eq!(values[0].1, expected, "the state is that of its step");
                for n in step.saturating_sub(2).max(2)..=step {
                    assert_eq!(server.step(i as u64 + 1, &[], n, 1.0), Ok(n as f32));
                }
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
}

/// Waits for what the thread of the states does.
fn until(what: &str, is: impl Fn() -> bool) {
    let started = std::time::Instant::now();
    while !is() {
        assert!(started.elapsed().as_secs() < 20, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
fn states_beyond_the_budget_go_to_disk_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    for mode in ["memory", "every_step"] {
        // A state of four bytes counts with what surrounds it; some ten of them fit.
        prepare(
            folder.path(),
            &format!(
                r#", "stead": {{"state_durability": "{mode}", "state_budget_bytes": 3000, "replay_depth": 0}}"#
            ),
        );
        let server = Server::start(folder.path(), mode);
        let metrics = || server.node.metrics().models[0].versions[0].sequences.unwrap();
        for id in 1..=100 {
            assert_eq!(server.step(id, &["start"], 0, id as f32), Ok(id as f32));
        }
        until("most are on disk", || metrics().spilled > 80);
        assert_eq!(metrics().active, 100, "none was refused or dropped");
        let all = server.node.sequences("m", &VersionRef::Latest, None, 1000).unwrap();
        let on_disk = all.iter().filter(|s| s.on_disk).count() as u64;
        assert!(on_disk > 80 && on_disk <= metrics().spilled, "{on_disk}");
        let id = SequenceId::Number(1);
        let (step, values) = server.node.export_sequence("m", &VersionRef::Latest, &id).unwrap();
        assert_eq!((step, values[0].1.as_slice::<f32>().unwrap()), (1, &[1.0f32][..]));
        let fork = SequenceId::Number(101);
        server.node.fork_sequence("m", &VersionRef::Latest, &id, fork).unwrap();
        server.node.states.as_ref().unwrap().rewrite().unwrap();
        for round in 2..=3 {
            for id in 1..=100 {
                assert_eq!(server.step(id, &[], 0, id as f32), Ok((round * id) as f32), "{mode}");
            }
        }
        assert_eq!(server.step(101, &[], 0, 4.0), Ok(5.0), "a fork of what was on disk");
        for id in 1..=101 {
            assert!(server.step(id, &["end"], 0, 0.0).is_ok());
        }
        // The thread that spills may still hold the place of a state that went on meanwhile.
        until("no state is on disk", || metrics().spilled == 0);
        let left = std::fs::metadata(folder.path().join(mode).join("spill")).unwrap().len();
        assert_eq!(left, 0, "places are given back");
    }
}

/// Power is lost at any call to the disk, which then tears what was not synced: an answered step is there, and none
/// runs twice. The log is written anew at any moment too.
#[test]
fn power_is_lost_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path(), r#", "stead": {"state_durability": "every_step"}"#);
    let mut lost = 0;
    for seed in 0..15 {
        let chance = SeededRng::new(seed);
        let below = |end: u64| chance.next_u64().unwrap() % end;
        let disk = SimIo::new(seed);
        let mut sequences = [(0u64, 0u64); 3];
        let mut pending: Option<(usize, u64)> = None;
        let mut answered = 0;
        while answered < 60 {
            disk.power_off_after(5 + below(80));
            let clock = Arc::new(SystemClock::default());
            let Ok(states) = States::open_on(Arc::new(disk.clone()), folder.path(), clock) else {
                disk.crash();
                continue;
            };
            let config = NodeConfig {
                threads: Some(1),
                ..NodeConfig::path(folder.path().join("config.json"))
            };
            let node = Embedded::start_on(config, engine_loader(), Some(states)).unwrap();
            let server = Server { node, runtime: runtime() };
            loop {
                let (place, value) = pending.unwrap_or_else(|| (below(3) as usize, below(100)));
                let (steps, sum) = sequences[place];
                let flags: &[&str] = if steps == 0 { &["start"] } else { &[] };
                match server.step(place as u64 + 1, flags, steps + 1, value as f32) {
                    Ok(got) => assert_eq!(got, (sum + value) as f32, "seed {seed}"),
                    Err(code) => {
                        assert_eq!(code, Code::Unavailable, "seed {seed}");
                        pending = Some((place, value));
                        break;
                    }
                }
                pending = None;
                sequences[place] = (steps + 1, sum + value);
                answered += 1;
                if below(10) == 0 {
                    drop(server.node.states.as_ref().unwrap().rewrite());
                }
            }
            lost += 1;
            drop(server);
            disk.crash();
        }
    }
    assert!(lost > 30, "{lost} losses of power");
}

/// A model that was loaded anew takes new sequences while the instance before finishes its own. An id is one sequence
/// all the same, also in the log, where both write records of the same model.
#[test]
fn an_id_is_one_sequence_while_the_instance_before_finishes() {
    let folder = tempfile::tempdir().unwrap();
    let options = |more: &str| {
        format!(
            r#", "stead": {{"state_durability": "every_step", "sequence_ids": "counter"{more}}}"#
        )
    };
    prepare(folder.path(), &options(""));
    let server = Server::start(folder.path(), "a");
    for id in [7, 8, 9] {
        assert_eq!(server.step(id, &["start"], 0, id as f32), Ok(id as f32));
    }
    assert_eq!(server.step(8, &["end"], 2, 1.0), Ok(9.0), "its answer is kept");
    let (_, auto) = server.named(0, &["start"], 0, 1.0, "").unwrap();
    prepare(folder.path(), &options(r#", "max_batch_size": 8"#));
    assert!(server.node.reload_config().unwrap().changed);

    assert_eq!(server.step(7, &["start"], 0, 1.0), Err(Code::AlreadyExists), "it lives");
    assert_eq!(server.step(7, &[], 0, 1.0), Ok(8.0), "and goes on");
    let (_, other) = server.named(0, &["start"], 0, 50.0, "").unwrap();
    assert!(other > auto, "an id of the server's is given once: {other} after {auto}");
    assert_eq!(server.step(auto, &[], 0, 1.0), Ok(2.0));
    let (node, latest) = (&server.node, VersionRef::Latest);
    let fork = node.fork_sequence("m", &latest, &SequenceId::Number(7), SequenceId::Number(other));
    assert_eq!(fork.map_err(|e| e.code), Err(Code::AlreadyExists), "a copy takes no id either");
    let (step, values) = node.export_sequence("m", &latest, &SequenceId::Number(9)).unwrap();
    let import = node.import_sequence("m", &latest, SequenceId::Number(9), step, values);
    assert_eq!(import.map_err(|e| e.code), Err(Code::AlreadyExists));
    // One that has ended may begin anew; the kept answer of the one before is of no more use.
    assert_eq!(server.step(8, &["start"], 0, 100.0), Ok(100.0));
    node.states.as_ref().unwrap().rewrite().unwrap();
    copy(&folder.path().join("a"), &folder.path().join("b"));
    // What the instance before still does concerns its own sequences only.
    assert_eq!(server.step(7, &["end"], 0, 1.0), Ok(9.0));
    assert_eq!(server.step(7, &["start"], 0, 70.0), Ok(70.0));
    node.end_sequence("m", &latest, &SequenceId::Number(9)).unwrap();
    assert_eq!(server.step(9, &["start"], 0, 90.0), Ok(90.0));
    copy(&folder.path().join("a"), &folder.path().join("c"));

    let server = Server::start(folder.path(), "b");
    assert_eq!(server.active(), 5);
    for (id, sum) in [(7, 9.0), (8, 101.0), (9, 10.0), (auto, 3.0), (other, 51.0)] {
        assert_eq!(server.step(id, &[], 0, 1.0), Ok(sum), "{id}");
    }
    let server = Server::start(folder.path(), "c");
    for (id, sum) in [(7, 71.0), (8, 101.0), (9, 91.0), (auto, 3.0), (other, 51.0)] {
        assert_eq!(server.step(id, &[], 0, 1.0), Ok(sum), "{id}");
    }
}

/// By Triton's rules a START on a live id begins it anew: also when the sequence lives in the instance before.
#[test]
fn a_start_takes_the_place_of_a_sequence_in_the_instance_before() {
    for mode in ["every_step", "snapshot"] {
        let folder = tempfile::tempdir().unwrap();
        let options = |more: &str| {
            format!(r#", "stead": {{"state_durability": "{mode}", "triton_compat": true{more}}}"#)
        };
        prepare(folder.path(), &options(""));
        let server = Server::start(folder.path(), "a");
        for id in [7, 8] {
            assert_eq!(server.step(id, &["start"], 0, 1.0), Ok(1.0));
            assert_eq!(server.step(id, &[], 0, 1.0), Ok(2.0));
        }
        prepare(folder.path(), &options(r#", "max_batch_size": 8"#));
        assert!(server.node.reload_config().unwrap().changed);
        assert_eq!(server.step(7, &["start"], 0, 70.0), Ok(70.0));
        assert_eq!(server.step(7, &[], 0, 1.0), Ok(71.0));
        assert_eq!(server.step(8, &[], 0, 1.0), Ok(3.0));
        // The rest of the instance before: 8 ends, and with it the instance.
        let id = SequenceId::Number(8);
        server.node.end_sequence("m", &VersionRef::Latest, &id).unwrap();
        let list = server.node.sequences("m", &VersionRef::Latest, None, 10).unwrap();
        assert_eq!(list.len(), 1, "{mode}: the sequence before is gone");
        assert_eq!(server.step(7, &["end"], 0, 1.0), Ok(72.0));
        assert_eq!(server.step(7, &[], 0, 1.0), Err(Code::InvalidArgument), "{mode}: not found");
        assert_eq!(server.step(7, &["start"], 0, 5.0), Ok(5.0));
        if mode == "snapshot" {
            drop(server);
        } else {
            copy(&folder.path().join("a"), &folder.path().join("b"));
        }
        let server = Server::start(folder.path(), if mode == "snapshot" { "a" } else { "b" });
        assert_eq!(server.active(), 1);
        assert_eq!(server.step(7, &[], 0, 1.0), Ok(6.0), "{mode}");
    }
}

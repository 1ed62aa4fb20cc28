//! Threads that meet in a table of sequences, in many orders that are drawn from a seed: the scheduler of `shuttle`
//! chooses which thread goes on wherever one takes the lock, waits or answers. A wake-up that is lost is a deadlock
//! there, which fails the test.
//!
//! `cargo test -p stead-node --features shuttle --test interleavings interleavings`; `STEAD_ITERATIONS` says how many orders each
//! test tries. A failure prints the schedule and how to repeat it.

#![allow(clippy::unwrap_used)] // a panic is the report

use super::call::{Call, read};
use super::family::Family;
use super::joint::Joint;
use super::sequencer::{Arrived, Client, Said, Sequencer, Spilling, Step, Turn, Whose, Work};
use super::state::State;
use crate::memory::Budget;
use crate::recorder::Recorder;
use crate::{Code, ErrorKind, InferRequest, Param, Parameters, Protocol, VersionRef};
use shuttle::future::{JoinHandle, block_on, spawn, yield_now};
use std::sync::Arc;
use std::time::Instant;
use stead_sequence::{Ids, Limits, Table};
use stead_tensor::Tensor;
use tokio::sync::oneshot;

/// Orders that each test tries: a second or two on one thread.
const ITERATIONS: usize = 300;

fn explore(test: impl Fn() + Send + Sync + 'static) {
    let asked = std::env::var("STEAD_ITERATIONS").ok().and_then(|n| n.parse().ok());
    let iterations = asked.unwrap_or(ITERATIONS);
    shuttle::check_random(
        move || {
            block_on(async {});
            test();
        },
        iterations,
    );
}

/// An instance of a model, whose steps add a number.
fn instance(family: &Arc<Family>) -> Arc<Sequencer> {
    let whose = Whose { model: "m".into(), version: 1, family: Arc::clone(family) };
    let table = Table::with_ids(Limits::default(), Ids::Counter);
    let recorder = Arc::new(Recorder::new("m", 1));
    let work = Work::Pipeline(Joint::new(Vec::new()));
    let sequencer = Sequencer::new(whose, work, table, 100, recorder, None, Spilling::new(None));
    sequencer.count_on();
    sequencer
}

fn alone() -> Arc<Sequencer> {
    instance(&Arc::default())
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Control {
    Start,
    Step,
    End,
}
use Control::{End, Start, Step as Continue};

/// A request that has arrived: its turn, and its answer.
struct Request {
    turn: oneshot::Receiver<Turn>,
    answer: Arrived,
}

fn arrive(sequencer: &Arc<Sequencer>, id: u64, control: Control) -> Request {
    let mut request = InferRequest {
        model: "m".into(),
        version: VersionRef::Latest,
        id: String::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        parameters: Parameters::from([
            ("sequence_id".into(), Param::U64(id)),
            ("sequence_start".into(), Param::Bool(control == Start)),
            ("sequence_end".into(), Param::Bool(control == End)),
        ]),
        deadline: None,
        protocol: Protocol::KserveGrpc,
    };
    let Call { order, form } = read(&mut request).unwrap();
    let (to_turn, turn) = oneshot::channel();
    let step = Box::new(Step {
        inputs: Vec::new(),
        wanted: Vec::new(),
        names: vec!["y".into()],
        rows: 1,
        deadline: None,
        queued: Instant::now(),
        held: Budget::new(1 << 20).take(0),
        form,
        client: Client::Here,
        turn: Some(to_turn),
    });
    let answer = sequencer.arrive(Call { order, form }, step);
    Request { turn, answer }
}

/// Waits for an answer.
async fn answer(arrived: Arrived) -> Said {
    match arrived {
        Arrived::Done(said) => said,
        Arrived::Waits(answer) => answer.await.unwrap(),
    }
}

/// Ends a step: the state and the answer are the sum.
fn add(turn: Turn, value: i64) {
    let before = turn.state.as_ref().and_then(|s| s.0[0].clone());
    let before = before.map_or(0, |t| t.as_slice::<i64>().unwrap()[0]);
    let sum = Tensor::from_slice(&[before + value], &[1]).unwrap();
    turn.end(Ok((vec![sum.clone()], State([Some(sum)].into()))));
}

fn sum(said: Said) -> Result<i64, Code> {
    said.map(|a| a.outputs[0].1.as_slice::<i64>().unwrap()[0]).map_err(|e| e.code)
}

impl Request {
    /// Runs the step when its turn has come, and gives the answer.
    async fn run(self, value: i64) -> Result<i64, Code> {
        if let Ok(turn) = self.turn.await {
            yield_now().await;
            add(turn, value);
        }
        sum(answer(self.answer).await)
    }
}

/// One request, on a thread of its own.
fn client(
    sequencer: &Arc<Sequencer>,
    id: u64,
    control: Control,
    value: i64,
) -> JoinHandle<Result<i64, Code>> {
    let sequencer = Arc::clone(sequencer);
    spawn(async move { arrive(&sequencer, id, control).run(value).await })
}

async fn done<T>(handle: JoinHandle<T>) -> T {
    handle.await.unwrap()
}

fn is_quiet(sequencer: &Sequencer) {
    let metrics = sequencer.metrics();
    assert_eq!(metrics.waiting, 0, "nobody waits");
    assert!(sequencer.list(None, 100).iter().all(|s| !s.busy), "nothing runs");
}

#[test]
fn steps_of_a_sequence_run_in_the_order_of_arrival() {
    explore(|| {
        let sequencer = alone();
        block_on(async {
            // Two sequences at once, whose requests wait for each other; each answer is the sum of all before it.
            let sequence = |id: u64| {
                let sequencer = Arc::clone(&sequencer);
                spawn(async move {
                    let controls = [Start, Continue, Continue, Continue, End];
                    let all: Vec<_> = controls
                        .into_iter()
                        .map(|control| spawn(arrive(&sequencer, id, control).run(id as i64)))
                        .collect();
                    for (n, step) in (1..).zip(all) {
                        assert_eq!(done(step).await, Ok(n * id as i64), "sequence {id}");
                    }
                })
            };
            let (one, two) = (sequence(1), sequence(10));
            done(one).await;
            done(two).await;
        });
        assert!(!sequencer.is_active());
        is_quiet(&sequencer);
    });
}

#[test]
fn a_slow_sequence_blocks_no_other() {
    explore(|| {
        let sequencer = alone();
        block_on(async {
            let slow = arrive(&sequencer, 1, Start);
            let turn = slow.turn.await.unwrap();
            let behind = client(&sequencer, 1, Continue, 1);
            let others: Vec<_> = (2..5).map(|id| client(&sequencer, id, Start, 7)).collect();
            // The slow step ends only when all others are answered.
            for other in others {
                assert_eq!(done(other).await, Ok(7));
            }
            add(turn, 5);
            assert_eq!(sum(answer(slow.answer).await), Ok(5));
            // It arrived while the step ran, or behind it.
            assert_eq!(done(behind).await, Ok(6));
        });
        is_quiet(&sequencer);
    });
}

/// The cleaner races START, continue and END at every position.
#[test]
fn the_cleaner_ends_idle_sequences_only() {
    explore(|| {
        let sequencer = alone();
        let cleaner = {
            let sequencer = Arc::clone(&sequencer);
            shuttle::thread::spawn(move || (0..4).for_each(|_| sequencer.scan()))
        };
        block_on(async {
            assert_eq!(done(client(&sequencer, 1, Start, 1)).await, Ok(1), "a START is never lost");
            let second = done(client(&sequencer, 1, Continue, 2)).await;
            let third = done(client(&sequencer, 1, End, 4)).await;
            match second {
                Ok(sum) => {
                    assert_eq!(sum, 3);
                    assert!(matches!(third, Ok(7) | Err(Code::NotFound)), "{third:?}");
                }
                Err(code) => assert_eq!((code, third), (Code::NotFound, Err(Code::NotFound))),
            }
        });
        cleaner.join().unwrap();
        assert!(!sequencer.is_active(), "it was ended by one of the two");
        let counters = sequencer.metrics().counters;
        assert_eq!((counters.started, counters.ended + counters.expired), (1, 1));
        is_quiet(&sequencer);
    });
}

/// The exception to queueing: while an END runs, a START is refused and a step finds nothing, both at once.
#[test]
fn nobody_waits_for_an_end() {
    explore(|| {
        for fails in [false, true] {
            let sequencer = alone();
            block_on(async {
                assert_eq!(done(client(&sequencer, 1, Start, 1)).await, Ok(1));
                let end = arrive(&sequencer, 1, End);
                let turn = end.turn.await.unwrap();
                let (start, step) =
                    (client(&sequencer, 1, Start, 9), client(&sequencer, 1, Continue, 9));
                // The END is held until both have their answers.
                assert_eq!(done(start).await, Err(Code::FailedPrecondition));
                assert_eq!(done(step).await, Err(Code::NotFound));
                match fails {
                    false => add(turn, 2),
                    true => turn.end(Err(ErrorKind::ShuttingDown.into())),
                }
                let said = sum(answer(end.answer).await);
                assert_eq!(said.is_ok(), !fails);
                let next = done(client(&sequencer, 1, Continue, 4)).await;
                let expected = if fails { Ok(5) } else { Err(Code::NotFound) };
                assert_eq!(next, expected, "an END that failed leaves the sequence");
            });
            is_quiet(&sequencer);
        }
    });
}

/// STARTs and ENDs of one id from several clients: one sequence at a time, and every client has its answer.
#[test]
fn one_id_is_one_sequence() {
    explore(|| {
        let sequencer = alone();
        block_on(async {
            let flow = |value: i64| {
                let sequencer = Arc::clone(&sequencer);
                spawn(async move {
                    let began = arrive(&sequencer, 1, Start).run(value).await;
                    if began.is_ok() {
                        assert_eq!(began, Ok(value));
                        // Nobody else ends it, or goes on with it.
                        assert_eq!(arrive(&sequencer, 1, End).run(1).await, Ok(value + 1));
                    }
                    began
                })
            };
            let all: Vec<_> = (1..5).map(|n| flow(n * 100)).collect();
            let mut began = 0;
            for one in all {
                match done(one).await {
                    Ok(_) => began += 1,
                    Err(Code::AlreadyExists | Code::FailedPrecondition) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
            assert!(began > 0);
            assert_eq!(sequencer.metrics().counters.ended, began);
        });
        assert!(!sequencer.is_active());
        is_quiet(&sequencer);
    });
}

/// Clients that go away, before their turn and in it, have no effect and hold up nobody.
#[test]
fn a_client_that_goes_away_has_no_effect() {
    explore(|| {
        let sequencer = alone();
        block_on(async {
            assert_eq!(done(client(&sequencer, 1, Start, 1)).await, Ok(1));
            let gone = {
                let sequencer = Arc::clone(&sequencer);
                spawn(async move {
                    let arrived = arrive(&sequencer, 1, Continue);
                    yield_now().await;
                    drop(arrived);
                })
            };
            let in_its_turn = {
                let sequencer = Arc::clone(&sequencer);
                spawn(async move {
                    let turn = arrive(&sequencer, 1, Continue).turn.await;
                    yield_now().await;
                    drop(turn);
                })
            };
            assert_eq!(done(client(&sequencer, 1, Continue, 2)).await, Ok(3));
            done(gone).await;
            done(in_its_turn).await;
            assert_eq!(done(client(&sequencer, 1, End, 4)).await, Ok(7));
        });
        is_quiet(&sequencer);
    });
}

/// Two instances of one version, as while a model is replaced: their locks are taken in one order, and an id begins in
/// one of them only.
#[test]
fn instances_of_a_model_share_their_ids() {
    explore(|| {
        let family = Arc::default();
        let before = instance(&family);
        let after = instance(&family);
        before.finish_only();
        let cleaner = {
            let (before, after) = (Arc::clone(&before), Arc::clone(&after));
            shuttle::thread::spawn(move || {
                before.scan();
                after.scan();
            })
        };
        block_on(async {
            let mut all = Vec::new();
            for id in [1, 2] {
                all.extend([client(&before, id, Start, 1), client(&after, id, Start, 2)]);
            }
            // The server's own ids are none that are in use.
            all.extend([client(&after, 0, Start, 3), client(&before, 0, Start, 3)]);
            let mut began = 0;
            for one in all {
                match done(one).await {
                    Ok(_) => began += 1,
                    Err(code) => assert_eq!(code, Code::AlreadyExists),
                }
            }
            let mut ids: Vec<_> = [&before, &after]
                .iter()
                .flat_map(|s| s.list(None, 100).into_iter().map(|s| s.id))
                .collect();
            assert_eq!(ids.len(), began, "one scan ends nobody");
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), began, "no id lives twice");
        });
        cleaner.join().unwrap();
        is_quiet(&before);
        is_quiet(&after);
    });
}

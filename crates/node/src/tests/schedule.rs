//! The scheduler: batches, limits, deadlines, cancellation, draining.

use super::fake::{BOMB, Folder, Gate, POISON, block_on, request, runtime, values};
use crate::{Code, Embedded, ErrorKind, InferRequest, InferResponse, VersionRef};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

type Answer = Result<InferResponse, crate::Error>;

fn send(
    runtime: &tokio::runtime::Runtime,
    node: &Arc<Embedded>,
    request: InferRequest,
) -> JoinHandle<Answer> {
    let node = Arc::clone(node);
    runtime.spawn(async move { node.infer(request).await })
}

/// Waits until `n` requests stand in the queue.
fn wait_for_queue(node: &Embedded, n: u64) {
    while node.metrics().models[0].versions[0].queue_depth < n {
        std::thread::yield_now();
    }
}

fn gated(toml: &str) -> (Folder, Arc<Gate>, Arc<Embedded>) {
    let folder = Folder::new(&[("m/1/model.onnx", "add 1"), ("m/stead.toml", toml)]);
    let gate = Arc::new(Gate::default());
    let config = crate::NodeConfig {
        defaults: stead_app::ModelSettings { nireq: Some(1), ..Default::default() },
        ..folder.config()
    };
    let node = Embedded::start_with(config, super::fake::loader(&gate)).unwrap();
    gate.shut();
    (folder, gate, node)
}

#[test]
fn waiting_requests_are_joined_and_one_bad_one_fails_alone() {
    let (_folder, gate, node) = gated("max_batch_size = 4");
    let runtime = runtime();
    let first = send(&runtime, &node, request("m", &[0.0]));
    gate.wait_for_run();
    let mut waiting = Vec::new();
    // 1 + 2 + 1 rows fill a batch, then a poisoned one of two, then a bomb of two.
    for (i, rows) in
        [[1.0].as_slice(), &[2.0, 3.0], &[4.0], &[5.0], &[POISON], &[6.0, 7.0], &[BOMB]]
            .iter()
            .enumerate()
    {
        waiting.push(send(&runtime, &node, request("m", rows)));
        wait_for_queue(&node, i as u64 + 1);
    }
    gate.open();
    let mut answers: Vec<Result<Vec<f32>, Code>> = Vec::new();
    for handle in std::iter::once(first).chain(waiting) {
        let answer = runtime.block_on(handle).unwrap();
        answers.push(answer.map(|a| values(&a.outputs)).map_err(|e| e.code));
    }
    assert_eq!(
        answers,
        [
            Ok(vec![1.0]),
            Ok(vec![2.0]),
            Ok(vec![3.0, 4.0]),
            Ok(vec![5.0]),
            Ok(vec![6.0]),
            Err(Code::InvalidArgument),
            Ok(vec![7.0, 8.0]),
            Err(Code::Internal),
        ]
    );
    let stats = node.statistics(Some("m"), &VersionRef::Latest).unwrap().remove(0);
    let sizes: Vec<_> =
        stats.batch_stats.iter().map(|b| (b.batch_size, b.compute_infer.count)).collect();
    // The first alone, a full batch, then the members of the failed batch one by one.
    assert_eq!(sizes, [(1, 2), (2, 1), (4, 1)]);
    assert_eq!((stats.inference_count, stats.success.count, stats.fail.count), (8, 6, 2));
}

#[test]
fn a_full_queue_refuses_and_abandoned_requests_make_room() {
    let (_folder, gate, node) = gated("max_queue_size = 2");
    let runtime = runtime();
    let running = send(&runtime, &node, request("m", &[0.0]));
    gate.wait_for_run();
    let a = send(&runtime, &node, request("m", &[1.0]));
    wait_for_queue(&node, 1);
    let b = send(&runtime, &node, request("m", &[2.0]));
    wait_for_queue(&node, 2);
    let error = block_on(node.infer(request("m", &[3.0]))).unwrap_err();
    assert_eq!(
        (error.code, error.to_string().as_str()),
        (Code::Unavailable, "Exceeds maximum queue size - model: m; max_queue_size: 2")
    );
    a.abort();
    assert!(runtime.block_on(a).unwrap_err().is_cancelled());
    let c = send(&runtime, &node, request("m", &[4.0]));
    while node.metrics().models[0].versions[0].current_requests < 3 {
        std::thread::yield_now();
    }
    gate.open();
    for (handle, expected) in [(running, 1.0), (b, 3.0), (c, 5.0)] {
        assert_eq!(values(&runtime.block_on(handle).unwrap().unwrap().outputs), [expected]);
    }
    let metrics = node.metrics().models.remove(0).versions.remove(0);
    assert_eq!((metrics.cancelled, metrics.queue_rejected, metrics.current_requests), (1, 1, 0));
}

#[test]
fn a_running_request_stops_when_it_is_late_or_nobody_waits() {
    let (_folder, gate, node) = gated("default_timeout_ms = 20");
    let runtime = runtime();
    // The gate never opens: only its deadline ends the run.
    let late = send(&runtime, &node, request("m", &[0.0]));
    let error = runtime.block_on(late).unwrap().unwrap_err();
    assert_eq!(error.code, Code::DeadlineExceeded);
    let far = Some(Instant::now() + Duration::from_secs(3600));
    let dropped = send(&runtime, &node, InferRequest { deadline: far, ..request("m", &[0.0]) });
    gate.wait_for_run();
    dropped.abort();
    while node.metrics().models[0].versions[0].infer_req_active > 0 {
        std::thread::yield_now();
    }
    gate.open();
    assert!(block_on(node.infer(InferRequest { deadline: far, ..request("m", &[1.0]) })).is_ok());
}

#[test]
fn the_first_request_waits_for_others_but_not_for_ever() {
    let folder = Folder::new(&[
        ("m/1/model.onnx", "add 1"),
        ("m/stead.toml", "max_batch_size = 8\nmax_queue_delay_microseconds = 2000"),
    ]);
    let node = folder.start();
    let runtime = runtime();
    let handles: Vec<_> =
        (0..12).map(|i| send(&runtime, &node, request("m", &[i as f32]))).collect();
    for (i, handle) in handles.into_iter().enumerate() {
        assert_eq!(values(&runtime.block_on(handle).unwrap().unwrap().outputs), [i as f32 + 1.0]);
    }
}

#[test]
fn an_output_without_a_batch_axis_ends_batching_not_service() {
    let folder = Folder::new(&[
        ("m/1/model.onnx", "add 1 count"),
        ("m/stead.toml", "max_batch_size = 8\nmax_queue_delay_microseconds = 1000"),
    ]);
    let node = folder.start();
    let runtime = runtime();
    let all = |i: i32| InferRequest { outputs: vec![], ..request("m", &[i as f32]) };
    for _ in 0..3 {
        let handles: Vec<_> = (0..6).map(|i| send(&runtime, &node, all(i))).collect();
        for (i, handle) in handles.into_iter().enumerate() {
            let answer = runtime.block_on(handle).unwrap().unwrap();
            assert_eq!(values(&answer.outputs), [i as f32 + 1.0]);
            assert_eq!(answer.outputs[1].1.as_slice::<i64>().unwrap(), [2]);
        }
    }
}

#[test]
fn draining_answers_what_is_in_and_refuses_the_rest() {
    let (_folder, gate, node) = gated("");
    let runtime = runtime();
    let running = send(&runtime, &node, request("m", &[0.0]));
    gate.wait_for_run();
    let waiting = send(&runtime, &node, request("m", &[1.0]));
    wait_for_queue(&node, 1);
    assert!(!runtime.block_on(node.drain(Duration::from_millis(1))));
    assert!(!node.ready());
    assert_eq!(block_on(node.infer(request("m", &[2.0]))).unwrap_err().code, Code::Unavailable);
    gate.open();
    assert!(runtime.block_on(node.drain(Duration::from_secs(60))));
    assert!(
        runtime.block_on(running).unwrap().is_ok() && runtime.block_on(waiting).unwrap().is_ok()
    );
}

#[derive(Debug, Clone)]
struct Client {
    rows: Vec<f32>,
    deadline: Option<u64>,
    abort: bool,
    pause: bool,
}

fn client() -> impl Strategy<Value = Client> {
    let value = prop_oneof![8 => 0u16..12, 1 => Just(13u16), 1 => Just(666u16)].prop_map(f32::from);
    (
        prop::collection::vec(value, 1..4),
        prop::option::weighted(0.3, 0u64..3),
        prop::bool::weighted(0.1),
        any::<bool>(),
    )
        .prop_map(|(rows, deadline, abort, pause)| Client { rows, deadline, abort, pause })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever arrives, in whatever order, with deadlines, cancelled callers and a model that fails: every
    /// request gets one answer, it is its own, and the books balance.
    #[test]
    fn every_request_gets_its_own_answer(
        clients in prop::collection::vec(client(), 1..40),
        batch in prop_oneof![Just(0u32), Just(3), Just(8)],
        delay in prop_oneof![Just(0u32), Just(300)],
        queue in prop_oneof![Just(3u32), Just(1000)],
        runs in 1u32..3,
        fast in any::<bool>(),
    ) {
        let delay = if batch == 0 { 0 } else { delay };
        let toml = format!("max_batch_size = {batch}\nmax_queue_delay_microseconds = {delay}\nmax_queue_size = {queue}");
        let model = if fast { "add 1 fast" } else { "add 1" };
        let folder = Folder::new(&[("m/1/model.onnx", model), ("m/stead.toml", &toml)]);
        let config = crate::NodeConfig {
            defaults: stead_app::ModelSettings { nireq: Some(runs), ..Default::default() },
            ..folder.config()
        };
        let node = Embedded::start_with(config, super::fake::loader(&Arc::default())).unwrap();
        let runtime = runtime();
        let handles: Vec<_> = clients
            .iter()
            .map(|c| {
                let deadline = c.deadline.map(|ms| Instant::now() + Duration::from_millis(ms));
                let handle = send(&runtime, &node, InferRequest { deadline, ..request("m", &c.rows) });
                if c.abort {
                    handle.abort();
                }
                if c.pause {
                    std::thread::yield_now();
                }
                handle
            })
            .collect();
        for (client, handle) in clients.iter().zip(handles) {
            match runtime.block_on(handle) {
                Err(gone) => prop_assert!(client.abort && gone.is_cancelled()),
                Ok(Ok(answer)) => {
                    let expected: Vec<f32> = client.rows.iter().map(|v| v + 1.0).collect();
                    prop_assert_eq!(values(&answer.outputs), expected);
                    prop_assert!(!client.rows.contains(&POISON) && !client.rows.contains(&BOMB));
                }
                Ok(Err(error)) => {
                    let possible = match error.code {
                        Code::InvalidArgument => {
                            client.rows.contains(&POISON) || (batch > 0 && client.rows.len() > batch as usize)
                        }
                        Code::Internal => client.rows.contains(&BOMB),
                        Code::DeadlineExceeded => client.deadline.is_some(),
                        Code::Unavailable => match error.kind {
                            ErrorKind::CannotMeetDeadline { .. } => client.deadline.is_some(),
                            _ => queue == 3,
                        },
                        _ => false,
                    };
                    prop_assert!(possible, "{error} for {client:?}");
                }
            }
        }
        prop_assert!(runtime.block_on(node.drain(Duration::from_secs(60))));
        let metrics = || node.metrics().models.remove(0).versions.remove(0);
        prop_assert_eq!(metrics().current_requests, 0);
        // Requests that were given up leave the queue when their turn comes.
        while metrics().queue_depth + metrics().infer_req_active > 0 {
            std::thread::yield_now();
        }
        let stats = node.statistics(Some("m"), &VersionRef::Latest).unwrap().remove(0);
        let counted = stats.success.count + stats.fail.count;
        // An aborted request may never have begun.
        let aborted = clients.iter().filter(|c| c.abort).count() as u64;
        prop_assert!(counted <= clients.len() as u64 && counted + aborted >= clients.len() as u64);
    }
}

/// What cannot be answered in time is refused when it comes; what can waits and is answered, and so is what has time.
#[test]
fn a_deadline_that_cannot_be_met_is_refused_at_once() {
    let (_folder, gate, node) = gated("");
    let runtime = runtime();
    // A run that is known to have taken a while.
    let (begin, slow) = (Instant::now(), Duration::from_millis(60));
    let first = send(&runtime, &node, request("m", &[0.0]));
    gate.wait_for_run();
    while begin.elapsed() < slow {
        std::thread::yield_now();
    }
    gate.open();
    assert!(runtime.block_on(first).unwrap().is_ok());
    gate.shut();
    let within = |time: Duration, value: f32| {
        let deadline = Some(Instant::now() + time);
        InferRequest { deadline, ..request("m", &[value]) }
    };
    // Nothing waits: whoever has too little time is let in all the same.
    let running = send(&runtime, &node, within(Duration::from_secs(3600), 1.0));
    gate.wait_for_run();
    let waiting = send(&runtime, &node, request("m", &[2.0]));
    wait_for_queue(&node, 1);
    // One that is let in to try may come in between, after a pause of the machine.
    let short = Duration::from_millis(20);
    let refused = (0..100)
        .map(|_| block_on(node.infer(within(short, 3.0))).unwrap_err())
        .find(|error| error.code != Code::DeadlineExceeded)
        .expect("a request that is refused");
    assert_eq!(
        (refused.code, refused.retry_after(), refused.to_string().as_str()),
        (
            Code::Unavailable,
            Some(1),
            "model m cannot be answered before the deadline; try again in 1 s"
        )
    );
    let patient = send(&runtime, &node, within(Duration::from_secs(3600), 4.0));
    while node.metrics().models[0].versions[0].current_requests < 3 {
        std::thread::yield_now();
    }
    gate.open();
    for (handle, expected) in [(running, 2.0), (waiting, 3.0), (patient, 5.0)] {
        assert_eq!(values(&runtime.block_on(handle).unwrap().unwrap().outputs), [expected]);
    }
    let metrics = node.metrics();
    assert!(metrics.refused >= 1);
    assert_eq!(metrics.models[0].versions[0].queue_rejected, metrics.refused);
}

//! The log with its thread: order, batches, bounds, errors and the end.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::ErrorKind;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, OnceLock};
use stead_log::{Call, Io, Log, LogError, LogOptions, SeededRng, SimIo, SyncMode, SystemRng};

fn open(io: &SimIo, options: LogOptions) -> (Log, Vec<(u64, Vec<u8>)>) {
    let mut seen = Vec::new();
    let (log, _) = Log::open(Arc::new(io.clone()), Arc::new(SystemRng), options, |lsn, payload| {
        seen.push((lsn, payload.to_vec()));
        Ok::<(), LogError>(())
    })
    .expect("the log opens");
    (log, seen)
}

/// Holds the log's thread in a callback until the sender is used or dropped.
fn hold(log: &Log) -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel();
    let (entered, inside) = mpsc::channel();
    log.append(Vec::new(), move |_| {
        let _ = entered.send(());
        let _ = released.recv();
    })
    .unwrap();
    inside.recv().unwrap();
    release
}

fn collect(results: &Receiver<Result<u64, LogError>>) -> Vec<Result<u64, LogError>> {
    results.iter().collect()
}

#[test]
fn many_threads_get_every_record_in_one_order() {
    let io = SimIo::new(1);
    let options =
        LogOptions { segment_bytes: 4000, max_record_bytes: 100, ..LogOptions::default() };
    let (log, _) = open(&io, options.clone());
    let order = Arc::new(Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let (log, order) = (&log, &order);
            scope.spawn(move || {
                for i in 0..250u8 {
                    let order = Arc::clone(order);
                    log.append(vec![thread, i], move |result| {
                        order.lock().unwrap().push((result.unwrap(), vec![thread, i]));
                    })
                    .unwrap();
                }
            });
        }
    });
    assert_eq!(log.flush(), Ok(1001));
    let stats = log.stats();
    assert_eq!((stats.records, stats.payload_bytes), (1000, 2000));
    assert!(stats.segments >= 4 && stats.disk_bytes > 18_000);
    drop(log);
    io.crash();
    let (_log, seen) = open(&io, options);
    assert_eq!(seen, *order.lock().unwrap());
    assert!(seen.iter().zip(1..).all(|((lsn, _), expected)| *lsn == expected));
}

#[test]
fn what_has_gathered_is_one_batch() {
    let io = SimIo::new(1);
    let (log, _) = open(&io, LogOptions::default());
    let release = hold(&log);
    let (batches, calls) = (log.stats().batches, io.calls());
    let (sender, results) = mpsc::channel();
    for _ in 0..100 {
        let sender = sender.clone();
        log.append(vec![1; 10], move |result| sender.send(result).unwrap()).unwrap();
    }
    drop((release, sender));
    assert_eq!(collect(&results), (2..102).map(Ok).collect::<Vec<_>>());
    assert_eq!(log.stats().batches, batches + 1);
    assert_eq!(io.calls(), calls + 2, "one write and one sync");
}

#[test]
fn the_queue_is_bounded() {
    let io = SimIo::new(1);
    let options = LogOptions { queue_bytes: 1000, ..LogOptions::default() };
    let (log, _) = open(&io, options);
    let release = hold(&log);
    log.try_append(vec![0; 5000], drop).expect("a large record is let in alone");
    assert_eq!(log.try_append(Vec::new(), drop), Err(LogError::QueueFull));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| log.append_wait(vec![0; 500]));
        drop(release);
        assert_eq!(waits.join().unwrap(), Ok(3));
    });
    let max = 16 << 20;
    let len = max + 1;
    assert_eq!(log.append(vec![0; len], drop), Err(LogError::TooLarge { len, max }));
}

#[test]
fn an_error_stops_the_log_and_loses_nothing_acknowledged() {
    let cases = [
        ("the disk is full", Call::Append, ErrorKind::StorageFull, "append to"),
        ("the sync fails", Call::Sync, ErrorKind::Other, "sync"),
    ];
    for (label, call, kind, action) in cases {
        let io = SimIo::new(7);
        let (log, _) = open(&io, LogOptions::default());
        let release = hold(&log);
        io.fail(call, 0, kind);
        let (sender, results) = mpsc::channel();
        for _ in 0..3 {
            let sender = sender.clone();
            log.append(vec![1; 10], move |result| sender.send(result).unwrap()).unwrap();
        }
        drop((release, sender));
        let cause = LogError::Io { action, what: "0000000000000001.log".into(), kind };
        assert_eq!(collect(&results), vec![Err(cause.clone()); 3], "{label}");
        let stopped = LogError::Stopped(Arc::new(cause.clone()));
        assert_eq!(log.append(vec![2], drop), Err(stopped.clone()), "{label}");
        assert_eq!(log.append_wait(vec![2]), Err(stopped.clone()), "{label}");
        assert_eq!(log.flush(), Err(stopped), "{label}");
        assert_eq!(log.stopped(), Some(cause), "{label}");
        drop(log);
        let (log, seen) = open(&io, LogOptions::default());
        assert_eq!(seen, [(1, vec![])], "{label}: what failed was cut off");
        assert_eq!(log.append_wait(vec![3]), Ok(2), "{label}");
    }
}

#[test]
fn a_full_disk_keeps_what_was_acknowledged() {
    for capacity in (200..2000).step_by(37) {
        let io = SimIo::new(capacity);
        let (log, _) = open(&io, LogOptions::default());
        io.set_capacity(Some(capacity));
        let mut acknowledged = 0;
        let error = loop {
            match log.append_wait(vec![5; 50]) {
                Ok(lsn) => acknowledged = lsn,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, LogError::Io { kind: ErrorKind::StorageFull, .. }), "{error}");
        drop(log);
        io.crash();
        io.set_capacity(None);
        let (_log, seen) = open(&io, LogOptions::default());
        assert!(seen.len() as u64 >= acknowledged, "capacity {capacity}");
    }
}

#[test]
fn power_fails_under_many_threads() {
    for seed in 0..60 {
        let io = SimIo::new(seed);
        let rng = SeededRng::new(seed);
        let options =
            LogOptions { segment_bytes: 2000, max_record_bytes: 100, ..LogOptions::default() };
        let (log, _) = open(&io, options.clone());
        io.power_off_after(1 + rng.below(80));
        let acknowledged = Arc::new(Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for thread in 0..3u8 {
                let (log, acknowledged) = (&log, &acknowledged);
                scope.spawn(move || {
                    for i in 0..100 {
                        let acknowledged = Arc::clone(acknowledged);
                        let payload = vec![thread, i];
                        let copy = payload.clone();
                        let appended = log.append(payload, move |result| {
                            if let Ok(lsn) = result {
                                acknowledged.lock().unwrap().push((lsn, copy));
                            }
                        });
                        if appended.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        drop(log);
        io.crash();
        let (_log, seen) = open(&io, options);
        let acknowledged = acknowledged.lock().unwrap();
        assert!(seen.starts_with(&acknowledged), "seed {seed}");
    }
}

#[test]
fn without_syncs_a_killed_process_loses_nothing() {
    let io = SimIo::new(3);
    let options = LogOptions { sync: SyncMode::Never, ..LogOptions::default() };
    let (log, _) = open(&io, options.clone());
    let calls = io.calls();
    assert_eq!(log.append_wait(vec![1]), Ok(1));
    assert_eq!(io.calls(), calls + 1, "one write and no sync");
    io.kill();
    drop(log);
    let (log, seen) = open(&io, options.clone());
    assert_eq!(seen.len(), 1);
    log.append(vec![2], drop).unwrap();
    assert_eq!(log.flush(), Ok(3));
    io.crash();
    drop(log);
    assert_eq!(open(&io, options).1.len(), 2, "a flush is durable");
}

#[test]
fn dropping_writes_what_waits() {
    for sync in [SyncMode::Batch, SyncMode::Never] {
        let io = SimIo::new(3);
        let options = LogOptions { sync, ..LogOptions::default() };
        let (log, _) = open(&io, options.clone());
        let (sender, results) = mpsc::channel();
        let release = hold(&log);
        for _ in 0..10 {
            let sender = sender.clone();
            log.append(vec![1], move |result| sender.send(result).unwrap()).unwrap();
        }
        drop((sender, release));
        drop(log);
        assert_eq!(collect(&results), (2..12).map(Ok).collect::<Vec<_>>());
        io.crash();
        assert_eq!(open(&io, options).1.len(), 11, "{sync:?}");
    }
}

#[test]
fn callbacks_may_append_panic_and_own_the_log() {
    let io = SimIo::new(3);
    let (log, _) = open(&io, LogOptions::default());
    let log = Arc::new(log);
    let slot: Arc<OnceLock<Arc<Log>>> = Arc::new(OnceLock::new());
    slot.set(Arc::clone(&log)).ok().unwrap();
    let (sender, results) = mpsc::channel();
    log.append(vec![1], move |_| {
        let log = Arc::clone(slot.get().unwrap());
        assert_eq!(log.flush(), Err(LogError::OnLogThread));
        assert_eq!(log.append_wait(vec![9]), Err(LogError::OnLogThread));
        log.append(vec![2], move |result| sender.send(result).unwrap()).unwrap();
        panic!("a caller's mistake, which this test makes on purpose");
    })
    .unwrap();
    assert_eq!(results.recv().unwrap(), Ok(2));
    assert_eq!(log.append_wait(vec![3]), Ok(3));

    let (sender, ended) = mpsc::channel();
    let last = Arc::clone(&log);
    let (go, wait) = mpsc::channel::<()>();
    log.append(vec![4], move |_| {
        let _ = wait.recv();
        drop(last);
        sender.send(()).unwrap();
    })
    .unwrap();
    drop(log);
    drop(go);
    ended.recv().expect("the last owner was a callback");
}

#[test]
fn prune_goes_on_beside_appends() {
    let io = SimIo::new(3);
    let options =
        LogOptions { segment_bytes: 1000, max_record_bytes: 100, ..LogOptions::default() };
    let (log, _) = open(&io, options.clone());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..500 {
                log.append_wait(vec![0; 100]).unwrap();
            }
        });
        scope.spawn(|| {
            while log.next_lsn() < 400 {
                log.prune(log.next_lsn().saturating_sub(50)).unwrap();
                std::thread::yield_now();
            }
        });
    });
    log.prune(u64::MAX).unwrap();
    assert_eq!(log.stats().segments, 1);
    assert_eq!(io.list().unwrap().len(), 1);
    drop(log);
    io.crash();
    let (log, seen) = open(&io, options);
    assert_eq!(log.next_lsn(), 501);
    assert_eq!(seen.last().map_or(500, |(lsn, _)| *lsn), 500);
}

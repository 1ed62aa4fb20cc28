//! The pool under load, with panics, nested loops and shutdown.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use stead_pool::{Class, Pool, PoolOptions, TaskError};

fn pool(threads: usize) -> Arc<Pool> {
    Pool::new(&PoolOptions { threads, ..PoolOptions::default() }).unwrap()
}

#[test]
fn tasks_answer_panics_are_errors_and_workers_survive() {
    let pool = pool(2);
    for i in 0..50usize {
        let ticket = pool.submit(Class::Query, None, move |_| {
            assert!(i % 5 != 3, "bad {i}");
            i * 2
        });
        let expected =
            if i % 5 == 3 { Err(TaskError::Panicked(format!("bad {i}"))) } else { Ok(i * 2) };
        assert_eq!(ticket.wait(), expected);
    }
    pool.spawn(Class::Query, None, |_| panic!("unheard")).unwrap();
    assert_eq!(pool.submit(Class::Background, None, |w| w.index() < 2).wait(), Ok(true));
    assert_eq!(pool.threads(), 2);
}

#[test]
fn a_late_task_is_told_so() {
    let pool = pool(1);
    let past = Instant::now();
    let future = past + Duration::from_secs(3600);
    for (deadline, late) in [(None, false), (Some(past), true), (Some(future), false)] {
        assert_eq!(pool.submit(Class::Query, deadline, |w| w.is_late()).wait(), Ok(late));
    }
}

#[test]
fn a_panic_in_a_loop_reaches_its_caller_once_all_helpers_have_left() {
    let pool = pool(3);
    for bad in [0, 7, 99] {
        let inside = AtomicUsize::new(0);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.team(3).for_each(100, &|i| {
                inside.fetch_add(1, Ordering::SeqCst);
                let guard = Leave(&inside);
                assert!(i != bad, "round {i}");
                std::thread::yield_now();
                drop(guard);
            });
        }));
        let payload = outcome.unwrap_err();
        assert_eq!(payload.downcast_ref::<String>(), Some(&format!("round {bad}")));
        assert_eq!(inside.load(Ordering::SeqCst), 0);
    }
    assert_eq!(pool.submit(Class::Query, None, |_| 1).wait(), Ok(1));
}

struct Leave<'a>(&'a AtomicUsize);
impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn idle_workers_are_lent_and_taken_back_when_work_arrives() {
    let pool = pool(2);
    // One worker is held, so that only the lent one can run the task below.
    let (release, held) = std::sync::mpsc::channel::<()>();
    pool.spawn(Class::Query, None, move |_| {
        let _ = held.recv();
    })
    .unwrap();
    while pool.stats().idle != 1 {
        std::thread::yield_now();
    }
    let helped = AtomicBool::new(false);
    let task_ran = Arc::new(AtomicBool::new(false));
    let me = std::thread::current().id();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        // The loop ends only when the task has run, and the helper is in the loop when it queues the task.
        pool.team(2).for_each(usize::MAX / 2, &|_| {
            if std::thread::current().id() != me {
                if !helped.swap(true, Ordering::SeqCst) {
                    let done = Arc::clone(&task_ran);
                    pool.spawn(Class::Query, None, move |_| done.store(true, Ordering::SeqCst))
                        .unwrap();
                }
            } else if task_ran.load(Ordering::SeqCst) {
                std::panic::resume_unwind(Box::new("done"));
            }
            std::thread::yield_now();
        });
    }));
    assert_eq!(outcome.unwrap_err().downcast_ref::<&str>(), Some(&"done"));
    assert!(pool.stats().lent > 0);
    drop(release);
}

#[test]
fn loops_inside_loops_from_many_threads() {
    let pool = pool(2);
    let total = AtomicUsize::new(0);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for _ in 0..50 {
                    pool.team(8).for_each(6, &|_| {
                        pool.team(8).for_each(5, &|_| {
                            total.fetch_add(1, Ordering::Relaxed);
                        });
                    });
                }
            });
        }
    });
    assert_eq!(total.into_inner(), 4 * 50 * 30);
}

#[test]
fn shutdown_runs_what_is_queued_and_refuses_the_rest() {
    let pool = pool(2);
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        let ran = Arc::clone(&ran);
        pool.spawn(Class::Background, None, move |_| {
            ran.fetch_add(1, Ordering::SeqCst);
        })
        .unwrap();
    }
    pool.shutdown();
    assert_eq!(ran.load(Ordering::SeqCst), 100);
    assert_eq!(pool.spawn(Class::Query, None, |_| {}), Err(TaskError::Closed));
    assert_eq!(pool.submit(Class::Query, None, |_| 1).wait(), Err(TaskError::Closed));
    let sum = AtomicUsize::new(0);
    pool.team(2).for_each(10, &|i| {
        sum.fetch_add(i, Ordering::Relaxed);
    });
    assert_eq!(sum.into_inner(), 45);
}

#[test]
fn a_pool_dropped_by_its_own_task_does_not_lock_up() {
    let pool = pool(1);
    let owner = Arc::clone(&pool);
    let (sender, receiver) = std::sync::mpsc::channel();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    pool.spawn(Class::Query, None, move |_| {
        wait.recv().ok();
        drop(owner);
        sender.send(()).unwrap();
    })
    .unwrap();
    drop(pool);
    go.send(()).unwrap();
    receiver.recv().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Every element is written once by the chunk it lies in, whatever the sizes and threads, while tasks
    /// come and go.
    #[test]
    fn chunks_cover_everything_once(len in 0usize..300, chunk in 1usize..40, threads in 1usize..5, tasks in 0usize..10) {
        let pool = pool(3);
        let tickets: Vec<_> =
            (0..tasks).map(|i| pool.submit(Class::Query, None, move |_| i)).collect();
        let mut data = vec![0usize; len];
        pool.team(threads).par_chunks_mut(&mut data, chunk, &|i, part| {
            for (k, v) in part.iter_mut().enumerate() {
                *v += i * chunk + k + 1;
            }
        });
        for (i, v) in data.iter().enumerate() {
            prop_assert_eq!(*v, i + 1);
        }
        for (i, ticket) in tickets.into_iter().enumerate() {
            prop_assert_eq!(ticket.wait(), Ok(i));
        }
    }
}

/// Tasks and loops from many threads at once; every one is answered and the books balance.
#[test]
fn stress() {
    let pool = pool(4);
    let answered = AtomicUsize::new(0);
    std::thread::scope(|s| {
        for t in 0..6usize {
            let (pool, answered) = (&pool, &answered);
            s.spawn(move || {
                for i in 0..200usize {
                    match (t + i) % 3 {
                        0 => {
                            let team_pool = Arc::clone(pool);
                            let ticket = pool.submit(Class::Query, None, move |_| {
                                let sum = AtomicUsize::new(0);
                                team_pool.team(3).for_each(20, &|i| {
                                    sum.fetch_add(i, Ordering::Relaxed);
                                });
                                sum.into_inner()
                            });
                            assert_eq!(ticket.wait(), Ok(190));
                        }
                        1 => {
                            let ticket = pool.submit(Class::Query, None, move |_| i);
                            assert_eq!(ticket.wait(), Ok(i));
                        }
                        _ => {
                            let mut data = [0u8; 64];
                            pool.team(4).par_chunks_mut(&mut data, 3, &|_, c| c.fill(1));
                            assert_eq!(data, [1; 64]);
                        }
                    }
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(answered.into_inner(), 1200);
    pool.shutdown();
    let stats = pool.stats();
    assert_eq!((stats.queued, stats.panics, stats.tasks), (0, 0, 800));
}

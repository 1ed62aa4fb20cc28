//! What goes before what: tasks and loops of more urgent classes run where less urgent ones check in.
#![allow(clippy::unwrap_used)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use stead_pool::{Class, Pool, PoolOptions, TaskError};

/// However slow the machine, tasks give way.
fn pool(threads: usize) -> Arc<Pool> {
    let grace = Duration::from_secs(3600);
    Pool::new(&PoolOptions { threads, grace, ..PoolOptions::default() }).unwrap()
}

/// What happened, in order.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<String>>>);

impl Events {
    fn note(&self, event: impl Into<String>) {
        self.0.lock().unwrap().push(event.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// A task that is running, checks in whenever it is told to, and says when it has.
struct Running {
    check_in: mpsc::Sender<()>,
    checked: mpsc::Receiver<()>,
    done: stead_pool::Ticket<()>,
}

impl Running {
    fn start(pool: &Arc<Pool>, class: Class) -> Running {
        let (check_in, told) = mpsc::channel::<()>();
        let (has, checked) = mpsc::channel();
        let mine = Arc::clone(pool);
        let done = pool.submit(class, None, move |_| {
            has.send(()).unwrap();
            while told.recv().is_ok() {
                mine.team(1).give_way();
                has.send(()).unwrap();
            }
        });
        checked.recv().unwrap();
        Running { check_in, checked, done }
    }

    fn check_in(&self) {
        self.check_in.send(()).unwrap();
        self.checked.recv().unwrap();
    }

    fn end(self) {
        drop(self.check_in);
        self.done.wait().unwrap();
    }
}

#[test]
fn only_what_is_more_urgent_runs_at_a_check_in() {
    for running in Class::ALL {
        for waiting in Class::ALL {
            let (pool, events) = (pool(1), Events::default());
            let task = Running::start(&pool, running);
            let theirs = events.clone();
            let ticket = pool.submit(waiting, None, move |w| {
                theirs.note(format!("{waiting:?} on {}", w.index()));
            });
            task.check_in();
            let nested = events.take();
            task.end();
            ticket.wait().unwrap();
            let (is_nested, label) = (waiting < running, format!("{waiting:?} in {running:?}"));
            assert_eq!(!nested.is_empty(), is_nested, "{label}");
            assert_eq!(nested.len() + events.take().len(), 1, "{label}");
            pool.shutdown();
            let stats = pool.stats();
            assert_eq!(
                (stats.nested, stats.tasks, stats.idle),
                (u64::from(is_nested), 2, 1),
                "{label}"
            );
        }
    }
}

#[test]
fn a_task_sees_the_queries_that_wait_run_in_their_order_before_it_goes_on() {
    let (pool, events) = (pool(1), Events::default());
    let feed = Running::start(&pool, Class::Feed);
    for (class, name) in
        [(Class::Query, "a"), (Class::Step, "b"), (Class::Feed, "c"), (Class::Query, "d")]
    {
        let events = events.clone();
        pool.spawn(class, None, move |_| events.note(name)).unwrap();
    }
    assert_eq!(events.take(), Vec::<String>::new(), "nothing runs before the check-in");
    feed.check_in();
    assert_eq!(events.take(), ["a", "d", "b"]);
    feed.check_in();
    assert_eq!(events.take(), Vec::<String>::new());
    feed.end();
    pool.shutdown();
    assert_eq!(events.take(), ["c"]);
}

#[test]
fn what_interrupts_can_be_interrupted_by_what_is_more_urgent_still() {
    let (pool, events) = (pool(1), Events::default());
    let load = Running::start(&pool, Class::Background);
    let (mine, theirs) = (Arc::clone(&pool), events.clone());
    pool.spawn(Class::Feed, None, move |_| {
        theirs.note("feed begins");
        for class in Class::ALL {
            let events = theirs.clone();
            mine.spawn(class, None, move |_| events.note(format!("{class:?}"))).unwrap();
        }
        mine.team(1).give_way();
        theirs.note("feed ends");
    })
    .unwrap();
    load.check_in();
    assert_eq!(events.take(), ["feed begins", "Query", "Step", "feed ends", "Feed"]);
    load.end();
    pool.shutdown();
    assert_eq!(events.take(), ["Background"]);
}

/// Each query brings the next: without a part of its own the feed would not end, and without fair picks the load would
/// not begin.
#[test]
fn an_endless_burst_of_queries_keeps_nothing_from_finishing() {
    fn again(pool: &Arc<Pool>, until: &Arc<AtomicUsize>) {
        let (mine, theirs) = (Arc::clone(pool), Arc::clone(until));
        let next = move |_: &_| {
            if theirs.load(Ordering::SeqCst) > 0 {
                again(&mine, &theirs);
            }
        };
        // A pool that is shut down needs no more of them.
        let _ = pool.spawn(Class::Query, None, next);
    }
    const CHECKS: u64 = 200;
    for grace in [Duration::from_secs(3600), Duration::ZERO] {
        let pool = Pool::new(&PoolOptions { threads: 1, grace, ..PoolOptions::default() }).unwrap();
        let left = Arc::new(AtomicUsize::new(2));
        for _ in 0..50 {
            again(&pool, &left);
        }
        let finish = |class| {
            let (mine, left) = (Arc::clone(&pool), Arc::clone(&left));
            pool.submit(class, None, move |_| {
                for _ in 0..CHECKS {
                    mine.team(1).give_way();
                }
                left.fetch_sub(1, Ordering::SeqCst);
            })
        };
        for ticket in [Class::Background, Class::Feed].map(finish) {
            assert_eq!(ticket.wait(), Ok(()));
        }
        pool.shutdown();
        let nested = pool.stats().nested;
        // It gives way, and no check-in runs more than the bound.
        let least = if grace.is_zero() { 0 } else { CHECKS };
        assert!((least..=2 * CHECKS * 32).contains(&nested), "{nested}");
    }
}

#[test]
fn panics_and_deadlines_of_what_interrupts_are_its_own() {
    let pool = pool(1);
    let feed = Running::start(&pool, Class::Feed);
    let past = Some(Instant::now());
    let future = past.map(|past| past + Duration::from_secs(3600));
    let bad = pool.submit(Class::Query, None, |_| panic!("bad query"));
    let unheard = pool.spawn(Class::Query, None, |_| panic!("unheard"));
    unheard.unwrap();
    let late = [past, future].map(|until| pool.submit(Class::Query, until, |w| w.is_late()));
    feed.check_in();
    assert_eq!(bad.wait(), Err(TaskError::Panicked("bad query".to_owned())));
    assert_eq!(late.map(|ticket| ticket.wait()), [Ok(true), Ok(false)]);
    // It is of the class that it was: equals wait, and queries go first.
    let events = Events::default();
    for class in [Class::Feed, Class::Query] {
        let events = events.clone();
        pool.spawn(class, None, move |_| events.note(format!("{class:?}"))).unwrap();
    }
    feed.check_in();
    assert_eq!(events.take(), ["Query"]);
    feed.end();
    pool.shutdown();
    let stats = pool.stats();
    assert_eq!((stats.panics, stats.nested, stats.tasks, stats.idle), (1, 5, 7, 1));
}

#[test]
fn a_check_in_elsewhere_does_nothing() {
    let (one, other) = (pool(1), pool(1));
    one.team(1).give_way();
    let held = Running::start(&one, Class::Query);
    let waits = one.submit(Class::Query, None, |_| 1);
    let guest = Arc::clone(&one);
    // A background task of another pool has nothing to give to this one.
    other.submit(Class::Background, None, move |_| guest.team(1).give_way()).wait().unwrap();
    one.team(1).give_way();
    assert_eq!(one.stats().queued, 1);
    held.end();
    assert_eq!(waits.wait(), Ok(1));
}

#[test]
fn a_feed_that_checks_in_helps_with_the_loop_of_a_query() {
    let pool = pool(2);
    // The one worker has its own query, the other one feeds.
    let held = Running::start(&pool, Class::Query);
    let helped = Arc::new(AtomicBool::new(false));
    let (mine, seen) = (Arc::clone(&pool), Arc::clone(&helped));
    let (begun, begins) = mpsc::channel();
    let feed = pool.submit(Class::Feed, None, move |_| {
        begun.send(()).unwrap();
        while !seen.load(Ordering::SeqCst) {
            mine.team(1).give_way();
            std::thread::yield_now();
        }
    });
    begins.recv().unwrap();
    assert_eq!(pool.team(2).threads(), 2, "a feed is no reason to stay alone");
    let me = std::thread::current().id();
    pool.team(2).for_each(2, &|_| {
        match std::thread::current().id() == me {
            // Neither round can end before another thread has come.
            true => {
                while !helped.load(Ordering::SeqCst) {
                    std::thread::yield_now()
                }
            }
            false => helped.store(true, Ordering::SeqCst),
        }
    });
    feed.wait().unwrap();
    held.end();
    assert!(pool.stats().lent > 0);
}

#[test]
fn a_feed_gets_no_help_from_those_who_can_help_a_query_or_run_one() {
    for by_task in [false, true] {
        let pool = pool(2);
        let served = Arc::new(AtomicBool::new(false));
        let lent = Arc::new(AtomicBool::new(false));
        let (mine, is_served, is_lent) =
            (Arc::clone(&pool), Arc::clone(&served), Arc::clone(&lent));
        // The loop of a feed, with the other worker inside, goes on until the query has been served.
        let feed = pool.submit(Class::Feed, None, move |w| {
            let (owner, _) = (std::thread::current().id(), w.index());
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                mine.team(2).for_each(usize::MAX / 2, &|_| {
                    if std::thread::current().id() != owner {
                        is_lent.store(true, Ordering::SeqCst);
                    } else if is_served.load(Ordering::SeqCst) {
                        std::panic::resume_unwind(Box::new("done"));
                    }
                    std::thread::yield_now();
                });
            }));
            assert!(outcome.is_err());
        });
        while !lent.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        if by_task {
            let served = Arc::clone(&served);
            pool.submit(Class::Query, None, move |_| served.store(true, Ordering::SeqCst))
                .wait()
                .unwrap();
        } else {
            let me = std::thread::current().id();
            pool.team(2).for_each(2, &|_| match std::thread::current().id() == me {
                true => {
                    while !served.load(Ordering::SeqCst) {
                        std::thread::yield_now()
                    }
                }
                false => served.store(true, Ordering::SeqCst),
            });
        }
        feed.wait().unwrap();
    }
}

/// Every loop needs two threads, the feed checks in once, and the other worker is busy.
#[test]
fn who_helped_with_a_loop_stays_for_the_next_one() {
    let hour = Duration::from_secs(3600);
    let options = PoolOptions { threads: 2, grace: hour, linger: hour, ..PoolOptions::default() };
    let pool = Pool::new(&options).unwrap();
    let query = Running::start(&pool, Class::Query);
    let feed = Running::start(&pool, Class::Feed);
    for turn in 0..20 {
        let both = std::sync::Barrier::new(2);
        pool.team(2).for_each(2, &|round| {
            if turn == 0 && round == 0 {
                feed.check_in.send(()).unwrap();
            }
            both.wait();
        });
    }
    // What is less urgent does not keep it, and is not lost.
    let other = pool.submit(Class::Feed, None, |_| ());
    query.end();
    other.wait().unwrap();
    let Running { check_in, done, .. } = feed;
    drop(check_in);
    pool.shutdown();
    done.wait().unwrap();
}

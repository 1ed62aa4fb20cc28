//! The table against a reference that is too simple to be wrong: a sequence is the sum of the numbers that its
//! successful steps brought. Operations are drawn from a seed, time is virtual, nothing sleeps.
//!
//! A failure prints the seed: `STEAD_SEED=<seed> cargo test -p stead-sequence --test model` repeats it.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;
use stead_sequence::{
    Job, Limits, Next, Order, Outcome, Rules, Run, SequenceError, SequenceId, Table,
};

const OPERATIONS: usize = 100_000;

/// xorshift64*: small, and good enough to mix operations.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % n
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A request: its place in the order of arrival, the number that it brings, and whether its client waits.
struct Request {
    arrived: u64,
    value: u32,
    order: Order,
    gone: Rc<Cell<bool>>,
}

impl Job for Request {
    fn is_abandoned(&self) -> bool {
        self.gone.get()
    }
}

/// What the reference knows of a live sequence.
#[derive(Default)]
struct Known {
    sum: u32,
    step: u64,
    touched: Duration,
    answers: VecDeque<(u64, String)>,
    seen_by_cleaner: bool,
    /// The last request that ran: later ones must have arrived later.
    last: u64,
}

struct World {
    table: Table<Request, u32, String>,
    limits: Limits,
    known: HashMap<SequenceId, Known>,
    ended: HashMap<SequenceId, (u64, String, Duration)>,
    running: Vec<Run<Request, u32>>,
    clients: Vec<Rc<Cell<bool>>>,
    open: usize,
    now: Duration,
    arrivals: u64,
}

impl World {
    fn new(limits: Limits) -> World {
        World {
            table: Table::new(limits.clone()),
            limits,
            known: HashMap::new(),
            ended: HashMap::new(),
            running: Vec::new(),
            clients: Vec::new(),
            open: 0,
            now: Duration::ZERO,
            arrivals: 0,
        }
    }

    /// What a request must get when nothing runs in its sequence.
    fn expected(&self, order: &Order) -> Result<Option<String>, &'static str> {
        let id = order.id.as_ref().ok_or("no id")?;
        let triton = self.limits.rules == Rules::Triton;
        let full = self.known.len() + self.starting() >= self.limits.max_sequences;
        let Some(known) = self.known.get(id) else {
            if let (Some(n), Some((last, answer, until))) = (order.step, self.ended.get(id))
                && *until > self.now
            {
                if n == *last && order.end && order.start == (*last == 1) {
                    return Ok(Some(answer.clone()));
                }
                if n < *last && !order.start {
                    return Err("NotKept");
                }
            }
            return match (order.start, full, triton) {
                (true, true, _) => Err("TooMany"),
                (true, false, _) => Ok(None),
                (false, _, true) => Err("NotStarted"),
                (false, _, false) => Err("Missing"),
            };
        };
        let kept = |n: u64| {
            let found = known.answers.iter().find(|(k, _)| *k == n);
            found.map(|(_, a)| Some(a.clone())).ok_or("NotKept")
        };
        match (order.start, order.step) {
            (true, Some(n)) => kept(n),
            (true, None) if triton => Ok(None),
            (true, None) => Err(if full { "TooMany" } else { "AlreadyExists" }),
            (false, Some(n)) if n <= known.step => kept(n),
            (false, Some(n)) if n > known.step + 1 => Err("Gap"),
            _ => Ok(None),
        }
    }

    /// Sequences whose first step runs.
    fn starting(&self) -> usize {
        self.running.iter().filter(|r| !self.known.contains_key(&r.ticket.id)).count()
    }

    fn arrive(&mut self, random: &mut Random) {
        let number = 1 + random.below(12);
        let id = SequenceId::Number(number);
        let step = self.known.get(&id).map_or(0, |k| k.step);
        let start = random.chance(if step == 0 { 80 } else { 10 });
        let order = Order {
            start,
            end: random.chance(15),
            step: random
                .chance(50)
                .then(|| if start { 1 } else { (step + 1 + random.below(3)).saturating_sub(1) })
                .filter(|n| *n > 0),
            id: Some(id.clone()),
            request: String::new(),
        };
        let gone = Rc::new(Cell::new(random.chance(3)));
        self.clients.push(Rc::clone(&gone));
        self.arrivals += 1;
        let request = Request {
            arrived: self.arrivals,
            value: random.below(1000) as u32,
            order: order.clone(),
            gone: Rc::clone(&gone),
        };
        let busy = self.running.iter().any(|r| r.ticket.id == id);
        self.forget_idle();
        let expected = (!busy && !gone.get()).then(|| self.expected(&order));
        let mut next = Vec::new();
        self.open += 1;
        self.table.arrive(order, request, self.now, &mut next);
        let own = next.iter().filter(|n| !matches!(n, Next::Expired(_))).count();
        if let Some(expected) = expected {
            assert_eq!(own, 1, "an idle sequence decides at once");
            let got = match next.last() {
                Some(Next::Run(_)) => Ok(None),
                Some(Next::Replay(r)) => Ok(Some(r.answer.clone())),
                Some(Next::Refuse(_, e)) => Err(name(e)),
                _ => Err("nothing"),
            };
            assert_eq!(got, expected);
        }
        self.take(next);
    }

    fn take(&mut self, next: Vec<Next<Request, u32, String>>) {
        for next in next {
            match next {
                Next::Run(run) => {
                    let id = &run.ticket.id;
                    assert!(self.running.iter().all(|r| r.ticket.id != *id), "two steps at once");
                    assert!(!run.job.gone.get(), "nobody waits for it");
                    let known = self.known.entry(id.clone());
                    if let std::collections::hash_map::Entry::Occupied(mut known) = known {
                        let known = known.get_mut();
                        assert!(known.last < run.job.arrived, "out of order");
                        known.last = run.job.arrived;
                        let whole = (Some(known.sum), known.step + 1);
                        let fresh = (None, 1);
                        let expected = if run.job.order.start { fresh } else { whole };
                        assert_eq!((run.state, run.step), expected);
                    } else {
                        assert_eq!((run.state, run.step), (None, 1));
                    }
                    self.running.push(run);
                }
                Next::Replay(r) => {
                    self.open -= 1;
                    assert!(r.job.order.step == Some(r.step), "an answer to another step");
                }
                Next::Refuse(..) | Next::Drop(_) => self.open -= 1,
                Next::Expired(id) => assert!(!self.table.contains(&id)),
            }
        }
    }

    fn finish(&mut self, random: &mut Random) {
        if self.running.is_empty() {
            return;
        }
        let run = self.running.swap_remove(random.below(self.running.len() as u64) as usize);
        self.open -= 1;
        let id = run.ticket.id.clone();
        let ok = random.chance(85);
        let sum = run.state.unwrap_or(0).wrapping_add(run.job.value);
        let answer = format!("{sum} after {}", run.step);
        if ok {
            let kept = run.job.order.step.is_some();
            if run.end {
                self.known.remove(&id);
                self.ended.remove(&id);
                if kept && self.limits.replay_depth > 0 {
                    let until = self.now + self.limits.ended_ttl;
                    self.ended.insert(id, (run.step, answer.clone(), until));
                }
            } else {
                let known = self.known.entry(id).or_default();
                if run.job.order.start {
                    self.ended.remove(&run.ticket.id);
                    known.answers.clear();
                }
                (known.sum, known.step, known.touched) = (sum, run.step, self.now);
                (known.seen_by_cleaner, known.last) = (false, run.job.arrived);
                if kept {
                    known.answers.push_back((run.step, answer.clone()));
                }
                while known.answers.len() > self.limits.replay_depth {
                    known.answers.pop_front();
                }
            }
        }
        let outcome = if ok { Outcome::Done { state: sum, answer } } else { Outcome::Failed };
        let mut next = Vec::new();
        assert!(self.table.finish(run.ticket, outcome, self.now, &mut next));
        self.take(next);
    }

    /// What the table does by itself.
    fn forget_idle(&mut self) {
        let Some(timeout) = self.limits.idle_timeout else { return };
        let (running, now) = (&self.running, self.now);
        self.known.retain(|id, k| {
            k.touched + timeout > now || running.iter().any(|r| r.ticket.id == *id)
        });
    }

    fn scan(&mut self) {
        let running = &self.running;
        self.known.retain(|id, k| {
            running.iter().any(|r| r.ticket.id == *id)
                || !std::mem::replace(&mut k.seen_by_cleaner, true)
        });
        let mut next = Vec::new();
        self.table.scan(&mut next);
        self.take(next);
    }

    fn fork(&mut self, random: &mut Random) {
        let (from, to) = (1 + random.below(12), 1 + random.below(12));
        let (from, to) = (SequenceId::Number(from), SequenceId::Number(to));
        let Ok((step, state)) = self.table.state(&from) else {
            assert!(!self.known.contains_key(&from));
            return;
        };
        let known = &self.known[&from];
        assert_eq!((step, state), (known.step, known.sum));
        if self.table.insert(to.clone(), step, state, self.now).is_ok() {
            let touched = self.now;
            self.ended.remove(&to);
            self.known.insert(to, Known { sum: state, step, touched, ..Known::default() });
        }
    }

    fn remove(&mut self, random: &mut Random) {
        let id = SequenceId::Number(1 + random.below(12));
        let mut next = Vec::new();
        let removed = self.table.remove(&id, self.now, &mut next).is_ok();
        if removed {
            self.known.remove(&id);
            if let Some(at) = self.running.iter().position(|r| r.ticket.id == id) {
                let run = self.running.swap_remove(at);
                self.open -= 1;
                let mut none = Vec::new();
                let outcome = Outcome::Done { state: 0, answer: String::new() };
                assert!(!self.table.finish(run.ticket, outcome, self.now, &mut none));
                assert!(none.is_empty());
            }
        }
        self.take(next);
    }

    fn check(&self) {
        assert_eq!(self.open, self.running.len() + self.table.waiting(), "a request was lost");
        assert_eq!(self.table.len(), self.known.len() + self.starting());
        for (id, known) in &self.known {
            assert_eq!(self.table.state(id), Ok((known.step, known.sum)), "{id}");
        }
    }
}

fn name(error: &SequenceError) -> &'static str {
    match error {
        SequenceError::Missing => "Missing",
        SequenceError::AlreadyExists => "AlreadyExists",
        SequenceError::Terminated => "Terminated",
        SequenceError::IdNotProvided => "IdNotProvided",
        SequenceError::NoRandomId => "NoRandomId",
        SequenceError::TooMany => "TooMany",
        SequenceError::Gap { .. } => "Gap",
        SequenceError::NotKept { .. } => "NotKept",
        SequenceError::BadStep { .. } => "BadStep",
        SequenceError::NotStarted { .. } => "NotStarted",
        SequenceError::NoCorrelationId { .. } => "NoCorrelationId",
    }
}

fn play(seed: u64, limits: Limits) {
    let mut random = Random(seed | 1);
    let mut world = World::new(limits);
    for operation in 0..OPERATIONS {
        match random.below(100) {
            0..=54 => world.arrive(&mut random),
            55..=89 => world.finish(&mut random),
            90..=91 => world.fork(&mut random),
            92 => world.remove(&mut random),
            93 => world.scan(),
            94..=96 => world.now += Duration::from_millis(random.below(40)),
            _ => {
                // A client goes away while its request waits.
                let waiting: Vec<_> = world.clients.drain(..).collect();
                let runs =
                    |c: &Rc<Cell<bool>>| world.running.iter().any(|r| Rc::ptr_eq(&r.job.gone, c));
                waiting.iter().filter(|c| !runs(c)).take(1).for_each(|c| c.set(true));
            }
        }
        world.forget_idle();
        let mut next = Vec::new();
        world.table.expire(world.now, &mut next);
        world.take(next);
        if operation % 64 == 0 {
            world.check();
        }
    }
}

#[test]
fn random_operations_agree_with_the_reference() {
    let seed = std::env::var("STEAD_SEED").ok().and_then(|s| s.parse().ok());
    let seeds = seed.map_or_else(|| (1..=4).collect(), |seed| vec![seed]);
    for seed in seeds {
        let limits = Limits {
            max_sequences: 8,
            replay_depth: (seed % 4) as usize,
            idle_timeout: (seed % 2 == 0).then_some(Duration::from_millis(150)),
            ended_ttl: Duration::from_millis(100),
            rules: if seed % 3 == 0 { Rules::Triton } else { Rules::Ovms },
            ..Limits::default()
        };
        eprintln!("repeat with STEAD_SEED={seed}");
        play(seed, limits);
    }
}

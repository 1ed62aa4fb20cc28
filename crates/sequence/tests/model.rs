//! The table against a reference that is too simple to be wrong: a sequence is the sum of the numbers that its
//! successful steps brought. Operations are drawn from a seed, time is virtual, nothing sleeps.
//!
//! Every step is written to a log and concluded when its record is durable. A crash loses all of the process and any
//! part of what is not durable; what the log tells is brought back into a new table, and the reference is made of its
//! own events up to the same place.
//!
//! A failure prints the seed: `STEAD_SEED=<seed> cargo test -p stead-sequence --test model` repeats it.

#![allow(clippy::unwrap_used)] // a panic is the report

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;
use stead_sequence::durable::{Alive, Ending, Event, Image as Log, Record, Was, decode, encode};
use stead_sequence::{
    Age, Ended, Image, Job, Limits, Next, Order, Outcome, Rules, Run, SequenceError, SequenceId,
    Table, Weight,
};
use stead_tensor::Tensor;

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

/// A state: a sum, in memory or on disk.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Here(u32),
    Away(u32),
}

impl State {
    fn sum(self) -> u32 {
        match self {
            State::Here(sum) | State::Away(sum) => sum,
        }
    }
}

impl Weight for State {
    fn bytes(&self) -> u64 {
        if self.is_on_disk() { 8 } else { 100 }
    }

    fn is_on_disk(&self) -> bool {
        matches!(self, State::Away(_))
    }
}

/// A request: its place in the order of arrival, the number that it brings, and whether its client waits.
struct Request {
    arrived: u64,
    value: u32,
    order: Order,
    gone: Rc<Cell<bool>>,
    deadline: Option<Duration>,
    clock: Rc<Cell<Duration>>,
}

impl Job for Request {
    fn is_abandoned(&self) -> bool {
        self.gone.get() || self.deadline.is_some_and(|d| d <= self.clock.get())
    }
}

/// What the reference knows of a live sequence.
#[derive(Default, Clone)]
struct Known {
    sum: u32,
    step: u64,
    touched: Duration,
    answers: VecDeque<(u64, String)>,
    seen_by_cleaner: bool,
    /// The last request that ran: later ones must have arrived later.
    last: u64,
}

/// What a record of the log means to the reference.
enum Meaning {
    Lives(Known),
    /// The last step, its answer, and when it is forgotten.
    Ended(u64, String, Duration),
    Gone,
}

/// A run that has ended well, whose record is in the log.
struct Written {
    run: Run<Request, State>,
    answer: String,
    /// How many records have to be durable.
    place: usize,
}

type Due = Vec<Next<Request, State, String>>;

struct World {
    table: Table<Request, State, String>,
    limits: Limits,
    known: HashMap<SequenceId, Known>,
    ended: HashMap<SequenceId, (u64, String, Duration)>,
    running: Vec<Run<Request, State>>,
    written: VecDeque<Written>,
    /// The log: records, and what they mean. The first `durable` survive a crash.
    log: Vec<(Vec<u8>, SequenceId, Meaning)>,
    durable: usize,
    clock: Rc<Cell<Duration>>,
    crashes: usize,
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
            written: VecDeque::new(),
            log: Vec::new(),
            durable: 0,
            clock: Rc::default(),
            crashes: 0,
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
        self.runs().filter(|r| !self.known.contains_key(&r.ticket.id)).count()
    }

    /// All runs that are not concluded.
    fn runs(&self) -> impl Iterator<Item = &Run<Request, State>> {
        self.running.iter().chain(self.written.iter().map(|w| &w.run))
    }

    fn is_busy(&self, id: &SequenceId) -> bool {
        self.runs().any(|r| r.ticket.id == *id)
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
        let deadline =
            random.chance(10).then(|| self.now + Duration::from_millis(random.below(60)));
        let request = Request {
            deadline,
            clock: Rc::clone(&self.clock),
            arrived: self.arrivals,
            value: random.below(1000) as u32,
            order: order.clone(),
            gone: Rc::clone(&gone),
        };
        let busy = self.is_busy(&id);
        self.forget_idle();
        let expected = (!busy && !request.is_abandoned()).then(|| self.expected(&order));
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

    fn take(&mut self, next: Due) {
        for next in next {
            match next {
                Next::Run(run) => {
                    let id = &run.ticket.id;
                    assert!(!self.is_busy(id), "two steps at once");
                    assert!(!run.job.is_abandoned(), "nobody waits for it");
                    let known = self.known.entry(id.clone());
                    if let std::collections::hash_map::Entry::Occupied(mut known) = known {
                        let known = known.get_mut();
                        assert!(known.last < run.job.arrived, "out of order");
                        known.last = run.job.arrived;
                        let whole = (Some(known.sum), known.step + 1);
                        let fresh = (None, 1);
                        let expected = if run.job.order.start { fresh } else { whole };
                        assert_eq!((run.state.map(State::sum), run.step), expected);
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
                Next::Expired(id) => {
                    assert!(!self.table.contains(&id));
                    self.write(id, Event::Gone, Meaning::Gone);
                }
            }
        }
    }

    /// Appends a record to the log. Gives the number of records.
    fn write(&mut self, id: SequenceId, event: Event, meaning: Meaning) -> usize {
        let at = u64::try_from(self.now.as_millis()).unwrap();
        let record = Record { model: "m".into(), version: 1, fingerprint: 9, id, at, event };
        self.log.push((encode(&record), record.id, meaning));
        self.log.len()
    }

    /// A run ends: it has failed, or its record is written.
    fn finish(&mut self, random: &mut Random) {
        if self.running.is_empty() {
            return;
        }
        let run = self.running.swap_remove(random.below(self.running.len() as u64) as usize);
        let id = run.ticket.id.clone();
        if random.chance(15) {
            self.open -= 1;
            let mut next = Vec::new();
            assert!(self.table.finish(run.ticket, Outcome::Failed, self.now, &mut next));
            return self.take(next);
        }
        let sum = run.state.map_or(0, State::sum).wrapping_add(run.job.value);
        let answer = format!("{sum} after {}", run.step);
        let numbered = run.job.order.step.is_some();
        let depth = self.limits.replay_depth;
        let place = if run.end {
            let kept = (numbered && depth > 0).then(|| Ending {
                step: run.step,
                request: String::new(),
                start: String::new(),
                answer: tensors(&answer),
            });
            let until = self.now + self.limits.ended_ttl;
            let meaning = match kept {
                Some(_) => Meaning::Ended(run.step, answer.clone(), until),
                None => Meaning::Gone,
            };
            self.write(id, Event::Ended(kept), meaning)
        } else {
            let start = run.job.order.start;
            let before = self.known.get(&id).filter(|_| !start);
            let mut known = Known { sum, step: run.step, ..before.cloned().unwrap_or_default() };
            if numbered {
                known.answers.push_back((run.step, answer.clone()));
            }
            while known.answers.len() > depth {
                known.answers.pop_front();
            }
            let own = if numbered { vec![(run.step, tensors(&answer))] } else { vec![] };
            let alive = self.alive(&known, start, own);
            self.write(id, Event::Alive(alive), Meaning::Lives(known))
        };
        self.written.push_back(Written { run, answer, place });
    }

    /// Some more records are durable, and what waited for them is concluded.
    fn sync(&mut self, random: &mut Random) {
        self.durable += random.below((self.log.len() - self.durable) as u64 + 1) as usize;
        while self.written.front().is_some_and(|w| w.place <= self.durable) {
            let Some(Written { run, answer, .. }) = self.written.pop_front() else { return };
            self.conclude(run, answer);
        }
    }

    fn conclude(&mut self, run: Run<Request, State>, answer: String) {
        self.open -= 1;
        let id = run.ticket.id.clone();
        let sum = run.state.map_or(0, State::sum).wrapping_add(run.job.value);
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
        let outcome = Outcome::Done { state: State::Here(sum), answer };
        let mut next = Vec::new();
        assert!(self.table.finish(run.ticket, outcome, self.now, &mut next));
        self.take(next);
    }

    /// The process is killed, and started again.
    fn crash(&mut self, random: &mut Random) {
        self.crashes += 1;
        let kept = self.durable + random.below((self.log.len() - self.durable) as u64 + 1) as usize;
        self.log.truncate(kept);
        self.durable = kept;
        self.running.clear();
        self.written.clear();
        self.clients.clear();
        self.open = 0;
        self.now += Duration::from_millis(random.below(100));
        self.known.clear();
        self.ended.clear();
        let mut log = Log::default();
        for (bytes, id, meaning) in &self.log {
            log.apply(decode(bytes).unwrap().unwrap());
            self.known.remove(id);
            self.ended.remove(id);
            match meaning {
                Meaning::Lives(known) => {
                    let known = Known { touched: self.now, last: 0, ..known.clone() };
                    let known = Known { seen_by_cleaner: false, ..known };
                    drop(self.known.insert(id.clone(), known));
                }
                Meaning::Ended(step, answer, until) if *until > self.now => {
                    drop(self.ended.insert(id.clone(), (*step, answer.clone(), *until)));
                }
                Meaning::Ended(..) | Meaning::Gone => {}
            }
        }
        self.table = Table::new(self.limits.clone());
        let (found, other) = log.take("m", 1, 9);
        assert!(other.is_empty());
        for (id, found) in found {
            match found.was {
                Was::Alive(alive) => {
                    let sum = alive.state[0].as_ref().unwrap().as_slice::<u32>().unwrap()[0];
                    let answers = alive.answers.iter().map(|(n, a)| (*n, text(a))).collect();
                    let image = Image {
                        step: alive.step,
                        state: State::Here(sum),
                        answers,
                        request: alive.request,
                        auto: alive.auto,
                        began: Duration::from_millis(alive.began),
                        touched: self.now,
                    };
                    self.table.restore(id, image, self.now);
                }
                Was::Ended(ending) => {
                    let Ending { step, request, start, answer } = ending;
                    let ended = Ended { step, request, start, answer: text(&answer) };
                    self.table.restore_ended(id, ended, Duration::from_millis(found.at), self.now);
                }
            }
        }
        for (id, known) in &self.known {
            let image = self.table.image(id).unwrap();
            assert_eq!((image.step, image.state.sum()), (known.step, known.sum), "{id}");
            assert!(image.answers.iter().eq(&known.answers), "{id}");
        }
        self.rewrite();
        self.durable = self.log.len();
        self.check();
    }

    /// The log is written anew: what is there once more, as a whole.
    fn rewrite(&mut self) {
        self.log.clear();
        let known: Vec<_> = self.known.iter().map(|(id, k)| (id.clone(), k.clone())).collect();
        for (id, known) in known {
            let answers = known.answers.iter().map(|(n, a)| (*n, tensors(a))).collect();
            let alive = self.alive(&known, true, answers);
            self.write(id, Event::Alive(alive), Meaning::Lives(known));
        }
        let ended: Vec<_> = self.ended.iter().map(|(id, e)| (id.clone(), e.clone())).collect();
        let now = self.now;
        for (id, (step, answer, until)) in ended {
            let (request, start) = (String::new(), String::new());
            let ending = Ending { step, request, start, answer: tensors(&answer) };
            self.now = until - self.limits.ended_ttl;
            self.write(id, Event::Ended(Some(ending)), Meaning::Ended(step, answer, until));
        }
        self.now = now;
    }

    fn alive(
        &self,
        known: &Known,
        fresh: bool,
        answers: Vec<(u64, stead_sequence::durable::Answer)>,
    ) -> Alive {
        Alive {
            step: known.step,
            began: 0,
            request: String::new(),
            auto: false,
            fresh,
            keep: self.limits.replay_depth as u32,
            answers,
            state: [Some(Tensor::from_slice(&[known.sum], &[1]).unwrap())].into(),
        }
    }

    /// The state of the sequence that is longest without a step goes to disk.
    fn evict(&mut self) {
        let found = {
            let mut coldest = self.table.coldest(Age::default());
            coldest.find(|(.., s)| !s.is_on_disk()).map(|(_, id, s)| (id.clone(), *s))
        };
        let Some((id, state)) = found else { return };
        assert!(!self.is_busy(&id));
        assert!(self.table.replace_state(&id, State::Away(state.sum())));
        assert!(self.table.summary(&id, self.now).unwrap().on_disk);
    }

    /// New limits, as after a change of the configuration.
    fn reload(&mut self, random: &mut Random) {
        self.limits.max_sequences = 4 + random.below(8) as usize;
        self.limits.idle_timeout =
            random.chance(50).then(|| Duration::from_millis(100 + random.below(100)));
        self.table.set_limits(self.limits.clone());
    }

    /// What the table does by itself.
    fn forget_idle(&mut self) {
        let Some(timeout) = self.limits.idle_timeout else { return };
        let busy: Vec<SequenceId> = self.runs().map(|r| r.ticket.id.clone()).collect();
        let now = self.now;
        self.known.retain(|id, k| k.touched + timeout > now || busy.contains(id));
    }

    fn scan(&mut self) {
        let busy: Vec<SequenceId> = self.runs().map(|r| r.ticket.id.clone()).collect();
        self.known
            .retain(|id, k| busy.contains(id) || !std::mem::replace(&mut k.seen_by_cleaner, true));
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
        let sum = state.sum();
        assert_eq!((step, sum), (known.step, known.sum));
        if self.table.insert(to.clone(), step, state, self.now).is_ok() {
            let known = Known { sum, step, touched: self.now, ..Known::default() };
            self.ended.remove(&to);
            self.known.insert(to.clone(), known.clone());
            let alive = self.alive(&known, true, vec![]);
            self.write(to, Event::Alive(alive), Meaning::Lives(known));
        }
    }

    fn remove(&mut self, random: &mut Random) {
        let id = SequenceId::Number(1 + random.below(12));
        let mut next = Vec::new();
        let removed = self.table.remove(&id, self.now, &mut next).is_ok();
        if removed {
            self.known.remove(&id);
            self.write(id.clone(), Event::Gone, Meaning::Gone);
            let at = self.running.iter().position(|r| r.ticket.id == id);
            let run = at.map(|at| self.running.swap_remove(at)).or_else(|| {
                let at = self.written.iter().position(|w| w.run.ticket.id == id)?;
                self.written.remove(at).map(|w| w.run)
            });
            if let Some(run) = run {
                self.open -= 1;
                let mut none = Vec::new();
                let outcome = Outcome::Done { state: State::Here(0), answer: String::new() };
                assert!(!self.table.finish(run.ticket, outcome, self.now, &mut none));
                assert!(none.is_empty());
            }
        }
        self.take(next);
    }

    fn check(&self) {
        assert_eq!(self.open, self.runs().count() + self.table.waiting(), "a request was lost");
        assert_eq!(self.table.len(), self.known.len() + self.starting());
        for (id, known) in &self.known {
            let state = self.table.state(id).map(|(step, state)| (step, state.sum()));
            assert_eq!(state, Ok((known.step, known.sum)), "{id}");
        }
    }
}

/// An answer as it stands in a record, and back.
fn tensors(answer: &str) -> stead_sequence::durable::Answer {
    let tensor = Tensor::from_strings(vec![answer.as_bytes().to_vec()], &[1]).unwrap();
    [("y".to_owned(), tensor)].into()
}

fn text(answer: &stead_sequence::durable::Answer) -> String {
    String::from_utf8(answer[0].1.view().strings()[0].clone()).unwrap()
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

/// Plays, and gives how often it crashed.
fn play(seed: u64, limits: Limits) -> usize {
    let mut random = Random(seed | 1);
    let mut world = World::new(limits);
    for operation in 0..OPERATIONS {
        world.clock.set(world.now);
        match random.below(100) {
            0..=46 => world.arrive(&mut random),
            47..=72 => world.finish(&mut random),
            73..=87 => world.sync(&mut random),
            88 => world.evict(),
            89 if random.chance(5) => world.reload(&mut random),
            89 if random.chance(10) => world.crash(&mut random),
            89..=91 => world.fork(&mut random),
            92 => world.remove(&mut random),
            93 => world.scan(),
            94..=96 => world.now += Duration::from_millis(random.below(40)),
            _ => {
                // A client goes away while its request waits.
                let waiting: Vec<_> = world.clients.drain(..).collect();
                let runs = |c: &Rc<Cell<bool>>| world.runs().any(|r| Rc::ptr_eq(&r.job.gone, c));
                waiting.iter().filter(|c| !runs(c)).take(1).for_each(|c| c.set(true));
            }
        }
        world.clock.set(world.now);
        world.forget_idle();
        let mut next = Vec::new();
        world.table.expire(world.now, &mut next);
        world.take(next);
        if operation % 64 == 0 {
            world.check();
        }
    }
    world.crashes
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
        let crashes = play(seed, limits);
        assert!(crashes > 20, "{crashes} crashes");
    }
}

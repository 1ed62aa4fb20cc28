//! What the workers of a pool share, and what they do.

use crate::class::CLASSES;
use crate::cores::{Cores, allow, current, leave};
use crate::here::{Entered, Here, Share, gave_way, here};
use crate::lend::{Joined, Loop, LoopPointer};
use crate::queue::{Queues, Task};
use crate::{Class, PoolOptions, Worker};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most tasks that one check-in runs before what gave way goes on, however little they take.
const MOST_BEFORE: usize = 32;

pub(crate) struct State {
    pub(crate) queues: Queues,
    loops: Vec<(Class, LoopPointer)>,
    pub(crate) sleepers: usize,
    /// Workers that have nothing to do and look for something before they sleep.
    looking: usize,
    pub(crate) closed: bool,
}

/// What a worker does next.
enum Next {
    Task(Task),
    Loop(Class, Joined),
}

impl State {
    /// Sleeping workers that a new loop wakes for `helpers`: those who look for work find it by themselves, and a worker
    /// that is woken for nothing takes a core from one who computes.
    fn to_wake(&self, helpers: usize) -> usize {
        let room: usize = self.loops.iter().map(|(_, pointer)| pointer.room()).sum();
        let tasks: usize = Class::ALL.into_iter().map(|class| self.queues.len(class)).sum();
        (room + tasks).saturating_sub(self.looking).min(helpers).min(self.sleepers)
    }

    /// Of each class a task goes before a loop that wants help; what is less urgent than `than` stays.
    fn most_urgent(&mut self, classes: &[Class]) -> Option<Next> {
        classes.iter().find_map(|class| {
            let task = self.queues.pop(*class).map(Next::Task);
            task.or_else(|| {
                let wants =
                    |(of, pointer): &&(Class, LoopPointer)| of == class && pointer.has_room();
                let (class, pointer) = self.loops.iter().find(wants)?;
                Some(Next::Loop(*class, pointer.join()))
            })
        })
    }
}

/// Numbers for each class that can be looked at without a lock.
type Counts = [AtomicUsize; CLASSES];

fn sum(counts: &[AtomicUsize]) -> usize {
    counts.iter().map(|count| count.load(Ordering::Acquire)).sum()
}

pub(crate) struct Shared {
    state: Mutex<State>,
    /// Signalled when there is something for a sleeping worker.
    pub(crate) work: Condvar,
    /// Signalled when the last helper leaves a loop.
    left: Condvar,
    /// Copies of what the lock guards, so that a look costs no lock. They are written under the lock: tasks that wait,
    /// loops that want help.
    queued: Counts,
    open: Counts,
    pub(crate) closing: AtomicBool,
    /// Workers that run a task of a class; one that gives way counts for what runs in its place.
    busy: Counts,
    pub(crate) threads: usize,
    spin: Duration,
    patience: Duration,
    grace: Duration,
    linger: Duration,
    /// The CPUs of each worker, where they are pinned, and all that there are then.
    places: Vec<Vec<usize>>,
    everywhere: Vec<usize>,
    pub(crate) tasks: AtomicU64,
    pub(crate) panics: AtomicU64,
    pub(crate) lent: AtomicU64,
    pub(crate) nested: AtomicU64,
}

impl Shared {
    pub(crate) fn new(threads: usize, options: &PoolOptions) -> Shared {
        Shared {
            state: Mutex::new(State {
                queues: Queues::default(),
                // Room for a loop of every worker and as many other threads, so that listing allocates
                // nothing in the steady state.
                loops: Vec::with_capacity(2 * threads + 16),
                sleepers: 0,
                looking: 0,
                closed: false,
            }),
            work: Condvar::new(),
            left: Condvar::new(),
            queued: Counts::default(),
            open: Counts::default(),
            closing: AtomicBool::new(false),
            busy: Counts::default(),
            threads,
            spin: options.spin,
            patience: options.patience,
            grace: options.grace,
            linger: options.linger,
            everywhere: match options.places.is_empty() {
                true => Vec::new(),
                false => Cores::of_this_process().cpus(),
            },
            places: options.places.clone(),
            tasks: AtomicU64::new(0),
            panics: AtomicU64::new(0),
            lent: AtomicU64::new(0),
            nested: AtomicU64::new(0),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies what the lock guards; call it under the lock whenever that has changed.
    pub(crate) fn publish(&self, state: &State) {
        for class in Class::ALL {
            let wants = |(of, pointer): &&(Class, LoopPointer)| *of == class && pointer.has_room();
            let open = state.loops.iter().filter(wants).count();
            self.queued[class as usize].store(state.queues.len(class), Ordering::Release);
            self.open[class as usize].store(open, Ordering::Release);
        }
    }

    /// Workers that have no task, or one that is less urgent than `class`.
    pub(crate) fn available(&self, class: Class) -> usize {
        self.threads.saturating_sub(sum(&self.busy[..=class as usize]))
    }

    /// Tasks that wait.
    pub(crate) fn queued(&self) -> usize {
        sum(&self.queued)
    }

    /// Whether a task waits that is at least as urgent as `class`.
    pub(crate) fn waits(&self, class: Class) -> bool {
        sum(&self.queued[..=class as usize]) > 0
    }

    /// Whether a task or a loop that wants help is more urgent than `class`.
    fn is_outranked(&self, class: Class) -> bool {
        sum(&self.queued[..class as usize]) + sum(&self.open[..class as usize]) > 0
    }

    /// What the calling thread does for this pool.
    fn here(&self) -> Option<Here> {
        here().filter(|here| here.pool == self.name())
    }

    fn name(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// The class of what the calling thread does: somebody waits for all that does not run on a worker.
    pub(crate) fn class(&self) -> Class {
        self.here().map_or(Class::Query, |here| here.class)
    }

    /// Looks for `done` for a few microseconds.
    fn spin_until(&self, done: impl Fn() -> bool) -> bool {
        let start = Instant::now();
        loop {
            for _ in 0..16 {
                if done() {
                    return true;
                }
                std::hint::spin_loop();
            }
            if start.elapsed() >= self.spin {
                return false;
            }
        }
    }

    /// Looks for `done` as long as that is better than to sleep for who works with other threads on one loop after another.
    fn wait_patiently(&self, done: impl Fn() -> bool) -> bool {
        if self.spin_until(&done) {
            return true;
        }
        let start = Instant::now();
        while start.elapsed() < self.patience {
            std::thread::yield_now();
            if done() {
                return true;
            }
        }
        false
    }

    /// Runs a loop on this thread and on workers that have nothing better to do.
    pub(crate) fn run_loop(
        &self,
        rounds: usize,
        max_helpers: usize,
        body: &(dyn Fn(usize) + Sync),
    ) {
        let class = self.class();
        let helpers = max_helpers.min(rounds.saturating_sub(1)).min(self.available(class));
        if helpers == 0 {
            (0..rounds).for_each(body);
            return;
        }
        let work = Loop::new(rounds, helpers, body);
        let pointer = work.pointer();
        let wake = {
            let mut state = self.lock();
            state.loops.push((class, pointer));
            self.publish(&state);
            state.to_wake(helpers)
        };
        for _ in 0..wake {
            self.work.notify_one();
        }
        // A panic of `body` is caught inside, so this thread always comes to the lines below.
        work.work(|| false);
        {
            let mut state = self.lock();
            state.loops.retain(|(_, l)| *l != pointer);
            self.publish(&state);
        }
        if !self.wait_patiently(|| work.is_left()) {
            let mut state = self.lock();
            while !work.is_left() {
                state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
        if let Some(payload) = work.take_panic() {
            std::panic::resume_unwind(payload);
        }
    }

    /// Moves a helper that was woken on the CPU of the loop's owner to another one: Linux wakes threads there when all
    /// CPUs were busy lately, though one is idle by now, and separates the two after some milliseconds only, each
    /// running half of the time until then.
    fn keep_apart(&self, owner: Option<usize>) {
        if let Some(cpu) = owner
            && self.places.is_empty()
            && current() == owner
        {
            leave(cpu);
        }
    }

    fn help(&self, class: Class, joined: Joined, index: usize) {
        self.lent.fetch_add(1, Ordering::Relaxed);
        let share = Share::new(Instant::now());
        let here = Here { pool: self.name(), index, class, is_task: false, share };
        let entered = Entered::new(here);
        self.keep_apart(joined.cpu());
        joined.work(|| self.waits(class) || self.is_outranked(class));
        drop(entered);
        // Under the lock, so that an owner between its last look and its sleep is not missed.
        let state = self.lock();
        if joined.leave() {
            self.left.notify_all();
        }
        self.publish(&state);
    }

    /// Runs a task of which `busy` knows already.
    fn run_task(&self, task: Task, index: usize) {
        let now = Instant::now();
        let late = task.deadline.is_some_and(|d| d <= now);
        let (worker, class, share) = (Worker { index, late }, task.class, Share::new(now));
        let entered = Entered::new(Here { pool: self.name(), index, class, is_task: true, share });
        let place = self.places.get(index).filter(|_| class == Class::Background);
        if place.is_some() {
            // Models that are loaded may bring threads of their own, which begin where this one may run.
            allow(&self.everywhere);
        }
        let run = task.run;
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&worker)));
        place.into_iter().for_each(|place| allow(place));
        drop(entered);
        self.tasks.fetch_add(1, Ordering::Relaxed);
        if outcome.is_err() {
            self.panics.fetch_add(1, Ordering::Relaxed);
        }
        self.busy[class as usize].fetch_sub(1, Ordering::Relaxed);
    }

    /// Runs what is more urgent than what the calling worker does, and returns when there is no more of it or what was
    /// interrupted has a right to go on. What runs then can be interrupted in turn by what is still more urgent, so
    /// there are never more than as many on one stack as there are classes. Who helped with a loop stays for the next one.
    pub(crate) fn give_way(&self) {
        let Some(interrupted) = self.here() else { return };
        let class = interrupted.class;
        let (mut tasks, mut has_helped) = (0, false);
        while tasks < MOST_BEFORE && (has_helped || self.is_outranked(class)) {
            let began = Instant::now();
            if !self.here().is_some_and(|here| here.share.allows(began, self.grace)) {
                return;
            }
            if has_helped && !self.another_comes(class) {
                gave_way(began.elapsed());
                return;
            }
            let next = {
                let mut state = self.lock();
                if state.sleepers > 0 {
                    // Somebody was woken for it.
                    return;
                }
                let next = state.most_urgent(&Class::ALL[..class as usize]);
                if let (Some(Next::Task(task)), true) = (&next, interrupted.is_task) {
                    self.busy[task.class as usize].fetch_add(1, Ordering::Relaxed);
                    self.busy[class as usize].fetch_sub(1, Ordering::Relaxed);
                } else if let Some(Next::Task(task)) = &next {
                    self.busy[task.class as usize].fetch_add(1, Ordering::Relaxed);
                }
                self.publish(&state);
                next
            };
            match next {
                Some(Next::Task(task)) => {
                    tasks += 1;
                    self.nested.fetch_add(1, Ordering::Relaxed);
                    self.run_task(task, interrupted.index);
                    if interrupted.is_task {
                        self.busy[class as usize].fetch_add(1, Ordering::Relaxed);
                    }
                }
                Some(Next::Loop(of, joined)) => {
                    has_helped = true;
                    self.help(of, joined, interrupted.index);
                }
                None if has_helped => {}
                None => return,
            }
            gave_way(began.elapsed());
        }
    }

    /// Waits a moment for something that is more urgent than `class`.
    fn another_comes(&self, class: Class) -> bool {
        if self.spin_until(|| self.is_outranked(class)) {
            return true;
        }
        let mut state = self.lock();
        if !self.is_outranked(class) && !state.closed {
            state.sleepers += 1;
            let waited = self.work.wait_timeout(state, self.linger);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            state.sleepers -= 1;
        }
        let comes = self.is_outranked(class);
        if !comes && state.sleepers > 0 && sum(&self.queued) + sum(&self.open) > 0 {
            // The signal was meant for one who takes what is less urgent.
            self.work.notify_one();
        }
        comes
    }

    /// The life of a worker.
    pub(crate) fn work(&self, index: usize) {
        let mut state = self.lock();
        // Whether the last that it did was to help with a loop.
        let mut has_helped = false;
        loop {
            let fair = state.queues.fair_pick().map(Next::Task);
            match fair.or_else(|| state.most_urgent(&Class::ALL)) {
                Some(Next::Task(task)) => {
                    self.busy[task.class as usize].fetch_add(1, Ordering::Relaxed);
                    self.publish(&state);
                    drop(state);
                    self.run_task(task, index);
                    state = self.lock();
                    has_helped = false;
                }
                Some(Next::Loop(class, joined)) => {
                    self.publish(&state);
                    drop(state);
                    self.help(class, joined, index);
                    state = self.lock();
                    has_helped = true;
                }
                None if state.closed => return,
                None => {
                    self.publish(&state);
                    state.looking += 1;
                    drop(state);
                    let comes = || {
                        sum(&self.queued) + sum(&self.open) > 0
                            || self.closing.load(Ordering::Acquire)
                    };
                    let found = match has_helped {
                        true => self.wait_patiently(comes),
                        false => self.spin_until(comes),
                    };
                    has_helped &= found;
                    state = self.lock();
                    state.looking -= 1;
                    let nothing = state.queues.is_empty()
                        && !state.loops.iter().any(|(_, l)| l.has_room())
                        && !state.closed;
                    if !found && nothing {
                        state.sleepers += 1;
                        state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                        state.sleepers -= 1;
                    }
                }
            }
        }
    }
}

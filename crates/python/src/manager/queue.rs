//! Those who wait for an interpreter: in the order in which they came within a package, and packages in turn, so that
//! one with many callers does not starve another.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::thread::{self, Thread};

use super::Grant;
use super::task::Task;

/// The number of a thread that waits.
pub(super) type Ticket = u64;

/// The queue. `T` is work that waits without a thread, `G` what a thread waits for.
pub(super) struct Queue<T = Task, G = Grant> {
    last: Ticket,
    /// Packages that somebody waits for, the next one first, with those who wait.
    turns: VecDeque<(Arc<str>, VecDeque<Waiter<T>>)>,
    /// The threads of those who wait. Each is woken for itself: waking all for one costs more than short calls.
    threads: HashMap<Ticket, Thread>,
    granted: HashMap<Ticket, G>,
}

/// One who waits.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Waiter<T> {
    Thread(Ticket),
    Task(T),
}

impl<T, G> Default for Queue<T, G> {
    fn default() -> Queue<T, G> {
        let (threads, granted) = (HashMap::new(), HashMap::new());
        Queue { last: 0, turns: VecDeque::new(), threads, granted }
    }
}

impl<T, G> Queue<T, G> {
    /// Joins the end of the queue of a package. The calling thread may park: it is unparked when something was left for it.
    pub(super) fn join(&mut self, package: &Arc<str>) -> Ticket {
        self.last += 1;
        self.threads.insert(self.last, thread::current());
        self.put(package, Waiter::Thread(self.last));
        self.last
    }

    /// Puts work at the end of the queue of a package.
    pub(super) fn put_task(&mut self, package: &Arc<str>, task: T) {
        self.put(package, Waiter::Task(task));
    }

    fn put(&mut self, package: &Arc<str>, waiter: Waiter<T>) {
        match self.turns.iter_mut().find(|(name, _)| name == package) {
            Some((_, waiting)) => waiting.push_back(waiter),
            None => self.turns.push_back((Arc::clone(package), VecDeque::from([waiter]))),
        }
    }

    /// Leaves the queue. What was granted has to be [taken](Self::take) before.
    pub(super) fn leave(&mut self, package: &Arc<str>, ticket: Ticket) {
        if let Some((_, waiting)) = self.turns.iter_mut().find(|(name, _)| name == package) {
            waiting.retain(|other| !matches!(other, Waiter::Thread(other) if *other == ticket));
        }
        self.turns.retain(|(_, waiting)| !waiting.is_empty());
        self.threads.remove(&ticket);
    }

    /// Takes out work that waits.
    pub(super) fn take_tasks(&mut self, is_taken: impl Fn(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        for (_, waiting) in &mut self.turns {
            for waiter in std::mem::take(waiting) {
                match waiter {
                    Waiter::Task(task) if is_taken(&task) => taken.push(task),
                    other => waiting.push_back(other),
                }
            }
        }
        self.turns.retain(|(_, waiting)| !waiting.is_empty());
        taken
    }

    /// Work that waits.
    pub(super) fn tasks(&self) -> impl Iterator<Item = &T> {
        let waiting = self.turns.iter().flat_map(|(_, waiting)| waiting);
        waiting.filter_map(|waiter| match waiter {
            Waiter::Task(task) => Some(task),
            Waiter::Thread(_) => None,
        })
    }

    /// Whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// The one whose turn it is, who waits no longer, and its package, which goes behind all others.
    pub(super) fn next(&mut self) -> Option<(Waiter<T>, Arc<str>)> {
        let (package, mut waiting) = self.turns.pop_front()?;
        let waiter = waiting.pop_front()?;
        if !waiting.is_empty() {
            self.turns.push_back((Arc::clone(&package), waiting));
        }
        Some((waiter, package))
    }

    /// Leaves something for a thread that was called, and wakes it.
    pub(super) fn grant(&mut self, ticket: Ticket, grant: G) {
        self.granted.insert(ticket, grant);
        if let Some(thread) = self.threads.remove(&ticket) {
            thread.unpark();
        }
    }

    /// What was left for a ticket.
    pub(super) fn take(&mut self, ticket: Ticket) -> Option<G> {
        self.granted.remove(&ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Plain = Queue<char, &'static str>;

    #[test]
    fn packages_take_turns_and_callers_keep_their_order() {
        let mut queue = Plain::default();
        let name = |name: &str| Arc::<str>::from(name);
        let tickets: Vec<_> =
            ["a", "a", "a", "b", "a"].map(|p| queue.join(&name(p))).into_iter().collect();
        queue.put_task(&name("c"), 'x');
        queue.put_task(&name("b"), 'y');
        queue.put_task(&name("b"), 'z');
        queue.put_task(&name("d"), 'z');
        queue.leave(&name("a"), tickets[1]);
        assert_eq!(queue.tasks().collect::<String>(), "yzxz");
        assert_eq!(queue.take_tasks(|task| *task == 'z'), ['z', 'z']);
        let mut order = Vec::new();
        while let Some((waiter, package)) = queue.next() {
            order.push((package, waiter));
        }
        let order: Vec<_> =
            order.iter().map(|(package, waiter)| (package.as_ref(), waiter)).collect();
        assert_eq!(
            order,
            [
                ("a", &Waiter::Thread(1)),
                ("b", &Waiter::Thread(4)),
                ("c", &Waiter::Task('x')),
                ("a", &Waiter::Thread(3)),
                ("b", &Waiter::Task('y')),
                ("a", &Waiter::Thread(5)),
            ]
        );
        assert!(queue.is_empty());
    }

    #[test]
    fn who_is_given_something_is_woken() {
        let queue = std::sync::Mutex::new(Queue::<(), Arc<str>>::default());
        std::thread::scope(|scope| {
            let waiting = |package: &'static str| {
                let ticket = queue.lock().unwrap().join(&package.into());
                loop {
                    if let Some(found) = queue.lock().unwrap().take(ticket) {
                        return found;
                    }
                    thread::park();
                }
            };
            let threads =
                ["a", "b", "c"].map(|package| (package, scope.spawn(move || waiting(package))));
            for _ in 0..3 {
                let (ticket, package) = loop {
                    if let Some((Waiter::Thread(ticket), package)) = queue.lock().unwrap().next() {
                        break (ticket, package);
                    }
                    thread::yield_now();
                };
                queue.lock().unwrap().grant(ticket, package);
            }
            for (package, thread) in threads {
                assert_eq!(&*thread.join().unwrap(), package);
            }
        });
        assert!(queue.into_inner().unwrap().threads.is_empty());
    }

    #[test]
    fn the_last_who_leaves_takes_the_turn_along() {
        let mut queue = Plain::default();
        let (a, b) = ("a".into(), "b".into());
        let ticket = queue.join(&a);
        queue.leave(&a, ticket);
        queue.join(&b);
        assert_eq!(queue.next(), Some((Waiter::Thread(2), b)));
        assert_eq!(queue.next(), None);
    }
}

//! Those who wait for an interpreter: in the order in which they came within a package, and packages in turn, so that
//! one with many callers does not starve another.

use std::collections::{HashMap, VecDeque};
use std::thread::{self, Thread};

use super::Grant;

/// The number of one who waits.
pub(super) type Ticket = u64;

/// The queue. `G` is what is waited for.
pub(super) struct Queue<G = Grant> {
    last: Ticket,
    /// Packages that somebody waits for, the next one first, with those who wait.
    turns: VecDeque<(String, VecDeque<Ticket>)>,
    /// The threads of those who wait. Each is woken for itself: waking all for one costs more than short calls.
    threads: HashMap<Ticket, Thread>,
    granted: HashMap<Ticket, G>,
}

impl<G> Default for Queue<G> {
    fn default() -> Queue<G> {
        let (threads, granted) = (HashMap::new(), HashMap::new());
        Queue { last: 0, turns: VecDeque::new(), threads, granted }
    }
}

impl<G> Queue<G> {
    /// Joins the end of the queue of a package. The calling thread may park: it is unparked when something was left for it.
    pub(super) fn join(&mut self, package: &str) -> Ticket {
        self.last += 1;
        self.threads.insert(self.last, thread::current());
        match self.turns.iter_mut().find(|(name, _)| name == package) {
            Some((_, waiting)) => waiting.push_back(self.last),
            None => self.turns.push_back((package.to_owned(), VecDeque::from([self.last]))),
        }
        self.last
    }

    /// Leaves the queue. What was granted has to be [taken](Self::take) before.
    pub(super) fn leave(&mut self, package: &str, ticket: Ticket) {
        if let Some((_, waiting)) = self.turns.iter_mut().find(|(name, _)| name == package) {
            waiting.retain(|other| *other != ticket);
        }
        self.turns.retain(|(_, waiting)| !waiting.is_empty());
        self.threads.remove(&ticket);
    }

    /// Whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// The one whose turn it is, who waits no longer, and its package, which goes behind all others.
    pub(super) fn next(&mut self) -> Option<(Ticket, String)> {
        let (package, mut waiting) = self.turns.pop_front()?;
        let ticket = waiting.pop_front()?;
        if !waiting.is_empty() {
            self.turns.push_back((package.clone(), waiting));
        }
        Some((ticket, package))
    }

    /// Leaves something for one who was called, and wakes it.
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

    #[test]
    fn packages_take_turns_and_callers_keep_their_order() {
        let mut queue: Queue<()> = Queue::default();
        let tickets: Vec<_> = ["a", "a", "a", "b", "a", "c", "b"].map(|p| queue.join(p)).to_vec();
        queue.leave("a", tickets[1]);
        let mut order = Vec::new();
        while let Some((ticket, package)) = queue.next() {
            order.push((package, ticket));
        }
        let order: Vec<_> =
            order.iter().map(|(package, ticket)| (package.as_str(), *ticket)).collect();
        assert_eq!(order, [("a", 1), ("b", 4), ("c", 6), ("a", 3), ("b", 7), ("a", 5)]);
    }

    #[test]
    fn who_is_given_something_is_woken() {
        let queue = std::sync::Mutex::new(Queue::default());
        std::thread::scope(|scope| {
            let waiting = |package: &'static str| {
                let ticket = queue.lock().unwrap().join(package);
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
                    if let Some(next) = queue.lock().unwrap().next() {
                        break next;
                    }
                    thread::yield_now();
                };
                queue.lock().unwrap().grant(ticket, package);
            }
            for (package, thread) in threads {
                assert_eq!(thread.join().unwrap(), package);
            }
        });
        assert!(queue.into_inner().unwrap().threads.is_empty());
    }

    #[test]
    fn the_last_who_leaves_takes_the_turn_along() {
        let mut queue: Queue<()> = Queue::default();
        let ticket = queue.join("a");
        queue.leave("a", ticket);
        queue.join("b");
        assert_eq!(queue.next(), Some((2, "b".to_owned())));
        assert_eq!(queue.next(), None);
    }
}

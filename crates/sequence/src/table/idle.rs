//! Sequences that nobody goes on with.

use super::{Job, Next, Table, Weight};
use crate::SequenceId;
use std::time::Duration;

impl<J: Job, S: Clone + Weight, A: Clone + Weight> Table<J, S, A> {
    /// One scan of OpenVINO Model Server's cleaner: sequences without a successful step since the scan before
    /// end. Those in which a step runs are left alone. Appends them to `next`.
    pub fn scan(&mut self, next: &mut Vec<Next<J, S, A>>) {
        let mut over = Vec::new();
        for (id, entry) in self.entries.iter_mut().filter(|(_, e)| e.running.is_none()) {
            if std::mem::replace(&mut entry.idle, true) {
                over.push(id.clone());
            }
        }
        self.end_idle(over, next);
    }

    /// Ends sequences whose idle timeout is over, and forgets answers of ended ones whose time is over.
    /// [`Table::arrive`] does it too, so that no request ever finds a sequence beyond its time.
    pub fn expire(&mut self, now: Duration, next: &mut Vec<Next<J, S, A>>) {
        let requests = &mut self.requests;
        self.ended.purge(&self.limits, now, |name| drop(requests.remove(&name)));
        let Some(timeout) = self.limits.idle_timeout else { return };
        let due = |touched: Duration| touched.saturating_add(timeout) <= now;
        // No sequence is older than its place in the order tells.
        if self.ages.first_key_value().is_none_or(|((touched, _), _)| !due(*touched)) {
            return;
        }
        self.order();
        let over: Vec<SequenceId> = self
            .ages
            .iter()
            .take_while(|((touched, _), _)| due(*touched))
            .filter(|(_, id)| self.entries.get(id).is_some_and(|e| e.running.is_none()))
            .map(|(_, id)| id.clone())
            .collect();
        self.end_idle(over, next);
    }

    /// Brings the order of the last steps up to date.
    pub(super) fn order(&mut self) {
        for id in std::mem::take(&mut self.moved) {
            let Some(entry) = self.entries.get_mut(&id) else { continue };
            if entry.age.0 != entry.touched {
                self.ages.remove(&entry.age);
                entry.age.0 = entry.touched;
                self.ages.insert(entry.age, id);
            }
        }
    }

    fn end_idle(&mut self, over: Vec<SequenceId>, next: &mut Vec<Next<J, S, A>>) {
        for id in over {
            self.counters.expired += 1;
            // Nothing runs, so nothing waits.
            self.forget(&id);
            next.push(Next::Expired(id));
        }
    }
}

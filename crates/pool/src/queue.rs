//! Tasks that wait, by priority.

use crate::Worker;
use std::collections::VecDeque;
use std::time::Instant;

/// How urgent a task is. Within one priority the order is that of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// Before everything else.
    High,
    /// Requests.
    Normal,
    /// Whatever can wait: loading, warming up, cleaning.
    Background,
}

pub(crate) struct Task {
    pub(crate) deadline: Option<Instant>,
    pub(crate) run: Box<dyn FnOnce(&Worker) + Send>,
}

/// One pick in so many goes to the lowest priority that waits, so that a steady stream of urgent tasks
/// slows the others down but cannot stop them.
const FAIR_PICK: u32 = 32;

#[derive(Default)]
pub(crate) struct Queues {
    by_priority: [VecDeque<Task>; 3],
    picks: u32,
}

impl Queues {
    pub(crate) fn push(&mut self, priority: Priority, task: Task) {
        self.by_priority[priority as usize].push_back(task);
    }

    pub(crate) fn pop(&mut self) -> Option<Task> {
        self.picks = self.picks.wrapping_add(1);
        if self.picks.is_multiple_of(FAIR_PICK) {
            self.by_priority.iter_mut().rev().find_map(VecDeque::pop_front)
        } else {
            self.by_priority.iter_mut().find_map(VecDeque::pop_front)
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_priority.iter().map(VecDeque::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn task(id: u64, epoch: Instant) -> Task {
        // The deadline serves as the task's name.
        let deadline = Some(epoch + std::time::Duration::from_secs(id));
        Task { deadline, run: Box::new(|_| {}) }
    }

    proptest! {
        /// Against a model of three lists: what comes out is the head of a list, the most urgent one but for
        /// one pick in `FAIR_PICK`, and nothing is lost.
        #[test]
        fn order_is_by_priority_then_arrival(ops in prop::collection::vec(0u8..5, 0..400)) {
            let epoch = Instant::now();
            let mut queues = Queues::default();
            let mut model: [VecDeque<u64>; 3] = Default::default();
            let mut since_fair = 0;
            for (id, op) in ops.into_iter().enumerate() {
                let priority = match op {
                    0 => Some(Priority::High),
                    1 => Some(Priority::Normal),
                    2 => Some(Priority::Background),
                    _ => None,
                };
                if let Some(priority) = priority {
                    queues.push(priority, task(id as u64, epoch));
                    model[priority as usize].push_back(id as u64);
                } else {
                    let got = queues.pop().and_then(|t| t.deadline).map(|d| (d - epoch).as_secs());
                    since_fair += 1;
                    let urgent = model.iter().position(|q| !q.is_empty());
                    let least = model.iter().rposition(|q| !q.is_empty());
                    let from = (0..3).find(|&i| got.is_some() && model[i].front().copied() == got);
                    prop_assert_eq!(got.is_some(), urgent.is_some());
                    if since_fair % FAIR_PICK == 0 {
                        prop_assert_eq!(from, least);
                    } else {
                        prop_assert_eq!(from, urgent);
                    }
                    if let Some(i) = from {
                        model[i].pop_front();
                    }
                }
                prop_assert_eq!(queues.len(), model.iter().map(VecDeque::len).sum::<usize>());
            }
        }
    }
}

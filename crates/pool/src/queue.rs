//! Tasks that wait, by class.

use crate::class::CLASSES;
use crate::{Class, Worker};
use std::collections::VecDeque;
use std::time::Instant;

pub(crate) struct Task {
    pub(crate) class: Class,
    pub(crate) deadline: Option<Instant>,
    pub(crate) run: Box<dyn FnOnce(&Worker) + Send>,
}

/// One pick in so many goes to a class that is not the most urgent, each in its turn, so that a steady stream of
/// urgent tasks slows the others down but cannot stop them.
const FAIR_PICK: u32 = 32;

#[derive(Default)]
pub(crate) struct Queues {
    by_class: [VecDeque<Task>; CLASSES],
    picks: u32,
    /// Counts the fair picks.
    turn: usize,
}

impl Queues {
    pub(crate) fn push(&mut self, task: Task) {
        self.by_class[task.class as usize].push_back(task);
    }

    /// Notes that a worker looks for something to do. The task that it must take if this is a fair pick and one of the
    /// less urgent classes waits.
    pub(crate) fn fair_pick(&mut self) -> Option<Task> {
        self.picks = self.picks.wrapping_add(1);
        if !self.picks.is_multiple_of(FAIR_PICK) {
            return None;
        }
        let others = CLASSES - 1;
        let first = (0..others)
            .map(|i| 1 + (self.turn + i) % others)
            .find(|class| !self.by_class[*class].is_empty())?;
        // The one behind it is next.
        self.turn = first % others;
        self.by_class[first].pop_front()
    }

    /// The first task of a class.
    pub(crate) fn pop(&mut self, class: Class) -> Option<Task> {
        self.by_class[class as usize].pop_front()
    }

    /// How many of a class wait.
    pub(crate) fn len(&self, class: Class) -> usize {
        self.by_class[class as usize].len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_class.iter().all(VecDeque::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn task(class: Class, id: u64, epoch: Instant) -> Task {
        // The deadline serves as the task's name.
        let deadline = Some(epoch + std::time::Duration::from_secs(id));
        Task { class, deadline, run: Box::new(|_| {}) }
    }

    /// What a worker without loops takes.
    fn next(queues: &mut Queues) -> Option<Task> {
        queues.fair_pick().or_else(|| Class::ALL.into_iter().find_map(|class| queues.pop(class)))
    }

    proptest! {
        /// Against a model of four lists: what comes out is the head of a list, the most urgent one but for
        /// one pick in `FAIR_PICK`, nothing is lost, and no class waits for more than its turn among the others.
        #[test]
        fn order_is_by_class_then_arrival(ops in prop::collection::vec(0usize..8, 0..1200)) {
            let epoch = Instant::now();
            let mut queues = Queues::default();
            let mut model: [VecDeque<u64>; CLASSES] = Default::default();
            let mut picks = 0;
            // Picks since each class got one, while it waits.
            let mut passed = [0u32; CLASSES];
            for (id, op) in ops.into_iter().enumerate() {
                if let Some(class) = Class::ALL.get(op) {
                    queues.push(task(*class, id as u64, epoch));
                    model[op].push_back(id as u64);
                    continue;
                }
                let got = next(&mut queues);
                let name = got.as_ref().and_then(|t| t.deadline).map(|d| (d - epoch).as_secs());
                picks += 1;
                let urgent = model.iter().position(|q| !q.is_empty());
                let is_fair = picks % FAIR_PICK == 0 && model.iter().skip(1).any(|q| !q.is_empty());
                let from = got.map(|task| task.class as usize);
                prop_assert_eq!(from.is_some(), urgent.is_some());
                let Some(from) = from else { continue };
                prop_assert_eq!(model[from].pop_front(), name);
                prop_assert!(if is_fair { from > 0 } else { Some(from) == urgent }, "{} of {:?}", from, model);
                for class in 1..CLASSES {
                    let waits = class != from && !model[class].is_empty();
                    passed[class] = if waits { passed[class] + 1 } else { 0 };
                    prop_assert!(passed[class] < FAIR_PICK * CLASSES as u32, "class {} starves", class);
                }
                let len: usize = Class::ALL.iter().map(|class| queues.len(*class)).sum();
                prop_assert_eq!(len, model.iter().map(VecDeque::len).sum::<usize>());
                prop_assert_eq!(queues.is_empty(), len == 0);
            }
        }
    }

    #[test]
    fn every_class_gets_its_fair_picks_from_a_stream_of_queries() {
        let epoch = Instant::now();
        let mut queues = Queues::default();
        for id in 0..4 {
            for class in [Class::Step, Class::Feed, Class::Background] {
                queues.push(task(class, id, epoch));
            }
        }
        let mut fair = Vec::new();
        for id in 0..FAIR_PICK * 7 {
            queues.push(task(Class::Query, u64::from(id), epoch));
            let class = next(&mut queues).map(|task| task.class);
            fair.extend(class.filter(|class| *class != Class::Query));
        }
        use Class::{Background, Feed, Step};
        assert_eq!(fair, [Step, Feed, Background, Step, Feed, Background, Step]);
    }
}

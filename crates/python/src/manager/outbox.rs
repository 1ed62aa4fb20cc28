//! Answers whose readers are woken together: where interpreters go from one short call to the next, to wake a thread for
//! each answer would cost more than the calls.

use std::task::Waker;
use std::time::{Duration, Instant};

/// So many answers wait at most.
const MOST: usize = 16;

/// How long the first of them waits while others come: calls that take longer are not short.
pub(super) const MOMENT: Duration = Duration::from_micros(100);

/// How long they wait at the longest, where what comes next turns out to be no short call.
const LONGEST: Duration = Duration::from_millis(1);

/// Readers of answers that are there.
#[derive(Default)]
pub(super) struct Outbox {
    readers: Vec<Waker>,
    first: Option<Instant>,
}

impl Outbox {
    /// Adds one. True where they have to be woken now.
    pub(super) fn put(&mut self, reader: Waker, now: Instant) -> bool {
        self.readers.push(reader);
        let first = *self.first.get_or_insert(now);
        self.readers.len() >= MOST || now.saturating_duration_since(first) >= MOMENT
    }

    /// All of them, to be woken once the lock is given back.
    #[must_use]
    pub(super) fn take(&mut self) -> Vec<Waker> {
        self.first = None;
        std::mem::take(&mut self.readers)
    }

    /// When they have to be woken, if there are some.
    pub(super) fn end(&self) -> Option<Instant> {
        self.first.and_then(|first| first.checked_add(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_wait_for_a_few_others_and_not_for_long() {
        let mut outbox = Outbox::default();
        assert_eq!((outbox.take().len(), outbox.end()), (0, None));
        let begun = Instant::now();
        for (label, step, expected) in
            [("many", Duration::ZERO, MOST), ("for a moment", MOMENT / 2, 3)]
        {
            let mut puts = 1;
            let mut now = begun;
            while !outbox.put(Waker::noop().clone(), now) {
                puts += 1;
                now += step;
            }
            assert_eq!(puts, expected, "{label}");
            assert_eq!(outbox.end(), Some(begun + LONGEST), "{label}");
            assert_eq!((outbox.take().len(), outbox.end()), (puts, None), "{label}");
        }
    }
}

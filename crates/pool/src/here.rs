//! What the calling thread does for a pool, and how much of its time it has given to more urgent work.

use crate::Class;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Of the time of a worker, work that gives way keeps at least one part in so many.
const OWN_PART: u32 = 8;

/// How long something runs, and for how long of that something more urgent ran in its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    began: Instant,
    away: Duration,
}

impl Share {
    pub(crate) fn new(began: Instant) -> Share {
        Share { began, away: Duration::ZERO }
    }

    /// Whether it may give way now and still keeps its part, `grace` left aside.
    pub(crate) fn allows(&self, now: Instant, grace: Duration) -> bool {
        let own = now.saturating_duration_since(self.began).saturating_sub(self.away);
        self.away <= own * (OWN_PART - 1) + grace
    }

    /// Notes that something else ran.
    pub(crate) fn gave(&mut self, time: Duration) {
        self.away += time;
    }
}

/// What a worker does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Here {
    /// Tells the pool from others of the process.
    pub(crate) pool: usize,
    pub(crate) index: usize,
    pub(crate) class: Class,
    /// A task, and not a loop that it was lent to.
    pub(crate) is_task: bool,
    pub(crate) share: Share,
}

thread_local! {
    static HERE: Cell<Option<Here>> = const { Cell::new(None) };
}

/// What the calling thread does for any pool.
pub(crate) fn here() -> Option<Here> {
    HERE.get()
}

/// Until it is dropped the thread does something; then it goes on with what it did before.
pub(crate) struct Entered {
    before: Option<Here>,
}

impl Entered {
    pub(crate) fn new(here: Here) -> Entered {
        Entered { before: HERE.replace(Some(here)) }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        HERE.set(self.before);
    }
}

/// Notes that the thread did something else for a time.
pub(crate) fn gave_way(time: Duration) {
    if let Some(mut here) = HERE.get() {
        here.share.gave(time);
        HERE.set(Some(here));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_millis(20);

    #[test]
    fn a_part_of_the_time_is_kept_whatever_waits() {
        let began = Instant::now();
        let ms = Duration::from_millis;
        // (label, since it began, of that away, whether it may give way)
        let cases = [
            ("at the beginning", 0, 0, true),
            ("within the grace", 20, 20, true),
            ("nothing done and much given", 21, 21, false),
            ("half of the time", 2000, 1000, true),
            ("seven parts of eight", 8000, 7000, true),
            ("the grace on top", 8020, 7020, true),
            ("more than that", 8023, 7023, false),
        ];
        for (label, since, away, expected) in cases {
            let mut share = Share::new(began);
            share.gave(ms(away));
            assert_eq!(share.allows(began + ms(since), GRACE), expected, "{label}");
        }
    }

    /// Queries of any length that never end, against steps of any length: the steps have their part.
    #[test]
    fn an_endless_stream_leaves_one_part_in_eight() {
        for (step_us, query_us) in [(10, 10_000), (1000, 1000), (5000, 10), (300, 100_000)] {
            let mut now = Instant::now();
            let mut share = Share::new(now);
            let (mut own, mut away) = (Duration::ZERO, Duration::ZERO);
            for _ in 0..20_000 {
                let time = Duration::from_micros(if share.allows(now, GRACE) {
                    query_us
                } else {
                    step_us
                });
                if share.allows(now, GRACE) {
                    share.gave(time);
                    away += time;
                } else {
                    own += time;
                }
                now += time;
            }
            let longest = Duration::from_micros(query_us) + GRACE;
            assert!(
                away <= own * (OWN_PART - 1) + longest,
                "{step_us}/{query_us}: {own:?} of {away:?}"
            );
            assert!(own <= away, "{step_us}/{query_us}: it gives way: {own:?} of {away:?}");
        }
    }
}

//! The line with times that are made up.

use super::*;
use proptest::prelude::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A line with a clock of its own.
struct World {
    line: Arc<Line>,
    now: Instant,
    refused: Arc<AtomicU64>,
}

impl World {
    fn new(lanes: usize, limit: usize) -> World {
        let refused = Arc::default();
        World { line: Line::new(lanes, limit, &refused), now: Instant::now(), refused }
    }

    fn enter(&self, pace: &Arc<Pace>, within: Option<u64>) -> Result<Place, Refused> {
        self.line.enter(pace, self.now, within.map(|within| self.now + ms(within)))
    }

    /// Runs some that wait, together.
    fn run(&mut self, mut places: Vec<Place>, takes: u64) {
        places.iter_mut().for_each(Place::begin);
        let began = self.now;
        self.now += ms(takes);
        Line::ran(&places, began, self.now, false);
    }
}

#[test]
fn nobody_is_refused_where_nobody_waits_or_nothing_is_known() {
    let mut world = World::new(1, 9);
    let pace = Arc::new(Pace::default());
    // Nothing is known of the kind: all are let in.
    let places: Vec<Place> =
        [Some(0), Some(1), None].map(|within| world.enter(&pace, within).unwrap()).into();
    world.run(places, 500);
    // Now it is, but nobody waits.
    let first = world.enter(&pace, Some(1)).unwrap();
    assert_eq!(world.enter(&pace, Some(1)).err(), Some(Refused::Late(ms(500 + 500 - 1))));
    drop(first);
    assert!(world.enter(&pace, Some(1)).is_ok(), "who goes away makes room");
    // Without a deadline one waits.
    let _waits = world.enter(&pace, Some(1)).unwrap();
    assert!(world.enter(&pace, None).is_ok());
    assert_eq!(world.refused.load(Ordering::Relaxed), 1);
}

#[test]
fn what_must_be_expected_is_the_line_in_front_and_a_run() {
    // (lanes, requests in front, milliseconds that must suffice); runs take 100 ms.
    for (lanes, in_front, enough) in
        [(1, 1, 200), (1, 4, 500), (2, 1, 150), (2, 4, 300), (8, 16, 300)]
    {
        let mut world = World::new(lanes, 99);
        let pace = Arc::new(Pace::default());
        let first = world.enter(&pace, None).unwrap();
        world.run(vec![first], 100);
        let _waiting: Vec<Place> =
            (0..in_front).map(|_| world.enter(&pace, None).unwrap()).collect();
        let label = format!("{in_front} before {lanes}");
        let late = world.enter(&pace, Some(enough - 10));
        assert_eq!(late.err(), Some(Refused::Late(ms(10))), "{label}");
        assert!(world.enter(&pace, Some(enough + 1)).is_ok(), "{label}");
    }
}

#[test]
fn a_line_is_as_fast_as_it_moves() {
    // Eight share a run of 80 ms: one every 10 ms.
    let mut world = World::new(1, 99);
    let pace = Arc::new(Pace::default());
    let mut waiting: Vec<Place> = (0..80).map(|_| world.enter(&pace, None).unwrap()).collect();
    for _ in 0..9 {
        let batch = waiting.drain(..8).collect();
        world.run(batch, 80);
    }
    assert_eq!(waiting.len(), 8);
    // 8 of 10 ms and a run.
    assert_eq!(world.enter(&pace, Some(150)).err(), Some(Refused::Late(ms(10))));
    assert!(world.enter(&pace, Some(161)).is_ok());
    // A pause in which nobody waits says nothing of how fast it moves.
    world.run(waiting, 80);
    world.now += ms(60_000);
    let alone = world.enter(&pace, Some(1)).unwrap();
    world.run(vec![alone], 80);
    let _waits = world.enter(&pace, None).unwrap();
    assert!(world.enter(&pace, Some(91)).is_ok());
}

#[test]
fn what_was_slow_once_can_become_quick_again() {
    let mut world = World::new(1, 99);
    let (slow, other) = (Arc::new(Pace::default()), Arc::new(Pace::default()));
    let first = world.enter(&slow, None).unwrap();
    world.run(vec![first], 400);
    // Others of another kind always wait, so that only probes measure this one.
    let mut crowd: Vec<Place> = vec![world.enter(&other, None).unwrap()];
    let (mut probes, mut refusals) = (0, 0);
    for _ in 0..600 {
        world.now += ms(99);
        let next = world.enter(&other, None).unwrap();
        world.run(std::mem::replace(&mut crowd, vec![next]), 1);
        match world.enter(&slow, Some(150)) {
            Err(_) => refusals += 1,
            Ok(probe) => {
                probes += 1;
                // It takes a millisecond now.
                world.run(vec![probe], 1);
            }
        }
    }
    assert!(refusals > 0 && probes > 60, "{refusals} refusals, {probes} let in");
    assert!(world.enter(&slow, Some(150)).is_ok(), "it has been measured");
}

#[test]
fn probes_of_a_slow_kind_are_rare() {
    let mut world = World::new(1, 99);
    let pace = Arc::new(Pace::default());
    let first = world.enter(&pace, None).unwrap();
    world.run(vec![first], 3000);
    let _waits = world.enter(&pace, None).unwrap();
    let mut probes = Vec::new();
    let begin = world.now;
    while world.now - begin < ms(30_000) {
        world.now += ms(500);
        if world.enter(&pace, Some(100)).is_ok() {
            probes.push((world.now - begin).as_millis());
        }
    }
    assert_eq!(probes, [12_000, 24_000]);
}

#[test]
fn runs_that_were_given_up_make_nothing_seem_quick() {
    let mut world = World::new(1, 99);
    let pace = Arc::new(Pace::default());
    for (takes, gave_up, expected) in
        [(100, true, 100), (20, true, 100), (900, true, 200), (40, false, 180)]
    {
        let place = world.enter(&pace, None).unwrap();
        let now = world.now + ms(takes);
        Line::ran(&[place], world.now, now, gave_up);
        world.now = now;
        assert_eq!(pace.lock().mean.get(), Some(ms(expected)), "{takes}");
    }
}

#[test]
fn a_full_line_takes_nobody() {
    let world = World::new(1, 2);
    let pace = Arc::new(Pace::default());
    let first = world.enter(&pace, None).unwrap();
    let _second = world.enter(&pace, Some(1)).unwrap();
    assert_eq!(world.enter(&pace, None).err(), Some(Refused::Full(2)));
    drop(first);
    assert!(world.enter(&pace, None).is_ok());
}

#[test]
fn errors_say_when_to_come_again() {
    for (refused, text, retry_after) in [
        (Refused::Late(ms(0)), "m cannot be answered before the deadline; try again in 1 s", 1),
        (Refused::Late(ms(999)), "m cannot be answered before the deadline; try again in 1 s", 1),
        (Refused::Late(ms(2500)), "m cannot be answered before the deadline; try again in 3 s", 3),
        (Refused::Full(7), "m: 7 requests wait already, which is the limit", 1),
    ] {
        let error = refused.error("m");
        assert_eq!(error.to_string(), text);
        assert_eq!(
            (error.code, error.retry_after()),
            (crate::Code::Unavailable, Some(retry_after))
        );
    }
}

#[test]
fn kinds_are_forgotten_when_there_are_too_many() {
    let paces = Paces::default();
    let one = paces.of("a");
    assert!(Arc::ptr_eq(&one, &paces.of("a")));
    (0..3000).for_each(|n| drop(paces.of(&n.to_string())));
    assert!(paces.0.lock().unwrap().len() <= 1024);
}

proptest! {
    /// Against a line of one lane whose runs all take the same: who is let in is answered in time, and nobody is refused who
    /// would have been.
    #[test]
    fn steady_runs_are_foreseen(takes in 5u64..50, asked in prop::collection::vec((0u64..60, 1u64..600), 1..120)) {
        let mut world = World::new(1, 1000);
        let pace = Arc::new(Pace::default());
        let first = world.enter(&pace, None).unwrap();
        world.run(vec![first], takes);
        // The one that runs, with its end, and those behind it with their deadlines.
        let mut running: Option<(Place, Instant, Instant)> = None;
        let mut waiting: std::collections::VecDeque<(Place, Instant)> = Default::default();
        for (pause, within) in asked {
            let until = world.now + ms(pause);
            loop {
                if let Some((place, end, deadline)) = running.take_if(|(_, end, _)| *end <= until) {
                    // The one that runs when somebody comes is not seen: a run more at most.
                    prop_assert!(end <= deadline + ms(takes), "{:?} late", end - deadline);
                    Line::ran(&[place], end - ms(takes), end, false);
                    world.now = end;
                }
                if running.is_some() { break }
                let Some((mut place, deadline)) = waiting.pop_front() else { break };
                place.begin();
                running = Some((place, world.now + ms(takes), deadline));
            }
            world.now = until;
            let deadline = world.now + ms(within);
            let in_front = waiting.len() as u64;
            match world.enter(&pace, Some(within)) {
                Ok(place) if running.is_none() => {
                    // It runs at once.
                    let mut place = place;
                    place.begin();
                    running = Some((place, world.now + ms(takes), deadline.max(world.now + ms(takes))));
                }
                // Where nobody waits all are let in, and a probe may be late.
                Ok(place) => waiting.push_back((place, if in_front == 0 { deadline + ms(2 * takes) } else { deadline })),
                Err(_) => prop_assert!((in_front + 1) * takes + 1 > within, "{} of {}", in_front, within),
            }
        }
    }
}

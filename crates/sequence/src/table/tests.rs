//! Every rule of a sequence's life, by small scripts: which requests come, how runs end, and what is seen.

use super::*;

type Script = Table<&'static str, u32, String>;

fn limits() -> Limits {
    Limits { max_sequences: 3, ..Limits::default() }
}

fn id(n: u64) -> SequenceId {
    SequenceId::Number(n)
}

fn at(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// What became of requests, in short: `run x 2` runs as step 2, `x: text` is an error, `x = answer` an answer.
fn shown(next: &mut Vec<Next<&'static str, u32, String>>) -> (Vec<String>, Vec<Ticket>) {
    let mut tickets = Vec::new();
    let texts = next
        .drain(..)
        .map(|n| match n {
            Next::Run(run) => {
                tickets.push(run.ticket);
                format!("run {} {} {:?}", run.job, run.step, run.state)
            }
            Next::Replay(r) => format!("{} = {} of {}", r.job, r.answer, r.step),
            Next::Refuse(job, error) => format!("{job}: {error:?}"),
            Next::Drop(job) => format!("drop {job}"),
            Next::Expired(id) => format!("expired {id}"),
        })
        .collect();
    (texts, tickets)
}

struct Play {
    table: Script,
    now: Duration,
    running: Vec<Ticket>,
}

impl Play {
    fn new(limits: Limits) -> Play {
        Play { table: Table::new(limits), now: Duration::ZERO, running: Vec::new() }
    }

    fn arrive(&mut self, order: Order, job: &'static str) -> Vec<String> {
        let mut next = Vec::new();
        self.table.arrive(order, job, self.now, &mut next);
        self.take(&mut next)
    }

    fn take(&mut self, next: &mut Vec<Next<&'static str, u32, String>>) -> Vec<String> {
        let (texts, tickets) = shown(next);
        self.running.extend(tickets);
        texts
    }

    /// Ends the oldest run: with a state and an answer, or in failure.
    fn finish(&mut self, outcome: Option<(u32, &str)>) -> Vec<String> {
        let ticket = self.running.remove(0);
        let outcome = match outcome {
            Some((state, answer)) => Outcome::Done { state, answer: answer.to_owned() },
            None => Outcome::Failed,
        };
        let mut next = Vec::new();
        assert!(self.table.finish(ticket, outcome, self.now, &mut next), "the run is known");
        self.take(&mut next)
    }

    /// A whole step.
    fn step(&mut self, order: Order, state: u32) {
        let texts = self.arrive(order, "step");
        assert!(texts.len() == 1 && texts[0].starts_with("run"), "{texts:?}");
        self.finish(Some((state, "done")));
    }

    fn scan(&mut self) -> Vec<String> {
        let mut next = Vec::new();
        self.table.scan(&mut next);
        self.take(&mut next)
    }

    fn expire(&mut self) -> Vec<String> {
        let mut next = Vec::new();
        self.table.expire(self.now, &mut next);
        self.take(&mut next)
    }
}

#[test]
fn standard_flow() {
    let mut play = Play::new(limits());
    assert_eq!(play.arrive(Order::start(id(7)), "a"), ["run a 1 None"]);
    assert!(play.finish(Some((10, "ten"))).is_empty());
    assert_eq!(play.arrive(Order::step(id(7)), "b"), ["run b 2 Some(10)"]);
    play.finish(Some((11, "eleven")));
    assert_eq!(play.arrive(Order::end(id(7)), "c"), ["run c 3 Some(11)"]);
    play.finish(Some((12, "twelve")));
    assert_eq!((play.table.len(), play.table.bytes()), (0, 0));
    let all = play.table.counters();
    assert_eq!((all.started, all.ended, all.steps), (1, 1, 3));
}

#[test]
fn what_ovms_refuses() {
    let auto = || Order { start: true, ..Order::default() };
    let cases: &[(&str, Order, &str)] = &[
        ("continue of a missing one", Order::step(id(9)), "x: Missing"),
        ("END of a missing one", Order::end(id(9)), "x: Missing"),
        ("START of a live one", Order::start(id(1)), "x: AlreadyExists"),
        ("continue without an id", Order::default(), "x: IdNotProvided"),
        ("END without an id", Order { end: true, ..Order::default() }, "x: IdNotProvided"),
    ];
    for (label, order, expected) in cases {
        let mut play = Play::new(limits());
        play.step(Order::start(id(1)), 0);
        assert_eq!(play.arrive(order.clone(), "x"), [*expected], "{label}");
    }
    let mut play = Play::new(limits());
    (1..=3).for_each(|n| play.step(Order::start(id(n)), 0));
    // The full table is found before the live id, as in OpenVINO Model Server.
    assert_eq!(play.arrive(Order::start(id(1)), "x"), ["x: TooMany"]);
    assert_eq!(play.arrive(auto(), "x"), ["x: TooMany"]);
    play.step(Order::end(id(2)), 0);
    assert_eq!(play.arrive(Order::start(id(4)), "x"), ["run x 1 None"]);
}

#[test]
fn ids_that_the_table_chooses() {
    let mut play = Play::new(limits());
    play.step(Order::start(id(1)), 0);
    let auto = || Order { start: true, ..Order::default() };
    play.arrive(auto(), "a");
    assert_eq!(play.running[0].id, id(2), "CreateSequenceNoIdProvided");
    play.finish(None);
    assert_eq!(play.table.len(), 1, "a START that failed leaves nothing");
}

#[test]
fn requests_of_one_sequence_run_in_the_order_of_arrival() {
    let mut play = Play::new(limits());
    play.arrive(Order::start(id(1)), "a");
    for job in ["b", "c"] {
        assert!(play.arrive(Order::step(id(1)), job).is_empty());
    }
    assert_eq!(
        play.arrive(Order::start(id(2)), "other"),
        ["run other 1 None"],
        "nobody else waits"
    );
    assert_eq!(play.table.waiting(), 2);
    assert_eq!(play.finish(Some((1, ""))), ["run b 2 Some(1)"]);
    play.running.swap(0, 1);
    assert_eq!(play.finish(None), ["run c 2 Some(1)"], "a failed step has no effect");
    assert_eq!(play.table.waiting(), 0);
}

#[test]
fn a_start_that_fails_lets_the_next_one_begin() {
    let mut play = Play::new(limits());
    play.arrive(Order::start(id(1)), "a");
    assert!(play.arrive(Order::step(id(1)), "b").is_empty());
    assert!(play.arrive(Order::start(id(1)), "c").is_empty());
    assert!(play.arrive(Order::step(id(1)), "d").is_empty());
    assert_eq!(play.finish(None), ["b: Missing", "run c 1 None"]);
    assert_eq!(play.finish(Some((5, ""))), ["run d 2 Some(5)"]);
}

#[test]
fn while_an_end_runs() {
    let mut play = Play::new(limits());
    play.step(Order::start(id(1)), 3);
    play.arrive(Order::end(id(1)), "end");
    assert_eq!(play.arrive(Order::start(id(1)), "x"), ["x: Terminated"]);
    assert_eq!(play.arrive(Order::step(id(1)), "x"), ["x: Missing"]);
    assert_eq!(play.arrive(Order::end(id(1)), "x"), ["x: Missing"]);
    play.finish(None);
    assert_eq!(play.arrive(Order::step(id(1)), "y"), ["run y 2 Some(3)"], "active again");
    play.finish(Some((4, "")));
    play.arrive(Order::end(id(1)), "end");
    play.finish(Some((4, "")));
    assert_eq!(play.arrive(Order::step(id(1)), "x"), ["x: Missing"]);
    assert_eq!(play.arrive(Order::start(id(1)), "z"), ["run z 1 None"]);
}

#[test]
fn numbered_steps_run_once() {
    let mut play = Play::new(Limits { replay_depth: 2, ..limits() });
    play.arrive(Order::start(id(1)).numbered(1), "a");
    assert!(play.arrive(Order::start(id(1)).numbered(1), "a again").is_empty(), "it waits");
    assert_eq!(play.finish(Some((1, "A"))), ["a again = A of 1"]);
    for (n, answer) in [(2, "B"), (3, "C")] {
        play.arrive(Order::step(id(1)).numbered(n), "x");
        play.finish(Some((1, answer)));
    }
    let cases = [
        (Order::step(id(1)).numbered(3), "x = C of 3"),
        (Order::step(id(1)).numbered(2), "x = B of 2"),
        (Order::step(id(1)).numbered(1), "x: NotKept { given: 1, oldest: Some(2), last: 3 }"),
        (Order::start(id(1)).numbered(1), "x: NotKept { given: 1, oldest: Some(2), last: 3 }"),
        (Order::step(id(1)).numbered(5), "x: Gap { given: 5, next: 4 }"),
        (Order::step(id(1)).numbered(0), "x: BadStep { given: 0 }"),
        (Order::start(id(2)).numbered(2), "x: BadStep { given: 2 }"),
    ];
    for (order, expected) in cases {
        assert_eq!(play.arrive(order.clone(), "x"), [expected], "{order:?}");
    }
    assert_eq!(play.table.counters().replayed, 3);
}

#[test]
fn the_answer_of_an_end_is_kept_for_a_while() {
    let mut play = Play::new(limits());
    play.arrive(Order::start(id(1)).numbered(1), "a");
    play.finish(Some((1, "A")));
    play.arrive(Order::end(id(1)).numbered(2), "b");
    assert!(play.arrive(Order::end(id(1)).numbered(2), "b again").is_empty(), "it waits");
    assert_eq!(play.finish(Some((2, "B"))), ["b again = B of 2"]);
    play.now = at(59_999);
    assert_eq!(play.arrive(Order::end(id(1)).numbered(2), "b"), ["b = B of 2"]);
    assert_eq!(
        play.arrive(Order::step(id(1)).numbered(1), "a"),
        ["a: NotKept { given: 1, oldest: Some(2), last: 2 }"]
    );
    assert_eq!(play.arrive(Order::end(id(1)), "unnumbered"), ["unnumbered: Missing"]);
    play.now = at(60_000);
    assert_eq!(play.arrive(Order::end(id(1)).numbered(2), "b"), ["b: Missing"]);
    assert_eq!(play.table.bytes(), 0);
}

#[test]
fn a_repeated_start_without_an_id_is_known_by_its_request() {
    let start = |request: &str, step| Order {
        start: true,
        step,
        request: request.to_owned(),
        ..Order::default()
    };
    let mut play = Play::new(limits());
    play.arrive(start("r", Some(1)), "a");
    play.finish(Some((1, "A")));
    assert_eq!(play.arrive(start("r", Some(1)), "a"), ["a = A of 1"]);
    assert_eq!(play.arrive(start("s", Some(1)), "b"), ["run b 1 None"], "another request");
    play.finish(Some((1, "B")));
    assert_eq!(play.arrive(start("r", None), "c"), ["run c 1 None"], "not numbered");
    play.finish(Some((1, "C")));
    for n in 1..=3 {
        play.step(Order::end(id(n)), 0);
    }
    assert!(play.table.requests.is_empty(), "nothing is left behind");
    let whole = Order { end: true, ..start("t", Some(1)) };
    play.arrive(whole.clone(), "d");
    play.finish(Some((1, "D")));
    assert_eq!(play.arrive(whole.clone(), "d"), ["d = D of 1"], "a sequence of one step");
    play.now = at(60_000);
    assert_eq!(play.arrive(whole, "d"), ["run d 1 None"]);
}

#[test]
fn tritons_rules() {
    let mut play = Play::new(Limits { rules: Rules::Triton, ..limits() });
    assert_eq!(play.arrive(Order::step(id(1)), "x"), ["x: NotStarted { id: \"1\", model: \"\" }"]);
    assert_eq!(
        play.arrive(Order { start: true, ..Order::default() }, "x"),
        ["x: NoCorrelationId { model: \"\" }"]
    );
    play.step(Order::start(id(1)), 5);
    assert_eq!(play.arrive(Order::start(id(1)), "again"), ["run again 1 None"]);
    play.finish(None);
    assert_eq!(play.arrive(Order::step(id(1)), "y"), ["run y 2 Some(5)"], "the old one lives on");
    play.finish(Some((6, "")));
    play.step(Order::start(id(1)), 9);
    assert_eq!(play.arrive(Order::step(id(1)), "y"), ["run y 2 Some(9)"]);
    play.finish(Some((6, "")));
    play.arrive(Order::end(id(1)), "end");
    assert!(play.arrive(Order::start(id(1)), "new").is_empty(), "it waits for the END");
    assert_eq!(play.finish(Some((6, ""))), ["run new 1 None"]);
}

#[test]
fn cleaner_scans() {
    // RemoveOneIdleSequence, idleSequencesCleanup
    let mut play = Play::new(Limits { max_sequences: 10, ..limits() });
    (1..=10).for_each(|n| play.step(Order::start(id(n)), 0));
    assert!(play.scan().is_empty());
    (1..=7).for_each(|n| play.step(Order::step(id(n)), 0));
    let mut gone = play.scan();
    gone.sort_unstable();
    assert_eq!(gone, ["expired 10", "expired 8", "expired 9"]);
    play.arrive(Order::step(id(1)), "busy");
    assert_eq!(play.scan().len(), 6, "one in which a step runs is left alone");
    play.finish(None);
    assert_eq!(play.scan(), ["expired 1"], "a failed step is no sign of life");
}

#[test]
fn exact_idle_timeouts() {
    let mut play = Play::new(Limits { idle_timeout: Some(at(100)), ..limits() });
    play.step(Order::start(id(1)), 0);
    play.now = at(40);
    play.step(Order::start(id(2)), 0);
    play.now = at(99);
    play.step(Order::step(id(1)), 0);
    play.now = at(139);
    assert_eq!(play.expire(), [""; 0]);
    play.now = at(140);
    assert_eq!(play.arrive(Order::step(id(2)), "late"), ["expired 2", "late: Missing"]);
    play.arrive(Order::step(id(1)), "long");
    play.now = at(10_000);
    assert_eq!(play.expire(), [""; 0], "a step that runs is no idleness");
    play.finish(Some((0, "")));
    play.now = at(10_099);
    assert_eq!(play.expire(), [""; 0]);
    play.now = at(10_100);
    assert_eq!(play.expire(), ["expired 1"]);
}

#[test]
fn a_sequence_ended_from_outside() {
    let mut play = Play::new(limits());
    play.step(Order::start(id(1)), 5);
    play.arrive(Order::step(id(1)), "runs");
    play.arrive(Order::step(id(1)), "waits");
    let mut next = Vec::new();
    play.table.remove(&id(1), at(0), &mut next).unwrap();
    assert_eq!(play.take(&mut next), ["waits: Missing"]);
    assert_eq!(play.table.remove(&id(1), at(0), &mut next), Err(SequenceError::Missing));
    let ticket = play.running.remove(0);
    let outcome = Outcome::Done { state: 6, answer: String::new() };
    assert!(!play.table.finish(ticket, outcome, at(0), &mut next), "the step has no effect");
    assert!(next.is_empty() && play.table.is_empty());
}

#[test]
fn copies() {
    let mut play = Play::new(limits());
    play.step(Order::start(id(1)), 5);
    let (step, state) = play.table.state(&id(1)).unwrap();
    play.table.insert(id(2), step, state, at(0)).unwrap();
    assert_eq!(play.table.insert(id(2), step, state, at(0)), Err(SequenceError::AlreadyExists));
    assert_eq!(play.arrive(Order::step(id(2)), "x"), ["run x 2 Some(5)"]);
    assert_eq!(play.table.state(&id(3)), Err(SequenceError::Missing));
    let names: Vec<String> = play
        .table
        .list(Some(&id(1)), 9, at(3))
        .iter()
        .map(|s| format!("{} {}", s.id, s.busy))
        .collect();
    assert_eq!(names, ["2 true"]);
}

#[test]
fn abandoned_requests_have_no_effect() {
    struct Gone(bool);
    impl Job for Gone {
        fn is_abandoned(&self) -> bool {
            self.0
        }
    }
    let mut table: Table<Gone, u32, String> = Table::new(limits());
    let mut next = Vec::new();
    table.arrive(Order::start(id(1)), Gone(true), at(0), &mut next);
    assert!(matches!(next.as_slice(), [Next::Drop(_)]));
    assert!(table.is_empty());
}

#[test]
fn a_million_sequences_leave_nothing_behind() {
    let mut play = Play::new(limits());
    for n in 1..=1_000_000 {
        let whole = Order { end: true, ..Order::start(id(n)) };
        play.step(whole, 1);
    }
    assert_eq!((play.table.len(), play.table.bytes(), play.table.ages.len()), (0, 0, 0));
    assert!(play.table.entries.capacity() <= 1024 && play.table.requests.is_empty());
}

/// The cleaner runs twice at each of OpenVINO Model Server's four positions of a request: before it arrives, behind
/// another step of its sequence, while it runs, and when it is over.
#[test]
fn the_cleaner_races_requests_at_every_position() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Position {
        BeforeManagerLocked,
        BeforeSequenceLocked,
        BeforeSequenceUnlocked,
        AfterSequenceUnlocked,
    }
    use Position::*;
    let positions =
        [BeforeManagerLocked, BeforeSequenceLocked, BeforeSequenceUnlocked, AfterSequenceUnlocked];
    let twice = |play: &mut Play| play.scan().len() + play.scan().len();
    let missing = |texts: &[String]| texts.iter().any(|t| t.ends_with("Missing"));
    // Whether the request that is raced, or else the END behind it, finds its sequence.
    let cases = [
        ("statefulInferSequenceStartTimeout", true, false, [true, true, true, false]),
        ("statefulInferSequenceNoControlTimeout", false, false, [false, true, true, false]),
        // Its END is raced while it waits for no other step: the sequence is gone at the first position only.
        ("statefulInferSequenceEndTimeout", false, true, [false, true, true, true]),
    ];
    for (name, start, end, expected) in cases {
        for (position, expected) in positions.into_iter().zip(expected) {
            let mut play = Play::new(limits());
            if !start {
                play.step(Order::start(id(1)), 1);
            }
            let order = Order { start, end, ..Order::step(id(1)) };
            let mut ended = 0;
            if position == BeforeManagerLocked {
                ended += twice(&mut play);
            }
            let found = if position == BeforeSequenceLocked && !start {
                // Another step of the sequence runs, and this one waits for it.
                assert_eq!(play.arrive(Order::step(id(1)), "before").len(), 1);
                assert!(play.arrive(order, "raced").is_empty(), "{name}: it waits");
                ended += twice(&mut play);
                play.finish(Some((2, "")))
            } else {
                play.arrive(order, "raced")
            };
            let mut is_found = !missing(&found);
            if is_found {
                if [BeforeSequenceLocked, BeforeSequenceUnlocked].contains(&position) {
                    ended += twice(&mut play);
                }
                play.finish(Some((3, "")));
            }
            if position == AfterSequenceUnlocked {
                ended += twice(&mut play);
            }
            if is_found && !end {
                is_found = !missing(&play.arrive(Order::end(id(1)), "end"));
                if is_found {
                    play.finish(Some((4, "")));
                }
            }
            assert_eq!(is_found, expected, "{name} {position:?}");
            assert_eq!(ended, usize::from(!expected), "{name} {position:?}: ended by the cleaner");
            assert!(play.table.is_empty(), "{name} {position:?}");
        }
    }
}

/// Times of records are those of the calendar, which may have been set back or forward while the process was away.
#[test]
fn a_calendar_that_has_jumped() {
    let (day, ttl) = (at(86_400_000), Limits::default().ended_ttl);
    let timeout = Some(at(100));
    for (label, now, written) in [("back", day, day * 300), ("forward", day * 300, day)] {
        let mut play = Play::new(Limits { idle_timeout: timeout, ..limits() });
        play.now = now;
        let image = Image {
            step: 3,
            state: 7,
            answers: vec![(3, "three".to_owned())],
            request: String::new(),
            auto: false,
            began: written,
            // Whoever restores a sequence lets its idle time begin anew.
            touched: now,
        };
        play.table.restore(id(1), image, now);
        let (request, start) = (String::new(), String::new());
        let ended = Ended { step: 2, request, start, answer: "two".to_owned() };
        play.table.restore_ended(id(2), ended, written, now);
        let summary = play.table.summary(&id(1), now).unwrap();
        assert!(summary.idle.is_zero() && summary.age <= now, "{label}: {summary:?}");
        assert_eq!(play.arrive(Order::step(id(1)).numbered(3), "again"), ["again = three of 3"]);
        play.step(Order::step(id(1)), 8);
        play.now += at(100);
        let late = play.arrive(Order::step(id(1)), "late");
        assert_eq!(
            late,
            ["expired 1", "late: Missing"],
            "{label}: after its timeout, not sooner or later"
        );
        // A kept answer from the future is forgotten after the time it is kept for.
        let again = Order::end(id(2)).numbered(2);
        let kept = play.arrive(again.clone(), "end");
        assert_eq!(kept == ["end = two of 2"], label == "back", "{label}: {kept:?}");
        play.now += ttl;
        assert_eq!(play.arrive(again, "end"), ["end: Missing"], "{label}");
    }
}

//! The tests of OpenVINO Model Server's sequence manager, by their names (src/test/sequence_manager_test.cpp and
//! sequence_test.cpp of its last release with stateful models).
#![allow(clippy::unwrap_used)] // a panic is the report

use std::time::Duration;
use stead_sequence::SequenceError::{self, AlreadyExists, Missing, Terminated, TooMany};
use stead_sequence::{Image, Limits, Next, Order, Outcome, Run, SequenceId, Table};

const NOW: Duration = Duration::ZERO;

/// A table that counts ids, as a sequence manager.
struct Manager {
    table: Table<&'static str, u32, String>,
}

impl Manager {
    fn new() -> Manager {
        Manager { table: Table::new(Limits::default()) }
    }

    /// A manager in which these live.
    fn of(ids: &[u64]) -> Manager {
        let mut manager = Manager::new();
        ids.iter().for_each(|id| assert_eq!(manager.create(*id), Ok(*id)));
        manager
    }

    fn arrive(&mut self, order: Order) -> Result<Run<&'static str, u32>, SequenceError> {
        let mut next = Vec::new();
        self.table.arrive(order, "request", NOW, &mut next);
        match next.pop().unwrap() {
            Next::Run(run) => Ok(run),
            Next::Refuse(_, error) => Err(error),
            other => panic!("{other:?}"),
        }
    }

    /// A whole step: the id.
    fn step(&mut self, order: Order) -> Result<u64, SequenceError> {
        let run = self.arrive(order)?;
        let SequenceId::Number(id) = run.ticket.id.clone() else { panic!("a number") };
        let state = run.state.unwrap_or(0) + 1;
        let outcome = Outcome::Done { state, answer: String::new() };
        assert!(self.table.finish(run.ticket, outcome, NOW, &mut Vec::new()));
        Ok(id)
    }

    /// A START; 0 leaves the id to the manager.
    fn create(&mut self, id: u64) -> Result<u64, SequenceError> {
        self.step(Order { id: SequenceId::from_number(id), start: true, ..Order::default() })
    }

    /// An END that still runs.
    fn terminate(&mut self, id: u64) -> Result<Run<&'static str, u32>, SequenceError> {
        self.arrive(Order::end(SequenceId::Number(id)))
    }

    fn remove(&mut self, id: u64) -> Result<(), SequenceError> {
        self.table.remove(&SequenceId::Number(id), NOW, &mut Vec::new())
    }

    fn go_on(&mut self, id: u64) -> Result<u64, SequenceError> {
        self.step(Order::step(SequenceId::Number(id)))
    }

    fn scan(&mut self) {
        self.table.scan(&mut Vec::new());
    }

    /// The last id that was given is the largest number.
    fn at_the_end_of_the_range() -> Manager {
        let mut manager = Manager::new();
        let image = Image {
            step: 1,
            state: 0,
            answers: Vec::new(),
            request: String::new(),
            auto: true,
            began: NOW,
            touched: NOW,
        };
        manager.table.restore(SequenceId::Number(u64::MAX), image, NOW);
        manager
    }
}

#[test]
fn scenarios_of_the_sequence_manager() {
    let scenarios: &[(&str, fn())] = &[
        ("GetUniqueSequenceIdFirstOK", || {
            let mut manager = Manager::new();
            assert_eq!([0; 3].map(|id| manager.create(id)), [Ok(1), Ok(2), Ok(3)]);
        }),
        ("GetUniqueSequenceIdFirstTaken", || {
            assert_eq!(Manager::of(&[1, 2, 3, 4]).create(0), Ok(5));
        }),
        ("GetUniqueSequenceIdExceedRange", || {
            assert_eq!(Manager::at_the_end_of_the_range().create(0), Ok(1));
        }),
        ("CreateSequenceOK", || assert_eq!(Manager::new().create(42), Ok(42))),
        ("CreateSequenceConflict", || {
            assert_eq!(Manager::of(&[42]).create(42), Err(AlreadyExists));
        }),
        ("CreateSequenceNoIdProvided", || assert_eq!(Manager::of(&[1]).create(0), Ok(2))),
        ("CreateSequenceNoIdProvidedExceedingRange", || {
            let mut manager = Manager::at_the_end_of_the_range();
            assert_eq!([0; 2].map(|id| manager.create(id)), [Ok(1), Ok(2)]);
        }),
        ("RemoveSequenceOK", || {
            let mut manager = Manager::of(&[42]);
            assert_eq!(manager.remove(42), Ok(()));
            assert!(manager.table.is_empty());
        }),
        ("RemoveSequenceNotExists", || assert_eq!(Manager::of(&[1]).remove(42), Err(Missing))),
        ("HasSequenceOK", || assert_eq!(Manager::of(&[42]).go_on(42), Ok(42))),
        ("HasSequenceNotExist", || assert_eq!(Manager::of(&[1]).go_on(42), Err(Missing))),
        ("HasSequenceTerminated", || {
            let mut manager = Manager::of(&[42]);
            let _runs = manager.terminate(42).unwrap();
            assert_eq!(manager.go_on(42), Err(Missing));
        }),
        ("TerminateSequenceOK", || assert!(Manager::of(&[42]).terminate(42).is_ok())),
        ("TerminateSequenceMissing", || {
            assert_eq!(Manager::of(&[1]).terminate(42).err(), Some(Missing));
        }),
        ("TerminateSequenceAlreadyTerminated", || {
            let mut manager = Manager::of(&[42]);
            let _runs = manager.terminate(42).unwrap();
            assert_eq!(manager.terminate(42).err(), Some(Missing));
        }),
        ("CreateSequenceAlreadyTerminated", || {
            let mut manager = Manager::of(&[42]);
            let _runs = manager.terminate(42).unwrap();
            assert_eq!(manager.create(42), Err(Terminated));
        }),
        ("ProcessSpecNoControlInput", || {
            let run = Manager::of(&[42]).arrive(Order::step(SequenceId::Number(42))).unwrap();
            assert_eq!((run.step, run.state, run.end), (2, Some(1), false));
        }),
        ("ProcessSpecSequenceStart", || {
            let run = Manager::new().arrive(Order::start(SequenceId::Number(42))).unwrap();
            assert_eq!((run.step, run.state, run.end), (1, None, false));
        }),
        ("ProcessSpecSequenceEnd", || {
            let run = Manager::of(&[42]).terminate(42).unwrap();
            assert_eq!((run.step, run.state, run.end), (2, Some(1), true));
        }),
        ("RemoveOneIdleSequence", || {
            let mut manager = Manager::of(&[1, 2]);
            manager.scan();
            manager.go_on(1).unwrap();
            manager.scan();
            assert_eq!((manager.go_on(1), manager.go_on(2)), (Ok(1), Err(Missing)));
        }),
        ("RemoveAllIdleSequences", || {
            let mut manager = Manager::of(&[1, 2]);
            manager.scan();
            manager.scan();
            assert!(manager.table.is_empty());
        }),
        ("MultiManagersAllIdleSequences", || {
            let mut managers: Vec<Manager> = (0..10).map(|_| Manager::of(&[1, 2, 3])).collect();
            managers.iter_mut().for_each(Manager::scan);
            managers[4].go_on(2).unwrap();
            managers.iter_mut().for_each(Manager::scan);
            let left: Vec<usize> = managers.iter().map(|m| m.table.len()).collect();
            assert_eq!(left, [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
        }),
        ("ExceedMaxSequenceNumber", || {
            let mut manager = Manager::new();
            manager.table.set_limits(Limits { max_sequences: 5, ..Limits::default() });
            (1..=5).for_each(|id| assert_eq!(manager.create(id), Ok(id)));
            assert!([6, 0, 3].iter().all(|id| manager.create(*id) == Err(TooMany)));
        }),
        // A sequence whose END runs takes no other request.
        ("SequenceDisabled", || {
            let mut manager = Manager::of(&[42]);
            assert_eq!(
                manager.table.refusal_of_start(&SequenceId::Number(42)),
                Some(AlreadyExists)
            );
            let _runs = manager.terminate(42).unwrap();
            assert_eq!(manager.table.refusal_of_start(&SequenceId::Number(42)), Some(Terminated));
        }),
    ];
    for (name, scenario) in scenarios {
        eprintln!("{name}");
        scenario();
    }
}

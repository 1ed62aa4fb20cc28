use super::*;
use stead_tensor::{DType, Shape};

fn values(number: f32) -> StateValues {
    [Some(Tensor::from_slice(&[number, 2.0], &[1, 2]).unwrap()), None].into()
}

fn answer(number: f32) -> Answer {
    [("out".to_owned(), Tensor::scalar(number).unwrap())].into()
}

fn record(id: u64, event: Event) -> Record {
    let id = SequenceId::Number(id);
    Record { model: "m".into(), version: 3, fingerprint: 9, id, at: 77, event }
}

fn alive(step: u64, fresh: bool, answers: Vec<(u64, Answer)>) -> Alive {
    let state = values(step as f32);
    Alive { step, began: 5, request: "r".into(), auto: false, fresh, keep: 2, answers, state }
}

fn all_kinds() -> Vec<Record> {
    let kept =
        |step| Ending { step, request: "e".into(), start: String::new(), answer: answer(1.0) };
    let mut state: Vec<_> = DType::ALL
        .iter()
        .map(|t| Some(Tensor::zeros(*t, Shape::new(&[2, 3]).unwrap()).unwrap()))
        .collect();
    state.push(Some(Tensor::from_strings(vec![b"ab".to_vec(), vec![]], &[2]).unwrap()));
    let every_type = Alive { state: state.into(), auto: true, ..alive(1, true, vec![]) };
    let text = Record { id: SequenceId::Text("call 7".into()), ..record(1, Event::Gone) };
    vec![
        record(1, Event::Alive(alive(7, false, vec![(7, answer(0.5))]))),
        record(u64::MAX, Event::Alive(every_type)),
        record(1, Event::Ended(None)),
        record(1, Event::Ended(Some(kept(8)))),
        record(1, Event::Gone),
        text,
    ]
}

#[test]
fn what_was_written_is_read() {
    for record in all_kinds() {
        assert_eq!(decode(&encode(&record)), Ok(Some(record.clone())), "{record:?}");
    }
    assert_eq!(decode(&NOTHING), Ok(None));
}

#[test]
fn what_was_not_written_is_refused() {
    for record in all_kinds() {
        let bytes = encode(&record);
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len]).is_err(), "cut to {len}");
        }
        assert!(decode(&[&*bytes, &[0]].concat()).is_err());
        // A length that claims more than there is takes no memory.
        for at in 0..bytes.len() - 3 {
            let mut bytes = bytes.clone();
            bytes[at..at + 4].fill(0xff);
            let _ = decode(&bytes);
        }
    }
    assert_eq!(decode(&[2, 0]), Err(DecodeError::Version(2)));
}

/// The bytes of one record, so that no later change of the code changes the format unseen.
#[test]
fn the_format_stays() {
    let event = Event::Alive(Alive {
        state: [Some(Tensor::scalar(1u8).unwrap())].into(),
        ..alive(2, true, vec![])
    });
    let mut expected = vec![1, 1, 1, 0, 0, 0, b'm'];
    let number = |n: u64| n.to_le_bytes();
    expected.extend([number(3), number(9)].concat());
    expected.push(0);
    expected.extend([number(4), number(77), number(2), number(5)].concat());
    expected.extend([1, 0, 0, 0, b'r', 2, 2, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([1, 0, 0, 0, 1, 2, 0, 1]);
    assert_eq!(encode(&record(4, event)), expected);
}

#[test]
fn records_add_up() {
    let mut image = Image::default();
    for step in 1..=4 {
        let event = Event::Alive(alive(step, step == 1, vec![(step, answer(step as f32))]));
        image.apply(record(1, event));
    }
    image.apply(record(2, Event::Alive(alive(1, true, vec![]))));
    image.apply(record(3, Event::Alive(alive(1, true, vec![]))));
    image.apply(record(2, Event::Ended(None)));
    image.apply(record(4, Event::Gone));
    let mut copy = Image::default();
    image.records().for_each(|r| copy.apply(r));
    assert_eq!(copy, image);
    let (mut found, other) = image.take("m", 3, 9);
    found.sort_by_key(|(id, _)| id.clone());
    assert_eq!((found.len(), other.len()), (2, 0));
    let Was::Alive(first) = &found[0].1.was else { panic!("it lives") };
    let kept: Vec<u64> = first.answers.iter().map(|(n, _)| *n).collect();
    assert_eq!((first.step, kept), (4, vec![3, 4]), "the last two answers");
    // A new life under an old id has none of the old answers.
    copy.apply(record(1, Event::Alive(alive(1, true, vec![(1, answer(1.0))]))));
    let (fit, other) = copy.take("m", 3, 8);
    assert_eq!((fit.len(), other.len()), (0, 2), "another fingerprint");
}

#[test]
fn another_state_has_another_fingerprint() {
    assert_eq!(fingerprint([""; 0]), 0xcbf2_9ce4_8422_2325);
    assert_ne!(fingerprint(["h f32[1]"]), fingerprint(["h f32[2]"]));
    assert_ne!(fingerprint(["a", "b"]), fingerprint(["ab"]));
}

/// Seeds of the fuzzer are written by another implementation of the format.
#[test]
fn seeds_of_the_fuzzer_are_records() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/state_record");
    let mut read = 0;
    for seed in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(seed.unwrap().path()).unwrap();
        let written = decode(&bytes).unwrap().map_or(NOTHING.to_vec(), |record| encode(&record));
        assert_eq!(written, bytes);
        read += 1;
    }
    assert_eq!(read, 5);
}

//! Random steps beside a reference.

use super::server::{Server, step, sums};
use std::collections::BTreeMap;
use stead_node::{Code, VersionRef};

/// What a sequence of [`sums`] must be: steps done, both sums, and the last answer.
#[derive(Clone)]
struct Reference {
    step: u64,
    sums: [f32; 2],
    last: Vec<f32>,
}

/// Random starts, steps, repetitions, ends and forks, of which many fail in the first or in the second node, against
/// a reference that knows only whole steps.
#[test]
fn random_steps_equal_the_reference() {
    let server = Server::new(&sums());
    let mut live: BTreeMap<u64, Reference> = BTreeMap::new();
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) % below
    };
    let mut failed = [0; 2];
    for n in 0..4000 {
        let (id, kind, value) = (1 + random(4), random(20), random(40) as f32);
        // Inputs of 100 and more fail in a node, so these fail at once, and others when the sum has grown.
        let value = if random(10) == 0 { value + 100.0 } else { value };
        let known = live.get(&id).cloned();
        if let (Some(reference), 0) = (&known, kind) {
            let number = stead_node::SequenceId::Number;
            let to = 1 + random(4);
            let forked =
                server.node.fork_sequence("p", &VersionRef::Latest, &number(id), number(to));
            assert_eq!(forked.is_ok(), !live.contains_key(&to), "{n}");
            // A copy has no stored answers.
            live.entry(to).or_insert(Reference { last: Vec::new(), ..reference.clone() });
            continue;
        }
        if let (Some(reference), 1) = (&known, kind) {
            let again = step(&server, id, &[], Some(reference.step), value);
            match reference.last.is_empty() {
                true => assert_eq!(again, Err(Code::FailedPrecondition), "{n}"),
                false => assert_eq!(again, Ok(reference.last.clone()), "{n}"),
            }
            continue;
        }
        let flags: &[&str] = match (&known, kind) {
            (None, _) => &["start"],
            (Some(_), 2..4) => &["end"],
            (Some(_), _) => &[],
        };
        let before = known.map_or((0, [0.0; 2]), |r| (r.step, r.sums));
        let first = before.1[0] + value;
        let sums = [first, before.1[1] + first];
        let numbered = random(2) == 0;
        let got = step(&server, id, flags, numbered.then_some(before.0 + 1), value);
        if value >= 100.0 || first >= 100.0 {
            failed[usize::from(value < 100.0)] += 1;
            assert_eq!(got, Err(Code::InvalidArgument), "{n}");
            // Sums never shrink: one that has become too large fails for ever.
            if value < 100.0 && before.1[0] > 90.0 {
                let number = stead_node::SequenceId::Number(id);
                server.node.end_sequence("p", &VersionRef::Latest, &number).unwrap();
                live.remove(&id);
            }
            continue;
        }
        let answer = vec![sums[0], sums[1], value + 1.0];
        assert_eq!(got, Ok(answer.clone()), "{n}: {id} {flags:?}");
        if flags == ["end"] {
            live.remove(&id);
        } else {
            let last = if numbered { answer } else { Vec::new() };
            // One answer is kept, that of the last numbered step; it is found if nothing came after it.
            live.insert(id, Reference { step: before.0 + 1, sums, last });
        }
    }
    assert!(failed.iter().all(|n| *n > 100), "{failed:?}");
    let all = server.node.sequences("p", &VersionRef::Latest, None, 9).unwrap();
    let steps: Vec<_> = all.iter().map(|s| (s.id.clone(), s.step)).collect();
    let expected = live.iter().map(|(id, r)| (stead_node::SequenceId::Number(*id), r.step));
    assert_eq!(steps, expected.collect::<Vec<_>>());
}

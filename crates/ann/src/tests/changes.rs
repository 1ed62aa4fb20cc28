//! Graphs after many changes.

use super::model::{Chance, Documents, check, recall};
use crate::{Metric, Options, Request, Writer};

/// Ten thousand random changes of a thousand documents that each have up to `most` vectors.
fn change(seed: u64, most: u64) {
    let mut chance = Chance(seed);
    let options = Options { has_many: most > 1, explore: 80, ..Options::new(Metric::Euclidean) };
    let mut writer = Writer::new(options);
    let mut documents = Documents::<f32>::default();
    let queries: Vec<Vec<f64>> = (0..40).map(|_| chance.vector(16)).collect();
    for round in 1..=10_000 {
        let id = chance.below(1000) as u32;
        // As a store does it: first the columns, then what is made of them.
        if chance.below(3) == 0 {
            documents.0.remove(&id);
            writer.remove(&documents, id);
        } else {
            let count = 1 + chance.below(most);
            let cells = |vector: Vec<f64>| vector.into_iter().map(|x| x as f32).collect();
            documents.0.insert(id, (0..count).map(|_| cells(chance.vector(16))).collect());
            writer.put(&documents, id).unwrap();
        }
        if round % 2500 == 0 {
            let graph = writer.publish();
            check(&graph, &documents);
            let request = Request { explore: 40, ..Request::new(10) };
            let found = recall(&graph, &documents, &queries, &request);
            assert!(found >= 0.97, "seed {seed}, {most} vectors, {round} changes: {found}");
            // One that goes on with what was published.
            writer = Writer::of(graph);
        }
    }
    for id in 0..1000 {
        documents.0.remove(&id);
        writer.remove(&documents, id);
    }
    check(&writer.publish(), &documents);
    assert!(writer.publish().is_empty());
}

#[test]
fn changes_of_single_vectors_do_not_make_it_worse() {
    change(1, 1);
}

#[test]
fn changes_of_several_vectors_do_not_make_it_worse() {
    change(2, 3);
}

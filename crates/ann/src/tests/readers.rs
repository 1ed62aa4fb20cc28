//! Searches while the graph changes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::model::{Chance, Documents, check, recall};
use crate::{Metric, Options, Request, Writer};

#[test]
fn readers_see_what_was_published() {
    let mut chance = Chance(31);
    let cells = |vector: Vec<f64>| vector.into_iter().map(|x| x as f32).collect::<Vec<f32>>();
    let mut documents = Documents::<f32>::default();
    let mut writer = Writer::new(Options { explore: 60, ..Options::new(Metric::Euclidean) });
    for id in 0..500 {
        documents.0.insert(id, vec![cells(chance.vector(16))]);
        writer.put(&documents, id).unwrap();
    }
    let published = Mutex::new(Arc::new((writer.publish(), documents.clone())));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in 0..3 {
            let (published, is_done) = (&published, &is_done);
            scope.spawn(move || {
                let mut chance = Chance(40 + reader);
                let mut rounds = 0;
                while !is_done.load(Ordering::Acquire) || rounds == 0 {
                    let view = Arc::clone(&published.lock().unwrap());
                    let queries: Vec<Vec<f64>> = (0..10).map(|_| chance.vector(16)).collect();
                    let request = Request { explore: 40, ..Request::new(10) };
                    let found = recall(&view.0, &view.1, &queries, &request);
                    assert!(found >= 0.9, "{found}");
                    check(&view.0, &view.1);
                    rounds += 1;
                }
            });
        }
        for round in 0..1000 {
            let id = chance.below(700) as u32;
            if chance.below(3) == 0 {
                documents.0.remove(&id);
                writer.remove(&documents, id);
            } else {
                documents.0.insert(id, vec![cells(chance.vector(16))]);
                writer.put(&documents, id).unwrap();
            }
            if round % 10 == 0 {
                *published.lock().unwrap() = Arc::new((writer.publish(), documents.clone()));
            }
        }
        is_done.store(true, Ordering::Release);
    });
}

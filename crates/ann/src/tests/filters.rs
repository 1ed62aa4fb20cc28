//! Searches among documents that pass a filter.

use stead_tensor::Bits;

use super::model::{Chance, Documents, recall};
use crate::{Metric, Options, Query, Request, Scratch, Strategy, Tuning, Writer, alone};

fn documents(chance: &mut Chance) -> Documents<f32> {
    let cells = |vector: Vec<f64>| vector.into_iter().map(|x| x as f32).collect();
    Documents((0..4000).map(|id| (id, vec![cells(chance.vector(16))])).collect())
}

fn bits(of: impl Iterator<Item = usize>) -> Bits {
    let mut bits = Bits::default();
    of.for_each(|at| {
        bits.insert(at);
    });
    bits
}

#[test]
fn the_nearest_that_pass_are_found_however_few_pass() {
    let mut chance = Chance(21);
    let documents = documents(&mut chance);
    let mut writer = Writer::new(Options::new(Metric::Euclidean));
    let ids: Vec<u32> = documents.0.keys().copied().collect();
    writer.put_all(&documents, &ids, &alone).unwrap();
    let graph = writer.publish();
    let queries: Vec<Vec<f64>> = (0..60).map(|_| chance.vector(16)).collect();
    let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
    let graph_only = Tuning { approximate_threshold: 0.0, ..Tuning::default() };
    let post = Tuning { post_filter_threshold: 0.4, ..graph_only };
    for (percent, tuning, expected) in [
        (90, graph_only, Strategy::Filtered),
        (50, graph_only, Strategy::Filtered),
        (50, post, Strategy::PostFilter),
        (10, graph_only, Strategy::FilterFirst),
        (3, graph_only, Strategy::FilterFirst),
        (50, Tuning::default(), Strategy::Exact),
        (1, Tuning::default(), Strategy::Exact),
    ] {
        let by_chance = bits((0..4000).filter(|_| chance.below(100) < percent));
        // What passes may be what lies together, far from what is looked for.
        let together = bits((0..4000).filter(|id| {
            let first = f64::from(documents.0[&(*id as u32)][0][0]) + 110.0;
            first < 2.2 * percent as f64
        }));
        for (name, filter) in [("by chance", &by_chance), ("together", &together)] {
            let request = Request { filter: Some(filter), explore: 90, tuning, ..Request::new(10) };
            let of = Query::new(Metric::Euclidean, &queries[0]);
            let outcome = graph.search(&documents, &of, &request, &mut scratch, &mut hits);
            assert!(outcome.is_complete);
            let bound = match name {
                "by chance" => {
                    // Where few pass, they may not lead to each other.
                    let is_other = percent == 3 && outcome.strategy == Strategy::Exact;
                    assert!(outcome.strategy == expected || is_other, "{percent} %: {outcome:?}");
                    0.97
                }
                // After a search for more, nothing may pass.
                _ if tuning == post => continue,
                _ => 0.9,
            };
            let found = recall(&graph, &documents, &queries, &request);
            assert!(found >= bound, "{percent} % that pass {name}: {found}");
        }
    }
    let nothing = Bits::default();
    let request = Request { filter: Some(&nothing), ..Request::new(10) };
    let of = Query::new(Metric::Euclidean, &queries[0]);
    graph.search(&documents, &of, &request, &mut scratch, &mut hits);
    assert!(hits.is_empty());
}

#[test]
fn slack_finds_no_less() {
    let mut chance = Chance(22);
    let documents = documents(&mut chance);
    let options = Options { max_links: 6, explore: 20, ..Options::new(Metric::Euclidean) };
    let mut writer = Writer::new(options);
    let ids: Vec<u32> = documents.0.keys().copied().collect();
    writer.put_all(&documents, &ids, &alone).unwrap();
    let graph = writer.publish();
    let queries: Vec<Vec<f64>> = (0..100).map(|_| chance.vector(16)).collect();
    let of = |exploration_slack| {
        let tuning = Tuning { exploration_slack, ..Tuning::default() };
        recall(&graph, &documents, &queries, &Request { tuning, ..Request::new(10) })
    };
    let (none, some) = (of(0.0), of(0.5));
    assert!(some > none && some > 0.9, "{none} {some}");
}

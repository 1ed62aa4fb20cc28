//! Bytes as the links of a graph of vectors: refused, or a graph that is written as it was read, searched and changed.
//!
//! The first byte tells whether documents may have several vectors; the checksum is put right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_ann::{Graph, Metric, Options, Query, Request, Rows, Scratch, Writer};

/// Documents that there may be.
const DOCUMENTS: u32 = 64;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, links)) = bytes.split_first() else { return };
    let has_many = first & 1 == 1;
    let options = Options { has_many, max_links: 4, explore: 8, ..Options::new(Metric::Euclidean) };
    let mut links = links.to_vec();
    links.extend(crc32c::crc32c(&links).to_le_bytes());
    let Ok(graph) = Graph::read(&links, options, DOCUMENTS) else { return };
    let mut again = Vec::new();
    graph.write_to(&mut again).expect("memory");
    assert_eq!(again, links);
    let cells: Vec<f32> = (0..2 * DOCUMENTS).map(|x| (x * 37 % 101) as f32).collect();
    let vectors = Rows::new(&cells, 2);
    let query = Query::new(Metric::Euclidean, &[50.0, 50.0]);
    let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
    let outcome = graph.search(&vectors, &query, &Request::new(5), &mut scratch, &mut hits);
    assert!(outcome.is_complete && hits.len() <= 5);
    let mut writer = Writer::of(graph);
    for document in (0..DOCUMENTS).step_by(3) {
        writer.put(&vectors, document).expect("room");
        writer.remove(&vectors, document + 1);
    }
    (0..DOCUMENTS).for_each(|document| writer.remove(&vectors, document));
    assert!(writer.publish().is_empty());
});

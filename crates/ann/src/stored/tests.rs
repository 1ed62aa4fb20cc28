//! Links that were written, as they are and damaged.

use crate::tests::model::{Chance, Documents, check, links, recall};
use crate::{AnnError, Graph, Metric, Options, Query, Request, Scratch, Writer};

fn built(has_many: bool, count: u32) -> (Writer, Documents<f32>) {
    let mut chance = Chance(51);
    let options =
        Options { has_many, explore: 40, max_links: 4, ..Options::new(Metric::DotProduct) };
    let (mut writer, mut documents) = (Writer::new(options), Documents::default());
    for round in 0..2 * count {
        let id = chance.below(u64::from(count)) as u32;
        let several = if has_many { chance.below(3) } else { 1 };
        let cells = |vector: Vec<f64>| vector.into_iter().map(|x| x as f32).collect();
        documents.0.insert(id, (0..several).map(|_| cells(chance.vector(8))).collect());
        writer.put(&documents, id).unwrap();
        if round % 5 == 0 {
            documents.0.remove(&id);
            writer.remove(&documents, id);
        }
    }
    // The last places are no longer used.
    for id in count - count / 20..count {
        documents.0.remove(&id);
        writer.remove(&documents, id);
    }
    (writer, documents)
}

fn written(graph: &Graph) -> Vec<u8> {
    let mut bytes = Vec::new();
    graph.write_to(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_graph_is_what_was_written() {
    for (has_many, count) in [(false, 0), (true, 0), (false, 1), (false, 400), (true, 300)] {
        let (mut one, mut documents) = built(has_many, count);
        let graph = one.publish();
        let bytes = written(&graph);
        let read = Graph::read(&bytes, graph.options, count).unwrap();
        assert!(links(&read) == links(&graph) && written(&read) == bytes);
        assert!(has_many || count < 300 || read.bound < graph.bound);
        check(&read, &documents);
        // Who reads it goes on as the one who wrote it.
        let mut other = Writer::of(read);
        let mut chance = Chance(3);
        for id in 0..count / 2 {
            let cells: Vec<f32> = chance.vector(8).into_iter().map(|x| x as f32).collect();
            documents.0.insert(id, vec![cells]);
            one.put(&documents, id).unwrap();
            other.put(&documents, id).unwrap();
        }
        check(&other.publish(), &documents);
        assert!(links(&one.publish()) == links(&other.publish()));
        if count >= 300 {
            let queries: Vec<Vec<f64>> = (0..20).map(|_| chance.vector(8)).collect();
            documents.0.retain(|_, vectors| !vectors.is_empty());
            let request = Request { explore: 60, ..Request::new(10) };
            let found = recall(&other.publish(), &documents, &queries, &request);
            assert!(found > 0.9, "{found}");
        }
    }
}

#[test]
fn bytes_of_others_are_refused() {
    let graph = built(false, 60).0.publish();
    let (bytes, options) = (written(&graph), graph.options);
    for (other, named) in [
        (Options { metric: Metric::Euclidean, ..options }, "metric"),
        (Options { has_many: true, ..options }, "number of vectors of a document"),
        (Options { max_links: 5, ..options }, "number of links"),
    ] {
        let error = Graph::read(&bytes, other, 60).unwrap_err();
        assert_eq!(error, AnnError::OtherOptions(named));
    }
    assert!(Graph::read(&bytes, Options { explore: 7, ..options }, 60).is_ok());
    let error = Graph::read(&bytes, options, 10).unwrap_err();
    assert_eq!(error, AnnError::Damaged("there are too many places for nodes"));
    let mut later = bytes.clone();
    later[8] = 2;
    assert_eq!(Graph::read(&later, options, 60).unwrap_err(), AnnError::NotLinks);
    for end in 0..bytes.len() {
        assert!(Graph::read(&bytes[..end], options, 60).is_err(), "{end}");
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(Graph::read(&damaged, options, 60).is_err(), "{at}");
    }
}

/// Bytes whose sum is right.
fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len().saturating_sub(4));
    let sum = crc32c::crc32c(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

#[test]
fn what_no_writer_makes_is_refused() {
    // Two nodes that are linked on the lowest level.
    let node = |levels: u8, links: &[u32]| {
        let mut bytes = vec![levels];
        bytes.extend((links.len() as u16).to_le_bytes());
        bytes.extend(links.iter().flat_map(|link| link.to_le_bytes()));
        bytes.extend(vec![0; 2 * usize::from(levels - 1)]);
        bytes
    };
    let whole = |bound: u32, entry: u32, longest: f64, nodes: &[Vec<u8>]| {
        let mut bytes = b"steadann\x01\0\0\0\0\0\0\0\x04\0\0\0".to_vec();
        bytes.extend(bound.to_le_bytes());
        bytes.extend(entry.to_le_bytes());
        bytes.extend(longest.to_le_bytes());
        bytes.extend(nodes.concat());
        bytes.extend([0; 4]);
        summed(bytes)
    };
    let options = Options { max_links: 4, ..Options::new(Metric::Euclidean) };
    let pair = [node(1, &[1]), node(1, &[0])];
    let good = whole(2, 1, 0.0, &pair);
    assert!(Graph::read(&good, options, 2).is_ok());
    for (bytes, what) in [
        (whole(2, 3, 0.0, &pair), "searches do not begin at the highest level"),
        (whole(2, 0, 0.0, &pair), "searches do not begin at the highest level"),
        (whole(2, 1, f64::NAN, &pair), "the length of the longest vector is none"),
        (whole(u32::MAX, 1, 0.0, &pair), "there are too many places for nodes"),
        (whole(1, 1, 0.0, &pair[..1]), "a link leads nowhere"),
        (whole(1, 1, 0.0, &[node(1, &[]), node(1, &[])]), "something follows them"),
        (whole(2, 1, 0.0, &[node(1, &[1]), node(1, &[])]), "a link does not lead back"),
        (whole(2, 1, 0.0, &[node(1, &[1]), vec![0]]), "the last place has no node"),
        (whole(2, 1, 0.0, &[node(1, &[0]), node(1, &[0])]), "a link leads nowhere"),
        (whole(2, 1, 0.0, &[node(1, &[1, 1]), node(1, &[0])]), "a link leads nowhere"),
        (whole(2, 1, 0.0, &[node(16, &[1]), node(1, &[0])]), "a node has too many levels"),
        (
            whole(2, 1, 0.0, &[node(2, &[1]), node(3, &[0])]),
            "searches do not begin at the highest level",
        ),
        (whole(2, 1, 0.0, &[node(1, &[1; 9]), node(1, &[0])]), "a node has too many links"),
    ] {
        let found = Graph::read(&bytes, options, 2).map(|_| ());
        assert_eq!(found, Err(AnnError::Damaged(what)));
    }
}

/// Whatever is read without an error is a graph that can be searched and changed.
#[test]
fn damage_with_the_right_sum_is_refused_or_harmless() {
    for has_many in [false, true] {
        let (writer, documents) = built(has_many, 60);
        let graph = writer.publish();
        let bytes = written(&graph);
        let mut chance = Chance(8);
        for _ in 0..20_000 {
            let mut damaged = bytes.clone();
            for _ in 0..=chance.below(2) {
                let at = chance.below(damaged.len() as u64) as usize;
                damaged[at] = chance.below(256) as u8;
            }
            let Ok(read) = Graph::read(&summed(damaged), graph.options, 60) else { continue };
            let query = Query::new(Metric::DotProduct, &[1.0; 8]);
            let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
            read.search(&documents, &query, &Request::new(5), &mut scratch, &mut hits);
            let mut writer = Writer::of(read);
            for id in 0..60 {
                writer.remove(&documents, id);
            }
            assert!(writer.publish().is_empty());
        }
    }
}

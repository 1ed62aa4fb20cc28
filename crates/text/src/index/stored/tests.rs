//! Segments that were written, as they are and damaged.

use std::sync::Arc;

use stead_tensor::Bits;

use super::super::bound::Bound;
use super::super::packed::{BLOCK, read_number};
use super::super::write::{ENTRY, REGION};
use super::super::{
    Affix, FieldIndex, FieldWriter, Near, Occurrence, Pattern, Phrases, Segment, SegmentError, Top,
};
use crate::bm25::Bm25;

use SegmentError::Damaged;

/// A number that follows from a seed (splitmix64).
fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A segment of so many documents of some words, in several elements or one.
fn built(documents: u32, is_many: bool) -> Arc<Segment> {
    let (mut writer, mut seed) = (FieldWriter::default(), 9);
    for lid in 0..documents {
        let words = 1 + random(&mut seed) % 12;
        let terms = (0..words as u32).map(|position| {
            let element = if is_many { position / 4 * 2 } else { 0 };
            let term = ["a", "b", "ab", "\u{e9}", "cd"][(random(&mut seed) % 5) as usize];
            (term, Occurrence { element, position })
        });
        let terms: Vec<_> = terms.collect();
        writer.put_weighted(2 * lid, terms.into_iter(), if is_many { &[-3, 1, 4] } else { &[] });
    }
    let index = writer.publish();
    let (segment, _) = index.parts().next().unwrap();
    Arc::clone(segment)
}

fn written(segment: &Segment) -> Vec<u8> {
    let mut bytes = Vec::new();
    segment.write(&mut bytes);
    bytes
}

/// Bytes whose sum is right.
fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len().saturating_sub(4));
    let sum = crc32c::crc32c(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

fn bits(numbers: impl IntoIterator<Item = usize>) -> Bits {
    let mut bits = Bits::default();
    for number in numbers {
        bits.insert(number);
    }
    bits
}

/// All documents below a number.
fn below(lid: usize) -> Bits {
    bits(0..lid)
}

#[test]
fn bytes_of_others_are_refused() {
    for is_many in [false, true] {
        let bytes = written(&built(30, is_many));
        assert!(Segment::read(&bytes).is_ok());
        let mut later = bytes.clone();
        later[8] = 3;
        assert_eq!(Segment::read(&summed(later)).unwrap_err(), SegmentError::NotSegment);
        for end in 0..bytes.len() {
            assert!(Segment::read(&bytes[..end]).is_err(), "{end}");
            assert!(Segment::read(&summed(bytes[..end].to_vec())).is_err(), "{end}, summed");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(Segment::read(&damaged).is_err(), "{at}");
        }
        let behind = summed([&bytes[..], &[0]].concat());
        assert!(Segment::read(&behind).is_err());
    }
}

/// A segment as bytes, part by part.
#[derive(Clone)]
struct Parts {
    lids: Vec<u32>,
    lengths: Vec<u32>,
    element_ends: Vec<u32>,
    elements: Vec<[u32; 3]>,
    term_ends: Vec<u32>,
    texts: Vec<u8>,
    postings: Vec<u8>,
}

impl Parts {
    /// Two documents: the first has `a` twice, the second `b` in the first element and `a` in the third.
    fn good() -> Parts {
        // Of `a`: two documents, without bits for the documents, one bit for the counts; it stands at 0 and 2; at 0 of the third element.
        let a = [2, 0, 1, 0b01, 0, 2, 1, 1];
        let b = [1, 1, 0, 1, 0];
        Parts {
            lids: vec![3, 8],
            lengths: vec![2, 2],
            element_ends: vec![1, 3],
            elements: vec![[0, 2, 1], [0, 1, 1], [2, 1, 5]],
            term_ends: vec![1, 2],
            texts: b"ab".to_vec(),
            postings: [&a[..], &b].concat(),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"steadtxt\x02\0\0\0".to_vec();
        let counts = [self.lids.len(), self.elements.len(), self.term_ends.len()];
        let counts = counts.into_iter().chain([self.texts.len(), self.postings.len()]);
        let ends = self.element_ends.iter().chain(self.elements.as_flattened());
        let numbers = counts.map(|count| count as u32).chain(self.lids.iter().copied());
        let numbers = numbers.chain(self.lengths.iter().chain(ends).copied());
        for number in numbers.chain(self.term_ends.iter().copied()) {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(&self.texts);
        bytes.extend(&self.postings);
        bytes.extend([0; 4]);
        summed(bytes)
    }
}

#[test]
fn what_no_writer_makes_is_refused() {
    let good = Parts::good();
    let read = Arc::new(Segment::read(&good.bytes()).unwrap());
    let index = FieldIndex::of([(read, Arc::default())], &below(9)).unwrap();
    let mut places = Vec::new();
    index.occurrences("a", 3, &mut places);
    index.occurrences("a", 8, &mut places);
    let places: Vec<_> = places.iter().map(|at| (at.element, at.position)).collect();
    assert_eq!(places, [(0, 0), (0, 2), (2, 0)]);

    let lists = |list: &[u8]| [list, &good.postings[8..]].concat();
    let documents = Damaged("its documents are not in order");
    let (words, order) = (
        Damaged("a document has another number of words"),
        Damaged("a list names documents that are not there"),
    );
    let (elements, terms) =
        (Damaged("elements are not in order"), Damaged("its terms are not in order"));
    let short = Damaged("a list ends too early");
    let nowhere = Damaged("a word stands nowhere");
    let own = Damaged("elements are of no document, or need not be there");
    let other = Damaged("elements have other words than their document");
    for (label, error, parts) in [
        ("equal lids", &documents, Parts { lids: vec![3, 3], ..good.clone() }),
        ("lids in another order", &documents, Parts { lids: vec![8, 3], ..good.clone() }),
        ("another length", &other, Parts { lengths: vec![2, 1], ..good.clone() }),
        ("elements end nowhere", &elements, Parts { element_ends: vec![1, 9], ..good.clone() }),
        ("elements go back", &elements, Parts { element_ends: vec![3, 1], ..good.clone() }),
        (
            "an element twice",
            &elements,
            Parts { elements: vec![[0, 2, 1], [2, 1, 1], [2, 1, 5]], ..good.clone() },
        ),
        (
            "an element without words",
            &elements,
            Parts { elements: vec![[0, 2, 1], [0, 2, 1], [2, 0, 5]], ..good.clone() },
        ),
        (
            "an element of no document",
            &own,
            Parts { elements: [&good.elements[..], &[[9, 9, 9]]].concat(), ..good.clone() },
        ),
        (
            "elements that are not needed",
            &own,
            Parts {
                element_ends: vec![1, 2],
                elements: vec![[0, 2, 1], [0, 2, 1]],
                ..good.clone()
            },
        ),
        ("terms go back", &terms, Parts { texts: b"ba".to_vec(), ..good.clone() }),
        ("a term twice", &terms, Parts { texts: b"aa".to_vec(), ..good.clone() }),
        ("terms end nowhere", &terms, Parts { term_ends: vec![1, 3], ..good.clone() }),
        ("terms end early", &terms, Parts { texts: b"abc".to_vec(), ..good.clone() }),
        ("half a letter", &terms, Parts { texts: "\u{e9}".into(), ..good.clone() }),
        (
            "no text",
            &Damaged("its terms are no text"),
            Parts { texts: vec![b'a', 0xff], ..good.clone() },
        ),
        ("no documents", &order, Parts { postings: lists(&[0]), ..good.clone() }),
        ("too many documents", &order, Parts { postings: lists(&[3, 0, 0]), ..good.clone() }),
        (
            "no such document",
            &order,
            Parts { postings: lists(&[2, 1, 1, 0b10, 0b01, 0, 2, 1, 1]), ..good.clone() },
        ),
        ("wide numbers", &short, Parts { postings: lists(&[2, 33, 1, 0, 0]), ..good.clone() }),
        (
            "too many words",
            &words,
            Parts { postings: lists(&[2, 0, 2, 0b10, 0, 2, 2, 1, 1]), ..good.clone() },
        ),
        ("too few words", &words, Parts { postings: lists(&[2, 0, 0, 0, 1, 1]), ..good.clone() }),
        (
            "places behind all",
            &nowhere,
            Parts {
                postings: lists(&[2, 0, 1, 0b01, 0xfe, 0xff, 0xff, 0xff, 0xf, 2, 1, 1]),
                ..good.clone()
            },
        ),
        (
            "elements behind all",
            &nowhere,
            Parts {
                postings: lists(&[2, 0, 1, 0b01, 0, 2, 1, 0xff, 0xff, 0xff, 0xff, 0xf]),
                ..good.clone()
            },
        ),
        (
            "more behind",
            &Damaged("something follows the last list"),
            Parts { postings: [&good.postings[..], &[0]].concat(), ..good.clone() },
        ),
        ("a list less", &short, Parts { postings: good.postings[..8].to_vec(), ..good.clone() }),
    ] {
        assert_eq!(Segment::read(&parts.bytes()).unwrap_err(), *error, "{label}");
    }
}

/// Of lists of several blocks the tables are what the blocks say.
#[test]
fn tables_are_checked() {
    let segment = built(400, false);
    let lists = segment.lists();
    assert!(lists.postings.len() > 1000);
    let begin = lists.starts[1] as usize + 2;
    let size = 5 * Bound::BYTES + 3 * ENTRY;
    for at in begin..begin + size {
        let mut damaged = written(&segment);
        let place = damaged.len() - 4 - lists.postings.len() + at;
        damaged[place] ^= 1;
        let error = Segment::read(&summed(damaged)).unwrap_err();
        assert_eq!(error, Damaged("the table of a list is not that of its blocks"), "{at}");
    }
}

/// A segment as version 1 had it: other tables, which nobody reads.
fn old(segment: &Segment) -> Vec<u8> {
    let lists = segment.lists();
    let mut bytes = written(segment);
    bytes[8] = 1;
    let mut postings = Vec::new();
    let ends = lists.starts.iter().skip(1).map(|end| *end as usize).chain([lists.postings.len()]);
    for (begin, end) in lists.starts.iter().zip(ends) {
        let (list, mut at) = (&lists.postings[*begin as usize..end], 0);
        let blocks = (read_number(list, &mut at) as usize).div_ceil(BLOCK);
        postings.extend(&list[..at]);
        if blocks > 1 {
            at += (1 + blocks.div_ceil(REGION) + blocks) * Bound::BYTES + blocks * ENTRY;
            postings.extend(vec![7; blocks * 18]);
        }
        postings.extend(&list[at..]);
    }
    bytes[28..32].copy_from_slice(&(postings.len() as u32).to_le_bytes());
    bytes.truncate(bytes.len() - 4 - lists.postings.len());
    bytes.extend(postings);
    bytes.extend([0; 4]);
    summed(bytes)
}

#[test]
fn segments_of_version_1_become_those_of_today() {
    for (documents, is_many) in [(20, true), (400, false), (7000, true)] {
        let segment = built(documents, is_many);
        let bytes = old(&segment);
        let read = Segment::read(&bytes).unwrap();
        assert!(written(&read) == written(&segment), "{documents}");
        for end in (0..bytes.len()).step_by(bytes.len() / 40) {
            assert!(Segment::read(&summed(bytes[..end].to_vec())).is_err(), "{end}");
        }
    }
}

#[test]
fn an_index_has_each_document_once() {
    let segment = built(5, true);
    let gone = |docs: &[usize]| Arc::new(bits(docs.iter().copied()));
    let read = |parts: &[&[usize]], documents: &Bits| {
        let parts: Vec<_> = parts.iter().map(|docs| (Arc::clone(&segment), gone(docs))).collect();
        FieldIndex::of(parts, documents).map(|index| index.documents())
    };
    let once = Damaged("a document is in two segments, or there is none");
    assert_eq!(read(&[], &below(0)), Ok(0));
    assert_eq!(read(&[&[]], &below(9)), Ok(5));
    assert_eq!(read(&[&[]], &below(8)), Err(once.clone()));
    assert_eq!(read(&[&[4]], &below(8)), Ok(4));
    assert_eq!(read(&[&[5]], &below(9)), Err(Damaged("what is gone was not there")));
    assert_eq!(read(&[&[0, 1], &[2, 3, 4]], &below(9)), Ok(5));
    assert_eq!(read(&[&[0, 1], &[2, 3]], &below(9)), Err(once));
    let whole = FieldIndex::of([(Arc::clone(&segment), gone(&[]))], &below(9)).unwrap();
    let part = FieldIndex::of([(Arc::clone(&segment), gone(&[0, 3]))], &below(9)).unwrap();
    let left: u64 = [1, 2, 4].map(|doc| u64::from(segment.length(doc))).iter().sum();
    assert_eq!((part.words(), whole.words()), (left, segment.total));
}

/// Whatever is read without an error can be searched and joined.
#[test]
fn damage_with_the_right_sum_is_refused_or_harmless() {
    for (is_many, documents) in [(false, 60), (true, 60), (false, 300)] {
        let bytes = written(&built(documents, is_many));
        let (mut seed, mut taken) = (8, 0);
        for _ in 0..4000 {
            let mut damaged = bytes.clone();
            for _ in 0..=random(&mut seed) % 2 {
                let at = (random(&mut seed) % damaged.len() as u64) as usize;
                damaged[at] = random(&mut seed) as u8;
            }
            let Ok(segment) = Segment::read(&summed(damaged)) else { continue };
            taken += 1;
            let Ok(index) = FieldIndex::of([(Arc::new(segment), Arc::default())], &below(1000))
            else {
                continue;
            };
            search(&index, 2 * documents);
            let mut writer = FieldWriter::of(index);
            // With others in it, it is written again.
            (0..documents).step_by(2).for_each(|lid| writer.remove(lid));
            writer.settle();
            search(&writer.publish(), 2 * documents);
        }
        assert!(taken > 20, "{taken}");
    }
}

fn search(index: &FieldIndex, lids: u32) {
    let near = |is_ordered| {
        let word = |word: &str| Phrases::word(word.to_owned());
        Arc::new(Near {
            parts: vec![word("a"), word("b")],
            is_ordered,
            distance: 5,
            excluded: vec![word("c")],
            exclusion_distance: 2,
            element_gap: is_ordered.then_some(1),
        })
    };
    let phrase = Phrases::one(vec!["a".to_owned(), "b".to_owned()]);
    let patterns = [
        Pattern::Part(Affix::Prefix, "a".to_owned()),
        Pattern::Phrases(phrase),
        Pattern::Near(near(true)),
        Pattern::Near(near(false)),
        Pattern::NearPart(near(true), 1),
        Pattern::NearPart(near(false), 0),
    ];
    let mut counter = index.counter(patterns.iter().collect());
    for lid in 0..lids {
        counter.go(lid);
        let mut places = Vec::new();
        for pattern in 0..patterns.len() {
            counter.occurrences(pattern, &mut places);
            counter.count(pattern);
        }
        assert!(counter.elements().map(|element| element.words).sum::<u32>() == counter.length());
    }
    for pattern in &patterns {
        assert!(index.matches(pattern).count() <= index.documents());
    }
    let top = Top { count: 5, terms: &[("a", 1.0), ("b", 2.0)], bm25: Bm25::new(3.0) };
    assert!(index.top(&top, |_| true).len() <= 5);
}

//! Bytes as a segment of an index of texts: refused, or one that is written as it was read if it is of today's version, searched, and joined with others.
//!
//! The checksum is put right.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use stead_tensor::Bits;
use stead_text::{
    Affix, FieldIndex, FieldWriter, Near, Occurrence, Pattern, Phrases, Segment,
};

/// Documents that there may be.
const DOCUMENTS: u32 = 4096;

fuzz_target!(|bytes: &[u8]| {
    let mut whole = bytes.to_vec();
    whole.extend(crc32c::crc32c(bytes).to_le_bytes());
    let Ok(segment) = Segment::read(&whole) else { return };
    let mut again = Vec::new();
    segment.write(&mut again);
    assert!(again == whole || whole[8..12] != again[8..12]);
    let mut third = Vec::new();
    Segment::read(&again).expect("written just now").write(&mut third);
    assert_eq!(third, again);
    let mut documents = Bits::default();
    (0..DOCUMENTS as usize).for_each(|lid| {
        documents.insert(lid);
    });
    let part = (Arc::new(segment), Arc::default());
    let Ok(index) = FieldIndex::of([part], &documents) else { return };
    search(&index);
    let mut writer = FieldWriter::of(index);
    for lid in (0..DOCUMENTS).step_by(3) {
        writer.remove(lid);
    }
    let place = Occurrence { element: 0, position: 0 };
    writer.put(1, ["a"].into_iter().map(|term| (term, place)));
    writer.publish();
    writer.settle();
    let index = writer.publish();
    assert!(index.frequency("a") > 0);
    search(&index);
    (0..DOCUMENTS).for_each(|lid| writer.remove(lid));
    assert_eq!(writer.publish().documents(), 0);
});

fn search(index: &FieldIndex) {
    let word = |word: &str| Phrases::word(word.to_owned());
    let near = |is_ordered| {
        Arc::new(Near {
            parts: vec![word("a"), word("b")],
            is_ordered,
            distance: 5,
            excluded: vec![word("c")],
            exclusion_distance: 1,
            element_gap: is_ordered.then_some(2),
        })
    };
    let patterns = [
        Pattern::Part(Affix::Prefix, String::new()),
        Pattern::Phrases(Phrases::one(vec!["a".to_owned(), "b".to_owned()])),
        Pattern::Near(near(true)),
        Pattern::NearPart(near(false), 1),
    ];
    // Each document has words.
    assert_eq!(index.matches(&patterns[0]).count(), index.documents());
    let mut counter = index.counter(patterns.iter().collect());
    let mut words = 0;
    for lid in 0..DOCUMENTS {
        counter.go(lid);
        words += u64::from(counter.count(0));
        let mut places = Vec::new();
        (0..patterns.len()).for_each(|pattern| counter.occurrences(pattern, &mut places));
    }
    assert_eq!(words, index.words());
}

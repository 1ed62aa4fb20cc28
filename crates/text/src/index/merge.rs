//! Several segments as one.

use stead_tensor::Bits;

use super::postings::END;
use super::segment::Segment;
use super::write::SegmentWriter;

/// The documents of segments that are not gone, as one segment. No lid is alive in two of them.
pub(super) fn merge(segments: &[(&Segment, &Bits)]) -> Segment {
    // Which document of which segment each is that stays, in the order of lids.
    let mut kept: Vec<(u32, usize, usize)> = Vec::new();
    for (number, (segment, gone)) in segments.iter().enumerate() {
        let alive = segment.lids.iter().enumerate().filter(|(doc, _)| !gone.contains(*doc));
        kept.extend(alive.map(|(doc, lid)| (*lid, number, doc)));
    }
    kept.sort_unstable();
    debug_assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
    let mut docs: Vec<Vec<u32>> = segments.iter().map(|(s, _)| vec![END; s.lids.len()]).collect();
    for (doc, (_, number, old)) in kept.iter().enumerate() {
        docs[*number][*old] = doc as u32;
    }
    let (lids, lengths) =
        kept.iter().map(|(lid, number, doc)| (*lid, segments[*number].0.lengths[*doc])).unzip();
    let mut writer = SegmentWriter::new(lids, lengths);

    // The next term of each segment.
    let mut next = vec![0; segments.len()];
    let term_of = |number: usize, term: usize| segments[number].0.dictionary.get(term);
    let mut found: Vec<(u32, u32, &[u8])> = Vec::new();
    while let Some(term) = (0..segments.len()).filter_map(|n| term_of(n, next[n])).min() {
        found.clear();
        let mut sources = 0;
        for number in 0..segments.len() {
            if term_of(number, next[number]) != Some(term) {
                continue;
            }
            sources += 1;
            let Some(mut list) = segments[number].0.list(next[number]) else { continue };
            next[number] += 1;
            while list.doc() != END {
                let doc = docs[number].get(list.doc() as usize).copied().unwrap_or(END);
                if doc != END {
                    found.push((doc, list.count(), list.raw_occurrences()));
                }
                list.next();
            }
        }
        if sources > 1 {
            found.sort_unstable_by_key(|(doc, ..)| *doc);
        }
        for (doc, count, occurrences) in &found {
            writer.document(*doc, *count, occurrences);
        }
        writer.term(term);
    }
    writer.finish()
}

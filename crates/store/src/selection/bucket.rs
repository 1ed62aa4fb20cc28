//! Hashes as Vespa's selections have them: `hash()` and the buckets that documents lie in
//! (facts: Vespa, `document/src/vespa/document/{select/valuenodes,bucket/bucketidfactory,base/documentid}.cpp`).

use crate::id::IdParts;

/// The bits of a bucket's number that say how many of the others count.
const COUNT_BITS: u32 = 6;

/// The bits of the number of a single document: 32 of its location and 26 of its own.
const DOCUMENT_BITS: u64 = 58;

/// The first 8 bytes of the MD5 of some bytes.
pub(super) fn hash(bytes: &[u8]) -> i64 {
    i64::from_le_bytes(first(&md5(bytes)))
}

/// The bucket of a document with this id, with all bits that it can have; nothing if the text is no id.
pub(super) fn of_document(id: &str) -> Option<u64> {
    let parts = IdParts::of(id)?;
    let location = match (parts.user(), parts.group()) {
        (Some(number), _) => number.parse().ok()?,
        (None, Some(group)) => hash(group.as_bytes()) as u64,
        (None, None) => hash(parts.specific.as_bytes()) as u64,
    };
    let own = md5(id.as_bytes());
    let own =
        u64::from_le_bytes([own[4], own[5], own[6], own[7], own[8], own[9], own[10], own[11]]);
    let own_bits = ((1 << (DOCUMENT_BITS - 32)) - 1) << 32;
    Some(DOCUMENT_BITS << (64 - COUNT_BITS) | (own & own_bits) | (location & 0xffff_ffff))
}

/// Whether a bucket has all documents of another one.
pub(super) fn contains(bucket: u64, other: u64) -> bool {
    let used = |bucket: u64| (bucket >> (64 - COUNT_BITS)).min(DOCUMENT_BITS);
    let mask = (1_u64 << used(bucket)) - 1;
    used(bucket) <= used(other) && (bucket ^ other) & mask == 0
}

fn first(digest: &[u8; 16]) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    bytes
}

/// RFC 1321: how far each step of a round turns.
const TURNS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The MD5 of some bytes (R. Rivest, RFC 1321). It keeps nobody from anything: it only spreads documents.
fn md5(bytes: &[u8]) -> [u8; 16] {
    // The constants of the RFC are the fractions of sines.
    let sine = |step: usize| (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
    let sines: [u32; 64] = std::array::from_fn(sine);
    let mut message = bytes.to_vec();
    message.push(0x80);
    message.resize((message.len() + 8).next_multiple_of(64) - 8, 0);
    message.extend_from_slice(&(bytes.len() as u64 * 8).to_le_bytes());
    let mut state: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in message.chunks_exact(64) {
        let word = |at: usize| {
            u32::from_le_bytes([
                block[at * 4],
                block[at * 4 + 1],
                block[at * 4 + 2],
                block[at * 4 + 3],
            ])
        };
        let [mut a, mut b, mut c, mut d] = state;
        for (step, sine) in sines.iter().enumerate() {
            let (mixed, at) = match step / 16 {
                0 => ((b & c) | (!b & d), step),
                1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
                2 => (b ^ c ^ d, (3 * step + 5) % 16),
                _ => (c ^ (b | !d), (7 * step) % 16),
            };
            let sum = a.wrapping_add(mixed).wrapping_add(*sine).wrapping_add(word(at));
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(sum.rotate_left(TURNS[step / 16][step % 4]));
        }
        for (of, more) in state.iter_mut().zip([a, b, c, d]) {
            *of = of.wrapping_add(more);
        }
    }
    let mut digest = [0; 16];
    for (to, word) in digest.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_rfc() {
        let digits =
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890";
        for (text, expected) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            (digits, "57edf4a22be3c955ac49da2e2107b67a"),
        ] {
            let found: String = md5(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn documents_lie_in_buckets() {
        let bucket = |id: &str| of_document(id).unwrap();
        let one = bucket("id:n:music:n=7:one");
        assert_eq!((one >> 58, one & 0xffff_ffff), (58, 7));
        let all_of_7 = 32 << 58 | 7;
        assert!(contains(all_of_7, one) && contains(one, one));
        assert!(!contains(one, all_of_7));
        assert!(!contains(all_of_7, bucket("id:n:music:n=8:one")));
        let same_group = (bucket("id:n:music:g=a:1"), bucket("id:n:music:g=a:2"));
        assert_eq!(same_group.0 & 0xffff_ffff, same_group.1 & 0xffff_ffff);
        assert_ne!(same_group.0, same_group.1);
        assert_eq!(of_document("music::1"), None);
    }
}

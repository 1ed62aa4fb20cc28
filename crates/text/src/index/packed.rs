//! Small numbers in as many bits as the largest of them needs.

/// The most numbers that are packed together.
pub(super) const BLOCK: usize = 128;

/// The bits that the largest of some numbers needs.
pub(super) fn width(numbers: &[u32]) -> u32 {
    u32::BITS - numbers.iter().fold(0, |all, n| all | n).leading_zeros()
}

/// The bytes of so many numbers of a width.
pub(super) fn bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Writes numbers of at most `width` bits one behind the other, the lowest bit first.
pub(super) fn pack(numbers: &[u32], width: u32, into: &mut Vec<u8>) {
    let (mut bits, mut filled) = (0_u64, 0);
    for number in numbers {
        debug_assert!(u64::from(*number) < 1 << width, "{number} does not fit {width} bits");
        bits |= u64::from(*number) << filled;
        filled += width;
        // Fewer than 32 are left, so that the next number fits.
        if filled >= u32::BITS {
            into.extend_from_slice(&(bits as u32).to_le_bytes());
            bits >>= u32::BITS;
            filled -= u32::BITS;
        }
    }
    let rest = filled.div_ceil(8) as usize;
    into.extend_from_slice(bits.to_le_bytes().get(..rest).unwrap_or_default());
}

/// Reads what [`pack`] wrote, of bytes that may go on behind it: quicker if they do. What is missing of them counts as zeros.
pub(super) fn unpack(packed: &[u8], width: u32, numbers: &mut [u32]) {
    if width == 0 {
        numbers.fill(0);
        return;
    }
    let (groups, _) = numbers.as_chunks_mut::<GROUP>();
    let read = match groups {
        [] => 0,
        groups => GROUPS.get(width as usize).map_or(0, |read| read(packed, groups)) * GROUP,
    };
    // A group of so many begins with a byte, whatever the width.
    let packed = packed.get(read / GROUP * width as usize..).unwrap_or_default();
    let mask = ((1_u64 << width) - 1) as u32;
    for (at, number) in numbers.iter_mut().skip(read).enumerate() {
        let bit = at * width as usize;
        let rest = packed.get(bit / 8..).unwrap_or_default();
        let word = rest.first_chunk().copied().unwrap_or_else(|| {
            let mut word = [0; 8];
            word.iter_mut().zip(rest).for_each(|(into, byte)| *into = *byte);
            word
        });
        *number = (u64::from_le_bytes(word) >> (bit % 8)) as u32 & mask;
    }
}

/// Numbers that are read together.
const GROUP: usize = 8;

/// Reads groups whose words are there, and tells how many.
type Groups = fn(&[u8], &mut [[u32; GROUP]]) -> usize;

/// By their width.
const GROUPS: [Groups; 33] = [
    groups::<0>,
    groups::<1>,
    groups::<2>,
    groups::<3>,
    groups::<4>,
    groups::<5>,
    groups::<6>,
    groups::<7>,
    groups::<8>,
    groups::<9>,
    groups::<10>,
    groups::<11>,
    groups::<12>,
    groups::<13>,
    groups::<14>,
    groups::<15>,
    groups::<16>,
    groups::<17>,
    groups::<18>,
    groups::<19>,
    groups::<20>,
    groups::<21>,
    groups::<22>,
    groups::<23>,
    groups::<24>,
    groups::<25>,
    groups::<26>,
    groups::<27>,
    groups::<28>,
    groups::<29>,
    groups::<30>,
    groups::<31>,
    groups::<32>,
];

/// With a width that is known shifts are constants.
fn groups<const WIDTH: usize>(packed: &[u8], groups: &mut [[u32; GROUP]]) -> usize {
    let mask = ((1_u64 << WIDTH) - 1) as u32;
    for (read, group) in groups.iter_mut().enumerate() {
        // Each number lies within the eight bytes from where it begins, and the last begins before the end of the group.
        let Some(bytes) = packed.get(read * WIDTH..read * WIDTH + WIDTH + 8) else { return read };
        if WIDTH <= 8 {
            // One word has all of them.
            let word = bytes.first_chunk().copied().map_or(0, u64::from_le_bytes);
            for (at, number) in group.iter_mut().enumerate() {
                *number = (word >> (at * WIDTH)) as u32 & mask;
            }
            continue;
        }
        for (at, number) in group.iter_mut().enumerate() {
            let bit = at * WIDTH;
            let word = bytes.get(bit / 8..).and_then(|b| b.first_chunk()).copied();
            *number = (word.map_or(0, u64::from_le_bytes) >> (bit % 8)) as u32 & mask;
        }
    }
    groups.len()
}

/// Writes a number in groups of seven bits, the lowest first; all bytes but the last have their highest bit set.
pub(super) fn write_number(mut number: u32, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Reads what [`write_number`] wrote, from a place that moves behind it; 0 at the end.
pub(super) fn read_number(bytes: &[u8], at: &mut usize) -> u32 {
    let mut number = 0;
    for shift in (0..u32::BITS).step_by(7) {
        let byte = bytes.get(*at).copied().unwrap_or_default();
        *at += 1;
        number |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    number
}

/// The same, or nothing where the bytes end before, or the number has more than 32 bits.
pub(super) fn checked_number(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let mut number = 0;
    for shift in (0..u32::BITS).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        let bits = u32::from(byte & 0x7f);
        if bits.leading_zeros() < shift {
            return None;
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};

    use super::{BLOCK, bytes, checked_number, pack, read_number, unpack, width, write_number};

    proptest! {
        #[test]
        fn numbers_come_back(numbers in vec(any::<u32>(), 0..BLOCK + 1), shift in 0_u32..33, behind in 0_usize..12) {
            let numbers: Vec<u32> = numbers.iter().map(|n| n.checked_shr(shift).unwrap_or(0)).collect();
            let width = width(&numbers);
            let mut packed = Vec::new();
            pack(&numbers, width, &mut packed);
            assert_eq!(packed.len(), bytes(numbers.len(), width));
            // Others behind them do not show.
            packed.resize(packed.len() + behind, 0xff);
            let mut again = vec![7; numbers.len()];
            unpack(&packed, width, &mut again);
            assert_eq!(again, numbers);

            let mut written = Vec::new();
            numbers.iter().for_each(|n| write_number(*n, &mut written));
            let mut at = 0;
            let read: Vec<u32> = numbers.iter().map(|_| read_number(&written, &mut at)).collect();
            assert_eq!((&read, at), (&numbers, written.len()));
            at = 0;
            let read: Option<Vec<u32>> = numbers.iter().map(|_| checked_number(&written, &mut at)).collect();
            assert_eq!((read, at), (Some(numbers), written.len()));
            assert_eq!(checked_number(&written, &mut at), None);
        }
    }

    #[test]
    fn numbers_that_nobody_writes_are_none() {
        let most = [0xff, 0xff, 0xff, 0xff, 0x0f];
        assert_eq!(checked_number(&most, &mut 0), Some(u32::MAX));
        for bytes in [&[0xff, 0xff, 0xff, 0xff, 0x1f][..], &[0x80; 6], &[0x80], &[]] {
            assert_eq!(checked_number(bytes, &mut 0), None, "{bytes:?}");
        }
    }
}

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
        while filled >= 8 {
            into.push(bits as u8);
            bits >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        into.push(bits as u8);
    }
}

/// Reads what [`pack`] wrote. What is missing of `bytes` counts as zeros.
pub(super) fn unpack(packed: &[u8], width: u32, numbers: &mut [u32]) {
    if width == 0 {
        numbers.fill(0);
        return;
    }
    let mask = ((1_u64 << width) - 1) as u32;
    let width = width as usize;
    // Each number lies within the eight bytes from where it begins: it has at most 32 bits, and begins within the first of them.
    let whole = packed.len().checked_sub(8).map_or(0, |last| (last * 8 + 7) / width + 1);
    let (near, last) = numbers.split_at_mut(whole.min(numbers.len()));
    let mut bit = 0;
    for number in near {
        let word = packed
            .get(bit / 8..)
            .and_then(|p| p.first_chunk())
            .copied()
            .map_or(0, u64::from_le_bytes);
        *number = (word >> (bit % 8)) as u32 & mask;
        bit += width;
    }
    for number in last {
        let mut word = [0; 8];
        let rest = packed.get(bit / 8..).unwrap_or_default();
        let count = rest.len().min(8);
        word[..count].copy_from_slice(&rest[..count]);
        *number = (u64::from_le_bytes(word) >> (bit % 8)) as u32 & mask;
        bit += width;
    }
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

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};

    use super::{BLOCK, bytes, pack, read_number, unpack, width, write_number};

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
            assert_eq!((read, at), (numbers, written.len()));
        }
    }
}

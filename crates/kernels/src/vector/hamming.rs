//! The number of bits in which vectors of bytes differ.

use crate::Isa;
use crate::simd::{Simd, SimdOp, dispatch};

/// The few vectors are padded to a multiple of this many: the 64-bit lanes of the widest instruction set.
const LANES: usize = 8;

/// The number of bits in which `vector` and each of the `out.len()` vectors in `list` differ.
///
/// # Panics
/// If the lengths do not fit.
pub fn hamming_rows(isa: Isa, vector: &[i8], list: &[i8], out: &mut [u32]) {
    assert_eq!(list.len(), vector.len() * out.len(), "the bytes of the vectors");
    if vector.is_empty() {
        out.fill(0);
        return;
    }
    run(isa, Rows { vector, list, out });
}

/// How many lanes `count` vectors take.
#[must_use]
pub fn hamming_lanes(count: usize) -> usize {
    count.next_multiple_of(LANES)
}

/// How many words [`hamming_words`] writes for `count` vectors of `bytes` bytes.
#[must_use]
pub fn hamming_words_len(count: usize, bytes: usize) -> usize {
    count.next_multiple_of(LANES) * bytes.div_ceil(8)
}

/// Lays `count` vectors of `bytes` bytes side by side: the first eight bytes of all as words, padded to a multiple of 8
/// vectors, then the second.
///
/// # Panics
/// If the lengths do not fit.
pub fn hamming_words(count: usize, bytes: usize, vectors: &[i8], out: &mut [u64]) {
    assert_eq!(vectors.len(), count * bytes, "the bytes of the vectors");
    assert_eq!(out.len(), hamming_words_len(count, bytes), "the room for them");
    out.fill(0);
    let padded = count.next_multiple_of(LANES);
    for (lane, vector) in vectors.chunks_exact(bytes.max(1)).enumerate() {
        for (at, word) in vector.chunks(8).enumerate() {
            out[at * padded + lane] = word_of(word);
        }
    }
}

/// Which of the many counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extreme {
    /// That which differs least
    Least,
    /// That which differs most
    Most,
}

/// For each vector of `few`, laid side by side by [`hamming_words`], the least or the largest number of bits in which it
/// differs from a vector of `many`, each of `bytes` bytes, or what `best` holds. `best` has a number for each lane.
///
/// # Panics
/// If the lengths do not fit.
pub fn hamming_tokens(
    isa: Isa,
    bytes: usize,
    extreme: Extreme,
    few: &[u64],
    many: &[i8],
    best: &mut [u64],
) {
    assert!(bytes > 0, "vectors without bytes");
    assert_eq!(best.len() % LANES, 0, "a number for each lane");
    assert_eq!(few.len(), best.len() * bytes.div_ceil(8), "the words of the few");
    assert_eq!(many.len() % bytes, 0, "the bytes of the many");
    match extreme {
        Extreme::Least => tokens(isa, Tokens::<true> { bytes, few, many, best }),
        Extreme::Most => tokens(isa, Tokens::<false> { bytes, few, many, best }),
    }
}

fn tokens<const IS_LEAST: bool>(isa: Isa, tokens: Tokens<'_, IS_LEAST>) {
    #[cfg(target_arch = "x86_64")]
    if isa.effective().vectors() == Isa::Avx512 && has_popcount() {
        // SAFETY: the machine has the level and the instruction.
        return unsafe { lanes::tokens(tokens) };
    }
    run(isa, tokens);
}

/// Up to eight bytes as a word, the missing ones 0.
#[inline(always)]
fn word_of(bytes: &[i8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(whole) => u64::from_le_bytes(whole.map(|b| b as u8)),
        None => bytes.iter().rev().fold(0, |word, b| word << 8 | u64::from(*b as u8)),
    }
}

struct Rows<'a> {
    vector: &'a [i8],
    list: &'a [i8],
    out: &'a mut [u32],
}

impl SimdOp for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        for (row, out) in self.list.chunks_exact(self.vector.len()).zip(self.out) {
            *out = differing(self.vector, row);
        }
    }
}

/// The bits in which two vectors of the same length differ.
#[inline(always)]
pub(super) fn differing(x: &[i8], y: &[i8]) -> u32 {
    let ((x_wholes, x_rest), (y_wholes, y_rest)) = (x.as_chunks::<8>(), y.as_chunks::<8>());
    let mut sum = 0;
    for (x, y) in x_wholes.iter().zip(y_wholes) {
        sum += (word_of(x) ^ word_of(y)).count_ones();
    }
    sum + (word_of(x_rest) ^ word_of(y_rest)).count_ones()
}

struct Tokens<'a, const IS_LEAST: bool> {
    bytes: usize,
    few: &'a [u64],
    many: &'a [i8],
    best: &'a mut [u64],
}

impl<const IS_LEAST: bool> SimdOp for Tokens<'_, IS_LEAST> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        self.any();
    }
}

impl<const IS_LEAST: bool> Tokens<'_, IS_LEAST> {
    #[inline(always)]
    fn any(self) {
        let padded = self.best.len();
        for (panel, best) in self.best.chunks_exact_mut(LANES).enumerate() {
            let mut extreme = [0; LANES];
            extreme.copy_from_slice(best);
            for token in self.many.chunks_exact(self.bytes) {
                let mut sums = [0_u64; LANES];
                for (at, word) in token.chunks(8).enumerate() {
                    let word = word_of(word);
                    let few = &self.few[at * padded + panel * LANES..][..LANES];
                    for i in 0..LANES {
                        sums[i] += u64::from((few[i] ^ word).count_ones());
                    }
                }
                better::<IS_LEAST>(&mut extreme, &sums);
            }
            best.copy_from_slice(&extreme);
        }
    }
}

#[inline(always)]
fn better<const IS_LEAST: bool>(extreme: &mut [u64; LANES], sums: &[u64; LANES]) {
    for i in 0..LANES {
        extreme[i] = if IS_LEAST { extreme[i].min(sums[i]) } else { extreme[i].max(sums[i]) };
    }
}

#[cfg(target_arch = "x86_64")]
mod lanes;

/// As [`dispatch`], for an instruction that not every machine with AVX-512 has: counting the bits of each lane.
pub(super) fn run<O: SimdOp>(isa: Isa, op: O) -> O::Output {
    #[cfg(target_arch = "x86_64")]
    if isa.effective().vectors() == Isa::Avx512 && has_popcount() {
        // SAFETY: the machine has the level and the instruction.
        return unsafe { with_popcount(op) };
    }
    dispatch(isa, op)
}

/// Runs `op` compiled for AVX-512 with the counting of bits.
///
/// # Safety
/// The machine must have what [`Isa::Avx512`] stands for, and AVX512_VPOPCNTDQ.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx2,fma,f16c")]
unsafe fn with_popcount<O: SimdOp>(op: O) -> O::Output {
    // The kernels here take nothing from the token but the instructions that this function is compiled for.
    op.eval(crate::simd::Scalar)
}

/// Intel SDM volume 2, `CPUID` leaf 7: AVX512_VPOPCNTDQ is bit 14 of ECX. Asked once, since `cpuid` traps under a
/// hypervisor.
#[cfg(target_arch = "x86_64")]
fn has_popcount() -> bool {
    use core::sync::atomic::{AtomicU8, Ordering};
    static KNOWN: AtomicU8 = AtomicU8::new(0);
    match KNOWN.load(Ordering::Relaxed) {
        0 => {
            let has = core::arch::x86_64::__cpuid_count(7, 0).ecx & (1 << 14) != 0;
            KNOWN.store(1 + u8::from(has), Ordering::Relaxed);
            has
        }
        known => known == 2,
    }
}

//! What a vector of one instruction set can do.

use super::{Arithmetic, SimdOp};
use crate::Isa;

/// What the products of a pair of bytes by the greatest magnitudes of two weights may be together so that those by any of these
/// weights are a number of 16 bits, even where 127 stands for -128: 32767 * 127 / 128.
pub const PAIR: i16 = 32511;

/// Vectors of `LANES` f32 and i32 numbers on one instruction set.
///
/// A value of an implementing type is a token: it exists only where the instruction set does, so
/// its methods are safe. Methods that take pointers are not.
pub trait Simd: Arithmetic + Send + Sync + 'static {
    /// Numbers in a vector.
    const LANES: usize;
    /// Vector registers, by which tiles are chosen.
    const REGISTERS: usize;
    /// The level that this type stands for.
    const ISA: Isa;
    /// Whether [`Simd::dot4`] is one instruction.
    const DOT4: bool = false;
    /// Whether [`Simd::dot4_low`] takes fewer instructions than [`Simd::dot4`].
    const DOT4_LOW: bool = false;
    /// Bytes in a vector of bytes.
    const BYTES: usize;
    /// A vector of signed bytes.
    type I8: Copy + Send + Sync;

    /// Reads `LANES` numbers; no alignment is asked.
    ///
    /// # Safety
    /// `p` must be readable for `LANES` numbers.
    unsafe fn load_ptr(self, p: *const f32) -> Self::F32;
    /// Writes `LANES` numbers; no alignment is asked.
    ///
    /// # Safety
    /// `p` must be writable for `LANES` numbers.
    unsafe fn store_ptr(self, p: *mut f32, v: Self::F32);
    /// Reads `n <= LANES` numbers into the first lanes; the others are 0.
    ///
    /// # Safety
    /// `p` must be readable for `n` numbers; `n <= LANES`.
    unsafe fn load_part_ptr(self, p: *const f32, n: usize) -> Self::F32;
    /// Writes the first `n <= LANES` lanes.
    ///
    /// # Safety
    /// `p` must be writable for `n` numbers; `n <= LANES`.
    unsafe fn store_part_ptr(self, p: *mut f32, v: Self::F32, n: usize);
    /// Reads `LANES` i32 numbers.
    ///
    /// # Safety
    /// `p` must be readable for `LANES` numbers.
    unsafe fn load_i32_ptr(self, p: *const i32) -> Self::I32;
    /// Writes `LANES` i32 numbers.
    ///
    /// # Safety
    /// `p` must be writable for `LANES` numbers.
    unsafe fn store_i32_ptr(self, p: *mut i32, v: Self::I32);
    /// Reads `LANES` IEEE half-precision numbers, given as bits, and widens them.
    ///
    /// # Safety
    /// `p` must be readable for `LANES` numbers.
    unsafe fn load_f16_ptr(self, p: *const u16) -> Self::F32;
    /// Narrows to IEEE half precision (nearest, ties to even) and writes `LANES` of them.
    ///
    /// # Safety
    /// `p` must be writable for `LANES` numbers.
    unsafe fn store_f16_ptr(self, p: *mut u16, v: Self::F32);
    /// Whether any lane holds
    fn any(self, m: Self::Mask) -> bool;

    /// The sum of all lanes
    fn sum(self, a: Self::F32) -> f32;
    /// The largest lane; a NaN may or may not show
    fn max_lane(self, a: Self::F32) -> f32;
    /// The smallest lane; a NaN may or may not show
    fn min_lane(self, a: Self::F32) -> f32;

    /// How many lanes hold
    fn count(self, m: Self::Mask) -> u32;

    /// All bytes `x`.
    fn splat_i8(self, x: i8) -> Self::I8;
    /// Reads `BYTES` bytes; no alignment is asked.
    ///
    /// # Safety
    /// `p` must be readable for `BYTES` bytes.
    unsafe fn load_i8_ptr(self, p: *const i8) -> Self::I8;
    /// Writes `BYTES` bytes; no alignment is asked.
    ///
    /// # Safety
    /// `p` must be writable for `BYTES` bytes.
    unsafe fn store_i8_ptr(self, p: *mut i8, v: Self::I8);
    /// `z` where `a == b` and `x > y`, else `a`
    fn replace_i8(
        self,
        a: Self::I8,
        b: Self::I8,
        x: Self::I8,
        y: Self::I8,
        z: Self::I8,
    ) -> Self::I8;

    /// `sums` and, in each lane, the four products of the unsigned bytes of `a` by the signed bytes of `b`; wrapping, and
    /// nothing saturates on the way.
    fn dot4(self, sums: Self::I32, a: Self::I32, b: Self::I32) -> Self::I32;
    /// The same of bytes of which the products of the first two of a lane, and those of the last two, are together a number of
    /// 16 bits, as those of any `b` by bytes of `a` that are at most 128: fewer instructions where [`Simd::dot4`] is several.
    #[inline(always)]
    fn dot4_low(self, sums: Self::I32, a: Self::I32, b: Self::I32) -> Self::I32 {
        self.dot4(sums, a, b)
    }
    /// `sums` and, in each lane, the two products of the signed numbers of 16 bits of `a` and of `b`; wrapping.
    #[inline(always)]
    fn dot2(self, sums: Self::I32, a: Self::I32, b: Self::I32) -> Self::I32 {
        let (mut a_lanes, mut b_lanes) = ([0i32; 16], [0i32; 16]);
        // SAFETY: no vector has more than 16 lanes.
        unsafe {
            self.store_i32_ptr(a_lanes.as_mut_ptr(), a);
            self.store_i32_ptr(b_lanes.as_mut_ptr(), b);
            for (a, b) in a_lanes.iter_mut().zip(b_lanes) {
                let low = i32::from(*a as i16) * i32::from(b as i16);
                *a = low.wrapping_add((*a >> 16) * (b >> 16));
            }
            self.add_i32(sums, self.load_i32_ptr(a_lanes.as_ptr()))
        }
    }
    /// The sums of lanes 0 and 1 of `a`, of 2 and 3 and so on, and behind them those of `b`; wrapping.
    #[inline(always)]
    fn add_neighbours(self, a: Self::I32, b: Self::I32) -> Self::I32 {
        let mut lanes = [0i32; 32];
        // SAFETY: no vector has more than 16 lanes.
        unsafe {
            self.store_i32_ptr(lanes.as_mut_ptr(), a);
            self.store_i32_ptr(lanes.as_mut_ptr().add(Self::LANES), b);
            for i in 0..Self::LANES {
                lanes[i] = lanes[2 * i].wrapping_add(lanes[2 * i + 1]);
            }
            self.load_i32_ptr(lanes.as_ptr())
        }
    }
    /// `x` in each two lanes, its lower half in the first.
    #[inline(always)]
    fn splat_i64(self, x: i64) -> Self::I32 {
        let mut lanes = [x as i32; 16];
        lanes.iter_mut().skip(1).step_by(2).for_each(|lane| *lane = (x >> 32) as i32);
        // SAFETY: no vector has more than 16 lanes.
        unsafe { self.load_i32_ptr(lanes.as_ptr()) }
    }
    /// Reads signed bytes as numbers of 16 bits, two to a lane.
    ///
    /// # Safety
    /// `p` must be readable for `2 * LANES` bytes.
    #[inline(always)]
    unsafe fn widen_bytes_ptr(self, p: *const i8) -> Self::I32 {
        let mut lanes = [0i32; 16];
        // SAFETY: no vector has more than 16 lanes; the caller promises as many readable bytes.
        unsafe {
            for (i, lane) in lanes.iter_mut().enumerate().take(Self::LANES) {
                let [low, high] = [*p.add(2 * i), *p.add(2 * i + 1)].map(i32::from);
                *lane = (low & 0xffff) | high << 16;
            }
            self.load_i32_ptr(lanes.as_ptr())
        }
    }
    /// `sums + a * b` of lanes `a` that are unsigned bytes and lanes `b` that are signed ones.
    #[inline(always)]
    fn mul_add_bytes(self, sums: Self::I32, a: Self::I32, b: Self::I32) -> Self::I32 {
        self.add_i32(sums, self.mul_i32(a, b))
    }
    /// Unsigned bytes as `from + low + above - below`, in this order: `below` is at most `from`, and where one of `above` and
    /// `below` is not 0 the other is. `low` is at most `most`, or the products of its pair (the first two bytes of a lane, or
    /// the last two) by the bytes of `bounds`, which are not negative, are together at most [`PAIR`].
    #[inline(always)]
    fn split_bytes(
        self,
        bytes: Self::I32,
        from: u8,
        most: Self::I32,
        bounds: Self::I32,
    ) -> [Self::I32; 3] {
        let [mut low, mut above, mut below, mut weights] = [[0i32; 16]; 4];
        // SAFETY: no vector has more than 16 lanes.
        unsafe {
            self.store_i32_ptr(low.as_mut_ptr(), bytes);
            self.store_i32_ptr(above.as_mut_ptr(), most);
            self.store_i32_ptr(weights.as_mut_ptr(), bounds);
            let lanes = low.iter_mut().zip(&mut above).zip(&mut below).zip(weights);
            for (((low, above), below), bounds) in lanes {
                let (bytes, most) = (low.to_ne_bytes(), above.to_ne_bytes());
                let bounds = bounds.to_ne_bytes();
                let moved = bytes.map(|b| b.saturating_sub(from));
                let product = |i: usize| i32::from(moved[i]) * i32::from(bounds[i]);
                let rest: [u8; 4] = core::array::from_fn(|i| {
                    let first = i / 2 * 2;
                    let fits = product(first) + product(first + 1) <= i32::from(PAIR);
                    if fits { 0 } else { moved[i].saturating_sub(most[i]) }
                });
                *low = i32::from_ne_bytes(core::array::from_fn(|i| moved[i] - rest[i]));
                *above = i32::from_ne_bytes(rest);
                *below = i32::from_ne_bytes(bytes.map(|b| from.saturating_sub(b)));
            }
            [low, above, below].map(|part| self.load_i32_ptr(part.as_ptr()))
        }
    }
    /// Writes the lanes where `m` holds, one behind the other, and says how many. Behind them anything may be left, up to
    /// `LANES` in all.
    ///
    /// # Safety
    /// `p` must be writable for `LANES` numbers.
    #[inline(always)]
    unsafe fn compress_i32_ptr(self, p: *mut i32, v: Self::I32, m: Self::Mask) -> usize {
        let (mut lanes, mut chosen) = ([0i32; 16], [0i32; 16]);
        let mut n = 0;
        // SAFETY: no vector has more than 16 lanes; no more are written than it has.
        unsafe {
            self.store_i32_ptr(lanes.as_mut_ptr(), v);
            let ones = self.select_i32(m, self.splat_i32(1), self.splat_i32(0));
            self.store_i32_ptr(chosen.as_mut_ptr(), ones);
            for (lane, chosen) in lanes.into_iter().zip(chosen).take(Self::LANES) {
                *p.add(n) = lane;
                n += chosen as usize;
            }
        }
        n
    }
    /// Reads a byte for each lane, which it is the lowest one of; the others are 0.
    ///
    /// # Safety
    /// `p` must be readable for `LANES` bytes.
    #[inline(always)]
    unsafe fn load_low_bytes(self, p: *const u8) -> Self::I32 {
        let mut lanes = [0i32; 16];
        // SAFETY: no vector has more than 16 lanes; the caller promises as many readable bytes.
        unsafe {
            for (i, lane) in lanes.iter_mut().enumerate().take(Self::LANES) {
                *lane = i32::from(*p.add(i));
            }
            self.load_i32_ptr(lanes.as_ptr())
        }
    }
    /// Reads a signed byte for each lane, which has its value.
    ///
    /// # Safety
    /// `p` must be readable for `LANES` bytes.
    #[inline(always)]
    unsafe fn load_signed_bytes(self, p: *const i8) -> Self::I32 {
        let sign = self.splat_i32(0x80);
        // SAFETY: the caller's promise.
        let low = unsafe { self.load_low_bytes(p.cast()) };
        self.sub_i32(self.xor_i32(low, sign), sign)
    }
    /// Writes the lowest byte of each lane.
    ///
    /// # Safety
    /// `p` must be writable for `LANES` bytes.
    #[inline(always)]
    unsafe fn store_low_bytes(self, p: *mut u8, v: Self::I32) {
        let mut lanes = [0i32; 16];
        // SAFETY: no vector has more than 16 lanes; the caller promises as many writable bytes.
        unsafe {
            self.store_i32_ptr(lanes.as_mut_ptr(), v);
            for (i, lane) in lanes.iter().enumerate().take(Self::LANES) {
                *p.add(i) = *lane as u8;
            }
        }
    }

    /// Runs `op` in a function of its own, compiled for the same instruction set. Keeps code that
    /// is large or used in many places from being inlined again and again.
    fn call<O: SimdOp>(self, op: O) -> O::Output;

    /// `dst[p * dst_stride + i] = src[i * src_stride + p]` for `rows <= LANES` rows `i` of `LANES` columns `p`.
    /// Columns are written in their order; behind the numbers of the first `whole` of them anything may be left, up to
    /// `LANES` from their beginning: stores of parts of vectors take many times as long as those of whole ones.
    ///
    /// # Safety
    /// `src` must be readable for `LANES` numbers in each of `rows >= 1` rows, and `dst` writable for `rows` numbers in
    /// each of `LANES`, and for `LANES` numbers in each of the first `whole`.
    #[inline(always)]
    unsafe fn transpose_ptr(
        self,
        src: *const f32,
        src_stride: usize,
        rows: usize,
        dst: *mut f32,
        dst_stride: usize,
        whole: usize,
    ) {
        let _ = whole;
        for i in 0..rows {
            for p in 0..Self::LANES {
                // SAFETY: the caller's promise.
                unsafe { *dst.add(p * dst_stride + i) = *src.add(i * src_stride + p) }
            }
        }
    }

    /// Asks for the cache line at `p`, which may be any address.
    #[inline(always)]
    fn prefetch(self, _p: *const f32) {}

    /// Asks for the cache line at `p`, which may be any address, in the second-level cache: for what is needed after
    /// more than the first level holds.
    #[inline(always)]
    fn prefetch_far(self, _p: *const f32) {}

    /// Reads the first `LANES` numbers of `x`, which must have as many.
    #[inline(always)]
    fn load(self, x: &[f32]) -> Self::F32 {
        assert!(x.len() >= Self::LANES);
        // SAFETY: the slice has at least LANES numbers.
        unsafe { self.load_ptr(x.as_ptr()) }
    }

    /// Writes the first `LANES` numbers of `x`, which must have as many.
    #[inline(always)]
    fn store(self, x: &mut [f32], v: Self::F32) {
        assert!(x.len() >= Self::LANES);
        // SAFETY: the slice has at least LANES numbers.
        unsafe { self.store_ptr(x.as_mut_ptr(), v) }
    }

    /// Reads `min(x.len(), LANES)` numbers; the other lanes are 0.
    #[inline(always)]
    fn load_part(self, x: &[f32]) -> Self::F32 {
        // SAFETY: at most x.len() numbers are read.
        unsafe { self.load_part_ptr(x.as_ptr(), x.len().min(Self::LANES)) }
    }

    /// Writes `min(x.len(), LANES)` numbers.
    #[inline(always)]
    fn store_part(self, x: &mut [f32], v: Self::F32) {
        // SAFETY: at most x.len() numbers are written.
        unsafe { self.store_part_ptr(x.as_mut_ptr(), v, x.len().min(Self::LANES)) }
    }
}

//! One table of expectations, run on every instruction set of the machine.

extern crate std;
use super::*;
use std::vec::Vec;

const INPUTS: [f32; 19] = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    1e-30,
    -7.25,
    8_388_607.5,
    -8_388_609.0,
    1e9,
    3.999_999,
    -3.000_001,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    42.0,
    -1.0,
];

#[derive(Clone, Copy, Debug)]
enum Unary {
    Round,
    Floor,
    Ceil,
    Trunc,
    Neg,
    Abs,
    Sqrt,
    MaxZero,
    MinZero,
    SelectNegative,
    ShiftBits,
}

struct Map<'a> {
    op: Unary,
    src: &'a [f32],
    dst: &'a mut [f32],
}

impl SimdOp for Map<'_> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let mut at = 0;
        while at < self.src.len() {
            let v = s.load_part(&self.src[at..]);
            let v = match self.op {
                Unary::Round => s.round(v),
                Unary::Floor => s.floor(v),
                Unary::Ceil => s.ceil(v),
                Unary::Trunc => s.trunc(v),
                Unary::Neg => s.neg(v),
                Unary::Abs => s.abs(v),
                Unary::Sqrt => s.sqrt(v),
                Unary::MaxZero => s.max(s.zero(), v),
                Unary::MinZero => s.min(s.zero(), v),
                Unary::SelectNegative => s.select(s.lt(v, s.zero()), s.splat(1.0), v),
                Unary::ShiftBits => s.bits_to_f32(s.shr_i32::<3>(s.shl_i32::<4>(s.bits(v)))),
            };
            s.store_part(&mut self.dst[at..], v);
            at += S::LANES;
        }
    }
}

fn reference(op: Unary, x: f32) -> f32 {
    match op {
        Unary::Round => x.round_ties_even(),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Trunc => x.trunc(),
        Unary::Neg => -x,
        Unary::Abs => x.abs(),
        Unary::Sqrt => x.sqrt(),
        Unary::MaxZero => {
            if 0.0 > x {
                0.0
            } else {
                x
            }
        }
        Unary::MinZero => {
            if 0.0 < x {
                0.0
            } else {
                x
            }
        }
        Unary::SelectNegative => {
            if x < 0.0 {
                1.0
            } else {
                x
            }
        }
        Unary::ShiftBits => f32::from_bits((x.to_bits() << 4) >> 3),
    }
}

#[test]
fn unary_agrees_with_std_on_every_isa() {
    let ops = [
        Unary::Round,
        Unary::Floor,
        Unary::Ceil,
        Unary::Trunc,
        Unary::Neg,
        Unary::Abs,
        Unary::Sqrt,
        Unary::MaxZero,
        Unary::MinZero,
        Unary::SelectNegative,
        Unary::ShiftBits,
    ];
    for isa in Isa::available() {
        for op in ops {
            let mut got = [0.0; INPUTS.len()];
            dispatch(isa, Map { op, src: &INPUTS, dst: &mut got });
            for (x, got) in INPUTS.iter().zip(got) {
                let want = reference(op, *x);
                let same = got == want || (got.is_nan() && want.is_nan());
                assert!(same, "{isa:?} {op:?}({x}) = {got}, expected {want}");
            }
        }
    }
}

struct Reduce<'a>(&'a [f32]);

impl SimdOp for Reduce<'_> {
    type Output = [f32; 3];
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) -> [f32; 3] {
        let v = s.load(self.0);
        let n = S::LANES as f32;
        [s.sum(v) / n, s.max_lane(v) / n, s.min_lane(v)]
    }
}

#[test]
fn horizontal_folds_see_every_lane() {
    let ramp: Vec<f32> = (1..=16).map(|i| i as f32).collect();
    for isa in Isa::available() {
        let [mean, max, min] = dispatch(isa, Reduce(&ramp));
        assert_eq!((max, min), (1.0, 1.0), "{isa:?}");
        assert!([2.5, 4.5, 8.5].contains(&mean), "{isa:?}: {mean}");
    }
}

struct Parts<'a> {
    n: usize,
    buf: &'a mut [f32],
}

impl SimdOp for Parts<'_> {
    type Output = usize;
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) -> usize {
        let n = self.n.min(S::LANES);
        let v = s.load_part(&self.buf[..n]);
        let v = s.add(v, s.splat(1.0));
        s.store_part(&mut self.buf[..n], v);
        n
    }
}

#[test]
fn partial_stores_leave_the_rest_alone() {
    for isa in Isa::available() {
        for n in 0..=16 {
            let mut buf = [5.0; 20];
            let n = dispatch(isa, Parts { n, buf: &mut buf });
            assert!(buf[..n].iter().all(|&x| x == 6.0), "{isa:?} {n}");
            assert!(buf[n..].iter().all(|&x| x == 5.0), "{isa:?} {n}");
        }
    }
}

struct Ints<'a> {
    src: &'a [f32; 16],
    dst: &'a mut [i32; 16],
    halves: &'a mut [u16; 16],
}

impl SimdOp for Ints<'_> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let mut at = 0;
        while at < 16 {
            let v = s.load(&self.src[at..]);
            let i = s.add_i32(s.to_i32(v), s.mul_i32(s.to_i32_trunc(v), s.splat_i32(1000)));
            // SAFETY: 16 is a multiple of LANES, so at + LANES <= 16.
            unsafe {
                s.store_i32_ptr(self.dst.as_mut_ptr().add(at), i);
                s.store_f16_ptr(self.halves.as_mut_ptr().add(at), v);
                let back = s.load_f16_ptr(self.halves.as_ptr().add(at));
                let same = s.eq(back, v);
                assert!(!s.any(s.mask_not(same)));
            }
            at += S::LANES;
        }
    }
}

#[test]
fn conversions_round_and_truncate() {
    let src = core::array::from_fn(|i| (i as f32 - 8.0) * 0.75);
    for isa in Isa::available() {
        let mut dst = [0; 16];
        let mut halves = [0; 16];
        dispatch(isa, Ints { src: &src, dst: &mut dst, halves: &mut halves });
        for (x, got) in src.iter().zip(dst) {
            let want = x.round_ties_even() as i32 + 1000 * (x.trunc() as i32);
            assert_eq!(got, want, "{isa:?} {x}");
        }
    }
}

struct ByteProducts<'a>(&'a [u8; 256], i8, &'a mut [i32; 256]);

impl SimdOp for ByteProducts<'_> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        for at in (0..256).step_by(S::LANES) {
            // SAFETY: 256 is a multiple of LANES, so at + LANES <= 256.
            unsafe {
                let a = s.load_low_bytes(self.0.as_ptr().add(at));
                let sums = s.mul_add_bytes(s.splat_i32(5), a, s.splat_i32(i32::from(self.1)));
                s.store_i32_ptr(self.2.as_mut_ptr().add(at), sums);
            }
        }
    }
}

#[test]
fn products_of_two_bytes_are_exact() {
    let bytes = core::array::from_fn(|i| i as u8);
    for isa in Isa::available() {
        for by in i8::MIN..=i8::MAX {
            let mut sums = [0; 256];
            dispatch(isa, ByteProducts(&bytes, by, &mut sums));
            let want = bytes.map(|b| 5 + i32::from(b) * i32::from(by));
            assert_eq!(sums, want, "{isa:?} {by}");
        }
    }
}

/// Sums of products of quads, the first `2 * LANES` bytes by `quad` and the next as many, two numbers at a time.
struct PairProducts<'a> {
    bytes: &'a [i8; 64],
    quad: [i16; 4],
    sums: &'a mut [i32; 16],
}

impl SimdOp for PairProducts<'_> {
    type Output = usize;
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) -> usize {
        let quad = self.quad.iter().rev().fold(0, |all, &x| all << 16 | i64::from(x as u16));
        let (quad, start) = (s.splat_i64(quad), s.splat_i32(-3));
        // SAFETY: no vector has more than 16 lanes, and 64 bytes are two such vectors of numbers of 16 bits.
        unsafe {
            let first = s.dot2(start, quad, s.widen_bytes_ptr(self.bytes.as_ptr()));
            let next = s.widen_bytes_ptr(self.bytes.as_ptr().add(2 * S::LANES));
            s.store_i32_ptr(
                self.sums.as_mut_ptr(),
                s.add_neighbours(first, s.dot2(start, quad, next)),
            );
        }
        S::LANES
    }
}

#[test]
fn products_of_pairs_are_exact() {
    let kinds: [[i8; 5]; 3] = [[-128; 5], [127, -128, -1, 0, 1], [-128, 127, 127, 126, -127]];
    for isa in Isa::available() {
        for quad in [[255; 4], [-255, 255, 0, 1], [255, -255, 254, -1], [0, 1, 2, 3]] {
            for kind in kinds {
                let bytes: [i8; 64] = core::array::from_fn(|i| kind[i % 5]);
                let mut sums = [0; 16];
                let lanes = dispatch(isa, PairProducts { bytes: &bytes, quad, sums: &mut sums });
                for (i, (sum, bytes)) in sums.iter().zip(bytes.chunks(4)).enumerate().take(lanes) {
                    let products =
                        bytes.iter().zip(quad).map(|(&b, q)| i32::from(b) * i32::from(q));
                    assert_eq!(*sum, products.sum::<i32>() - 6, "{isa:?} {quad:?} {kind:?}, {i}");
                }
            }
        }
    }
}

struct SignedBytes<'a>(&'a [i8; 256], &'a mut [i32; 256]);

impl SimdOp for SignedBytes<'_> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        for at in (0..256).step_by(S::LANES) {
            // SAFETY: 256 is a multiple of LANES, so at + LANES <= 256.
            unsafe {
                let lanes = s.load_signed_bytes(self.0.as_ptr().add(at));
                s.store_i32_ptr(self.1.as_mut_ptr().add(at), lanes);
            }
        }
    }
}

#[test]
fn bytes_keep_their_signs() {
    let bytes = core::array::from_fn(|i| i as u8 as i8);
    for isa in Isa::available() {
        let mut lanes = [0; 256];
        dispatch(isa, SignedBytes(&bytes, &mut lanes));
        assert!(bytes.iter().zip(lanes).all(|(&b, lane)| i32::from(b) == lane), "{isa:?}");
    }
}

/// The three parts of all bytes, and products of those that are at most 128.
struct Split<'a> {
    from: u8,
    most: [u8; 4],
    bounds: [u8; 4],
    parts: &'a mut [[u8; 256]; 3],
    products: &'a mut [i32; 64],
    listed: &'a mut Vec<i32>,
}

impl SimdOp for Split<'_> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let bytes: [u8; 256] = core::array::from_fn(|i| i as u8);
        let mut list = [-1; 64 + 16];
        let mut n = 0;
        for lane in (0..64).step_by(S::LANES) {
            // SAFETY: 64 is a multiple of LANES, so all parts are inside; `list` has room for a vector behind its last element.
            unsafe {
                let bytes = s.load_i32_ptr(bytes.as_ptr().cast::<i32>().add(lane));
                let most = s.splat_i32(i32::from_ne_bytes(self.most));
                let bounds = s.splat_i32(i32::from_ne_bytes(self.bounds));
                let parts = s.split_bytes(bytes, self.from, most, bounds);
                for (to, part) in self.parts.iter_mut().zip(parts) {
                    s.store_i32_ptr(to.as_mut_ptr().cast::<i32>().add(lane), part);
                }
                let least = s.splat_i32(i32::from_ne_bytes([0x80; 4]));
                let sums = s.dot4_low(s.splat_i32(1), parts[1], least);
                s.store_i32_ptr(self.products.as_mut_ptr().add(lane), sums);
                let has = s.mask_not(s.eq_i32(parts[1], s.splat_i32(0)));
                n += s.compress_i32_ptr(list.as_mut_ptr().add(n), parts[1], has);
            }
        }
        self.listed.extend(&list[..n]);
    }
}

#[test]
fn bytes_are_split_and_the_parts_multiplied_exactly() {
    for isa in Isa::available() {
        for from in 0..=128u8 {
            let most = [128, 255, 127 + from % 64, 200];
            // By the first no pair of large numbers fits, by the others some do.
            let bounds = [[127, 127, 127, 127], [127, from % 128, 90, 40]][usize::from(from % 2)];
            let (mut parts, mut products, mut listed) = ([[0; 256]; 3], [0; 64], Vec::new());
            let op = Split {
                from,
                most,
                bounds,
                parts: &mut parts,
                products: &mut products,
                listed: &mut listed,
            };
            dispatch(isa, op);
            let [low, above, below] = parts;
            for i in 0..256 {
                let sum = i32::from(from) + i32::from(low[i]) + i32::from(above[i]);
                assert_eq!(sum - i32::from(below[i]), i as i32, "{isa:?} {from}");
                assert!(below[i] <= from, "{isa:?} {from} {i}");
                let moved = |i: usize| (i as u8).saturating_sub(from);
                let product = |i: usize| i32::from(moved(i)) * i32::from(bounds[i % 4]);
                let fits = product(i) + product(i ^ 1) <= i32::from(PAIR);
                let want = if fits { moved(i) } else { moved(i).min(most[i % 4]) };
                assert_eq!(low[i], want, "{isa:?} {from} {i}");
                assert!(above[i] == 0 || below[i] == 0, "{isa:?} {from} {i}");
            }
            let quads = above.chunks_exact(4);
            let want: Vec<i32> = quads
                .clone()
                .map(|q| 1 - 128 * q.iter().map(|&b| i32::from(b)).sum::<i32>())
                .collect();
            assert_eq!(products[..], want, "{isa:?} {from}");
            let want: Vec<i32> = quads
                .map(|q| i32::from_ne_bytes([q[0], q[1], q[2], q[3]]))
                .filter(|&q| q != 0)
                .collect();
            assert_eq!(listed, want, "{isa:?} {from}");
        }
    }
}

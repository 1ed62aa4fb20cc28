//! Measures between one vector and each of many.

use super::scattered::scattered_floats;
use crate::Isa;
use crate::gemm::dots;
use crate::simd::{LINE_BYTES, Simd, SimdOp, dispatch};
use half::{bf16, f16};

/// How two vectors are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Measure {
    /// The sum of the products
    Dot,
    /// The sum of the squares of the differences
    SquaredDistance,
}

/// A float in which sums are made: f32 or f64.
pub trait Wide:
    Copy
    + Send
    + Sync
    + core::ops::Add<Output = Self>
    + core::ops::Sub<Output = Self>
    + core::ops::Mul<Output = Self>
    + core::ops::Div<Output = Self>
    + PartialOrd
    + 'static
{
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
}

impl Wide for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
}

impl Wide for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
}

/// A stored number that a float holds exactly.
pub trait Widen<W>: Copy + Send + Sync + 'static {
    /// The same number.
    fn wide(self) -> W;
    /// The list itself if it is already wide.
    #[inline(always)]
    fn as_wide(_list: &[Self]) -> Option<&[W]> {
        None
    }
    /// The same of several lists.
    #[inline(always)]
    fn all_as_wide<'l, 'v>(_lists: &'l [&'v [Self]]) -> Option<&'l [&'v [W]]> {
        None
    }
}

macro_rules! widen_to {
    ($($from:ty => $to:ty, |$x:ident| $wide:expr;)*) => {$(
        impl Widen<$to> for $from {
            #[inline(always)]
            fn wide(self) -> $to {
                let $x = self;
                $wide
            }
        }
    )*};
}

widen_to! {
    // The upper half of an f32.
    bf16 => f32, |x| f32::from_bits(u32::from(x.to_bits()) << 16);
    i8 => f32, |x| f32::from(x);
    f32 => f64, |x| f64::from(x);
    bf16 => f64, |x| f64::from(f32::from_bits(u32::from(x.to_bits()) << 16));
    f16 => f64, |x| x.to_f64();
    i64 => f64, |x| x as f64;
    i32 => f64, |x| f64::from(x);
    i16 => f64, |x| f64::from(x);
    i8 => f64, |x| f64::from(x);
    u8 => f64, |x| f64::from(x);
}

impl Widen<f32> for f32 {
    #[inline(always)]
    fn wide(self) -> f32 {
        self
    }
    #[inline(always)]
    fn as_wide(list: &[f32]) -> Option<&[f32]> {
        Some(list)
    }
    #[inline(always)]
    fn all_as_wide<'l, 'v>(lists: &'l [&'v [f32]]) -> Option<&'l [&'v [f32]]> {
        Some(lists)
    }
}

impl Widen<f64> for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn as_wide(list: &[f64]) -> Option<&[f64]> {
        Some(list)
    }
    #[inline(always)]
    fn all_as_wide<'l, 'v>(lists: &'l [&'v [f64]]) -> Option<&'l [&'v [f64]]> {
        Some(lists)
    }
}

/// The measure between `vector` and each of the `out.len()` vectors of the same length in `list`, which lie behind
/// each other.
///
/// # Panics
/// If the lengths do not fit.
pub fn rows<W: Wide + Floats, T: Widen<W>>(
    isa: Isa,
    measure: Measure,
    vector: &[W],
    list: &[T],
    out: &mut [W],
) {
    assert_eq!(list.len(), vector.len() * out.len(), "the numbers of the vectors");
    if vector.is_empty() {
        out.fill(W::ZERO);
        return;
    }
    match measure {
        Measure::Dot => {
            if let Some(list) = T::as_wide(list)
                && W::dots(isa, vector, list, out)
            {
                return;
            }
            dispatch(isa, Rows { vector, list, out, step: Product });
        }
        Measure::SquaredDistance => dispatch(isa, Rows { vector, list, out, step: Square }),
    }
}

/// Floats that may have a kernel of their own.
pub trait Floats: Sized {
    /// Computes the dot products if there is one.
    #[doc(hidden)]
    fn dots(_isa: Isa, _vector: &[Self], _list: &[Self], _out: &mut [Self]) -> bool {
        false
    }
    /// The measures of a vector and some that lie anywhere, if there is a kernel for them.
    #[doc(hidden)]
    fn scattered(
        _isa: Isa,
        _measure: Measure,
        _vector: &[Self],
        _list: &[&[Self]],
        _out: &mut [Self],
    ) -> bool {
        false
    }
}

impl Floats for f64 {}

impl Floats for f32 {
    fn dots(isa: Isa, vector: &[f32], list: &[f32], out: &mut [f32]) -> bool {
        dispatch(isa, Dots { vector, list, out });
        true
    }

    fn scattered(
        isa: Isa,
        measure: Measure,
        vector: &[f32],
        list: &[&[f32]],
        out: &mut [f32],
    ) -> bool {
        scattered_floats(isa, measure, vector, list, out);
        true
    }
}

struct Dots<'a> {
    vector: &'a [f32],
    list: &'a [f32],
    out: &'a mut [f32],
}

impl SimdOp for Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let n = self.vector.len();
        // A vector that stays in registers, and documents one after the other, is what memory likes best.
        if S::REGISTERS >= 32 && n.is_multiple_of(S::LANES) {
            match n / S::LANES {
                1 => return self.held::<S, 1>(s),
                2 => return self.held::<S, 2>(s),
                4 => return self.held::<S, 4>(s),
                6 => return self.held::<S, 6>(s),
                8 => return self.held::<S, 8>(s),
                12 => return self.held::<S, 12>(s),
                16 => return self.held::<S, 16>(s),
                _ => {}
            }
        }
        let vector = self.vector.as_ptr();
        let mut fours = self.out.chunks_exact_mut(4);
        let mut at = 0;
        for four in &mut fours {
            let list = &self.list[at * n..(at + 4) * n];
            ahead(s, list);
            // SAFETY: `vector` has n numbers and `list` four times as many.
            four.copy_from_slice(&unsafe { dots::<S, 4, 2>(s, vector, list.as_ptr(), n, n) });
            at += 4;
        }
        for out in fours.into_remainder() {
            let list = &self.list[at * n..(at + 1) * n];
            // SAFETY: both have n numbers.
            [*out] = unsafe { dots::<S, 1, 4>(s, vector, list.as_ptr(), n, n) };
            at += 1;
        }
    }
}

impl Dots<'_> {
    /// Vectors of `V` registers.
    #[inline(always)]
    fn held<S: Simd, const V: usize>(self, s: S) {
        let mut vector = [s.zero(); V];
        for (x, numbers) in vector.iter_mut().zip(self.vector.chunks_exact(S::LANES)) {
            *x = s.load(numbers);
        }
        for (row, out) in self.list.chunks_exact(V * S::LANES).zip(self.out) {
            let mut sums = [s.zero(); 4];
            for (at, x) in vector.iter().enumerate() {
                // SAFETY: a row has V vectors of lanes.
                let y = unsafe { s.load_ptr(row.as_ptr().add(at * S::LANES)) };
                sums[at % 4] = s.fma(*x, y, sums[at % 4]);
            }
            *out = s.sum(s.add(s.add(sums[0], sums[1]), s.add(sums[2], sums[3])));
        }
    }
}

/// Asks for the numbers that come [`AHEAD`] bytes behind each of these, where several streams are read in turns and the machine
/// does not guess what comes next. One stream alone it does: there this would only cost.
#[inline(always)]
pub(super) fn ahead<S: Simd, T>(s: S, list: &[T]) {
    let begin = list.as_ptr().cast::<u8>().wrapping_add(AHEAD);
    let mut at = 0;
    while at < core::mem::size_of_val(list) {
        s.prefetch(begin.wrapping_add(at).cast());
        at += LINE_BYTES;
    }
}

/// Far enough that a cache line is there when it is read: some 100 ns at 20 GB/s, doubled.
const AHEAD: usize = 4096;

/// What a pair of numbers adds.
pub(super) trait Step: Copy {
    fn of<W: Wide>(self, x: W, y: W) -> W;
}

#[derive(Clone, Copy)]
pub(super) struct Product;
impl Step for Product {
    #[inline(always)]
    fn of<W: Wide>(self, x: W, y: W) -> W {
        x * y
    }
}

#[derive(Clone, Copy)]
pub(super) struct Square;
impl Step for Square {
    #[inline(always)]
    fn of<W: Wide>(self, x: W, y: W) -> W {
        (x - y) * (x - y)
    }
}

/// Sums that are made side by side: four vectors of the widest instruction set, to hide the latency of additions.
const SUMS: usize = 64;

struct Rows<'a, W, T, P> {
    vector: &'a [W],
    list: &'a [T],
    out: &'a mut [W],
    step: P,
}

impl<W: Wide, T: Widen<W>, P: Step> SimdOp for Rows<'_, W, T, P> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        for (row, out) in self.list.chunks_exact(self.vector.len()).zip(self.out) {
            *out = sum_of(self.step, self.vector, row);
        }
    }
}

/// The sum of what pairs of numbers add.
#[inline(always)]
pub(super) fn sum_of<W: Wide, T: Widen<W>, P: Step>(step: P, vector: &[W], row: &[T]) -> W {
    let ((wholes, rest), (row_wholes, row_rest)) =
        (vector.as_chunks::<SUMS>(), row.as_chunks::<SUMS>());
    let mut sums = [W::ZERO; SUMS];
    for (xs, ys) in wholes.iter().zip(row_wholes) {
        for i in 0..SUMS {
            sums[i] = sums[i] + step.of(xs[i], ys[i].wide());
        }
    }
    for (sum, (x, y)) in sums.iter_mut().zip(rest.iter().zip(row_rest)) {
        *sum = *sum + step.of(*x, y.wide());
    }
    total(sums)
}

/// The sum of all, by halves.
#[inline(always)]
fn total<W: Wide>(mut sums: [W; SUMS]) -> W {
    let mut half = SUMS / 2;
    while half > 0 {
        for i in 0..half {
            sums[i] = sums[i] + sums[i + half];
        }
        half /= 2;
    }
    sums[0]
}

/// The dot product of two lists of bytes, exact.
///
/// # Panics
/// If the lengths differ.
#[must_use]
pub fn dot_i8(isa: Isa, a: &[i8], b: &[i8]) -> i64 {
    assert_eq!(a.len(), b.len(), "the lengths of the vectors");
    dispatch(isa, DotI8 { a, b })
}

struct DotI8<'a> {
    a: &'a [i8],
    b: &'a [i8],
}

/// Products of bytes that an i32 surely holds: 2^14 each.
const PIECE: usize = 1 << 16;

impl SimdOp for DotI8<'_> {
    type Output = i64;

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) -> i64 {
        let pieces = self.a.chunks(PIECE).zip(self.b.chunks(PIECE));
        let mut total = 0;
        for (a, b) in pieces {
            let mut sum = 0_i32;
            for (x, y) in a.iter().zip(b) {
                sum += i32::from(i16::from(*x) * i16::from(*y));
            }
            total += i64::from(sum);
        }
        total
    }
}

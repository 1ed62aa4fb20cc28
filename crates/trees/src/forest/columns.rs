//! From values to the byte codes that splits compare.
//!
//! Everything that XGBoost, LightGBM and Vespa do differently when a row meets a split is decided
//! here: which side NaN takes, what else is missing, whether values are narrowed, which categories
//! are in a set. Each feature has as many columns of codes as there are ways to ask for it, each
//! for up to 255 thresholds. A split has the number of a column and goes right where the code is
//! above its own.

use stead_kernels::Isa;
use stead_kernels::forest::{NODE, Real, index_len, rank, write_index};

use super::rows::{Copied, Rows};
use crate::model::CategorySet;

/// Thresholds that a column of byte codes tells apart.
pub(super) const CHUNK: usize = 255;

/// Numbers nearer to 0 than this are 0 for LightGBM (`kZeroThreshold` of its meta.h).
const NEAR_ZERO: f64 = 1e-35_f32 as f64;

/// What a numeric split does with what is no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Nan {
    /// NaN goes left.
    Left,
    /// NaN goes right.
    Right,
    /// NaN is 0.
    Zero,
    /// NaN and what is near 0 go left.
    ZeroLeft,
    /// NaN and what is near 0 go right.
    ZeroRight,
}

/// Splits `x < threshold` of one feature that treat NaN alike.
#[derive(Debug)]
pub(super) struct Numeric {
    pub(super) feature: u32,
    pub(super) nan: Nan,
    /// How many thresholds there are.
    thresholds: usize,
    /// Where they are looked up.
    wide: Vec<[f64; NODE]>,
    /// The same with the smallest f32 that is at least the threshold: `x < t` is the same of both
    /// for an f32 `x`.
    narrow: Vec<[f32; NODE]>,
    /// The first of its columns, one for each [`CHUNK`] of thresholds.
    pub(super) column: u32,
}

/// A split by categories. Its code is 0 for left and 1 for right.
#[derive(Debug)]
pub(super) struct Categorical {
    pub(super) feature: u32,
    pub(super) set: Lookup,
    pub(super) inside_left: bool,
    pub(super) nan_left: bool,
    /// A negative number that rounds to 0 is category 0 for LightGBM and none for XGBoost.
    pub(super) from_minus_one: bool,
    pub(super) column: u32,
}

/// A set of codes, as a bit for each where that takes no more memory than the model.
#[derive(Debug)]
pub(super) enum Lookup {
    Bits(Vec<u32>),
    Sorted(Vec<u32>),
}

impl Lookup {
    pub(super) fn new(set: &CategorySet) -> Lookup {
        let words = set.last().map_or(0, |last| last as usize / 32 + 1);
        if words > set.codes().len().max(64) {
            return Lookup::Sorted(set.codes().to_vec());
        }
        let mut bits = vec![0; words];
        for code in set.codes() {
            bits[*code as usize / 32] |= 1 << (code % 32);
        }
        Lookup::Bits(bits)
    }

    fn has(&self, code: u32) -> bool {
        match self {
            Lookup::Bits(bits) => {
                bits.get(code as usize / 32).is_some_and(|word| word >> (code % 32) & 1 == 1)
            }
            Lookup::Sorted(codes) => codes.binary_search(&code).is_ok(),
        }
    }
}

/// All columns of a forest.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) numeric: Vec<Numeric>,
    pub(super) categorical: Vec<Categorical>,
    /// How many columns of codes there are.
    pub(super) count: usize,
    /// Values are rounded to f32 before they are compared.
    pub(super) narrow: bool,
}

/// Room for the values of one feature in a block of rows.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    f32s: Vec<f32>,
    f64s: Vec<f64>,
    ranks: Vec<u32>,
}

impl Columns {
    /// Writes the codes of `count` rows from `first` on; each column has room for `width` rows, of
    /// which the last keep what they have.
    pub(super) fn encode(
        &self,
        isa: Isa,
        rows: &Rows<'_>,
        (first, count, width): (usize, usize, usize),
        buffers: &mut Buffers,
        codes: &mut [i8],
    ) {
        buffers.f32s.resize(width, 0.0);
        buffers.f64s.resize(width, 0.0);
        buffers.ranks.resize(width, 0);
        let Buffers { f32s, f64s, ranks } = buffers;
        let (f32s, f64s) = (&mut f32s[..count], &mut f64s[..count]);
        let ranks = &mut ranks[..count];
        for column in &self.numeric {
            match rows.copy(column.feature as usize, first, f32s, f64s) {
                Copied::F32 => column.rank32(isa, f32s, ranks),
                Copied::F64 if self.narrow => {
                    narrow(f64s, f32s);
                    column.rank32(isa, f32s, ranks);
                }
                Copied::F64 => column.rank64(isa, f64s, ranks),
            }
            let chunks = column.thresholds.div_ceil(CHUNK);
            for chunk in 0..chunks {
                let below = (chunk * CHUNK) as u32;
                let out = &mut codes[(column.column as usize + chunk) * width..][..count];
                for (out, rank) in out.iter_mut().zip(&*ranks) {
                    *out = code(rank.saturating_sub(below).min(CHUNK as u32) as u8);
                }
            }
        }
        for column in &self.categorical {
            let out = &mut codes[column.column as usize * width..][..count];
            match rows.copy(column.feature as usize, first, f32s, f64s) {
                Copied::F32 => {
                    let side = |x: &f32| column.code(f64::from(*x));
                    out.iter_mut().zip(&*f32s).for_each(|(out, x)| *out = side(x));
                }
                Copied::F64 => {
                    let narrow = |x: f64| if self.narrow { f64::from(x as f32) } else { x };
                    let side = |x: &f64| column.code(narrow(*x));
                    out.iter_mut().zip(&*f64s).for_each(|(out, x)| *out = side(x));
                }
            }
        }
    }
}

fn index<T: Real>(thresholds: &[T]) -> Vec<[T; NODE]> {
    let mut index = vec![[T::NAN; NODE]; index_len(thresholds.len())];
    write_index(thresholds, &mut index);
    index
}

/// A rank as the signed byte that machines compare.
pub(super) fn code(rank: u8) -> i8 {
    (rank ^ 0x80) as i8
}

fn narrow(values: &[f64], out: &mut [f32]) {
    for (out, x) in out.iter_mut().zip(values) {
        *out = *x as f32;
    }
}

impl Numeric {
    /// `thresholds` ascend, each once.
    pub(super) fn new(feature: u32, nan: Nan, thresholds: &[f64], column: u32) -> Numeric {
        let f32s: Vec<f32> = thresholds.iter().map(|t| at_least(*t)).collect();
        let (wide, narrow) = (index(thresholds), index(&f32s));
        Numeric { feature, nan, thresholds: thresholds.len(), wide, narrow, column }
    }

    fn nan_high(&self) -> bool {
        matches!(self.nan, Nan::Right | Nan::ZeroRight)
    }

    fn rank32(&self, isa: Isa, values: &mut [f32], ranks: &mut [u32]) {
        match self.nan {
            Nan::Left | Nan::Right => {}
            Nan::Zero => values.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = 0.0),
            Nan::ZeroLeft | Nan::ZeroRight => values
                .iter_mut()
                .filter(|x| x.abs() <= NEAR_ZERO as f32)
                .for_each(|x| *x = f32::NAN),
        }
        rank(isa, values, self.thresholds, &self.narrow, self.nan_high(), ranks);
    }

    fn rank64(&self, isa: Isa, values: &mut [f64], ranks: &mut [u32]) {
        match self.nan {
            Nan::Left | Nan::Right => {}
            Nan::Zero => values.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = 0.0),
            Nan::ZeroLeft | Nan::ZeroRight => {
                values.iter_mut().filter(|x| x.abs() <= NEAR_ZERO).for_each(|x| *x = f64::NAN);
            }
        }
        rank(isa, values, self.thresholds, &self.wide, self.nan_high(), ranks);
    }
}

impl Categorical {
    fn code(&self, x: f64) -> i8 {
        let lowest = if self.from_minus_one { x > -1.0 } else { x >= 0.0 };
        let left = if x.is_nan() {
            self.nan_left
        } else {
            let inside = lowest && x < f64::from(CategorySet::MAX) + 1.0 && self.set.has(x as u32);
            inside == self.inside_left
        };
        code(u8::from(!left))
    }
}

/// The smallest f32 that is at least `x`.
fn at_least(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) < x { near.next_up() } else { near }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_threshold_parts_the_same_f32() {
        let thresholds = [0.1, -0.1, 0.5, 1e300, -1e300, 1e-300, -1e-300, 0.0, 16777217.0];
        let values = [0.1_f32, -0.1, 0.5, f32::MAX, f32::MIN, 1e-45, -1e-45, 0.0, 16777216.0];
        for t in thresholds {
            for near in values {
                for x in [near.next_down(), near, near.next_up()] {
                    assert_eq!(f64::from(x) < t, x < at_least(t), "{x:e} < {t:e}");
                }
            }
        }
    }

    #[test]
    fn categories_of_one_split() {
        let column = |from_minus_one, set: &[u32]| Categorical {
            feature: 0,
            set: Lookup::new(&CategorySet::new(set.to_vec())),
            inside_left: true,
            nan_left: false,
            from_minus_one,
            column: 0,
        };
        for (label, set) in [("bits", vec![0, 3]), ("sorted", vec![0, 3, 1_000_000])] {
            let lightgbm = column(true, &set);
            let xgboost = column(false, &set);
            let cases = [
                (0.0, true, true),
                (3.9, true, true),
                (1.0, false, false),
                (-0.5, true, false),
                (-1.0, false, false),
                (f64::NAN, false, false),
                (f64::INFINITY, false, false),
                (1e9, false, false),
            ];
            for (x, l, r) in cases {
                assert_eq!(lightgbm.code(x) == code(0), l, "{label}: {x} of LightGBM");
                assert_eq!(xgboost.code(x) == code(0), r, "{label}: {x} of XGBoost");
            }
        }
    }
}

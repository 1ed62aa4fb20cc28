//! The types of the numbers of vectors.

use std::borrow::Cow;
use std::fmt::Debug;

use half::bf16;
use stead_kernels::Isa;
use stead_kernels::vector::{Floats, Wide, Widen, hamming_scattered};

/// A float in which vectors are compared.
pub trait Number: Wide + Floats + Into<f64> + Debug {
    /// The nearest to a number.
    fn of(number: f64) -> Self;
}

impl Number for f32 {
    fn of(number: f64) -> f32 {
        number as f32
    }
}

impl Number for f64 {
    fn of(number: f64) -> f64 {
        number
    }
}

/// A number of a vector, as it is stored: f64, f32, bf16 or i8.
pub trait Cell: Widen<Self::Wide> + PartialEq + Debug {
    /// The float in which vectors of them are compared.
    type Wide: Number;

    /// Whether graphs keep sketches of vectors of them: of shorter cells these would be much beside the vectors.
    const IS_SKETCHED: bool = false;

    /// The nearest to a number.
    fn of(number: f64) -> Self;

    /// The nearest numbers of f32.
    fn floats(list: &[Self]) -> Cow<'_, [f32]> {
        list.iter().map(|x| x.wide().into() as f32).collect()
    }

    /// How many cells differ in `vector` and each of `list`; of bytes, how many bits.
    fn differing(_isa: Isa, vector: &[Self], list: &[&[Self]], out: &mut [u32]) {
        for (out, row) in out.iter_mut().zip(list) {
            *out = vector.iter().zip(*row).map(|(x, y)| u32::from(x != y)).sum();
        }
    }
}

impl Cell for f64 {
    type Wide = f64;
    const IS_SKETCHED: bool = true;

    fn of(number: f64) -> f64 {
        number
    }
}

impl Cell for f32 {
    type Wide = f32;
    const IS_SKETCHED: bool = true;

    fn of(number: f64) -> f32 {
        number as f32
    }

    fn floats(list: &[f32]) -> Cow<'_, [f32]> {
        list.into()
    }
}

impl Cell for bf16 {
    type Wide = f32;

    fn of(number: f64) -> bf16 {
        bf16::from_f64(number)
    }
}

impl Cell for i8 {
    type Wide = f32;

    fn of(number: f64) -> i8 {
        number as i8
    }

    fn differing(isa: Isa, vector: &[i8], list: &[&[i8]], out: &mut [u32]) {
        hamming_scattered(isa, vector, list, out);
    }
}

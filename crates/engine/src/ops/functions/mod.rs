//! Functions of the standard without a kernel of their own: each writes the operators that it stands for.
//!
//! Those that everybody uses (LayerNormalization, Softmax, Attention...) have kernels; here is what nobody waits for,
//! and what a few others compute as fast. The expanded models of the standard's own tests are what they are
//! compared with.

mod earlier;
mod flex_attention;
pub(crate) mod gradient;
mod losses;
mod maths;
mod random;
mod swiglu;
mod training;
mod windows;

use super::OpDef;

/// The tables of this family.
pub const TABLES: [&[OpDef]; 8] = [
    earlier::OPS,
    flex_attention::OPS,
    gradient::OPS,
    losses::OPS,
    random::OPS,
    swiglu::OPS,
    training::OPS,
    windows::OPS,
];

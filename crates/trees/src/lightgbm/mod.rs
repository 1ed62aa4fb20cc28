//! Models of LightGBM.

mod categories;
pub(crate) mod json;
pub(crate) mod objective;
pub(crate) mod text;

use crate::error::{Place, TreeError};
use crate::model::Missing;

/// Which tree belongs to which output, and the number of iterations, as the header says.
struct Rounds {
    outputs: usize,
    average: bool,
}

impl Rounds {
    /// What the sums of `trees` trees are divided by.
    fn divide(&self, trees: usize) -> Result<f64, TreeError> {
        if !trees.is_multiple_of(self.outputs) {
            let expected = format!("a divisor of the number of trees, {trees}");
            return Err(TreeError::field(Place::Model, "num_tree_per_iteration", expected));
        }
        Ok(if self.average { (trees / self.outputs).max(1) as f64 } else { 1.0 })
    }
}

/// `decision_type` of a node: bit 0 categorical, bit 1 missing goes left, bits 2 and 3 what is
/// missing (`kCategoricalMask`, `kDefaultLeftMask`, `GetMissingType` of tree.h).
struct Decision {
    categorical: bool,
    default_left: bool,
    missing: Missing,
}

impl Decision {
    fn of_bits(bits: f64) -> Option<Decision> {
        if !(0.0..16.0).contains(&bits) {
            return None;
        }
        let bits = bits as u8;
        let missing = match bits >> 2 {
            0 => Missing::None,
            1 => Missing::Zero,
            2 => Missing::Nan,
            _ => return None,
        };
        Some(Decision { categorical: bits & 1 != 0, default_left: bits & 2 != 0, missing })
    }
}

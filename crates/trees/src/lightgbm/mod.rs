//! Models of LightGBM.

mod categories;
pub(crate) mod json;
pub(crate) mod objective;
pub(crate) mod text;

use self::objective::objective;
use crate::error::{Place, TreeError};
use crate::limits::Limits;
use crate::link::Link;
use crate::model::{Feature, Format, Missing, Model, Tree};

/// What a file says before its trees.
struct Header<'t> {
    features: Vec<Feature>,
    /// The objective as it is written.
    text: Option<&'t str>,
    link: Link,
    rounds: Rounds,
}

impl<'t> Header<'t> {
    fn new(
        features: Vec<Feature>,
        text: Option<&'t str>,
        rounds: Rounds,
    ) -> Result<Header<'t>, TreeError> {
        Ok(Header { features, text, link: objective(text.unwrap_or(""))?, rounds })
    }

    /// The output that a tree belongs to: those of an iteration are in the order of the outputs.
    fn output(&self, tree: usize) -> u32 {
        (tree % self.rounds.outputs) as u32
    }

    fn model(self, format: Format, trees: Vec<Tree>) -> Result<Model, TreeError> {
        Ok(Model {
            format,
            features: self.features,
            divide: self.rounds.divide(trees.len())?,
            trees,
            base: vec![0.0; self.rounds.outputs],
            vespa_base: 0.0,
            objective: self.text.map(str::to_owned),
            link: self.link,
        })
    }
}

/// The feature that a node asks, by its number as files write it.
fn asked(features: &mut [Feature], number: f64, place: Place) -> Result<&mut Feature, TreeError> {
    let count = features.len();
    let feature = (number >= 0.0).then(|| features.get_mut(number as usize)).flatten();
    let feature = feature.ok_or_else(|| {
        TreeError::field(place, "split_feature", format!("a whole number below {count}"))
    })?;
    feature.used = true;
    Ok(feature)
}

fn check_features(count: usize, limits: &Limits) -> Result<(), TreeError> {
    let limit = limits.features;
    if count > limit {
        return Err(TreeError::Limit { place: Place::Model, what: "features", limit });
    }
    Ok(())
}

/// How many trees an iteration has, one for each output, and whether the iterations are averaged.
struct Rounds {
    outputs: usize,
    average: bool,
}

impl Rounds {
    /// As files write the trees of an iteration.
    fn new(outputs: Option<f64>, average: bool, limits: &Limits) -> Result<Rounds, TreeError> {
        let most = limits.outputs;
        let outputs = outputs.filter(|n| *n >= 1.0 && *n <= most as f64).ok_or_else(|| {
            let expected = format!("a number from 1 to {most}");
            TreeError::field(Place::Model, "num_tree_per_iteration", expected)
        })?;
        Ok(Rounds { outputs: outputs as usize, average })
    }

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

//! A model to a forest.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use stead_kernels::forest::{self, LEAF, Sum};

use super::Forest;
use super::columns::{CHUNK, Categorical, Columns, Lookup, Nan, Numeric, code};
use super::program::{Program, Sums};
use crate::link::Link;
use crate::mode::Mode;
use crate::model::{CategorySet, Format, Library, Missing, Model, Node, Test, Tree};

/// The link that Vespa puts around the sum of a LightGBM model, by the words of its objective.
pub(crate) fn vespa_link(objective: &str) -> Link {
    match objective {
        "cross_entropy" => Link::Sigmoid(1.0),
        "poisson" | "gamma" | "tweedie" => Link::Exp,
        _ if objective.starts_with("binary") => Link::Sigmoid(1.0),
        _ => Link::Identity,
    }
}

/// How the splits of a model are asked.
#[derive(Clone, Copy)]
struct Rules {
    library: Library,
    /// As Vespa does.
    compat: bool,
    /// Vespa lowers the thresholds of saved models of XGBoost.
    lower: bool,
}

/// A numeric split: less than a threshold, and where NaN goes.
type Less = (f64, Nan);

impl Rules {
    fn less(self, test: &Test) -> Option<Less> {
        let side = |left| if left { Nan::Left } else { Nan::Right };
        match *test {
            Test::Less { threshold, missing_left } => {
                let threshold = match self.lower {
                    true => f64::from((threshold as f32).next_down()),
                    false => threshold,
                };
                Some((threshold, side(missing_left)))
            }
            Test::AtMost { threshold, default_left, .. } if self.compat => {
                Some((threshold, side(default_left)))
            }
            Test::AtMost { threshold, missing, default_left } => {
                let nan = match (missing, default_left) {
                    (Missing::None, _) => Nan::Zero,
                    (Missing::Zero, true) => Nan::ZeroLeft,
                    (Missing::Zero, false) => Nan::ZeroRight,
                    (Missing::Nan, left) => side(left),
                };
                // x <= t is x < the next number.
                Some((threshold.next_up(), nan))
            }
            Test::Among { .. } => None,
        }
    }
}

pub(super) fn forest(model: &Model, mode: Mode) -> Forest {
    let compat = mode == Mode::Compat && model.not_in_vespa().is_none();
    let library = model.library();
    let narrow = library == Library::XgBoost && !compat;
    let lower = compat && matches!(model.format, Format::XgBoostJson | Format::XgBoostUbj);
    let rules = Rules { library, compat, lower };
    let (columns, places) = columns(model, rules, narrow);
    let sums = if narrow {
        Sums::Narrow(program(model, rules, &places, |value, _, weight| {
            value as f32 * weight as f32
        }))
    } else {
        Sums::Wide(program(
            model,
            rules,
            &places,
            |value, vespa, weight| {
                if compat { vespa } else { value * weight }
            },
        ))
    };
    let link = match (compat, library) {
        (false, _) => model.link,
        (true, Library::XgBoost) => Link::Identity,
        (true, Library::LightGbm) => vespa_link(model.objective().unwrap_or("")),
    };
    let mut features = model.features.clone();
    for (i, feature) in features.iter_mut().enumerate() {
        if feature.name.is_empty() {
            let prefix = if mode == Mode::Compat { "xgboost_input_" } else { "f" };
            feature.name = format!("{prefix}{i}");
        }
    }
    let base = if compat { vec![model.vespa_base; model.base.len()] } else { model.base.clone() };
    Forest { features, columns, sums, base, link, divide: model.divide, narrow }
}

/// Where the code of each split is found.
struct Places<'a> {
    /// By feature and rule: the thresholds, ascending, and the first column.
    numeric: HashMap<(u32, Nan), (Vec<f64>, u32)>,
    categorical: BTreeMap<Sided<'a>, u32>,
}

/// A categorical split of a feature: whether the set is left, whether NaN is, the set.
type Sided<'a> = (u32, bool, bool, &'a CategorySet);

fn sided(feature: u32, test: &Test) -> Option<Sided<'_>> {
    match test {
        Test::Among { set, inside_left, missing_left } => {
            Some((feature, *inside_left, *missing_left, set))
        }
        _ => None,
    }
}

impl Places<'_> {
    /// The column of a split and its code: above goes right.
    fn of(&self, feature: u32, test: &Test, rules: Rules) -> (u32, i8) {
        match rules.less(test) {
            None => {
                let column = sided(feature, test).and_then(|key| self.categorical.get(&key));
                (column.copied().unwrap_or(0), code(0))
            }
            Some((threshold, nan)) => {
                let Some((thresholds, first)) = self.numeric.get(&(feature, nan)) else {
                    return (0, code(0));
                };
                let at = thresholds.partition_point(|t| *t < threshold);
                (first + (at / CHUNK) as u32, code((at % CHUNK) as u8))
            }
        }
    }
}

fn columns(model: &Model, rules: Rules, narrow: bool) -> (Columns, Places<'_>) {
    let mut groups: BTreeMap<(u32, Nan), Vec<f64>> = BTreeMap::new();
    let mut sets: BTreeSet<Sided<'_>> = BTreeSet::new();
    for node in model.trees.iter().flat_map(|tree| &tree.nodes) {
        let Node::Split { feature, test, .. } = node else { continue };
        match rules.less(test) {
            Some((threshold, nan)) => groups.entry((*feature, nan)).or_default().push(threshold),
            None => sets.extend(sided(*feature, test)),
        }
    }
    let mut columns = Columns { narrow, ..Columns::default() };
    let mut places = Places { numeric: HashMap::new(), categorical: BTreeMap::new() };
    for ((feature, nan), mut thresholds) in groups {
        thresholds.sort_unstable_by(f64::total_cmp);
        // 0 and -0 part the same numbers.
        thresholds.dedup_by(|a, b| a == b);
        let column = columns.count as u32;
        columns.count += thresholds.len().div_ceil(CHUNK);
        columns.numeric.push(Numeric::new(feature, nan, &thresholds, column));
        places.numeric.insert((feature, nan), (thresholds, column));
    }
    for key @ (feature, inside_left, missing_left, set) in sets {
        let column = columns.count as u32;
        columns.count += 1;
        places.categorical.insert(key, column);
        columns.categorical.push(Categorical {
            feature,
            set: Lookup::new(set),
            inside_left,
            // LightGBM ignores the flag.
            nan_left: missing_left && (rules.compat || rules.library == Library::XgBoost),
            from_minus_one: rules.library == Library::LightGbm,
            column,
        });
    }
    (columns, places)
}

fn program<T: Sum + Default>(
    model: &Model,
    rules: Rules,
    places: &Places<'_>,
    leaf: impl Fn(f64, f64, f64) -> T,
) -> Program<T> {
    let mut program = Program::new();
    for tree in &model.trees {
        let (numbers, first) = numbers(tree);
        let mut splits = Vec::new();
        let mut ranges = Vec::new();
        let mut leaves = Vec::new();
        for (i, node) in tree.nodes.iter().enumerate() {
            match node {
                Node::Leaf { value, vespa } => leaves.push(leaf(*value, *vespa, tree.weight)),
                Node::Split { feature, test, left, right } => {
                    let (column, code) = places.of(*feature, test, rules);
                    let children = [*left, *right].map(|child| numbers[child as usize]);
                    splits.push(forest::Node { column, code, children });
                    ranges.push((first[i], first[*right as usize]));
                }
            }
        }
        program.push(&splits, &ranges, &leaves, tree.output);
    }
    program.finish()
}

/// For each node its number among splits, or with [`LEAF`] among leaves; and how many leaves stand
/// before it, which in pre-order is the first leaf below it.
fn numbers(tree: &Tree) -> (Vec<u32>, Vec<u32>) {
    let (mut splits, mut leaves) = (0, 0);
    let mut numbers = Vec::with_capacity(tree.nodes.len());
    let mut first = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        first.push(leaves);
        match node {
            Node::Split { .. } => {
                numbers.push(splits);
                splits += 1;
            }
            Node::Leaf { .. } => {
                numbers.push(LEAF | leaves);
                leaves += 1;
            }
        }
    }
    (numbers, first)
}

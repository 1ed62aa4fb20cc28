//! What `save_model` writes: lines of `name=value` for the header and each tree
//! (`GBDT::SaveModelToString`, `Tree::ToString`).

use std::collections::HashMap;

use super::{Decision, Header, Rounds, asked, categories, check_features};
use crate::assemble::{Budget, Raw, assemble};
use crate::document::json;
use crate::error::{Place, TreeError};
use crate::limits::Limits;
use crate::model::{CategorySet, Feature, Format, Model, Node, Test, Tree};

/// Lines of `name=value` up to the next section.
type Fields<'a> = HashMap<&'a str, &'a str>;

/// Reads a file.
///
/// # Errors
/// As [`crate::read`].
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Model, TreeError> {
    let text = std::str::from_utf8(bytes).map_err(|e| TreeError::Syntax {
        format: "LightGBM text",
        offset: e.valid_up_to(),
        expected: "UTF-8",
    })?;
    let (head, body) = text.split_once("\nTree=").unwrap_or((text, ""));
    let head_fields = fields(head);
    let (body, tail) = body.split_once("end of trees").unwrap_or((body, ""));
    let objective = head_fields.get("objective").copied();
    let features = features(&head_fields, limits)?;
    let mut header = Header::new(features, objective, rounds(&head_fields, head, limits)?)?;
    let mut budget = Budget::new(limits);
    let mut trees = Vec::new();
    let sections = body.split("\nTree=").filter(|section| !section.trim().is_empty());
    for (number, section) in sections.enumerate() {
        if number >= limits.trees {
            let limit = limits.trees;
            return Err(TreeError::Limit { place: Place::Model, what: "trees", limit });
        }
        let nodes = tree(number, &fields(section), &mut budget, &mut header.features)?;
        trees.push(Tree { nodes, output: header.output(number), weight: 1.0 });
    }
    let pandas = tail.lines().find_map(|line| line.strip_prefix("pandas_categorical:"));
    if let Some(pandas) = pandas.filter(|text| *text != "null") {
        let document = json::parse(pandas.as_bytes(), limits)?;
        categories::name(&mut header.features, Some(document.root()));
    }
    header.model(Format::LightGbmText, trees)
}

fn fields(section: &str) -> Fields<'_> {
    section.lines().filter_map(|line| line.trim_end().split_once('=')).collect()
}

fn rounds(header: &Fields<'_>, head: &str, limits: &Limits) -> Result<Rounds, TreeError> {
    let outputs = header.get("num_tree_per_iteration").map_or(Ok(1), |text| text.parse::<u32>());
    // A line without a value.
    let average = head.lines().any(|line| line.trim_end() == "average_output");
    Rounds::new(outputs.ok().map(f64::from), average, limits)
}

fn features(header: &Fields<'_>, limits: &Limits) -> Result<Vec<Feature>, TreeError> {
    let names = header.get("feature_names");
    let names = names.ok_or_else(|| TreeError::field(Place::Model, "feature_names", "there"))?;
    let mut features = Vec::new();
    for name in names.split(' ').filter(|name| !name.is_empty()) {
        features.push(Feature::named(name));
        check_features(features.len(), limits)?;
    }
    // `[min:max]` of numbers, `none` of what is constant, otherwise categories joined by colons.
    let infos = header.get("feature_infos").copied().unwrap_or("").split(' ');
    for (feature, info) in features.iter_mut().zip(infos) {
        feature.categorical = !info.is_empty() && info != "none" && !info.starts_with('[');
    }
    Ok(features)
}

/// Numbers separated by spaces.
fn numbers(
    fields: &Fields<'_>,
    place: Place,
    name: &str,
    count: Option<usize>,
) -> Result<Vec<f64>, TreeError> {
    let words = fields.get(name).copied().unwrap_or("").split_ascii_whitespace();
    let list: Result<Vec<f64>, _> = words.map(str::parse).collect();
    list.ok().filter(|list| count.is_none_or(|count| list.len() == count)).ok_or_else(|| {
        let expected = match count {
            Some(count) => format!("{count} numbers"),
            None => "numbers".to_owned(),
        };
        TreeError::field(place, name, expected)
    })
}

fn tree(
    number: usize,
    fields: &Fields<'_>,
    budget: &mut Budget,
    features: &mut [Feature],
) -> Result<Vec<Node>, TreeError> {
    let place = Place::Tree(number);
    if fields.get("is_linear").is_some_and(|text| text.trim() == "1") {
        return Err(TreeError::unsupported(place, "a linear tree"));
    }
    let leaf = numbers(fields, place, "leaf_value", None)?;
    if leaf.is_empty() {
        return Err(TreeError::field(place, "leaf_value", "one number or more"));
    }
    let splits = leaf.len() - 1;
    let list = |name| numbers(fields, place, name, Some(splits));
    let feature = list("split_feature")?;
    let threshold = list("threshold")?;
    let decision = list("decision_type")?;
    let left = list("left_child")?;
    let right = list("right_child")?;
    let bounds = numbers(fields, place, "cat_boundaries", None)?;
    let words = numbers(fields, place, "cat_threshold", None)?;
    // Each set belongs to one split. Sets that overlap could be larger together than the file.
    if !bounds.is_sorted() {
        return Err(TreeError::field(place, "cat_boundaries", "ascending"));
    }
    let mut taken = vec![false; bounds.len()];
    // Leaves are ~0, ~1, ... there and stand behind the splits here. What is no whole number is
    // no node.
    let child = |x: f64| match x {
        x if x.fract() != 0.0 => usize::MAX,
        x if x < 0.0 => splits.saturating_add((-x) as usize - 1),
        x => x as usize,
    };
    assemble(number, splits + leaf.len(), budget, |i| {
        let place = Place::Node { tree: number, node: i };
        if i >= splits {
            let value = leaf[i - splits];
            return Ok(Raw::Leaf { value, vespa: value });
        }
        let slot = asked(features, feature[i], place)?;
        let bits = Decision::of_bits(decision[i]);
        let bits = bits.ok_or_else(|| {
            TreeError::field(place, "decision_type", "0 to 11, without 12 and above")
        })?;
        let test = if bits.categorical {
            slot.categorical = true;
            let set = set(&bounds, &words, threshold[i], &mut taken);
            let set = set.ok_or_else(|| {
                let expected = "an entry of `cat_boundaries` of its own";
                TreeError::field(place, "threshold", expected)
            })?;
            Test::Among { set, inside_left: true, missing_left: bits.default_left }
        } else {
            if threshold[i].is_nan() {
                return Err(TreeError::field(place, "threshold", "a number"));
            }
            let (missing, default_left) = (bits.missing, bits.default_left);
            Test::AtMost { threshold: threshold[i], missing, default_left }
        };
        let (left, right) = (child(left[i]), child(right[i]));
        Ok(Raw::Split { feature: feature[i] as u32, test, left, right })
    })
}

/// The set that starts at `words[bounds[index]]`, 32 categories in a word.
fn set(bounds: &[f64], words: &[f64], index: f64, taken: &mut [bool]) -> Option<CategorySet> {
    let index = (index >= 0.0 && index < bounds.len() as f64).then_some(index as usize)?;
    if std::mem::replace(taken.get_mut(index)?, true) {
        return None;
    }
    let words = words.get(*bounds.get(index)? as usize..*bounds.get(index + 1)? as usize)?;
    let mut codes = Vec::new();
    for (word, bits) in words.iter().enumerate() {
        let bits = *bits as u32;
        codes.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| word as u32 * 32 + bit));
    }
    Some(CategorySet::new(codes))
}

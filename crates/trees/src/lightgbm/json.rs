//! What `dump_model()` writes: a header and nested nodes (`GBDT::DumpModel`, `Tree::NodeToJSON`).

use super::{Header, Rounds, asked, categories, check_features};
use crate::assemble::{Budget, Raw, assemble};
use crate::document::Value;
use crate::error::{Place, TreeError};
use crate::limits::Limits;
use crate::model::{CategorySet, Feature, Format, Missing, Model, Test, Tree};

/// Reads the document of a dump.
///
/// # Errors
/// As [`crate::read`].
pub(crate) fn read(root: Value<'_>, limits: &Limits) -> Result<Model, TreeError> {
    let objective = root.get("objective").and_then(Value::text);
    let mut header = Header::new(features(root, limits)?, objective, rounds(root, limits)?)?;
    let list = root.get("tree_info").filter(|list| list.is_array());
    let list = list.ok_or_else(|| TreeError::field(Place::Model, "tree_info", "an array"))?;
    if list.len() > limits.trees {
        return Err(TreeError::Limit { place: Place::Model, what: "trees", limit: limits.trees });
    }
    let mut budget = Budget::new(limits);
    let mut trees = Vec::with_capacity(list.len());
    for (number, value) in list.elements().enumerate() {
        let place = Place::Tree(number);
        let structure = value.get("tree_structure").filter(|value| value.is_object());
        let structure =
            structure.ok_or_else(|| TreeError::field(place, "tree_structure", "an object"))?;
        let nodes = nodes(number, structure)?;
        let nodes = assemble(number, nodes.len(), &mut budget, |i| {
            node(Place::Node { tree: number, node: i }, &nodes[i], &mut header.features)
        })?;
        trees.push(Tree { nodes, output: header.output(number), weight: 1.0 });
    }
    categories::name(&mut header.features, root.get("pandas_categorical"));
    header.model(Format::LightGbmJson, trees)
}

fn rounds(root: Value<'_>, limits: &Limits) -> Result<Rounds, TreeError> {
    let outputs = root.get("num_tree_per_iteration").map(|value| value.number());
    let average = root.get("average_output").and_then(Value::truth).unwrap_or(false);
    Rounds::new(outputs.unwrap_or(Some(1.0)), average, limits)
}

fn features(root: Value<'_>, limits: &Limits) -> Result<Vec<Feature>, TreeError> {
    let names = root.get("feature_names").filter(|names| names.is_array());
    let names = names
        .ok_or_else(|| TreeError::field(Place::Model, "feature_names", "an array of strings"))?;
    check_features(names.len(), limits)?;
    let mut features = Vec::with_capacity(names.len());
    for name in names.elements() {
        let name = name.text().ok_or_else(|| {
            TreeError::field(Place::Model, "feature_names", "an array of strings")
        })?;
        features.push(Feature::named(name));
    }
    // Since 4.0 the file tells which features have categories; before, only splits show it.
    if let Some(infos) = root.get("feature_infos").filter(|infos| infos.is_object()) {
        let categorical: std::collections::HashSet<&str> = infos
            .members()
            .filter(|(_, info)| info.get("values").is_some_and(|values| values.len() > 0))
            .map(|(name, _)| name)
            .collect();
        for feature in &mut features {
            feature.categorical = categorical.contains(feature.name.as_str());
        }
    }
    Ok(features)
}

/// A node and where its children are in the list of nodes.
struct Nested<'a> {
    value: Value<'a>,
    children: Option<(usize, usize)>,
}

/// All nodes of a tree, parents first.
fn nodes(tree: usize, root: Value<'_>) -> Result<Vec<Nested<'_>>, TreeError> {
    let mut nodes = vec![Nested { value: root, children: None }];
    let mut at = 0;
    while let Some(value) = nodes.get(at).map(|node| node.value) {
        match (value.get("left_child"), value.get("right_child")) {
            (None, None) => {}
            (Some(left), Some(right)) => {
                nodes[at].children = Some((nodes.len(), nodes.len() + 1));
                nodes.push(Nested { value: left, children: None });
                nodes.push(Nested { value: right, children: None });
            }
            _ => {
                let place = Place::Node { tree, node: at };
                return Err(TreeError::field(place, "left_child", "beside a right_child"));
            }
        }
        at += 1;
    }
    Ok(nodes)
}

fn node(place: Place, node: &Nested<'_>, features: &mut [Feature]) -> Result<Raw, TreeError> {
    let value = node.value;
    let Some((left, right)) = node.children else {
        if value.get("leaf_const").is_some() {
            return Err(TreeError::unsupported(place, "a linear tree"));
        }
        let leaf = value.get("leaf_value").and_then(Value::number);
        let leaf = leaf.ok_or_else(|| TreeError::field(place, "leaf_value", "a number"))?;
        return Ok(Raw::Leaf { value: leaf, vespa: leaf });
    };
    let index = value.get("split_feature").and_then(Value::number).unwrap_or(-1.0);
    let feature = asked(features, index, place)?;
    let default_left = value.get("default_left").and_then(Value::truth).unwrap_or(false);
    let threshold = value.get("threshold");
    let test = match value.get("decision_type").and_then(Value::text) {
        Some("==") => {
            feature.categorical = true;
            let set = threshold.and_then(Value::text).and_then(set);
            let set = set
                .ok_or_else(|| TreeError::field(place, "threshold", "categories joined by `||`"))?;
            // The flag has no effect in LightGBM (`CategoricalDecision`); Vespa heeds it.
            Test::Among { set, inside_left: true, missing_left: default_left }
        }
        Some("<=") => {
            let threshold = threshold.and_then(number);
            let threshold =
                threshold.ok_or_else(|| TreeError::field(place, "threshold", "a number"))?;
            let missing = match value.get("missing_type").and_then(Value::text) {
                Some("None") => Missing::None,
                Some("Zero") => Missing::Zero,
                Some("NaN") => Missing::Nan,
                _ => return Err(TreeError::field(place, "missing_type", "None, Zero or NaN")),
            };
            Test::AtMost { threshold, missing, default_left }
        }
        _ => return Err(TreeError::field(place, "decision_type", "`<=` or `==`")),
    };
    Ok(Raw::Split { feature: index as u32, test, left, right })
}

/// A threshold, which old versions wrote in quotes.
fn number(value: Value<'_>) -> Option<f64> {
    value.number().or_else(|| value.text()?.parse().ok()).filter(|x| !x.is_nan())
}

fn set(text: &str) -> Option<CategorySet> {
    let codes = text.split("||").filter(|code| !code.is_empty()).map(|code| code.parse());
    codes.collect::<Result<Vec<u32>, _>>().ok().map(CategorySet::new)
}

//! What `dump_model(..., dump_format="json")` writes: nested nodes, each with its number
//! (`JsonGenerator` in src/tree/tree_model.cc of XGBoost).

use std::collections::HashMap;

use super::objective::objective;
use crate::assemble::{Budget, Raw, assemble};
use crate::document::Value;
use crate::error::{Place, TreeError};
use crate::link::Link;
use crate::model::{CategorySet, Feature, Format, Model, Test, Tree};
use crate::read::ReadOptions;

/// Reads the document of a dump.
///
/// # Errors
/// As [`crate::read`].
pub(crate) fn read(root: Value<'_>, options: &ReadOptions) -> Result<Model, TreeError> {
    let limits = &options.limits;
    if root.len() > limits.trees {
        return Err(TreeError::Limit { place: Place::Model, what: "trees", limit: limits.trees });
    }
    let (link, base) = match &options.dump.objective {
        Some(name) => {
            let (link, base) = objective(name)?;
            (link, options.dump.base_score.map_or(0.0, |score| base.margin(score)))
        }
        None => (Link::Identity, options.dump.base_score.unwrap_or(0.0)),
    };
    if !base.is_finite() {
        return Err(TreeError::field(Place::Model, "base_score", "in the range of the objective"));
    }
    let outputs = options.dump.outputs.max(1);
    if outputs > limits.outputs {
        let limit = limits.outputs;
        return Err(TreeError::Limit { place: Place::Model, what: "outputs", limit });
    }
    let mut names = Names::new(options)?;
    let mut budget = Budget::new(limits);
    let mut trees = Vec::with_capacity(root.len());
    for (number, value) in root.elements().enumerate() {
        let nodes = nodes(number, value)?;
        let nodes =
            assemble(number, nodes.len(), &mut budget, |i| node(number, &nodes, i, &mut names))?;
        trees.push(Tree { nodes, output: (number % outputs) as u32, weight: 1.0 });
    }
    Ok(Model {
        format: Format::XgBoostDump,
        features: names.features,
        trees,
        base: vec![base; outputs],
        vespa_base: 0.0,
        objective: options.dump.objective.clone(),
        link,
        divide: 1.0,
    })
}

/// Features by name: those that the caller gave, otherwise in the order in which splits name them.
struct Names {
    features: Vec<Feature>,
    places: HashMap<String, u32>,
    given: bool,
    limit: usize,
}

impl Names {
    fn new(options: &ReadOptions) -> Result<Names, TreeError> {
        let limit = options.limits.features;
        let given = options.feature_names.is_some();
        let mut names = Names { features: Vec::new(), places: HashMap::new(), given: false, limit };
        for name in options.feature_names.iter().flatten() {
            names.place(Place::Model, name)?;
        }
        names.given = given;
        Ok(names)
    }

    fn place(&mut self, place: Place, name: &str) -> Result<u32, TreeError> {
        if let Some(at) = self.places.get(name) {
            return Ok(*at);
        }
        if self.given {
            let expected = format!("a feature that was given; `{name}` is not");
            return Err(TreeError::field(place, "split", expected));
        }
        if self.features.len() >= self.limit {
            return Err(TreeError::Limit { place, what: "features", limit: self.limit });
        }
        let at = self.features.len() as u32;
        self.features.push(Feature::named(name));
        self.places.insert(name.to_owned(), at);
        Ok(at)
    }
}

/// A node and where its children are in the list of nodes.
struct Nested<'a> {
    value: Value<'a>,
    number: usize,
    children: Option<(usize, usize)>,
}

/// All nodes of a tree, parents first.
fn nodes(tree: usize, root: Value<'_>) -> Result<Vec<Nested<'_>>, TreeError> {
    let mut nodes = vec![Nested { value: root, number: 0, children: None }];
    let mut at = 0;
    while let Some(value) = nodes.get(at).map(|node| node.value) {
        if value.get("bias").is_some() && value.get("weight").is_some() {
            return Err(TreeError::unsupported(Place::Model, "booster `gblinear`"));
        }
        let number = whole(value, "nodeid");
        let number = number
            .ok_or_else(|| TreeError::field(Place::Tree(tree), "nodeid", "a whole number"))?;
        nodes[at].number = number;
        if let Some(children) = value.get("children") {
            let children: Vec<_> = children.elements().take(3).collect();
            if children.len() != 2 {
                let place = Place::Node { tree, node: number };
                return Err(TreeError::field(place, "children", "two nodes"));
            }
            nodes[at].children = Some((nodes.len(), nodes.len() + 1));
            nodes.extend(children.into_iter().map(|value| Nested {
                value,
                number,
                children: None,
            }));
        }
        at += 1;
    }
    Ok(nodes)
}

fn whole(value: Value<'_>, name: &str) -> Option<usize> {
    let x = value.get(name)?.number()?;
    (x >= 0.0 && x.fract() == 0.0 && x < 1e15).then_some(x as usize)
}

fn node(tree: usize, nodes: &[Nested<'_>], at: usize, names: &mut Names) -> Result<Raw, TreeError> {
    let Nested { value, number, children } = nodes[at];
    let place = Place::Node { tree, node: number };
    let Some((first, second)) = children else {
        let leaf = value.get("leaf");
        if leaf.is_some_and(Value::is_array) {
            return Err(TreeError::unsupported(place, "a leaf with a vector"));
        }
        let leaf = leaf.and_then(Value::number);
        let leaf = leaf.ok_or_else(|| TreeError::field(place, "leaf", "a number"))?;
        return Ok(Raw::Leaf { value: f64::from(leaf as f32), vespa: leaf });
    };
    let name = value.get("split").and_then(Value::text);
    let name = name.ok_or_else(|| TreeError::field(place, "split", "the name of a feature"))?;
    let feature = names.place(place, name)?;
    let yes = whole(value, "yes");
    let (left, right) = match yes {
        Some(yes) if yes == nodes[first].number => (first, second),
        Some(yes) if yes == nodes[second].number => (second, first),
        _ => return Err(TreeError::field(place, "yes", "the number of a child")),
    };
    // A split of an indicator, of feature maps of old, has no condition.
    let condition = value
        .get("split_condition")
        .ok_or_else(|| TreeError::unsupported(place, "a split of an indicator feature"))?;
    let missing = whole(value, "missing");
    let missing_left = match missing {
        Some(missing) if missing == nodes[left].number => true,
        Some(missing) if missing == nodes[right].number => false,
        _ => return Err(TreeError::field(place, "missing", "the number of a child")),
    };
    let feature_of = &mut names.features[feature as usize];
    feature_of.used = true;
    let test = if condition.is_array() {
        feature_of.categorical = true;
        Test::Among { set: set(place, condition)?, inside_left: true, missing_left }
    } else {
        let threshold = condition.number().filter(|x| !x.is_nan());
        let threshold = threshold
            .ok_or_else(|| TreeError::field(place, "split_condition", "a number or an array"))?;
        Test::Less { threshold: f64::from(threshold as f32), missing_left }
    };
    Ok(Raw::Split { feature, test, left, right })
}

fn set(place: Place, codes: Value<'_>) -> Result<CategorySet, TreeError> {
    let codes = codes.numbers().filter(|codes| {
        codes.iter().all(|code| (0.0..=f64::from(CategorySet::MAX)).contains(code))
    });
    let codes = codes.ok_or_else(|| {
        TreeError::field(place, "split_condition", "whole numbers from 0 to 16777215")
    })?;
    Ok(CategorySet::new(codes.into_iter().map(|code| code as u32).collect()))
}

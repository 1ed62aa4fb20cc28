//! What `save_model` writes, as JSON or UBJ: arrays for each tree, parameters as strings
//! (doc/model.schema of XGBoost).

use super::objective::{Base, objective};
use crate::assemble::{Budget, Raw, assemble};
use crate::document::Value;
use crate::error::{Place, TreeError};
use crate::limits::Limits;
use crate::link::Link;
use crate::model::{Categories, CategorySet, Feature, Format, Model, Node, Test, Tree};
use crate::read::ReadOptions;

/// Reads the document of a saved model.
///
/// # Errors
/// As [`crate::read`].
pub(crate) fn read(
    root: Value<'_>,
    format: Format,
    options: &ReadOptions,
) -> Result<Model, TreeError> {
    let learner = member(root, Place::Model, "learner")?;
    let booster = member(learner, Place::Model, "gradient_booster")?;
    let kind = booster.get("name").and_then(Value::text).unwrap_or("gbtree");
    let (model, weights) = match kind {
        "gbtree" => (member(booster, Place::Model, "model")?, None),
        "dart" => match booster.get("gbtree") {
            Some(inner) => (member(inner, Place::Model, "model")?, booster.get("weight_drop")),
            None => (member(booster, Place::Model, "model")?, None),
        },
        other => {
            return Err(TreeError::unsupported(Place::Model, format!("booster `{other}`")));
        }
    };
    let weights = weights.or_else(|| model.get("weight_drop"));
    let name = learner.at(&["objective", "name"]).and_then(Value::text);
    let name = name.ok_or_else(|| TreeError::field(Place::Model, "objective.name", "a string"))?;
    let (link, base) = objective(name)?;
    let parameters = member(learner, Place::Model, "learner_model_param")?;
    let outputs = outputs(parameters, &options.limits)?;
    let features = features(learner, model, parameters, options)?;
    let scores = base_score(parameters, outputs)?;
    let mut out = Model {
        format,
        features,
        trees: Vec::new(),
        base: scores.iter().map(|score| base.margin(*score)).collect(),
        vespa_base: vespa_base(name, scores[0]),
        objective: Some(name.to_owned()),
        link,
        divide: 1.0,
    };
    check_base(&out, base, &scores)?;
    trees(model, weights, &options.limits, &mut out)?;
    if let Some(names) = &options.feature_names
        && let Some(last) = out.features.iter().rposition(|feature| feature.used)
        && names.len() <= last
    {
        let expected = format!("at least {} names, not {}", last + 1, names.len());
        return Err(TreeError::field(Place::Model, "feature_names", expected));
    }
    Ok(out)
}

/// A member that is an object.
fn member<'a>(value: Value<'a>, place: Place, name: &str) -> Result<Value<'a>, TreeError> {
    value
        .get(name)
        .filter(|member| member.is_object())
        .ok_or_else(|| TreeError::field(place, name, "an object"))
}

/// A parameter that is a whole number in quotes; `absent` where there is none.
fn parameter(parameters: Value<'_>, name: &str, absent: usize) -> Result<usize, TreeError> {
    let Some(value) = parameters.get(name) else { return Ok(absent) };
    let parsed = value.text().and_then(|text| text.parse().ok());
    let parsed = parsed.or_else(|| value.number().filter(|x| *x >= 0.0).map(|x| x as usize));
    parsed.ok_or_else(|| TreeError::field(Place::Model, name, "a whole number"))
}

fn outputs(parameters: Value<'_>, limits: &Limits) -> Result<usize, TreeError> {
    let classes = parameter(parameters, "num_class", 0)?;
    let targets = parameter(parameters, "num_target", 1)?;
    let outputs = classes.max(1).saturating_mul(targets.max(1));
    match outputs <= limits.outputs {
        true => Ok(outputs),
        false => {
            let limit = limits.outputs;
            Err(TreeError::Limit { place: Place::Model, what: "outputs", limit })
        }
    }
}

fn features(
    learner: Value<'_>,
    model: Value<'_>,
    parameters: Value<'_>,
    options: &ReadOptions,
) -> Result<Vec<Feature>, TreeError> {
    let count = parameter(parameters, "num_feature", 0)?;
    if count > options.limits.features {
        let limit = options.limits.features;
        return Err(TreeError::Limit { place: Place::Model, what: "features", limit });
    }
    let own: Vec<&str> = match learner.get("feature_names") {
        Some(names) => names.elements().map(|name| name.text().unwrap_or("")).collect(),
        None => Vec::new(),
    };
    let name = |i: usize| match &options.feature_names {
        Some(names) => names.get(i).map_or("", String::as_str),
        None => own.get(i).copied().unwrap_or(""),
    };
    let mut features: Vec<Feature> = (0..count).map(|i| Feature::named(name(i))).collect();
    if let Some(types) = learner.get("feature_types") {
        for (feature, kind) in features.iter_mut().zip(types.elements()) {
            feature.categorical = kind.text() == Some("c");
        }
    }
    if let Some(encodings) = model.at(&["cats", "enc"]) {
        for (feature, encoding) in features.iter_mut().zip(encodings.elements()) {
            feature.categories = categories(encoding);
        }
    }
    Ok(features)
}

/// The categories that XGBoost 3.1 and later keep: UTF-8 with offsets, or numbers.
fn categories(encoding: Value<'_>) -> Option<Categories> {
    let values = encoding.get("values")?.numbers()?;
    let Some(offsets) = encoding.get("offsets") else {
        let whole = values.iter().all(|x| x.fract() == 0.0);
        return (whole && !values.is_empty())
            .then(|| Categories::Integers(values.iter().map(|x| *x as i64).collect()));
    };
    let bytes: Vec<u8> = values.iter().map(|x| *x as u8).collect();
    let offsets = offsets.numbers()?;
    let names: Option<Vec<String>> = offsets
        .windows(2)
        .map(|pair| {
            let name = bytes.get(pair[0] as usize..pair[1] as usize)?;
            Some(String::from_utf8_lossy(name).into_owned())
        })
        .collect();
    names.filter(|names| !names.is_empty()).map(Categories::Strings)
}

/// One number for each output: "5E-1", "[5E-1]" or "[1E-1,2E-1]".
fn base_score(parameters: Value<'_>, outputs: usize) -> Result<Vec<f64>, TreeError> {
    let wrong = |expected: String| TreeError::field(Place::Model, "base_score", expected);
    let Some(value) = parameters.get("base_score") else { return Ok(vec![0.5; outputs]) };
    let text = value.text().ok_or_else(|| wrong("a string".into()))?;
    let numbers: Result<Vec<f64>, _> =
        text.trim_matches(['[', ']']).split(',').map(|x| x.trim().parse()).collect();
    let numbers = numbers.map_err(|_| wrong("numbers in brackets".into()))?;
    match numbers.len() {
        1 => Ok(vec![numbers[0]; outputs]),
        n if n == outputs => Ok(numbers),
        n => Err(wrong(format!("1 or {outputs} numbers, not {n}"))),
    }
}

/// What Vespa's reader adds: the score, of logistic objectives its logit in f64.
fn vespa_base(objective: &str, score: f64) -> f64 {
    match objective.ends_with(":logistic") {
        true if score > 0.0 && score < 1.0 => score.ln() - (1.0 - score).ln(),
        true => 0.0,
        false => score,
    }
}

fn check_base(model: &Model, base: Base, scores: &[f64]) -> Result<(), TreeError> {
    match model.base.iter().position(|margin| !margin.is_finite()) {
        None => Ok(()),
        Some(i) => {
            let range = match base {
                Base::Plain => "finite",
                Base::Logit => "between 0 and 1",
                Base::Log => "above 0",
            };
            let expected = format!("{range} for its objective; {} is not", scores[i]);
            Err(TreeError::field(Place::Model, "base_score", expected))
        }
    }
}

fn trees(
    model: Value<'_>,
    weights: Option<Value<'_>>,
    limits: &Limits,
    out: &mut Model,
) -> Result<(), TreeError> {
    let trees = model.get("trees").filter(|trees| trees.is_array());
    let trees = trees.ok_or_else(|| TreeError::field(Place::Model, "trees", "an array"))?;
    if trees.len() > limits.trees {
        return Err(TreeError::Limit { place: Place::Model, what: "trees", limit: limits.trees });
    }
    let outputs = numbers(model, Place::Model, "tree_info", trees.len())?;
    let weights = match weights {
        Some(weights) => {
            let list = weights.numbers().filter(|list| list.len() == trees.len());
            list.ok_or_else(|| {
                TreeError::field(Place::Model, "weight_drop", "a number for each tree")
            })?
        }
        None => vec![1.0; trees.len()],
    };
    let mut budget = Budget::new(limits);
    for (number, value) in trees.elements().enumerate() {
        let output = outputs[number];
        if !(output >= 0.0 && output < out.base.len() as f64) {
            let expected = format!("an output below {}; {output} is not", out.base.len());
            return Err(TreeError::field(Place::Tree(number), "tree_info", expected));
        }
        let nodes = tree(number, value, &mut budget, &mut out.features)?;
        out.trees.push(Tree { nodes, output: output as u32, weight: weights[number] });
    }
    if out.link == Link::ArgMax && out.base.len() < 2 {
        return Err(TreeError::field(Place::Model, "num_class", "at least 2"));
    }
    Ok(())
}

/// An array of `count` numbers.
fn numbers(
    value: Value<'_>,
    place: Place,
    name: &str,
    count: usize,
) -> Result<Vec<f64>, TreeError> {
    let list = value.get(name).and_then(Value::numbers);
    list.filter(|list| list.len() == count)
        .ok_or_else(|| TreeError::field(place, name, format!("an array of {count} numbers")))
}

fn tree(
    number: usize,
    value: Value<'_>,
    budget: &mut Budget,
    features: &mut [Feature],
) -> Result<Vec<Node>, TreeError> {
    let place = Place::Tree(number);
    let vector = value.at(&["tree_param", "size_leaf_vector"]).and_then(Value::text);
    if !matches!(vector, None | Some("0" | "1")) {
        return Err(TreeError::unsupported(
            place,
            "a tree with vectors in its leaves (multi_strategy `multi_output_tree`)",
        ));
    }
    let left = value.get("left_children").and_then(Value::numbers);
    let left =
        left.ok_or_else(|| TreeError::field(place, "left_children", "an array of numbers"))?;
    let count = left.len();
    let right = numbers(value, place, "right_children", count)?;
    let conditions = numbers(value, place, "split_conditions", count)?;
    let indices = numbers(value, place, "split_indices", count)?;
    let weights = numbers(value, place, "base_weights", count)?;
    // Truth values in JSON of some versions, numbers in others.
    let default_left: Option<Vec<bool>> =
        value.get("default_left").map(|list| list.elements().filter_map(Value::truth).collect());
    let default_left = default_left.filter(|list| list.len() == count).ok_or_else(|| {
        TreeError::field(place, "default_left", format!("an array of {count} truth values"))
    })?;
    let sets = category_sets(place, value, count)?;
    assemble(number, count, budget, |i| {
        let place = Place::Node { tree: number, node: i };
        if left[i] == -1.0 {
            return Ok(Raw::Leaf {
                value: f64::from(conditions[i] as f32),
                vespa: f64::from(weights[i] as f32),
            });
        }
        let Some(feature) = features.get_mut(indices[i] as usize) else {
            let expected = format!("below {}; {} is not", features.len(), indices[i]);
            return Err(TreeError::field(place, "split_indices", expected));
        };
        feature.used = true;
        let missing_left = default_left[i];
        let test = match sets.as_ref().and_then(|sets| sets[i].clone()) {
            Some(set) => {
                feature.categorical = true;
                Test::Among { set, inside_left: false, missing_left }
            }
            None if conditions[i].is_nan() => {
                return Err(TreeError::field(place, "split_conditions", "numbers"));
            }
            None => Test::Less { threshold: f64::from(conditions[i] as f32), missing_left },
        };
        Ok(Raw::Split {
            feature: indices[i] as u32,
            test,
            // Negative numbers become 0, which the root is: a cycle.
            left: left[i] as usize,
            right: right[i] as usize,
        })
    })
}

/// The categories of each node that asks for some; none if the tree has no such node.
fn category_sets(
    place: Place,
    tree: Value<'_>,
    count: usize,
) -> Result<Option<Vec<Option<CategorySet>>>, TreeError> {
    let Some(nodes) = tree.get("categories_nodes").filter(|nodes| nodes.len() > 0) else {
        return Ok(None);
    };
    let wrong = |name: &str, expected: &str| TreeError::field(place, name, expected);
    let codes = tree.get("categories").and_then(Value::numbers);
    let codes = codes.ok_or_else(|| wrong("categories", "an array of numbers"))?;
    let nodes = numbers(tree, place, "categories_nodes", nodes.len())?;
    let starts = numbers(tree, place, "categories_segments", nodes.len())?;
    let sizes = numbers(tree, place, "categories_sizes", nodes.len())?;
    // Sets that overlap could be larger together than the file.
    if sizes.iter().sum::<f64>() > codes.len() as f64 {
        return Err(wrong("categories_sizes", "at most the length of `categories` together"));
    }
    let mut sets = vec![None; count];
    for ((node, start), size) in nodes.iter().zip(&starts).zip(&sizes) {
        let (start, size) = (*start as usize, *size as usize);
        let codes = start.checked_add(size).and_then(|end| codes.get(start..end));
        let codes = codes.ok_or_else(|| wrong("categories_segments", "within `categories`"))?;
        if !codes.iter().all(|code| (0.0..=f64::from(CategorySet::MAX)).contains(code)) {
            return Err(wrong("categories", "whole numbers from 0 to 16777215"));
        }
        let set = CategorySet::new(codes.iter().map(|code| *code as u32).collect());
        let place = sets.get_mut(*node as usize);
        *place.ok_or_else(|| wrong("categories_nodes", "numbers of nodes"))? = Some(set);
    }
    Ok(Some(sets))
}

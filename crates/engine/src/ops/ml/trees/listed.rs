//! Trees as the attributes of TreeEnsembleRegressor and TreeEnsembleClassifier list them: nodes by the numbers of their tree
//! and their own, leaves among them, and votes apart.

use super::ensemble::{Draft, Trees, comparison, number, split};
use crate::error::BuildError;
use std::collections::HashMap;
use stead_kernels::ml::ensemble::{Combine, LEAF, Vote};
use stead_onnx::Attributes;
use stead_tensor::DType;

/// The list of numbers `name`, or `name_as_tensor`, for inputs of this type.
///
/// # Errors
/// [`BuildError`]: both, or a tensor of f64 for inputs that are compared as f32.
pub(super) fn numbers(a: &Attributes, name: &str, input: DType) -> Result<Vec<f64>, BuildError> {
    let list = a.floats(name)?.unwrap_or_default();
    let Some(tensor) = a.tensor(&format!("{name}_as_tensor"))? else {
        return Ok(list.iter().map(|&x| f64::from(x)).collect());
    };
    match (tensor.dtype(), input) {
        _ if !list.is_empty() => {
            Err(BuildError::unsupported(format!("{name} and {name}_as_tensor are both given")))
        }
        (DType::F32, _) => Ok(tensor.as_slice::<f32>()?.iter().map(|&x| f64::from(x)).collect()),
        (DType::F64, DType::F64) => Ok(tensor.as_slice::<f64>()?.to_vec()),
        (other, _) => Err(BuildError::unsupported(format!(
            "{name}_as_tensor of {other} for inputs of {input}"
        ))),
    }
}

/// The lists of nodes, all of one length.
struct Nodes {
    ids: Vec<(i64, i64)>,
    modes: Vec<Option<u8>>,
    features: Vec<i64>,
    thresholds: Vec<f64>,
    children: Vec<[i64; 2]>,
    nan_tracks_true: Vec<i64>,
}

impl Nodes {
    fn read(a: &Attributes, input: DType) -> Result<Nodes, BuildError> {
        let ints = |name: &str| -> Result<Vec<i64>, BuildError> {
            Ok(a.ints(name)?.unwrap_or_default().to_vec())
        };
        let (trees, ids) = (ints("nodes_treeids")?, ints("nodes_nodeids")?);
        let modes = a.strings("nodes_modes")?.unwrap_or_default();
        let (yes, no) = (ints("nodes_truenodeids")?, ints("nodes_falsenodeids")?);
        let mut nan_tracks_true = ints("nodes_missing_value_tracks_true")?;
        let features = ints("nodes_featureids")?;
        let thresholds = numbers(a, "nodes_values", input)?;
        let count = ids.len();
        if nan_tracks_true.is_empty() {
            nan_tracks_true = vec![0; count];
        }
        let lens =
            [trees.len(), modes.len(), yes.len(), no.len(), features.len(), thresholds.len()];
        if count == 0 || lens.iter().any(|&len| len != count) || nan_tracks_true.len() != count {
            return Err(BuildError::unsupported(format!(
                "lists of {count} nodes_nodeids with {lens:?} nodes_treeids, nodes_modes, \
                 nodes_truenodeids, nodes_falsenodeids, nodes_featureids and nodes_values"
            )));
        }
        Ok(Nodes {
            ids: trees.into_iter().zip(ids).collect(),
            modes: modes.into_iter().map(mode).collect::<Result<_, _>>()?,
            features,
            thresholds,
            children: yes.into_iter().zip(no).map(|(yes, no)| [yes, no]).collect(),
            nan_tracks_true,
        })
    }
}

/// The number of a comparison; `None` for a leaf.
fn mode(name: &str) -> Result<Option<u8>, BuildError> {
    const MODES: [&str; 6] =
        ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"];
    match MODES.iter().zip(0..).find(|(known, _)| **known == name) {
        Some((_, number)) => Ok(Some(number)),
        None if name == "LEAF" => Ok(None),
        None => Err(BuildError::unsupported(format!(
            "nodes_modes has \"{name}\"; supported: {} LEAF",
            MODES.join(" ")
        ))),
    }
}

/// Reads the trees; `votes` is the beginning of the names of attributes with votes, `class` or `target`.
///
/// # Errors
/// [`BuildError`]: lists that do not fit together, and numbers of nodes that are not there.
pub(super) fn read(
    a: &Attributes,
    votes: &str,
    outputs: usize,
    input: DType,
    combine: Combine,
) -> Result<Trees, BuildError> {
    let nodes = Nodes::read(a, input)?;
    let mut draft = Draft::default();
    // Splits and leaves by the numbers of the file.
    let mut places: HashMap<(i64, i64), u32> = HashMap::new();
    let (mut splits, mut leaves) = (0, 0);
    for (id, mode) in nodes.ids.iter().zip(&nodes.modes) {
        let count = if mode.is_some() { &mut splits } else { &mut leaves };
        let place = number(*count)? | if mode.is_some() { 0 } else { LEAF };
        *count += 1;
        if places.insert(*id, place).is_some() {
            let text = format!("node {} of tree {} is there twice", id.1, id.0);
            return Err(BuildError::unsupported(text));
        }
    }
    let mut is_child = vec![false; nodes.ids.len()];
    let at: HashMap<(i64, i64), usize> = nodes.ids.iter().copied().zip(0..).collect();
    for (index, &(tree, _)) in nodes.ids.iter().enumerate() {
        let Some(mode) = nodes.modes[index] else { continue };
        let mut children = [0; 2];
        for (child, &id) in children.iter_mut().zip(&nodes.children[index]) {
            let key = (tree, id);
            let (Some(&place), Some(&position)) = (places.get(&key), at.get(&key)) else {
                let text = format!("tree {tree} has no node {id}, which is a child there");
                return Err(BuildError::unsupported(text));
            };
            *child = place;
            is_child[position] = true;
        }
        let question = comparison(mode, nodes.thresholds[index])?;
        let nan = nodes.nan_tracks_true[index] != 0;
        draft.nodes.push(split(nodes.features[index], question, children, nan)?);
    }
    roots(&nodes, &is_child, &places, &mut draft)?;
    add_votes(a, votes, input, leaves, &places, &mut draft)?;
    draft.finish(input, outputs, combine)
}

/// The one node of each tree that is no child, trees in the order of their first nodes.
fn roots(
    nodes: &Nodes,
    is_child: &[bool],
    places: &HashMap<(i64, i64), u32>,
    draft: &mut Draft,
) -> Result<(), BuildError> {
    let mut order = Vec::new();
    let mut found: HashMap<i64, Option<u32>> = HashMap::new();
    for (id, &is_child) in nodes.ids.iter().zip(is_child) {
        let root = found.entry(id.0).or_insert_with(|| {
            order.push(id.0);
            None
        });
        if !is_child && root.replace(places.get(id).copied().unwrap_or(LEAF)).is_some() {
            return Err(BuildError::unsupported(format!("tree {} has two roots", id.0)));
        }
    }
    for tree in order {
        let root = found.get(&tree).copied().flatten();
        let none = || BuildError::unsupported(format!("tree {tree} has no root"));
        draft.roots.push(root.ok_or_else(none)?);
    }
    Ok(())
}

/// Votes by leaves. Those of nodes that are no leaves count for nothing, as in ONNX Runtime: older converters wrote some.
fn add_votes(
    a: &Attributes,
    prefix: &str,
    input: DType,
    leaves: usize,
    places: &HashMap<(i64, i64), u32>,
    draft: &mut Draft,
) -> Result<(), BuildError> {
    let ints = |name: &str| -> Result<Vec<i64>, BuildError> {
        Ok(a.ints(&format!("{prefix}_{name}"))?.unwrap_or_default().to_vec())
    };
    let (trees, ids, outputs) = (ints("treeids")?, ints("nodeids")?, ints("ids")?);
    let weights = numbers(a, &format!("{prefix}_weights"), input)?;
    let lens = [trees.len(), ids.len(), outputs.len()];
    if lens.iter().any(|&len| len != weights.len()) {
        return Err(BuildError::unsupported(format!(
            "{} {prefix}_weights with {lens:?} {prefix}_treeids, {prefix}_nodeids and {prefix}_ids",
            weights.len()
        )));
    }
    let mut by_leaf = Vec::with_capacity(weights.len());
    for (((tree, id), output), weight) in trees.into_iter().zip(ids).zip(outputs).zip(weights) {
        let Some(&place) = places.get(&(tree, id)) else {
            let text = format!("a vote of node {id} of tree {tree}, which is not there");
            return Err(BuildError::unsupported(text));
        };
        if place & LEAF != 0 {
            let output = u32::try_from(output)
                .map_err(|_| BuildError::unsupported(format!("a vote for output {output}")))?;
            by_leaf.push(((place & !LEAF) as usize, Vote { output, weight }));
        }
    }
    by_leaf.sort_by_key(|(leaf, _)| *leaf);
    draft.leaves = vec![(0, 0); leaves];
    for (leaf, vote) in by_leaf {
        let first = number(draft.votes.len())?;
        if let Some((start, count)) = draft.leaves.get_mut(leaf) {
            *start = if *count == 0 { first } else { *start };
            *count += 1;
        }
        draft.votes.push(vote);
    }
    Ok(())
}

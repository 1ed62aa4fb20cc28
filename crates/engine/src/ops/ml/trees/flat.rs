//! Trees as the attributes of TreeEnsemble list them: splits and leaves apart, each by its position, and sets of members.

use super::ensemble::{Draft, Trees, comparison, number, split};
use crate::error::BuildError;
use stead_kernels::ml::ensemble::{Combine, LEAF, Test, Vote};
use stead_onnx::Attributes;
use stead_tensor::DType;

/// The mode of a split that asks for membership.
const MEMBER: u8 = 6;

/// A tensor of floats as f64; nothing if it is absent.
fn numbers(a: &Attributes, name: &str, input: DType) -> Result<Vec<f64>, BuildError> {
    let Some(tensor) = a.tensor(name)? else { return Ok(Vec::new()) };
    if tensor.dtype() != input {
        let text = format!("{name} of {} for inputs of {input}", tensor.dtype());
        return Err(BuildError::unsupported(text));
    }
    match input {
        DType::F32 => Ok(tensor.as_slice::<f32>()?.iter().map(|&x| f64::from(x)).collect()),
        _ => Ok(tensor.as_slice::<f64>()?.to_vec()),
    }
}

/// Reads the trees.
///
/// # Errors
/// [`BuildError`]: lists that do not fit together, and positions that are not there.
pub(super) fn read(a: &Attributes, input: DType, combine: Combine) -> Result<Trees, BuildError> {
    let ints = |name: &str| -> Result<&[i64], BuildError> { Ok(a.ints(name)?.unwrap_or_default()) };
    let (yes, no) = (ints("nodes_truenodeids")?, ints("nodes_falsenodeids")?);
    let (yes_leafs, no_leafs) = (ints("nodes_trueleafs")?, ints("nodes_falseleafs")?);
    let features = ints("nodes_featureids")?;
    let nan = ints("nodes_missing_value_tracks_true")?;
    let thresholds = numbers(a, "nodes_splits", input)?;
    let modes: &[u8] = match a.tensor("nodes_modes")? {
        Some(tensor) if tensor.dtype() == DType::U8 => tensor.bytes(),
        _ => return Err(BuildError::unsupported("nodes_modes is no tensor of uint8")),
    };
    let count = modes.len();
    let lens =
        [yes.len(), no.len(), yes_leafs.len(), no_leafs.len(), features.len(), thresholds.len()];
    if count == 0 || lens.iter().any(|&len| len != count) {
        return Err(BuildError::unsupported(format!(
            "{count} nodes_modes with lists of {lens:?} nodes"
        )));
    }
    if !nan.is_empty() && nan.len() != count {
        let text = format!("{count} nodes and {} nodes_missing_value_tracks_true", nan.len());
        return Err(BuildError::unsupported(text));
    }
    let mut draft = Draft { members: numbers(a, "membership_values", input)?, ..Draft::default() };
    let mut sets = sets(&draft.members)?.into_iter();
    for at in 0..count {
        let question = match modes[at] {
            MEMBER => {
                let none = || BuildError::unsupported("membership_values has too few sets");
                (sets.next().ok_or_else(none)?, false, false)
            }
            mode => comparison(mode, thresholds[at])?,
        };
        let children = [child(yes[at], yes_leafs[at])?, child(no[at], no_leafs[at])?];
        let nan = nan.get(at).is_some_and(|&nan| nan != 0);
        draft.nodes.push(split(features[at], question, children, nan)?);
    }
    for &root in ints("tree_roots")? {
        draft.roots.push(child(root, 0)?);
    }
    let (weights, targets) = (numbers(a, "leaf_weights", input)?, ints("leaf_targetids")?);
    if weights.len() != targets.len() {
        let text = format!("{} leaf_weights and {} leaf_targetids", weights.len(), targets.len());
        return Err(BuildError::unsupported(text));
    }
    for (&target, weight) in targets.iter().zip(weights) {
        let output = u32::try_from(target)
            .map_err(|_| BuildError::unsupported(format!("a leaf for target {target}")))?;
        draft.leaves.push((number(draft.votes.len())?, 1));
        draft.votes.push(Vote { output, weight });
    }
    let outputs = a.int_or("n_targets", 1)?;
    let outputs = usize::try_from(outputs)
        .ok()
        .filter(|&n| n > 0)
        .ok_or_else(|| BuildError::unsupported(format!("n_targets is {outputs}")))?;
    draft.finish(input, outputs, combine)
}

fn child(position: i64, is_leaf: i64) -> Result<u32, BuildError> {
    let position = usize::try_from(position)
        .map_err(|_| BuildError::unsupported(format!("a node at position {position}")))?;
    Ok(number(position)? | if is_leaf != 0 { LEAF } else { 0 })
}

/// The sets among the members, each up to a NaN.
fn sets(members: &[f64]) -> Result<Vec<Test<f64>>, BuildError> {
    let mut sets = Vec::new();
    let mut first = 0;
    for (at, member) in members.iter().enumerate() {
        if member.is_nan() {
            sets.push(Test::Among(number(first)?, number(at - first)?));
            first = at + 1;
        }
    }
    if first < members.len() {
        sets.push(Test::Among(number(first)?, number(members.len() - first)?));
    }
    Ok(sets)
}

//! Gradient: the derivatives of one value of the graph by others, in reverse mode.
//!
//! The node names the values in its attributes: `y` by `xs`, where `zs` are held. When the model is lowered the names
//! become inputs behind those of the node, and the node becomes what computes the derivatives: from `y` back to
//! `xs`, each node between them adds to the derivatives of its inputs by the [rule](rules) of its operator. Where the node is
//! given other values than those that it names, what lies between is computed again for these.

mod rules;
mod shapes;

use super::maths::Maths;
use super::training::DOMAIN;
use crate::error::LoadError;
use crate::ir::{FunctionBody, Node, ValueId};
use crate::ops::{OpDef, Out, Param, types};
use rules::{RULES, Step};
use std::collections::{HashMap, HashSet};
use stead_onnx::{Attributes, OnnxError};

/// Gradient.
pub const OPS: &[OpDef] =
    &[OpDef::function("Gradient", &[Param::variadic(0, types::VIEWED)], &[Out::Like(0)], write)
        .variadic_outputs()
        .domain(DOMAIN)];

/// The values of the graph around that a Gradient names: `xs`, `zs` and `y`.
///
/// # Errors
/// [`OnnxError`]: no names.
pub(crate) fn named(attributes: &Attributes) -> Result<Vec<String>, OnnxError> {
    let mut all = attributes.strings("xs")?.unwrap_or_default();
    all.extend(attributes.strings("zs")?.unwrap_or_default());
    all.push(attributes.string("y")?.ok_or_else(|| attributes.missing("y"))?);
    Ok(all.into_iter().map(str::to_owned).collect())
}

/// Whether an operator is Gradient.
pub(crate) fn is_gradient(domain: &str, op_type: &str) -> bool {
    domain == DOMAIN && op_type == "Gradient"
}

fn write(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let count = f.attributes().strings("xs")?.unwrap_or_default().len();
    let held = f.attributes().strings("zs")?.unwrap_or_default().len();
    let given = count + held;
    if count == 0 || f.input_count() != 2 * given + 1 {
        let inputs = f.input_count().saturating_sub(given + 1);
        return Err(f.refuse(format!("{inputs} inputs for {count} xs and {held} zs")));
    }
    let all = (0..f.input_count()).map(|i| f.input(i)).collect::<Result<Vec<_>, _>>()?;
    let (given, named) = all.split_at(given);
    let (leaves, y) = named.split_at(named.len() - 1);
    let mut slice = Slice { nodes: Vec::new(), y: y[0] };
    slice.take(f, leaves)?;
    let leaves = slice.given_others(f, leaves, given)?;
    let xs = leaves.get(..count).unwrap_or_default();
    let gradients = slice.gradients(f, xs)?;
    for (at, (&x, gradient)) in xs.iter().zip(gradients).enumerate() {
        let gradient = match gradient {
            Some(gradient) => gradient,
            // `y` does not depend on it.
            None => filled_like(f, x, 0.0)?,
        };
        f.give(at, gradient);
    }
    Ok(())
}

/// What lies between some values and `y`.
struct Slice {
    nodes: Vec<Node>,
    y: ValueId,
}

impl Slice {
    /// Takes the nodes that depend on the leaves and that `y` depends on. What makes a leaf is none of them.
    fn take(&mut self, f: &FunctionBody<'_>, leaves: &[ValueId]) -> Result<(), LoadError> {
        let leaf: HashSet<ValueId> = leaves.iter().copied().collect();
        let mut reached = leaf.clone();
        let reads = |node: &Node, of: &HashSet<ValueId>| {
            let mut reads = node.inputs.iter().flatten().any(|id| of.contains(id));
            for (_, body) in &node.bodies {
                body.each_use(&mut |id| reads |= of.contains(&id));
            }
            reads
        };
        for node in f.nodes() {
            let makes_leaf = node.outputs.iter().flatten().any(|id| leaf.contains(id));
            if !makes_leaf && reads(node, &reached) {
                reached.extend(node.outputs.iter().flatten());
                self.nodes.push(node.clone());
            }
        }
        let mut needed = HashSet::from([self.y]);
        let mut kept = Vec::new();
        for node in self.nodes.drain(..).rev() {
            if node.outputs.iter().flatten().any(|id| needed.contains(id)) {
                if !node.bodies.is_empty() {
                    return Err(f.refuse(format!("{} has no derivative here", node.op_type)));
                }
                needed.extend(node.inputs.iter().flatten());
                kept.push(node);
            }
        }
        kept.reverse();
        self.nodes = kept;
        Ok(())
    }

    /// Computes everything again where a leaf is given another value than that of its name; the leaves that hold then.
    fn given_others(
        &mut self,
        f: &mut FunctionBody<'_>,
        leaves: &[ValueId],
        given: &[ValueId],
    ) -> Result<Vec<ValueId>, LoadError> {
        for (&leaf, &given) in leaves.iter().zip(given) {
            let (named, actual) = (f.dtype(leaf), f.dtype(given));
            if named != actual {
                return Err(f.refuse(format!("a value of {named} is named, and {actual} given")));
            }
        }
        if leaves == given {
            return Ok(given.to_vec());
        }
        let mut others: HashMap<ValueId, ValueId> =
            leaves.iter().copied().zip(given.iter().copied()).collect();
        for node in &mut self.nodes {
            let other = |id: &Option<ValueId>| id.map(|id| others.get(&id).copied().unwrap_or(id));
            let inputs: Vec<_> = node.inputs.iter().map(other).collect();
            let outputs = f.copied(node, inputs.clone())?;
            let made = node.outputs.iter().zip(&outputs);
            others.extend(made.filter_map(|(old, new)| Some(((*old)?, (*new)?))));
            (node.inputs, node.outputs) = (inputs, outputs);
        }
        self.y = others.get(&self.y).copied().unwrap_or(self.y);
        Ok(given.to_vec())
    }

    /// The derivatives of the sum of `y` by each of `xs`; `None` for one that it does not depend on.
    fn gradients(
        &self,
        f: &mut FunctionBody<'_>,
        xs: &[ValueId],
    ) -> Result<Vec<Option<ValueId>>, LoadError> {
        // Integers and truths have no derivatives: what depends on them alone is held.
        let is_real = |f: &FunctionBody<'_>, id: &ValueId| types::FLOAT.contains(f.dtype(*id));
        let mut active: HashSet<ValueId> = xs.iter().copied().collect();
        if let Some(x) = xs.iter().find(|x| !is_real(f, x)) {
            let dtype = f.dtype(*x);
            return Err(f.refuse(format!("xs of {dtype}; supported: {}", types::FLOAT)));
        }
        for node in &self.nodes {
            if node.inputs.iter().flatten().any(|id| active.contains(id)) {
                active.extend(node.outputs.iter().flatten().filter(|id| is_real(f, id)));
            }
        }
        let mut gradients = HashMap::new();
        if active.contains(&self.y) {
            gradients.insert(self.y, filled_like(f, self.y, 1.0)?);
        }
        for node in self.nodes.iter().rev() {
            let at = |id: &Option<ValueId>| id.and_then(|id| gradients.get(&id).copied());
            let Some(place) = node.outputs.iter().position(|id| at(id).is_some()) else { continue };
            let (Some(y), Some(gradient)) = (node.output(place), at(&node.outputs[place])) else {
                continue;
            };
            let rule = RULES.iter().find(|(name, _)| node.is(name) && place == 0);
            let Some((_, rule)) = rule else {
                let names: Vec<&str> = RULES.iter().map(|(name, _)| *name).collect();
                let (op, names) = (&node.op_type, names.join(" "));
                return Err(f.refuse(format!("no derivative of {op}; supported: {names}")));
            };
            let step = Step { node, y, gradient };
            for (index, input) in node.inputs.iter().enumerate() {
                let Some(input) = input.filter(|id| active.contains(id)) else { continue };
                let mut maths = Maths(f);
                let part = rule(&mut maths, &step, index)?;
                let sum = match gradients.get(&input) {
                    Some(&before) => maths.add(before, part)?,
                    None => part,
                };
                gradients.insert(input, sum);
            }
        }
        Ok(xs.iter().map(|x| gradients.get(x).copied()).collect())
    }
}

/// A tensor of one number, in shape and type of another.
fn filled_like(f: &mut FunctionBody<'_>, like: ValueId, number: f32) -> Result<ValueId, LoadError> {
    let shape = f.call("Shape", &[like], &[])?;
    let number = f.number(number.into(), like)?;
    f.call("Expand", &[number, shape], &[])
}

//! The order in which functions can be made flat.

use super::{Key, callee};
use crate::{Function, Node, OnnxError, error::quote};
use std::collections::HashMap;

/// All functions, each after those that it calls.
pub(super) fn callees_first(
    functions: &[Function],
    index: &HashMap<Key, usize>,
) -> Result<Vec<usize>, OnnxError> {
    let calls: Vec<Vec<usize>> = functions
        .iter()
        .map(|function| {
            let mut out = Vec::new();
            calls_of(&function.nodes, index, &mut out);
            out.sort_unstable();
            out.dedup();
            out
        })
        .collect();
    // Depth-first with a stack of its own: how deep functions call each other is the file's choice.
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut states = vec![State::New; functions.len()];
    let mut order = Vec::with_capacity(functions.len());
    for start in 0..functions.len() {
        if states[start] != State::New {
            continue;
        }
        states[start] = State::Open;
        let mut stack = vec![(start, 0)];
        while let Some((at, next)) = stack.last_mut() {
            let Some(&callee) = calls[*at].get(*next) else {
                states[*at] = State::Done;
                order.push(*at);
                stack.pop();
                continue;
            };
            *next += 1;
            match states[callee] {
                State::Done => {}
                State::Open => {
                    let function = quote(&functions[callee].name);
                    return Err(OnnxError::RecursiveFunction { function });
                }
                State::New => {
                    states[callee] = State::Open;
                    stack.push((callee, 0));
                }
            }
        }
    }
    Ok(order)
}

/// The functions that nodes call, in their bodies too.
fn calls_of(nodes: &[Node], index: &HashMap<Key, usize>, out: &mut Vec<usize>) {
    for node in nodes {
        out.extend(callee(node, index));
        for (_, body) in node.subgraphs() {
            calls_of(&body.nodes, index, out);
        }
    }
}

//! Recognises recurrences that were written by hand and unrolled, and makes one node of each again.
//!
//! An exporter that follows a Python loop over time writes every step out: forty steps of a GRU are 240 products of
//! vectors, of which one half does not even depend on the state. A step is recognised by its algebra rather than by the
//! nodes that it is written with: the sums of its gates as [sums of products](linear) by constants, taken apart where
//! several gates share one product, and [the new state](blend) as a polynomial of gates, candidate and old state.
//! [Steps of one law](chain) of which each begins with the state that the one before it ends with become
//! [one RNN, GRU or LSTM](roll): its kernel computes what comes in for all steps as one product and holds the recurrent
//! weights packed. Every state stays a value that others may read, as a row of what the node gives.
//!
//! Steps must have the same weights, and constants of equal values. What comes into them must not depend on their states.
//! Otherwise a chain ends, and another may begin there.

mod blend;
mod cell;
mod chain;
mod gru;
mod law;
mod linear;
mod roll;
#[cfg(test)]
mod tests;

use super::pattern::Matcher;
use super::ranks::Ranks;
use super::{PassCx, dead};
use crate::error::LoadError;
use crate::ir::{Body, Ir};
use law::Kind;
use linear::Forms;
use std::collections::HashSet;

/// Chains that are rolled up in one body by one run of the pass. Several layers above each other are several chains.
const MOST_CHAINS: usize = 64;

/// The pass.
pub(super) fn run(ir: &mut Ir, cx: &mut PassCx) -> Result<usize, LoadError> {
    let mut changes = 0;
    let (uses, ranks) = (ir.uses(), Ranks::new(ir));
    let mut body = std::mem::take(&mut ir.body);
    let done = body.each_body_mut(&mut |body| {
        // One after the other: two that read each other's states can each be rolled up, but not both.
        for _ in 0..MOST_CHAINS {
            if !roll_longest(ir, body, &uses, &ranks)? {
                break;
            }
            changes += 1;
        }
        Ok::<(), LoadError>(())
    });
    ir.body = body;
    done?;
    if changes > 0 {
        // The products of the steps must not be taken for ones that are worth joining.
        dead::run(ir, cx)?;
    }
    Ok(changes)
}

/// Rolls up the longest chain of a body; tells whether there was one.
fn roll_longest(
    ir: &mut Ir,
    body: &mut Body,
    uses: &[u32],
    ranks: &Ranks,
) -> Result<bool, LoadError> {
    let matcher = Matcher::new(ir, body, uses);
    let forms = Forms { m: &matcher, ranks };
    let Some(chain) = chain::longest(forms, body, uses) else { return Ok(false) };
    let (Some(first), Some(last)) = (chain.cells.first(), chain.cells.last()) else {
        return Ok(false);
    };
    let wants_cell = first.law.kind == Kind::Lstm && uses[last.after.c.index()] > 1;
    let states = chain.cells.iter().map(|cell| cell.after.h);
    let replaced: HashSet<_> = states.chain(wants_cell.then_some(last.after.c)).map(Some).collect();
    let makes = |id| body.nodes.iter().find(|node| node.outputs.first() == Some(&id));
    let Some(label) = makes(Some(first.after.h)).map(|node| node.label.clone()) else {
        return Ok(false);
    };
    let nodes = roll::roll(ir, &label, &chain, wants_cell)?;
    body.nodes.retain(|node| node.outputs.first().is_none_or(|id| !replaced.contains(id)));
    body.nodes.extend(nodes);
    body.sort();
    Ok(true)
}

//! Steps of one law that follow one another.

use super::law::{Cell, Kind, Law, State};
use super::linear::Forms;
use crate::ir::{Body, Node, ValueId};
use crate::passes::rows::{Row, row_of};
use std::collections::{HashMap, HashSet};

/// A recurrence that was unrolled.
#[derive(Debug)]
pub(super) struct Chain {
    /// The steps in order, at least [`FEWEST`].
    pub cells: Vec<Cell>,
    /// The state before the first of them; `None` for zeros.
    pub initial: Option<State>,
    /// For each of the tensors that come into a step, where those of all steps stand side by side already.
    pub xs: Vec<Option<Rows>>,
}

/// Parts of one tensor, `[batch, steps, n]` for axis 1 and `[steps, batch, n]` for axis 0.
#[derive(Debug)]
pub(super) struct Rows {
    pub source: ValueId,
    pub axis: usize,
    pub indices: Vec<i64>,
}

/// Steps from which on a chain is one.
const FEWEST: usize = 2;

/// The longest chain in a body; `uses` counts over the whole model.
pub(super) fn longest(forms: Forms<'_>, body: &Body, uses: &[u32]) -> Option<Chain> {
    let mut chains: Vec<Vec<Cell>> = Vec::new();
    let mut ends: HashMap<State, Vec<usize>> = HashMap::new();
    for node in &body.nodes {
        for cell in forms.steps(node) {
            let goes_on = |at: &usize| {
                let last = chains[*at].last();
                last.is_some_and(|c| c.law == cell.law && c.xs.len() == cell.xs.len())
            };
            let open = ends.get_mut(&cell.before);
            let chain = open.and_then(|open| Some(open.remove(open.iter().position(goes_on)?)));
            let at = chain.unwrap_or(chains.len());
            if at == chains.len() {
                chains.push(Vec::new());
            }
            ends.entry(cell.after).or_default().push(at);
            chains[at].push(cell);
        }
    }
    let usable = chains.into_iter().filter_map(|cells| usable(forms, body, uses, cells));
    usable.max_by_key(|chain| chain.cells.len())
}

/// The chain that can run as one node, if that is long enough.
fn usable(forms: Forms<'_>, body: &Body, uses: &[u32], mut cells: Vec<Cell>) -> Option<Chain> {
    let mut initial = Some(cells.first()?.before);
    if let Some(before) = initial
        && let Some(node) = forms.m.maker(Some(before.h))
        && let Some(first) = forms.first(node, cells.first()?.law.kind)
        && first.after == before
        && first.xs.len() == cells.first()?.xs.len()
        && cells.first()?.law.begins_with(&first.law)
    {
        let law = cells.first()?.law.clone();
        cells.insert(0, Cell { law, ..first });
        initial = None;
    }
    if cells.len() < FEWEST {
        return None;
    }
    // What comes in must be there before the first step.
    let after = cells.first()?.after;
    let later = made_of(body, [after.h, after.c].into());
    let early = |cell: &Cell| !cell.xs.iter().any(|id| later.contains(id));
    let count = cells.iter().position(|cell| !early(cell)).unwrap_or(cells.len());
    cells.truncate(count);
    if cells.first()?.law.kind == Kind::Lstm {
        // Of the cell states only the last is given: any other must serve the next step only.
        let (_, others) = cells.split_last()?;
        let apart = others.iter().position(|cell| uses[cell.after.c.index()] != 2);
        cells.truncate(apart.map_or(cells.len(), |at| at + 1));
    }
    if cells.len() < FEWEST || initial.is_some_and(|state| !is_matrix(forms, &cells[0].law, state))
    {
        return None;
    }
    let xs = (0..cells.first()?.xs.len()).map(|at| rows(forms, &cells, at)).collect();
    Some(Chain { cells, initial, xs })
}

/// Whether it is sure that a state that comes from elsewhere has a row for each sequence.
fn is_matrix(forms: Forms<'_>, law: &Law, state: State) -> bool {
    let rank = |id| forms.ranks.of(forms.m.ir, Some(id));
    match law.kind {
        // What a product takes as it is has two dimensions; a cell state takes part in no product.
        Kind::Lstm => rank(state.c).is_some_and(|rank| rank <= 2),
        Kind::Gru { linear_before_reset: false, .. } => {
            rank(state.h) == Some(2) || law.gates.iter().take(2).any(|gate| !gate.h.is_empty())
        }
        _ => true,
    }
}

/// All values that depend on some.
fn made_of(body: &Body, mut found: HashSet<ValueId>) -> HashSet<ValueId> {
    for node in &body.nodes {
        if reads(node, &found) {
            found.extend(node.outputs.iter().flatten());
        }
    }
    found
}

fn reads(node: &Node, values: &HashSet<ValueId>) -> bool {
    let mut hit = node.inputs.iter().flatten().any(|id| values.contains(id));
    for (_, body) in &node.bodies {
        body.each_use(&mut |id| hit |= values.contains(&id));
    }
    hit
}

/// What comes into the steps at this place as rows of one tensor, if it is that.
fn rows(forms: Forms<'_>, cells: &[Cell], at: usize) -> Option<Rows> {
    let row = |cell: &Cell| row_of(forms.m, forms.ranks, *cell.xs.get(at)?);
    let rows = cells.iter().map(row).collect::<Option<Vec<_>>>()?;
    let Row { source, axis, .. } = *rows.first()?;
    let is_one = axis < 2 && rows.iter().all(|r| (r.source, r.axis) == (source, axis));
    let indices = rows.iter().map(|row| row.index).collect();
    is_one.then_some(Rows { source, axis, indices })
}

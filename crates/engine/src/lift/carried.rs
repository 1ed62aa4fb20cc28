//! Which values that a loop carries are memory, and which only serve the loop itself.

use crate::ir::{Body, Ir, Node, ValueId};
use std::collections::{HashMap, HashSet};
use stead_tensor::DType;

/// Operators with the positions of the operands that select elements.
const SELECT: &[(&str, &[usize])] = &[
    ("Gather", &[1]),
    ("GatherElements", &[1]),
    ("GatherND", &[1]),
    ("Slice", &[1, 2]),
    ("ScatterElements", &[1]),
    ("ScatterND", &[1]),
];

/// A value that a loop carries, as its body sees it.
#[derive(Clone, Copy)]
pub(super) struct Carried {
    /// The value before an iteration.
    pub before: ValueId,
    /// The value after it.
    pub after: ValueId,
}

/// The body of a loop with what its carried values are decided from.
pub(super) struct Carrier<'a> {
    ir: &'a Ir,
    body: &'a Body,
    /// The iteration's number, in a Loop.
    iteration: Option<ValueId>,
    /// Whether to go on, in a Loop.
    condition: Option<ValueId>,
    producers: HashMap<ValueId, &'a Node>,
    uses: HashMap<ValueId, u32>,
    /// Carried values of which only the loop's output is made, slice by slice.
    collectors: HashSet<ValueId>,
    all: HashSet<ValueId>,
}

impl<'a> Carrier<'a> {
    pub fn new(
        ir: &'a Ir,
        body: &'a Body,
        carried: &[Carried],
        iteration: Option<ValueId>,
        condition: Option<ValueId>,
    ) -> Carrier<'a> {
        let mut producers = HashMap::new();
        for node in &body.nodes {
            node.outputs.iter().flatten().for_each(|&id| {
                producers.insert(id, node);
            });
        }
        let mut uses = HashMap::new();
        body.each_use(&mut |id| *uses.entry(id).or_insert(0) += 1);
        let all = carried.iter().map(|c| c.before).collect();
        let mut carrier = Carrier {
            ir,
            body,
            iteration,
            condition,
            producers,
            uses,
            collectors: HashSet::new(),
            all,
        };
        let collects = |c: &&Carried| carrier.collects(**c);
        carrier.collectors = carried.iter().filter(collects).map(|c| c.before).collect();
        carrier
    }

    /// Why a carried value is not memory from one request to the next; `None` when it is.
    pub fn serves_the_loop(&self, carried: Carried) -> Option<&'static str> {
        if self.root(carried.after) == carried.before {
            Some("never changes")
        } else if self.collectors.contains(&carried.before) {
            Some("only collects results of this request")
        } else if self.counts_positions(carried) {
            Some("only counts positions within this request")
        } else {
            None
        }
    }

    /// The value before Identity and Cast nodes.
    fn root(&self, mut id: ValueId) -> ValueId {
        while let Some(node) = self.producers.get(&id).filter(|n| n.is("Identity") || n.is("Cast"))
            && let Some(input) = node.input(0)
        {
            id = input;
        }
        id
    }

    fn collects(&self, carried: Carried) -> bool {
        let after = self.root(carried.after);
        let Some(node) = self.producers.get(&after) else { return false };
        let appends = node.is("Concat") && node.inputs.contains(&Some(carried.before));
        let writes = (node.is("ScatterND") || node.is("ScatterElements"))
            && node.input(0) == Some(carried.before);
        let once = |id| self.uses.get(&id) == Some(&1);
        (appends || writes) && once(carried.before) && once(after)
    }

    /// Whether this is an integer to which the body only adds a constant, and which selects elements of
    /// something that is given anew with each request, or ends the loop.
    fn counts_positions(&self, carried: Carried) -> bool {
        if !is_integer(self.ir.value(carried.before).dtype) {
            return false;
        }
        let Some(node) = self.producers.get(&self.root(carried.after)) else { return false };
        let counted = |id: Option<ValueId>| {
            id.map(|id| self.root(id))
                .is_some_and(|id| id == carried.before || Some(id) == self.iteration)
        };
        let constant = |id| self.ir.constant(id).is_some();
        let (a, b) = (node.input(0), node.input(1));
        let counts = node.is("Add") && (counted(a) && constant(b) || constant(a) && counted(b))
            || node.is("Sub") && counted(a) && constant(b);
        if !counts {
            return false;
        }
        let mut reached = HashSet::from([carried.before]);
        self.selects(self.body, &mut reached)
            || self.condition.is_some_and(|id| reached.contains(&id))
    }

    /// Whether a value among `reached`, or an integer made of it, selects elements. Adds those integers.
    fn selects(&self, body: &Body, reached: &mut HashSet<ValueId>) -> bool {
        for node in &body.nodes {
            if node.bodies.iter().any(|(_, inner)| self.selects(inner, reached)) {
                return true;
            }
            let hit = |id: Option<ValueId>| id.is_some_and(|id| reached.contains(&id));
            let select = SELECT.iter().find(|(op, _)| node.is(op));
            if select.is_some_and(|(_, at)| at.iter().any(|&i| hit(node.input(i)))) {
                // A table of the model, or a memory of its own, is the same for the next request.
                let data = node.input(0).map(|id| self.root(id));
                let kept = |id| self.all.contains(&id) && !self.collectors.contains(&id);
                if self.ir.constant(data).is_none() && !data.is_some_and(kept) {
                    return true;
                }
            }
            if node.inputs.iter().any(|&id| hit(id)) {
                let integers = node.outputs.iter().flatten().filter(|&&id| {
                    let dtype = self.ir.value(id).dtype;
                    is_integer(dtype) || dtype == DType::Bool
                });
                reached.extend(integers);
            }
        }
        false
    }
}

fn is_integer(dtype: DType) -> bool {
    matches!(
        dtype,
        DType::I8
            | DType::I16
            | DType::I32
            | DType::I64
            | DType::U8
            | DType::U16
            | DType::U32
            | DType::U64
    )
}

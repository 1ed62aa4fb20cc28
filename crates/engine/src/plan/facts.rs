//! What the planner knows of each value while it walks the graph.

use super::elements::Elements;
use crate::ir::ValueId;
use std::sync::Arc;
use stead_tensor::{DType, MAX_RANK, Shape, Tensor};

/// Where a value lives when the plan runs.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// The same in every run of this plan.
    Const(Tensor),
    /// A constant of which only packed forms are left.
    Packed,
    /// In the caller's input at this position, with its bytes.
    Input(usize, usize),
    /// In a buffer of the arena.
    Buffer(BufferRef),
    /// In the growing state of this number, up to this byte.
    Grown(usize, usize),
    /// Each element where it lies. The dtype is theirs, the shape means nothing.
    Sequence(Elements),
    /// Keys and values of a map, or of a sequence of maps with the same keys, where they lie. The dtype is that of the
    /// values, the shape means nothing.
    Map(Arc<Pairs>),
    /// Nowhere: an optional in which there is nothing. Type and shape mean nothing.
    Nothing,
}

/// What a map is made of.
#[derive(Debug, Clone)]
pub(crate) struct Pairs {
    /// `[keys]`
    pub keys: Fact,
    /// `[keys]`, of a sequence of maps `[maps, keys]`
    pub values: Fact,
}

/// A state that the caller lets grow where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grows {
    /// The value that becomes the longer state, and its place among the outputs.
    pub output: ValueId,
    pub index: usize,
    pub axis: usize,
}

/// A buffer: the segment that writes it and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct BufferRef {
    pub bytes: usize,
    pub segment: usize,
    pub index: usize,
}

/// How the elements of a value lie in its place when they are not the whole place in row-major order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    /// The position of the first element, in elements.
    pub offset: usize,
    /// Strides in elements.
    pub strides: [isize; MAX_RANK],
}

/// Type, shape and place of a value.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    pub dtype: DType,
    pub shape: Shape,
    pub place: Place,
    /// `None`: the place holds exactly this value, row-major.
    pub view: Option<View>,
}

impl Fact {
    pub fn constant(tensor: Tensor) -> Fact {
        Fact {
            dtype: tensor.dtype(),
            shape: tensor.shape(),
            place: Place::Const(tensor),
            view: None,
        }
    }

    /// The value itself, where it is known now.
    pub fn known(&self) -> Option<&Tensor> {
        match (&self.place, &self.view) {
            (Place::Const(tensor), None) => Some(tensor),
            _ => None,
        }
    }
}

/// The facts of all values, and how many uses of each are still to come.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    facts: Vec<Option<Fact>>,
    remaining_uses: Vec<u32>,
    /// The growing states in the order of the caller.
    pub growing: Arc<[Grows]>,
    /// Those that a step has been planned for that appends to them.
    pub appended: Vec<usize>,
    /// What has been planned, of [what a plan may cost](super::bounds).
    pub(super) spent: usize,
}

impl Facts {
    /// No facts about `uses.len()` values.
    pub fn new(uses: Vec<u32>, growing: Arc<[Grows]>) -> Facts {
        Facts {
            facts: vec![None; uses.len()],
            remaining_uses: uses,
            growing,
            appended: Vec::new(),
            spent: 0,
        }
    }

    pub fn get(&self, id: ValueId) -> Option<&Fact> {
        self.facts.get(id.index())?.as_ref()
    }

    pub fn set(&mut self, id: ValueId, fact: Fact) {
        if let Some(slot) = self.facts.get_mut(id.index()) {
            *slot = Some(fact);
        }
    }

    /// Notes that one use of the value is planned.
    pub fn used(&mut self, id: ValueId) {
        if let Some(n) = self.remaining_uses.get_mut(id.index()) {
            *n = n.saturating_sub(1);
        }
    }

    /// The buffers that values with uses still to come live in.
    pub fn live_buffers(&self) -> impl Iterator<Item = BufferRef> {
        let facts = self.facts.iter().zip(&self.remaining_uses).filter(|&(_, &uses)| uses > 0);
        facts.filter_map(|(fact, _)| fact.as_ref()).flat_map(Fact::buffers)
    }
}

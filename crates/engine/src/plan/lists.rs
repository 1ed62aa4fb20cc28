//! Sequences, optionals and maps while a plan is made.
//!
//! They are no objects of a run: a plan knows how long each sequence is and where each of its elements lies, and
//! whether there is something in an optional. What is taken out of a sequence is the element itself. Where
//! a position is known at run time only, its value selects the plan that continues, as that of a shape does.
//!
//! A map is a vector of its keys and one of its values. A sequence of maps, which the standard makes in no other way than by
//! ZipMap, is the keys that they all have and a table of values with a row for each: no map of it is planned by itself.

use super::cx::{Operand, PlanCx, Strided, contiguous_fact, view_of, whole_place};
use super::elements::Elements;
use super::facts::{BufferRef, Fact, Pairs, Place};
use super::segment::SegmentBuilder;
use crate::error::PlanError;
use std::sync::Arc;
use stead_tensor::{DType, Shape};

/// The most elements of a sequence, as many as a loop may have iterations: each is planned by itself.
pub(crate) const MAX_ELEMENTS: usize = 1 << 16;

/// How the inputs of a run, or the outputs of a plan, follow each other in a list of tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Arranged {
    /// The next tensor, which may be absent.
    One,
    /// A sequence of the next tensors.
    Many(usize),
    /// A map of keys of this type, the next tensor, and values, the one after that.
    Map(DType),
    /// An optional in which there is nothing.
    Nothing,
}

impl Fact {
    /// A sequence of these elements.
    ///
    /// # Errors
    /// [`PlanError::Shape`] for too many.
    pub fn sequence(dtype: DType, elements: impl Into<Elements>) -> Result<Fact, PlanError> {
        let elements = elements.into();
        if elements.len() > MAX_ELEMENTS {
            return Err(PlanError::shape(format!(
                "a sequence of {} elements; at most {MAX_ELEMENTS} can be planned",
                elements.len()
            )));
        }
        let place = Place::Sequence(elements);
        Ok(Fact { dtype, shape: Shape::SCALAR, place, view: None })
    }

    /// An optional in which there is nothing.
    pub fn nothing(dtype: DType) -> Fact {
        Fact { dtype, shape: Shape::SCALAR, place: Place::Nothing, view: None }
    }

    /// A map, or a sequence of maps where the values are a table.
    pub fn map(keys: Fact, values: Fact) -> Fact {
        let dtype = values.dtype;
        let place = Place::Map(Arc::new(Pairs { keys, values }));
        Fact { dtype, shape: Shape::SCALAR, place, view: None }
    }

    /// The elements of a sequence.
    ///
    /// # Errors
    /// [`PlanError::Shape`] for an optional in which there is none.
    pub fn elements(&self) -> Result<&Elements, PlanError> {
        match &self.place {
            Place::Sequence(elements) => Ok(elements),
            Place::Nothing => Err(PlanError::shape("an optional sequence holds nothing")),
            _ => Err(PlanError::Evaluation("a tensor stands where a sequence should".into())),
        }
    }

    /// The buffers that it lies in.
    pub fn buffers(&self) -> impl Iterator<Item = BufferRef> {
        let (elements, one, more) = match &self.place {
            Place::Sequence(elements) => (Some(elements), None, None),
            Place::Map(pairs) => (None, Some(&pairs.keys), Some(&pairs.values)),
            _ => (None, Some(self), None),
        };
        let lying = elements.into_iter().flat_map(Elements::iter).chain(one).chain(more);
        lying.filter_map(|fact| match fact.place {
            Place::Buffer(buffer) => Some(buffer),
            _ => None,
        })
    }

    /// A tensor as it lies, for kernels that take strides.
    ///
    /// # Errors
    /// [`PlanError`] for what is no tensor.
    pub fn strided(&self) -> Result<Strided, PlanError> {
        let view = view_of(self);
        let operand = Operand { source: whole_place(self)?, ty: (self.dtype, self.shape) };
        Ok(Strided { operand, offset: view.offset, strides: view.strides })
    }
}

impl Pairs {
    /// Keys and values as contiguous bytes.
    ///
    /// # Errors
    /// [`PlanError`] for what is no tensor.
    pub fn operands(
        &self,
        label: &Arc<str>,
        segment: &mut SegmentBuilder,
    ) -> Result<[Operand; 2], PlanError> {
        let (mut keys, mut values) = (self.keys.clone(), self.values.clone());
        let keys = contiguous_fact(&mut keys, label, segment)?;
        Ok([keys, contiguous_fact(&mut values, label, segment)?])
    }
}

impl PlanCx<'_> {
    /// What is known of an input of any form.
    ///
    /// # Errors
    /// [`PlanError::Shape`] when it is absent.
    pub(crate) fn held(&self, index: usize) -> Result<Fact, PlanError> {
        self.fact(index).cloned()
    }

    /// The elements of an input that is a sequence.
    ///
    /// # Errors
    /// [`PlanError::Shape`] when it is absent.
    pub(crate) fn elements(&self, index: usize) -> Result<Elements, PlanError> {
        self.fact(index)?.elements().cloned()
    }

    /// Keys and values of an input that is a map, as contiguous bytes.
    ///
    /// # Errors
    /// [`PlanError::Shape`] when it is absent.
    pub(crate) fn pairs(&mut self, index: usize) -> Result<[Operand; 2], PlanError> {
        let Place::Map(pairs) = self.held(index)?.place else {
            return Err(PlanError::Evaluation("a tensor stands where a map should".into()));
        };
        pairs.operands(&self.node.label, self.segment)
    }

    /// Whether an input is written in the node and there is something in it.
    pub(crate) fn holds(&self, index: usize) -> bool {
        self.fact(index).is_ok_and(|fact| !matches!(fact.place, Place::Nothing))
    }

    /// Declares an output to be a sequence of these elements.
    ///
    /// # Errors
    /// [`PlanError::Shape`] for too many, and where a plan makes too many such sequences.
    pub(crate) fn give_sequence(
        &mut self,
        output: usize,
        elements: Vec<Fact>,
    ) -> Result<(), PlanError> {
        let copies = elements.len();
        self.give_elements(output, elements.into(), copies)
    }

    /// As [`give_sequence`](Self::give_sequence), of elements that took so many copies.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn give_elements(
        &mut self,
        output: usize,
        elements: Elements,
        copies: usize,
    ) -> Result<(), PlanError> {
        self.facts.spend(copies)?;
        let sequence = Fact::sequence(self.output_type(output)?, elements)?;
        self.give(output, sequence);
        Ok(())
    }

    /// Declares an output to be what another value is.
    pub(crate) fn give(&mut self, output: usize, fact: Fact) {
        if let Some(id) = self.output_id(output) {
            self.facts.set(id, fact);
        }
    }
}

//! What an operator sees while it plans itself for concrete shapes.

use super::facts::{BufferRef, Fact, Facts, Place, View};
use super::run::Args;
use super::segment::{Append, SegmentBuilder, Source, StepType};
use super::work::Work;
use crate::compile::CompiledNode;
use crate::error::{PlanError, RunError};
use crate::ir::ValueId;
use std::ops::Range;
use std::sync::Arc;
use stead_kernels::Isa;
use stead_kernels::movement::copy_strided;
use stead_tensor::{DType, Element, MAX_RANK, Shape, Tensor, TensorView, grown_strides};

/// Bytes that a step will read.
#[derive(Debug, Clone)]
pub struct Operand {
    pub(crate) source: Source,
    pub(crate) ty: StepType,
}

/// A buffer that a step will write.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    buffer: BufferRef,
    ty: StepType,
    /// Room to work in, whose bytes are no result.
    is_room: bool,
}

/// An operand whose elements are found by strides.
#[derive(Debug, Clone)]
pub struct Strided {
    /// The bytes of the whole place.
    pub operand: Operand,
    /// The position of the first element, in elements.
    pub offset: usize,
    /// Strides in elements, one for each dimension.
    pub strides: [isize; MAX_RANK],
}

/// The context in which one node is planned.
///
/// Inputs and outputs are numbered as in the ONNX definition of the operator. A planning function reads
/// shapes, declares outputs (a new buffer, or a view of an input) and emits steps.
pub struct PlanCx<'p> {
    pub(crate) node: &'p CompiledNode,
    pub(crate) facts: &'p mut Facts,
    pub(crate) segment: &'p mut SegmentBuilder,
    /// The instruction set that the steps will run on.
    pub isa: Isa,
}

impl PlanCx<'_> {
    /// The number of inputs written in the node, absent ones included.
    pub fn input_count(&self) -> usize {
        self.node.inputs.len()
    }

    /// The number of outputs written in the node, unwanted ones included.
    pub fn output_count(&self) -> usize {
        self.node.outputs.len()
    }

    /// Whether an optional input is there. One that stands in the node may be absent all the same: an input
    /// of the model without a default that the caller has left out.
    pub fn has_input(&self, index: usize) -> bool {
        self.input_id(index).is_some_and(|id| self.facts.get(id).is_some())
    }

    /// Whether somebody wants an output.
    pub fn wants(&self, index: usize) -> bool {
        self.output_id(index).is_some()
    }

    fn input_id(&self, index: usize) -> Option<ValueId> {
        self.node.inputs.get(index).copied().flatten()
    }

    pub(super) fn output_id(&self, index: usize) -> Option<ValueId> {
        self.node.outputs.get(index).copied().flatten()
    }

    pub(super) fn fact(&self, index: usize) -> Result<&Fact, PlanError> {
        self.input_id(index)
            .and_then(|id| self.facts.get(id))
            .ok_or_else(|| PlanError::shape(format!("input {index} is missing")))
    }

    /// The shape of an input.
    ///
    /// # Errors
    /// [`PlanError::Shape`] when it is absent.
    pub fn shape(&self, index: usize) -> Result<Shape, PlanError> {
        Ok(self.fact(index)?.shape)
    }

    /// The element type of an input.
    ///
    /// # Errors
    /// [`PlanError::Shape`] when it is absent.
    pub fn dtype(&self, index: usize) -> Result<DType, PlanError> {
        Ok(self.fact(index)?.dtype)
    }

    /// The value of an input. When it is not known yet the plan ends its segment here, and continues when the
    /// value has been read at run time.
    ///
    /// # Errors
    /// [`PlanError::NeedsValue`], to be passed on.
    pub fn value(&self, index: usize) -> Result<Tensor, PlanError> {
        match (self.fact(index)?.known(), self.input_id(index)) {
            (Some(tensor), _) => Ok(tensor.clone()),
            (None, Some(id)) => Err(PlanError::NeedsValue(id)),
            (None, None) => Err(PlanError::shape(format!("input {index} is missing"))),
        }
    }

    /// The value of an integer input (`i64` or `i32`) as a list.
    ///
    /// # Errors
    /// [`PlanError::NeedsValue`], to be passed on; [`PlanError::Shape`] for other types.
    pub fn ints(&self, index: usize) -> Result<Vec<i64>, PlanError> {
        let tensor = self.value(index)?;
        match tensor.dtype() {
            DType::I64 => Ok(tensor.as_slice::<i64>()?.to_vec()),
            DType::I32 => Ok(tensor.as_slice::<i32>()?.iter().map(|&v| v.into()).collect()),
            other => {
                Err(PlanError::shape(format!("input {index}: integers expected, got {other}")))
            }
        }
    }

    /// The value of an integer scalar input.
    ///
    /// # Errors
    /// As [`PlanCx::ints`], and [`PlanError::Shape`] for more or less than one element.
    pub fn int(&self, index: usize) -> Result<i64, PlanError> {
        match self.ints(index)?.as_slice() {
            [v] => Ok(*v),
            other => Err(PlanError::shape(format!(
                "input {index}: one element expected, got {}",
                other.len()
            ))),
        }
    }

    /// An input as contiguous row-major bytes; a view with strides is copied first, once for all readers.
    ///
    /// # Errors
    /// [`PlanError::Shape`] when it is absent.
    pub fn input(&mut self, index: usize) -> Result<Operand, PlanError> {
        self.fact(index)?;
        match self.input_id(index) {
            Some(id) => contiguous(id, self.node, self.facts, self.segment),
            None => Err(PlanError::shape(format!("input {index} is missing"))),
        }
    }

    /// An input as it lies, for kernels that take strides.
    ///
    /// # Errors
    /// [`PlanError::Shape`] when it is absent.
    pub fn strided(&self, index: usize) -> Result<Strided, PlanError> {
        self.fact(index)?.strided()
    }

    /// Declares an output in a new buffer.
    ///
    /// # Errors
    /// [`PlanError::Tensor`] when the size overflows.
    pub fn output(&mut self, index: usize, shape: Shape) -> Result<Slot, PlanError> {
        let Some(id) = self.output_id(index) else {
            // Nobody wants it: the kernel writes into room that is free again after the step.
            let dtype = self.node.unwanted_types.get(index).copied().flatten();
            return Ok(self.temp(shape.byte_len(dtype.unwrap_or(DType::F64))));
        };
        let dtype = self.output_type(index)?;
        let buffer = self.segment.buffer(shape.byte_len(dtype));
        self.facts.set(id, Fact { dtype, shape, place: Place::Buffer(buffer), view: None });
        Ok(Slot { buffer, ty: (dtype, shape), is_room: false })
    }

    /// Declares an output that is stored in another order than its dimensions: the kernel writes `storage`
    /// elements, and `strides` (in elements) say where those of `shape` lie among them.
    ///
    /// # Errors
    /// As [`PlanCx::alias_view`] for strides that reach outside.
    pub fn output_view(
        &mut self,
        index: usize,
        shape: Shape,
        strides: [isize; MAX_RANK],
    ) -> Result<Slot, PlanError> {
        let slot = self.output(index, shape)?;
        let reach: usize = shape
            .iter()
            .zip(&strides)
            .map(|(&d, &s)| d.saturating_sub(1).saturating_mul(s.unsigned_abs()))
            .fold(0, usize::saturating_add);
        if shape.elements() > 0 && reach >= shape.elements() {
            return Err(PlanError::shape("an output reaches outside of its buffer"));
        }
        if let Some(id) = self.output_id(index)
            && let Some(fact) = self.facts.get(id)
        {
            let view = Some(View { offset: 0, strides });
            self.facts.set(id, Fact { view, ..fact.clone() });
        }
        Ok(slot)
    }

    /// The element type of an output.
    ///
    /// # Errors
    /// [`PlanError::Shape`] when nobody wants it.
    pub fn output_type(&self, index: usize) -> Result<DType, PlanError> {
        self.node
            .output_types
            .get(index)
            .copied()
            .flatten()
            .ok_or_else(|| PlanError::shape(format!("output {index} is not wanted")))
    }

    /// Room for a step to work in. Kernels get it after the outputs, in the order of `writes`.
    pub fn temp(&mut self, bytes: usize) -> Slot {
        // Room has no type; the debugging view shows it as bytes.
        let shape = Shape::new(&[bytes]).unwrap_or(Shape::SCALAR);
        Slot { buffer: self.segment.buffer(bytes), ty: (DType::U8, shape), is_room: true }
    }

    /// Room for `count` elements of `T` to work in.
    pub fn temp_of<T: Element>(&mut self, count: usize) -> Slot {
        self.temp(count.saturating_mul(size_of::<T>()))
    }

    /// A slot that an earlier step of this node wrote, to be read by a later one.
    pub fn read_back(&self, slot: Slot) -> Operand {
        Operand { source: Source::Buffer(slot.buffer, 0..slot.buffer.bytes), ty: slot.ty }
    }

    /// Emits a step: `run` gets `reads` and `writes` in this order through [`Args`].
    pub fn step(
        &mut self,
        name: &'static str,
        reads: &[Operand],
        writes: &[Slot],
        run: impl Fn(&mut Args<'_>) -> Result<(), RunError> + Send + Sync + 'static,
    ) {
        let results = writes.iter().filter(|slot| !slot.is_room).map(|slot| slot.buffer.bytes);
        let bytes = reads.iter().map(|o| o.source.range().len()).chain(results).sum::<usize>();
        let reads = reads.iter().map(|o| (o.source.clone(), o.ty)).collect();
        let writes = writes.iter().map(|s| (s.buffer, s.ty)).collect();
        self.segment.step(name, self.node.label.clone(), reads, writes, Box::new(run));
        self.segment.count(Work { flops: 0, bytes: bytes as u64 });
    }

    /// Adds to what profiles say of the step emitted last: operations, and bytes that are none of its operands, such as
    /// those of packed weights.
    pub(crate) fn count(&mut self, flops: u64, bytes: usize) {
        self.segment.count(Work { flops, bytes: bytes as u64 });
    }

    /// Declares an output as the elements of an input in another shape, without a copy where the input lies
    /// row-major.
    ///
    /// # Errors
    /// [`PlanError::Shape`] when the number of elements differs.
    pub fn alias(&mut self, output: usize, input: usize, shape: Shape) -> Result<(), PlanError> {
        let from = self.shape(input)?;
        if from.elements() != shape.elements() {
            return Err(PlanError::shape(format!("cannot view {from} as {shape}")));
        }
        if !is_row_major(&from, &view_of(self.fact(input)?).strides) {
            self.input(input)?;
        }
        let fact = self.fact(input)?.clone();
        let Some(id) = self.output_id(output) else { return Ok(()) };
        let view = fact.view.map(|v| View { offset: v.offset, strides: shape.strides() });
        let place = match (fact.place, view) {
            (Place::Const(tensor), None) => Place::Const(tensor.reshaped(shape)?),
            (place, _) => place,
        };
        self.facts.set(id, Fact { dtype: fact.dtype, shape, place, view });
        Ok(())
    }

    /// Declares an output as a view of an input: `offset` is counted from the start of the place, as in
    /// [`Strided::offset`], and strides are in elements.
    ///
    /// # Errors
    /// [`PlanError::Shape`] when the view reaches outside of the place.
    pub fn alias_view(
        &mut self,
        output: usize,
        input: usize,
        shape: Shape,
        offset: usize,
        strides: [isize; MAX_RANK],
    ) -> Result<(), PlanError> {
        let fact = self.fact(input)?.clone();
        let size = fact.dtype.size().max(1);
        let elements = whole_place(&fact)?.range().len() / size;
        let reach = |toward: fn(isize, isize) -> isize| {
            shape.iter().zip(&strides).try_fold(offset as isize, |at, (&d, &s)| {
                at.checked_add(toward(0, (d as isize - 1).checked_mul(s)?))
            })
        };
        let low = reach(std::cmp::min);
        let high = reach(std::cmp::max);
        let inside = matches!((low, high), (Some(l), Some(h)) if l >= 0 && (h as usize) < elements);
        if shape.elements() > 0 && !inside {
            return Err(PlanError::shape("a view reaches outside of its tensor"));
        }
        if let Some(id) = self.output_id(output) {
            let view = Some(View { offset, strides });
            self.facts.set(id, Fact { dtype: fact.dtype, shape, place: fact.place, view });
        }
        Ok(())
    }

    /// Declares an output as the bits of an input, taken for the output's type, which has elements of the same size.
    ///
    /// # Errors
    /// [`PlanError::Evaluation`] for types of different sizes.
    pub fn alias_bits(&mut self, output: usize, input: usize) -> Result<(), PlanError> {
        let fact = self.fact(input)?.clone();
        let Some(id) = self.output_id(output) else { return Ok(()) };
        let dtype = self.output_type(output)?;
        if dtype.bits() != fact.dtype.bits() {
            return Err(PlanError::Evaluation("bits are seen as elements of another size".into()));
        }
        let place = match fact.place {
            Place::Const(tensor) => {
                let view = TensorView::from_bytes(dtype, tensor.shape(), tensor.bytes())?;
                Place::Const(view.to_tensor()?)
            }
            place => place,
        };
        self.facts.set(id, Fact { dtype, place, ..fact });
        Ok(())
    }

    /// The growing state that this node may append to where it lies: input `past` is the state as the caller
    /// brought it, and `output` is what becomes of it, longer along `axis` by the inputs `reads`.
    pub(crate) fn appends(
        &self,
        past: usize,
        output: usize,
        axis: usize,
        reads: Range<usize>,
    ) -> Option<usize> {
        let fact = self.fact(past).ok()?;
        let Place::Grown(state, bytes) = fact.place else { return None };
        let grows = self.facts.growing.get(state)?;
        let is_whole =
            bytes == fact.shape.byte_len(fact.dtype) && fact.view == Some(grown(&fact.shape, axis));
        // A step that appends cannot read what may move when it does.
        let mut reads = reads.flat_map(|index| self.fact(index));
        let reads_none = reads.all(|f| !matches!(f.place, Place::Grown(..)));
        let is_next = self.output_id(output) == Some(grows.output) && grows.axis == axis;
        (is_whole && is_next && reads_none).then_some(state)
    }

    /// Declares `output` as input `past`, which [`PlanCx::appends`] has found to be `state`, with something behind it,
    /// and emits the step that writes that: `run` gets its bytes as the next output of [`Args`], stored with the
    /// growing axis outermost. Gives the whole state, stored in the same way.
    ///
    /// # Errors
    /// [`PlanError::Shape`] when `past` is missing.
    pub(crate) fn append(
        &mut self,
        name: &'static str,
        (state, axis): (usize, usize),
        past: usize,
        output: (usize, Shape),
        reads: &[Operand],
        run: impl Fn(&mut Args<'_>) -> Result<(), RunError> + Send + Sync + 'static,
    ) -> Result<Operand, PlanError> {
        let (output, shape) = output;
        let fact = self.fact(past)?;
        let dtype = fact.dtype;
        let steps = shape.get(axis).copied().unwrap_or(0);
        let steps = steps.saturating_sub(fact.shape.get(axis).copied().unwrap_or(0));
        let reads = reads.iter().map(|o| (o.source.clone(), o.ty)).collect();
        let append = Append { state, steps };
        self.facts.appended.push(state);
        self.segment.append(name, self.node.label.clone(), reads, append, Box::new(run));
        let bytes = shape.byte_len(dtype);
        if let Some(id) = self.output_id(output) {
            let (place, view) = (Place::Grown(state, bytes), Some(grown(&shape, axis)));
            self.facts.set(id, Fact { dtype, shape, place, view });
        }
        Ok(Operand { source: Source::Grown(state, 0..bytes), ty: (dtype, shape) })
    }

    /// Declares an output whose value is known now.
    pub fn set_value(&mut self, output: usize, tensor: Tensor) {
        if let Some(id) = self.output_id(output) {
            self.facts.set(id, Fact::constant(tensor));
        }
    }

    /// What an earlier segment left in this node's hidden value, once it has been read.
    pub fn measured(&self) -> Option<Tensor> {
        self.facts.get(self.node.aux)?.known().cloned()
    }

    /// Emits a step that leaves `count` numbers (`i64`) in this node's hidden value, and ends the segment: the
    /// node is planned again when they have been read, and finds them in [`PlanCx::measured`].
    pub fn measure(
        &mut self,
        name: &'static str,
        count: usize,
        reads: &[Operand],
        run: impl Fn(&mut Args<'_>) -> Result<(), RunError> + Send + Sync + 'static,
    ) -> PlanError {
        let shape = match Shape::new(&[count]) {
            Ok(shape) => shape,
            Err(error) => return error.into(),
        };
        let slot = self.temp(shape.byte_len(DType::I64));
        let place = Place::Buffer(slot.buffer);
        self.facts.set(self.node.aux, Fact { dtype: DType::I64, shape, place, view: None });
        self.step(name, reads, &[slot], run);
        PlanError::NeedsValue(self.node.aux)
    }
}

/// How the elements of a growing state lie.
pub(super) fn grown(shape: &Shape, axis: usize) -> View {
    View { offset: 0, strides: grown_strides(shape, axis) }
}

/// How a value's elements lie in its place.
pub(super) fn view_of(fact: &Fact) -> View {
    fact.view.unwrap_or_else(|| View { offset: 0, strides: fact.shape.strides() })
}

pub(super) fn whole_place(fact: &Fact) -> Result<Source, PlanError> {
    Ok(match &fact.place {
        Place::Const(tensor) => Source::Const(tensor.clone(), 0..tensor.bytes().len()),
        Place::Packed => {
            return Err(PlanError::Evaluation("a weight is read after it was packed".into()));
        }
        Place::Sequence(_) => {
            return Err(PlanError::Evaluation("a sequence is read as a tensor".into()));
        }
        Place::Map(_) => {
            return Err(PlanError::Evaluation("a map is read as a tensor".into()));
        }
        Place::Nothing => return Err(PlanError::shape("an optional holds nothing")),
        Place::Input(index, bytes) => Source::Input(*index, 0..*bytes),
        Place::Buffer(buffer) => Source::Buffer(*buffer, 0..buffer.bytes),
        Place::Grown(state, bytes) => Source::Grown(*state, 0..*bytes),
    })
}

/// Whether strides are those of a row-major tensor; dimensions of one element do not matter.
fn is_row_major(shape: &Shape, strides: &[isize; MAX_RANK]) -> bool {
    let wanted = shape.strides();
    shape.elements() == 0 || (0..shape.rank()).all(|a| shape[a] == 1 || strides[a] == wanted[a])
}

/// A value as contiguous bytes. One that lies otherwise is copied, and all later readers find the copy.
pub(crate) fn contiguous(
    id: ValueId,
    node: &CompiledNode,
    facts: &mut Facts,
    segment: &mut SegmentBuilder,
) -> Result<Operand, PlanError> {
    let missing = || PlanError::Evaluation("a value is used before it is planned".into());
    let mut fact = facts.get(id).ok_or_else(missing)?.clone();
    let was_view = fact.view.is_some();
    let operand = contiguous_fact(&mut fact, &node.label, segment)?;
    if was_view && fact.view.is_none() {
        facts.set(id, fact);
    }
    Ok(operand)
}

/// As [`contiguous`], for a fact that no value holds; a copy becomes its place.
pub(crate) fn contiguous_fact(
    fact: &mut Fact,
    label: &Arc<str>,
    segment: &mut SegmentBuilder,
) -> Result<Operand, PlanError> {
    let place = whole_place(fact)?;
    let ty = (fact.dtype, fact.shape);
    let Some(view) = fact.view else { return Ok(Operand { source: place, ty }) };
    let bytes = fact.shape.byte_len(fact.dtype);
    if is_row_major(&fact.shape, &view.strides) {
        let start = view.offset * fact.dtype.size();
        // A view of nothing may point at the very end.
        let start = if bytes == 0 { 0 } else { place.range().start + start };
        return Ok(Operand { source: place.at(start..start + bytes), ty });
    }
    let buffer = segment.buffer(bytes);
    let (shape, size) = (fact.shape, fact.dtype.size());
    segment.step(
        "copy",
        label.clone(),
        vec![(place, ty)],
        vec![(buffer, ty)],
        Box::new(move |a| {
            let (src, dst) = (a.read_bytes(0)?, a.write_bytes()?);
            copy_strided(size, src, view.offset, &view.strides, &shape, dst);
            Ok(())
        }),
    );
    segment.count(Work { flops: 0, bytes: 2 * bytes as u64 });
    fact.place = Place::Buffer(buffer);
    fact.view = None;
    Ok(Operand { source: Source::Buffer(buffer, 0..bytes), ty })
}

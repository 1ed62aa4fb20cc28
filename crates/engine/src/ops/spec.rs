//! What a build function sees of a node.

use crate::error::BuildError;
use crate::ir::{Form, Ir, Node, ValueId};
use std::any::Any;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use stead_kernels::Isa;
use stead_onnx::Attributes;
use stead_tensor::{DType, Precision, Tensor};

/// A node at the time when the session is made: attributes, element types and constant inputs are known,
/// shapes are not.
pub struct NodeSpec<'a> {
    node: &'a Node,
    ir: &'a Ir,
    packs: &'a PackCache,
    /// The instruction set that kernels of this session use.
    pub isa: Isa,
}

/// Packed weights of one session, so that nodes that share a weight share its packed form too, and the
/// record of which constants are no longer needed as they came.
#[derive(Default)]
pub struct PackCache {
    packed: RefCell<HashMap<(ValueId, String), Arc<dyn Any + Send + Sync>>>,
    uses: RefCell<HashMap<ValueId, u32>>,
    nodes: RefCell<HashSet<(ValueId, usize)>>,
    /// Constants that were asked for in packed form lately.
    latest: RefCell<Vec<ValueId>>,
    precision: Precision,
}

impl PackCache {
    /// An empty one for a session of this precision.
    pub(crate) fn new(precision: Precision) -> PackCache {
        PackCache { precision, ..PackCache::default() }
    }

    /// How many uses of a constant went through a packed form.
    pub(crate) fn packed_uses(&self, id: ValueId) -> u32 {
        self.uses.borrow().get(&id).copied().unwrap_or(0)
    }

    /// The constants that were asked for in packed form since the last call.
    pub(crate) fn take_packed(&self) -> Vec<ValueId> {
        self.latest.take()
    }
}

impl<'a> NodeSpec<'a> {
    pub(crate) fn new(node: &'a Node, ir: &'a Ir, packs: &'a PackCache, isa: Isa) -> Self {
        NodeSpec { node, ir, packs, isa }
    }

    /// The operator.
    pub fn op_type(&self) -> &str {
        &self.node.op_type
    }

    /// The opset version.
    pub fn opset(&self) -> i64 {
        self.node.opset
    }

    /// The attributes.
    pub fn attributes(&self) -> &'a Attributes {
        &self.node.attributes
    }

    /// The number of inputs written in the node, absent ones included.
    pub fn input_count(&self) -> usize {
        self.node.inputs.len()
    }

    /// The number of outputs written in the node, unwanted ones included.
    pub fn output_count(&self) -> usize {
        self.node.outputs.len()
    }

    /// Whether an optional input is there.
    pub fn has_input(&self, index: usize) -> bool {
        self.node.input(index).is_some()
    }

    /// The element type of an input; `None` when it is absent.
    pub fn input_type(&self, index: usize) -> Option<DType> {
        Some(self.ir.value(self.node.input(index)?).dtype)
    }

    /// What an input is besides its element type; `None` when it is absent.
    pub fn input_form(&self, index: usize) -> Option<Form> {
        Some(self.ir.value(self.node.input(index)?).form)
    }

    /// The element type of the first input, which the table guarantees to be there for most operators.
    ///
    /// # Errors
    /// [`BuildError::Arity`] when there is no input.
    pub fn dtype(&self) -> Result<DType, BuildError> {
        self.input_type(0).ok_or_else(|| BuildError::Arity("the first input is missing".into()))
    }

    /// The element type of an output; `None` when nobody wants it.
    pub fn output_type(&self, index: usize) -> Option<DType> {
        Some(self.ir.value(self.node.output(index)?).dtype)
    }

    /// The value of an input that is the same in every run.
    pub fn constant(&self, index: usize) -> Option<&'a Tensor> {
        self.ir.constant(self.node.input(index))
    }

    /// Whether constant weights of single precision are packed in bf16.
    pub fn packs_bf16(&self) -> bool {
        self.packs.precision == Precision::Bf16
    }

    /// A packed form of a constant input, made once for all nodes that ask for the same `layout` of it;
    /// `None` when the input is not a constant. The plan must not read the input itself after that: its
    /// original bytes are freed when nobody else needs them (its shape stays known).
    ///
    /// # Errors
    /// Whatever `pack` gives.
    pub fn pack<P: Send + Sync + 'static>(
        &self,
        index: usize,
        layout: &str,
        pack: impl FnOnce(&Tensor) -> Result<P, BuildError>,
    ) -> Result<Option<Arc<P>>, BuildError> {
        let Some(id) = self.node.input(index) else { return Ok(None) };
        let key = (id, layout.to_owned());
        let known = self.packs.packed.borrow().get(&key).cloned();
        let known = known.and_then(|any| any.downcast::<P>().ok());
        // What is packed may have been freed as it came.
        let tensor = self.constant(index);
        if known.is_none() && tensor.is_none() {
            return Ok(None);
        }
        // Only the first packing of this input of this node counts as a use.
        if self.packs.nodes.borrow_mut().insert((self.node.aux, index)) {
            *self.packs.uses.borrow_mut().entry(id).or_default() += 1;
            self.packs.latest.borrow_mut().push(id);
        }
        let (None, Some(tensor)) = (&known, tensor) else { return Ok(known) };
        let packed = Arc::new(pack(tensor)?);
        self.packs.packed.borrow_mut().insert(key, packed.clone());
        Ok(Some(packed))
    }
}

//! Changes of shape between a product and what is added to it.

use crate::ir::ValueId;
use crate::passes::pattern::Matcher;
use stead_onnx::{AttributeValue, Attributes};

/// How a product is seen before something is added to it.
#[derive(Default)]
pub(super) struct Seen {
    /// The input of a Reshape, and whether zeros in it are sizes.
    shape: Option<(ValueId, bool)>,
    /// The order of dimensions after that.
    perm: Option<Vec<i64>>,
}

impl Seen {
    /// Whether it is seen as it is.
    pub fn is_plain(&self) -> bool {
        self.shape.is_none() && self.perm.is_none()
    }

    /// Says so in a fused node.
    pub fn note(self, inputs: &mut Vec<Option<ValueId>>, attributes: &mut Attributes) {
        /// The place of the shape among the inputs of the fused product.
        const SHAPE: usize = 6;
        if let Some((shape, allow_zero)) = self.shape {
            inputs.resize(SHAPE + 1, None);
            inputs[SHAPE] = Some(shape);
            attributes.set("allowzero", AttributeValue::Int(allow_zero.into()));
        }
        if let Some(perm) = self.perm {
            attributes.set("perm", AttributeValue::Ints(perm));
        }
    }
}

/// What a value was before a Reshape and a Transpose that nobody else reads the results of, and how it is seen then.
pub(super) fn unseen(m: &Matcher<'_>, mut id: Option<ValueId>) -> Option<(Option<ValueId>, Seen)> {
    let mut seen = Seen::default();
    if let Some(turned) = m.only_made_by(id, "Transpose") {
        seen.perm = Some(turned.attributes.ints("perm").ok()??.to_vec());
        id = turned.input(0);
    }
    if let Some(reshaped) = m.only_made_by(id, "Reshape") {
        let allow_zero = reshaped.attributes.bool_or("allowzero", false).ok()?;
        seen.shape = Some((reshaped.input(1)?, allow_zero));
        id = reshaped.input(0);
    }
    Some((id, seen))
}

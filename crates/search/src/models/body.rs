//! Functions of `.model` files.

use stead_expr::{Attribute, Bound, Compiled, Documents, Rate, RunError, Scratch, Stored, Value};

use super::inputs::{BoundInput, Values};

/// An expression whose names are the inputs of its model, in their order, and constants.
pub(super) struct Body {
    compiled: Compiled,
    constants: Vec<(String, Value)>,
}

/// The expression with the values of a query.
pub(super) struct BoundBody {
    bound: Bound,
    /// By name of documents, the place among the inputs.
    documents: Vec<usize>,
}

impl Body {
    pub(super) fn new(compiled: Compiled, constants: Vec<(String, Value)>) -> Body {
        Body { compiled, constants }
    }

    pub(super) fn bind(&self, inputs: &[BoundInput]) -> Result<BoundBody, RunError> {
        let (mut values, mut documents, mut input) = (Vec::new(), Vec::new(), 0);
        for (name, _, rate) in self.compiled.inputs() {
            if rate == Rate::Constant {
                let plain = name.strip_prefix("constant(").and_then(|n| n.strip_suffix(')'));
                let plain = plain.unwrap_or(name);
                let constant = self.constants.iter().find(|(known, _)| known == plain);
                values.extend(constant.map(|(_, value)| value));
                continue;
            }
            match inputs.get(input) {
                Some(BoundInput::Same(value)) if rate == Rate::Query => values.push(value),
                _ => documents.push(input),
            }
            input += 1;
        }
        Ok(BoundBody { bound: self.compiled.for_query(&values)?, documents })
    }
}

impl BoundBody {
    pub(super) fn run(
        &self,
        values: &[Values<'_>],
        count: usize,
        scratch: &mut Scratch,
    ) -> Result<Stored, RunError> {
        let column = |at: &usize| match values.get(*at) {
            Some(Values::Computed(stored)) => Some(stored.attribute()),
            _ => None,
        };
        let attributes: Vec<Attribute<'_>> = self.documents.iter().filter_map(column).collect();
        let documents = Documents { count, index: None, attributes: &attributes };
        self.bound.stored(&documents, scratch)
    }
}

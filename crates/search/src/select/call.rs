//! Operators that YQL writes as calls.

use super::{Reader, SelectError};
use crate::ordered::Ordered;
use crate::yql::{Expr, Node};

/// Calls whose first child is the name of a field, and whose others are values; of `userInput` all are values.
pub(super) const CALLS: [&str; 9] = [
    "wand",
    "weightedSet",
    "dotProduct",
    "geoLocation",
    "geoBoundingBox",
    "nearestNeighbor",
    "predicate",
    "userInput",
    "userQuery",
];

/// Calls whose children are parts of the query.
pub(super) const PARTS: [&str; 3] = ["rank", "weakAnd", "nonEmpty"];

impl Reader {
    /// `{"weakAnd": {"children": [...], "attributes": {...}}}`
    pub(super) fn call(&mut self, name: &str, value: &Ordered) -> Result<Node, SelectError> {
        // One part needs no list.
        let is_part = PARTS.contains(&name)
            && matches!(value, Ordered::Object(members) if members.iter().all(|(n, _)| n != "children"));
        if is_part {
            let part = self.part(value)?;
            return self.node(Expr::Call(name.to_owned(), vec![part]));
        }
        let form = self.form(value)?;
        let arguments = if PARTS.contains(&name) {
            self.parts(form.children)?
        } else {
            let mut arguments = Vec::with_capacity(form.children.len());
            for (at, child) in form.children.iter().enumerate() {
                let argument = match at == 0 && !name.starts_with("user") {
                    true => self.field(child),
                    false => self.constant(child),
                };
                arguments.push(argument.map_err(|error| error.at(at))?);
            }
            arguments
        };
        let node = self.node(Expr::Call(name.to_owned(), arguments))?;
        Ok(Node { annotations: form.annotations, ..node })
    }
}

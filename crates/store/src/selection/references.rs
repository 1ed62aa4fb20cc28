//! What a selection names.

use std::collections::BTreeSet;

use super::{Node, Selection, Way};
use crate::kind::DocumentType;

impl Selection {
    /// The types of documents that it names, each once, with each of their fields that it looks at; a type alone is there
    /// without a field.
    #[must_use]
    pub fn references(&self) -> BTreeSet<(&str, Option<&str>)> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&Node> = vec![&self.root];
        while let Some(node) = open.pop() {
            match node {
                Node::And(parts) | Node::Or(parts) => open.extend(parts),
                Node::Not(inner) | Node::Matches(inner, _) | Node::Call(_, inner) => {
                    open.push(inner);
                }
                Node::Compare(_, left, right) | Node::Calculate(_, left, right) => {
                    open.extend([&**left, &**right]);
                }
                Node::Type(name) => drop(found.insert((name.as_str(), None))),
                Node::Field(name, ways) => {
                    let field = match ways.first() {
                        Some(Way::Member(field)) => Some(field.as_str()),
                        _ => None,
                    };
                    found.insert((name, field));
                }
                Node::Now
                | Node::Null
                | Node::Integer(_)
                | Node::Number(_)
                | Node::Text(_)
                | Node::Bool(_)
                | Node::Id(_) => {}
            }
        }
        found
    }

    /// The numbers of the fields that it looks at of documents of a type.
    #[must_use]
    pub fn fields_of(&self, kind: &DocumentType) -> BTreeSet<usize> {
        let fields = self.references().into_iter().filter(|(name, _)| *name == kind.name());
        fields.filter_map(|(_, field)| Some(kind.field(field?)?.0)).collect()
    }
}

//! The fields that a search looks at.

use std::collections::BTreeSet;

use stead_store::DocumentType;

use super::Prepared;
use crate::query::{OrderKey, Tree};

impl Prepared {
    /// The numbers of the fields that matching, ranking, order and groups look at. Those that only hits show are not among them.
    pub(super) fn fields(&self, kind: &DocumentType) -> BTreeSet<usize> {
        let asked = self.asked();
        let is_asked = |name: &str| {
            let is_it = |asked: &&str| match asked.strip_prefix(name) {
                Some(rest) => rest.is_empty() || rest.starts_with('.'),
                None => false,
            };
            asked.iter().any(is_it) || self.plan.names_field(name, &self.rank)
        };
        let own = kind.fields().enumerate().filter(|(_, name)| is_asked(name)).map(|(at, _)| at);
        // The attributes of a field need not be called as it is.
        let attributes = kind.attributes().iter().filter(|a| is_asked(&a.name)).map(|a| a.field);
        let texts = kind.texts().iter().filter(|of| is_asked(&of.name)).map(|of| of.field);
        own.chain(attributes).chain(texts).collect()
    }

    /// What query, order and groupings name.
    fn asked(&self) -> Vec<&str> {
        let tree = &self.tree;
        let mut names: Vec<&str> = tree.terms.iter().map(|term| term.attribute.as_str()).collect();
        names.extend(tree.neighbors.iter().map(|neighbor| neighbor.attribute.as_str()));
        let labeled = tree.labels.iter().map(|labeled| &labeled.tree);
        let weak = tree.weak_ands.iter().flat_map(|weak| &weak.parts);
        let mut open: Vec<&Tree> = labeled.chain(weak).chain([&tree.root]).collect();
        while let Some(part) = open.pop() {
            match part {
                Tree::And(parts) | Tree::Or(parts) => open.extend(parts),
                Tree::Not(inner) => open.push(inner),
                Tree::Rank(first, others) => {
                    open.push(first);
                    open.extend(others);
                }
                Tree::SameElement(same) => {
                    names.push(&same.field);
                    open.push(&same.tree);
                }
                Tree::All | Tree::None | Tree::Term(_) | Tree::Neighbor(_) | Tree::WeakAnd(_) => {}
            }
        }
        names.extend(self.order.iter().filter_map(|by| match &by.key {
            OrderKey::Attribute(name) => Some(name.as_str()),
            OrderKey::Score | OrderKey::Document | OrderKey::Source => None,
        }));
        names.extend(self.groupings.attributes());
        names
    }
}

//! Tests that one element must pass together.

use stead_store::Column;

use super::segment::Segment;
use super::value::element_passes;
use crate::query::{QueryTree, SameElement, Tree};

/// Whether a document has an element that passes.
pub(super) fn has_element(
    tree: &QueryTree,
    same: &SameElement,
    segment: &Segment<'_>,
    row: usize,
) -> bool {
    let mut count = 0;
    elements(tree, &same.tree, segment, row, &mut count);
    let passes =
        |element: usize| element < count && passes(tree, &same.tree, segment, row, element);
    match same.elements.is_empty() {
        true => (0..count).any(passes),
        false => same.elements.iter().any(|element| passes(*element as usize)),
    }
}

/// How many elements a document has.
fn elements(tree: &QueryTree, part: &Tree, segment: &Segment<'_>, row: usize, count: &mut usize) {
    match part {
        Tree::And(parts) | Tree::Or(parts) => {
            parts.iter().for_each(|part| elements(tree, part, segment, row, count));
        }
        Tree::Not(inner) | Tree::Rank(inner, _) => elements(tree, inner, segment, row, count),
        Tree::Term(term) => {
            if let Some((Column::Many(many), row)) = segment.at(&tree.terms[*term].attribute, row) {
                *count = (*count).max(many.places(row).len());
            }
        }
        Tree::All | Tree::None | Tree::Neighbor(_) | Tree::SameElement(_) => {}
    }
}

fn passes(
    tree: &QueryTree,
    part: &Tree,
    segment: &Segment<'_>,
    row: usize,
    element: usize,
) -> bool {
    let passes = |part: &Tree| passes(tree, part, segment, row, element);
    match part {
        Tree::All => true,
        Tree::None | Tree::Neighbor(_) | Tree::SameElement(_) => false,
        Tree::And(parts) => parts.iter().all(passes),
        Tree::Or(parts) => parts.iter().any(passes),
        Tree::Not(inner) => !passes(inner),
        Tree::Rank(first, _) => passes(first),
        Tree::Term(term) => {
            let term = &tree.terms[*term];
            let Some((Column::Many(many), row)) = segment.at(&term.attribute, row) else {
                return false;
            };
            let at = many.places(row).nth(element);
            at.is_some_and(|at| element_passes(&term.test, many.elements(), at))
        }
    }
}

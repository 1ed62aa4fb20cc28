//! Tests that one element must pass together.

use stead_store::{Column, StoreError};

use super::evaluate::Matcher;
use super::segment::Work;
use super::value::element_passes;
use crate::query::{SameElement, Tree};

/// Whether a document has an element that passes.
pub(super) fn has_element(
    matcher: &Matcher<'_>,
    same: &SameElement,
    work: &Work<'_>,
    row: usize,
) -> Result<bool, StoreError> {
    let mut count = 0;
    elements(matcher, &same.tree, work, row, &mut count)?;
    let passes =
        |element: usize| Ok(element < count && passes(matcher, &same.tree, work, row, element)?);
    match same.elements.is_empty() {
        true => any(0..count, passes),
        false => any(same.elements.iter().map(|element| *element as usize), passes),
    }
}

/// Whether one passes, none behind the first that does being tested.
pub(super) fn any<T>(
    mut list: impl Iterator<Item = T>,
    mut test: impl FnMut(T) -> Result<bool, StoreError>,
) -> Result<bool, StoreError> {
    list.try_fold(false, |found, one| Ok(found || test(one)?))
}

/// How many elements a document has.
fn elements(
    matcher: &Matcher<'_>,
    part: &Tree,
    work: &Work<'_>,
    row: usize,
    count: &mut usize,
) -> Result<(), StoreError> {
    match part {
        Tree::And(parts) | Tree::Or(parts) => {
            parts.iter().try_for_each(|part| elements(matcher, part, work, row, count))
        }
        Tree::Not(inner) | Tree::Rank(inner, _) => elements(matcher, inner, work, row, count),
        Tree::Term(term) => {
            if let Some((column, row)) = work.at(matcher.tested(*term), row)?
                && let Column::Many(many) = &*column
            {
                *count = (*count).max(many.places(row).len());
            }
            Ok(())
        }
        Tree::All | Tree::None | Tree::Neighbor(_) | Tree::WeakAnd(_) | Tree::SameElement(_) => {
            Ok(())
        }
    }
}

fn passes(
    matcher: &Matcher<'_>,
    part: &Tree,
    work: &Work<'_>,
    row: usize,
    element: usize,
) -> Result<bool, StoreError> {
    let passes = |part: &Tree| passes(matcher, part, work, row, element);
    match part {
        Tree::All => Ok(true),
        Tree::None | Tree::Neighbor(_) | Tree::WeakAnd(_) | Tree::SameElement(_) => Ok(false),
        Tree::And(parts) => Ok(!any(parts.iter(), |part| Ok(!passes(part)?))?),
        Tree::Or(parts) => any(parts.iter(), passes),
        Tree::Not(inner) => Ok(!passes(inner)?),
        Tree::Rank(first, _) => passes(first),
        Tree::Term(term) => {
            let place = work.at(matcher.tested(*term), row)?;
            let Some((column, row)) = place else { return Ok(false) };
            let Column::Many(many) = &*column else { return Ok(false) };
            let test = &matcher.tree().terms[*term].test;
            let at = many.places(row).nth(element);
            Ok(at.is_some_and(|at| element_passes(test, many.elements(), at)))
        }
    }
}

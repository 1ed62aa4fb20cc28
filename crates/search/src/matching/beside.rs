//! What documents must pass beside an operator that takes the best of them.

use crate::query::{QueryTree, Tree};

/// An operator that takes the best documents.
pub(super) trait Best {
    /// Its number, if a part is such an operator.
    fn number(tree: &Tree) -> Option<usize>;

    /// Whether a part itself, what is in it left out, is found only after these operators.
    fn is_later(query: &QueryTree, tree: &Tree) -> bool;
}

/// What documents must pass beside each of `count` operators: parts of the same `and` that are known before them.
pub(super) fn beside<B: Best>(query: &QueryTree, count: usize) -> Vec<Vec<&Tree>> {
    let mut found = vec![Vec::new(); count];
    collect::<B>((query, &query.root), &mut Vec::new(), &mut found);
    found
}

fn collect<'t, B: Best>(
    (query, tree): (&'t QueryTree, &'t Tree),
    outer: &mut Vec<&'t Tree>,
    found: &mut [Vec<&'t Tree>],
) {
    if let Some(number) = B::number(tree)
        && let Some(found) = found.get_mut(number)
    {
        found.clone_from(outer);
    }
    match tree {
        Tree::And(parts) => {
            for (at, part) in parts.iter().enumerate().filter(|(_, part)| has::<B>(part)) {
                let beside = parts.iter().enumerate();
                let beside =
                    beside.filter(|(other, tree)| *other != at && !is_later::<B>(query, tree));
                let before = outer.len();
                outer.extend(beside.map(|(_, tree)| tree));
                collect::<B>((query, part), outer, found);
                outer.truncate(before);
            }
        }
        Tree::Or(parts) => parts.iter().for_each(|part| collect::<B>((query, part), outer, found)),
        Tree::Not(inner) => collect::<B>((query, inner), outer, found),
        Tree::Rank(first, rest) => {
            collect::<B>((query, first), outer, found);
            rest.iter().for_each(|part| collect::<B>((query, part), &mut Vec::new(), found));
        }
        // What a weakAnd has in it is compared with nothing beside it.
        _ => {}
    }
}

fn has<B: Best>(tree: &Tree) -> bool {
    any(tree, &|tree| B::number(tree).is_some())
}

fn is_later<B: Best>(query: &QueryTree, tree: &Tree) -> bool {
    any(tree, &|tree| B::is_later(query, tree))
}

/// Whether a part or one within it is such.
fn any(tree: &Tree, is_it: &dyn Fn(&Tree) -> bool) -> bool {
    is_it(tree)
        || match tree {
            Tree::And(parts) | Tree::Or(parts) => parts.iter().any(|part| any(part, is_it)),
            Tree::Not(inner) => any(inner, is_it),
            Tree::Rank(first, rest) => {
                any(first, is_it) || rest.iter().any(|part| any(part, is_it))
            }
            _ => false,
        }
}

//! Nodes that point at each other by number, as a tree in pre-order.

use crate::error::{Place, TreeError};
use crate::limits::Limits;
use crate::model::{Node, Test};

/// A node with the numbers that the file gives.
pub(crate) enum Raw {
    Split { feature: u32, test: Test, left: usize, right: usize },
    Leaf { value: f64, vespa: f64 },
}

/// Nodes that may still be read, over all trees of a model.
pub(crate) struct Budget {
    limit: usize,
    left: usize,
    depth: usize,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Budget {
        Budget { limit: limits.nodes, left: limits.nodes, depth: limits.depth }
    }
}

/// The nodes reached from node 0 of `count` nodes, each read once by `node`.
///
/// # Errors
/// A child out of range, a node reached twice, too many nodes or too deep a tree; those of `node`.
pub(crate) fn assemble(
    tree: usize,
    count: usize,
    budget: &mut Budget,
    mut node: impl FnMut(usize) -> Result<Raw, TreeError>,
) -> Result<Vec<Node>, TreeError> {
    let limit = budget.limit;
    budget.left = budget.left.checked_sub(count).ok_or(TreeError::Limit {
        place: Place::Tree(tree),
        what: "nodes in all trees",
        limit,
    })?;
    let mut reached = vec![false; count];
    let mut nodes = Vec::with_capacity(count);
    // What to read next: the number in the file, its parent in `nodes` if it is a right child, its depth.
    let mut next = vec![(0, None, 0)];
    while let Some((number, right_of, depth)) = next.pop() {
        let place = Place::Node { tree, node: number };
        match reached.get_mut(number) {
            Some(reached) if !*reached => *reached = true,
            Some(_) => return Err(TreeError::Cycle { place }),
            None => {
                let expected = format!("below {count}, the number of nodes; {number} is not");
                return Err(TreeError::field(Place::Tree(tree), "children", expected));
            }
        }
        if depth > budget.depth {
            let limit = budget.depth;
            return Err(TreeError::Limit { place, what: "levels", limit });
        }
        let at = nodes.len() as u32;
        if let Some(parent) = right_of
            && let Some(Node::Split { right, .. }) = nodes.get_mut(parent as usize)
        {
            *right = at;
        }
        match node(number)? {
            Raw::Leaf { value, vespa } => nodes.push(Node::Leaf { value, vespa }),
            Raw::Split { feature, test, left, right } => {
                nodes.push(Node::Split { feature, test, left: at + 1, right: 0 });
                next.push((right, Some(at), depth + 1));
                next.push((left, None, depth + 1));
            }
        }
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(children: &[Option<(usize, usize)>]) -> Result<Vec<Node>, TreeError> {
        assemble(7, children.len(), &mut Budget::new(&Limits::default()), |i| {
            Ok(match children[i] {
                None => Raw::Leaf { value: i as f64, vespa: i as f64 },
                Some((left, right)) => {
                    let test = Test::Less { threshold: i as f64, missing_left: false };
                    Raw::Split { feature: 0, test, left, right }
                }
            })
        })
    }

    #[test]
    fn children_follow_in_pre_order() {
        let nodes = tree(&[Some((4, 1)), Some((2, 3)), None, None, None]).unwrap();
        let order: Vec<_> = nodes
            .iter()
            .map(|node| match node {
                Node::Leaf { value, .. } => (*value, 0, 0),
                Node::Split { left, right, .. } => (-1.0, *left, *right),
            })
            .collect();
        assert_eq!(order, [(-1.0, 1, 2), (4.0, 0, 0), (-1.0, 3, 4), (2.0, 0, 0), (3.0, 0, 0)]);
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        let at = |node| Place::Node { tree: 7, node };
        let cases = [
            ("itself", vec![Some((0, 0))], TreeError::Cycle { place: at(0) }),
            (
                "an ancestor",
                vec![Some((1, 2)), Some((0, 2)), None],
                TreeError::Cycle { place: at(0) },
            ),
            ("shared", vec![Some((1, 1)), None], TreeError::Cycle { place: at(1) }),
            (
                "out of range",
                vec![Some((1, 9)), None],
                TreeError::field(
                    Place::Tree(7),
                    "children",
                    "below 2, the number of nodes; 9 is not",
                ),
            ),
        ];
        for (label, children, error) in cases {
            assert_eq!(tree(&children).unwrap_err(), error, "{label}");
        }
    }

    #[test]
    fn too_many_nodes_are_refused_before_memory_is_taken() {
        let limits = Limits { nodes: 10, ..Limits::default() };
        let result = assemble(0, usize::MAX, &mut Budget::new(&limits), |_| unreachable!());
        assert!(matches!(result, Err(TreeError::Limit { limit: 10, .. })));
    }
}

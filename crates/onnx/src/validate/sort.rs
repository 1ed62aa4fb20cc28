//! Topological sort without recursion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An order in which every node comes after those it waits for: as near to the given order as possible, and
/// `None` when the given order is one.
///
/// # Errors
/// A node on a cycle.
pub(super) fn order(waits: &[Vec<usize>]) -> Result<Option<Vec<usize>>, usize> {
    if waits.iter().enumerate().all(|(i, of)| of.iter().all(|&j| j < i)) {
        return Ok(None);
    }
    // Kahn's algorithm; the heap takes the ready node that comes first in the file.
    let mut pending: Vec<usize> = waits.iter().map(Vec::len).collect();
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); waits.len()];
    for (i, of) in waits.iter().enumerate() {
        for &j in of {
            if let Some(list) = users.get_mut(j) {
                list.push(i);
            }
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> =
        (0..waits.len()).filter(|&i| pending[i] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(waits.len());
    while let Some(Reverse(i)) = ready.pop() {
        order.push(i);
        for &user in &users[i] {
            pending[user] -= 1;
            if pending[user] == 0 {
                ready.push(Reverse(user));
            }
        }
    }
    if order.len() == waits.len() { Ok(Some(order)) } else { Err(on_cycle(waits, &pending)) }
}

/// Walks from a node that never got ready to one that it waits for, and so on: the first node met twice is
/// on a cycle.
fn on_cycle(waits: &[Vec<usize>], pending: &[usize]) -> usize {
    let stuck = |i: usize| pending.get(i).is_some_and(|&n| n > 0);
    let mut at = (0..waits.len()).find(|&i| stuck(i)).unwrap_or_default();
    let mut seen = vec![false; waits.len()];
    while !std::mem::replace(&mut seen[at], true) {
        at = waits[at].iter().copied().find(|&j| stuck(j)).unwrap_or(at);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders() {
        type Case = (&'static str, &'static [&'static [usize]], Result<Option<Vec<usize>>, usize>);
        let cases: [Case; 6] = [
            ("nothing", &[], Ok(None)),
            ("already sorted", &[&[], &[0], &[0, 1, 1]], Ok(None)),
            ("reversed", &[&[1], &[2], &[]], Ok(Some(vec![2, 1, 0]))),
            ("stable", &[&[3], &[], &[], &[]], Ok(Some(vec![1, 2, 3, 0]))),
            ("self loop", &[&[], &[1]], Err(1)),
            ("tail behind a cycle", &[&[1], &[2], &[3], &[2]], Err(2)),
        ];
        for (name, waits, expected) in cases {
            let waits: Vec<Vec<usize>> = waits.iter().map(|w| w.to_vec()).collect();
            assert_eq!(order(&waits), expected, "{name}");
        }
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let n = 300_000;
        let waits: Vec<Vec<usize>> =
            (0..n).map(|i| if i + 1 < n { vec![i + 1] } else { vec![] }).collect();
        assert_eq!(order(&waits).unwrap().unwrap()[0], n - 1);
        let ring: Vec<Vec<usize>> = (0..n).map(|i| vec![(i + 1) % n]).collect();
        assert!(order(&ring).is_err());
    }
}

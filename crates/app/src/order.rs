//! Which comes before which.

/// The numbers of things so that those that they build on come first, and then those that build on themselves, by way
/// of others or at once, with all that builds on these.
pub(crate) fn order(parents: &[Vec<usize>]) -> (Vec<usize>, Vec<usize>) {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); parents.len()];
    let mut waiting: Vec<usize> = parents.iter().map(Vec::len).collect();
    for (child, list) in parents.iter().enumerate() {
        for parent in list {
            children[*parent].push(child);
        }
    }
    let mut ready: Vec<usize> = (0..parents.len()).rev().filter(|at| waiting[*at] == 0).collect();
    let mut sorted = Vec::new();
    while let Some(at) = ready.pop() {
        sorted.push(at);
        for child in children[at].iter().rev() {
            waiting[*child] -= 1;
            if waiting[*child] == 0 {
                ready.push(*child);
            }
        }
    }
    let left = (0..parents.len()).filter(|at| waiting[*at] > 0).collect();
    (sorted, left)
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn parents_come_first_and_cycles_are_found() {
        for (parents, expected) in [
            (vec![], (vec![], vec![])),
            (vec![vec![1], vec![]], (vec![1, 0], vec![])),
            (vec![vec![1, 2], vec![2], vec![]], (vec![2, 1, 0], vec![])),
            (vec![vec![0], vec![]], (vec![1], vec![0])),
            (vec![vec![1], vec![0], vec![1]], (vec![], vec![0, 1, 2])),
        ] {
            assert_eq!(order(&parents), expected, "{parents:?}");
        }
    }
}

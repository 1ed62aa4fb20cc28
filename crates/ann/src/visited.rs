//! The nodes that a search has seen.

/// A set of nodes that is emptied between searches.
#[derive(Debug, Default)]
pub(crate) struct Visited {
    words: Vec<u64>,
    seen: Vec<u32>,
}

impl Visited {
    /// Nothing of the nodes below a bound, and of those that come while a search runs.
    pub(crate) fn begin(&mut self, bound: u32) {
        // Words one by one, unless that is more than all.
        if self.seen.len() < self.words.len() / 4 {
            self.seen.drain(..).for_each(|node| self.words[node as usize / 64] = 0);
        } else {
            self.words.fill(0);
            self.seen.clear();
        }
        let words = (bound as usize).div_ceil(64);
        if words > self.words.len() {
            self.words.resize(words, 0);
        }
    }

    /// Adds a node; whether it is new.
    #[inline(always)]
    pub(crate) fn insert(&mut self, node: u32) -> bool {
        let (at, bit) = (node as usize / 64, 1 << (node % 64));
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        let is_new = self.words[at] & bit == 0;
        if is_new {
            self.words[at] |= bit;
            self.seen.push(node);
        }
        is_new
    }

    /// Adds nodes, as many as a list holds at most, and writes those that are new to it. Returns how many these are. Whether a node is new is as
    /// good as chance: nothing here branches on it.
    #[inline(always)]
    pub(crate) fn insert_all(
        &mut self,
        nodes: impl Iterator<Item = u32>,
        new: &mut [u32],
    ) -> usize {
        let mut count = 0;
        for node in nodes {
            let (at, bit) = (node as usize / 64, 1 << (node % 64));
            if at >= self.words.len() {
                self.words.resize(at + 1, 0);
            }
            let word = self.words[at];
            self.words[at] = word | bit;
            new[count] = node;
            count += usize::from(word & bit == 0);
        }
        self.seen.extend_from_slice(&new[..count]);
        count
    }
}

#[cfg(test)]
mod tests {
    use super::Visited;

    #[test]
    fn every_search_begins_with_none() {
        let mut visited = Visited::default();
        for nodes in [vec![3, 9, 3, 1000], vec![3], (0..600).collect(), vec![3, 700]] {
            visited.begin(10);
            let mut seen = std::collections::HashSet::new();
            for (at, node) in nodes.iter().enumerate() {
                let is_new = seen.insert(*node);
                if at % 2 == 0 {
                    assert_eq!(visited.insert(*node), is_new, "{node}");
                    continue;
                }
                // The node before is known.
                let (mut new, wanted) = ([0; 2], [*node]);
                let count = visited.insert_all([nodes[at - 1], *node].into_iter(), &mut new);
                assert_eq!(&new[..count], &wanted[..usize::from(is_new)]);
            }
        }
    }
}

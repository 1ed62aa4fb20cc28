//! The links of a node on a level.

/// Links of a cache line.
pub(crate) const LINE: usize = 16;

/// A cache line of links, each the number of a node and one more; behind the last is 0.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct Line([u32; LINE]);

/// The nodes that are linked.
#[inline(always)]
pub(crate) fn nodes(lines: &[Line]) -> impl Iterator<Item = u32> + Clone {
    lines.iter().flat_map(|line| line.0).take_while(|link| *link != 0).map(|link| link - 1)
}

pub(crate) fn count(lines: &[Line]) -> usize {
    nodes(lines).count()
}

pub(crate) fn contains(lines: &[Line], node: u32) -> bool {
    // All places at once: behind the last link is 0, which no node is.
    lines.iter().any(|line| line.0.iter().fold(false, |found, link| found | (*link == node + 1)))
}

/// Adds a link where there is room for it.
pub(crate) fn push(lines: &mut [Line], node: u32) {
    if let Some(free) = lines.iter_mut().flat_map(|line| &mut line.0).find(|link| **link == 0) {
        *free = node + 1;
    }
}

/// Takes a link away; those behind it move up.
pub(crate) fn remove(lines: &mut [Line], node: u32) {
    let kept: Vec<u32> = nodes(lines).filter(|other| *other != node).collect();
    set(lines, kept.into_iter());
}

/// Writes all links.
pub(crate) fn set(lines: &mut [Line], nodes: impl Iterator<Item = u32>) {
    let mut nodes = nodes.fuse();
    for link in lines.iter_mut().flat_map(|line| &mut line.0) {
        *link = nodes.next().map_or(0, |node| node + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, contains, count, nodes, push, remove, set};

    #[test]
    fn links_come_and_go() {
        let mut lines = [Line::default(); 2];
        set(&mut lines, 0..18);
        let found = (count(&lines), contains(&lines, 17), contains(&lines, 18));
        assert_eq!(found, (18, true, false));
        for gone in [17, 0, 99, 5] {
            remove(&mut lines, gone);
        }
        push(&mut lines, 40);
        let expected = (1..17).filter(|n| *n != 5).chain([40]).collect::<Vec<_>>();
        assert_eq!(nodes(&lines).collect::<Vec<_>>(), expected);
        set(&mut lines, 0..32);
        push(&mut lines, 77);
        assert!(count(&lines) == 32 && !contains(&lines, 77));
        set(&mut lines, [].into_iter());
        assert_eq!(count(&lines), 0);
    }
}

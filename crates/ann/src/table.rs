//! A list by number of which copies share what neither has changed.

use std::sync::Arc;

/// Numbers of a page: what a change copies, 4 KiB of links of the usual length.
const PAGE: usize = 32;

/// Pages of a group. A copy of the list counts up one reference for each group, a change in a group that others have one for
/// each of its pages.
const GROUP: usize = 64;

type Group<T> = [Option<Arc<[T]>>; GROUP];

/// For each number `width` elements, made with their neighbours when one of them is changed first.
#[derive(Debug)]
pub(crate) struct Table<T> {
    width: usize,
    groups: Vec<Option<Arc<Group<T>>>>,
}

impl<T: Copy + Default> Table<T> {
    pub(crate) fn new(width: usize) -> Table<T> {
        Table { width, groups: Vec::new() }
    }

    /// The elements of a number; none if no neighbour of it was ever made.
    #[inline]
    pub(crate) fn get(&self, at: u32) -> &[T] {
        let (group, page, row) = split(at);
        let page = match self.groups.get(group) {
            Some(Some(group)) => group[page].as_deref(),
            _ => None,
        };
        page.and_then(|page| page.get(row * self.width..(row + 1) * self.width)).unwrap_or(&[])
    }

    /// The elements of a number to change, made if need be.
    pub(crate) fn get_mut(&mut self, at: u32) -> &mut [T] {
        let (group, page, row) = split(at);
        if group >= self.groups.len() {
            self.groups.resize(group + 1, None);
        }
        let group = self.groups[group].get_or_insert_with(|| Arc::new([const { None }; GROUP]));
        let page = Arc::make_mut(group)[page]
            .get_or_insert_with(|| vec![T::default(); PAGE * self.width].into());
        &mut Arc::make_mut(page)[row * self.width..(row + 1) * self.width]
    }

    /// The memory that it takes, in bytes; what copies have too included.
    pub(crate) fn memory(&self) -> usize {
        let groups = self.groups.iter().flatten();
        let pages = groups.map(|group| {
            size_of::<Group<T>>() + group.iter().flatten().map(|p| size_of_val(&**p)).sum::<usize>()
        });
        self.groups.len() * size_of::<usize>() + pages.sum::<usize>()
    }
}

// Not derived: elements need not be cloned.
impl<T> Clone for Table<T> {
    fn clone(&self) -> Table<T> {
        Table { width: self.width, groups: self.groups.clone() }
    }
}

#[inline]
fn split(at: u32) -> (usize, usize, usize) {
    let at = at as usize;
    (at / (PAGE * GROUP), at / PAGE % GROUP, at % PAGE)
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn copies_do_not_see_what_changes_later() {
        let mut table = Table::<u32>::new(3);
        assert!(table.get(0).is_empty() && table.get(u32::MAX).is_empty());
        let places = [0, 1, 31, 32, 2047, 2048, 70_000];
        for (value, at) in places.into_iter().enumerate() {
            table.get_mut(at)[2] = value as u32 + 1;
        }
        let copy = table.clone();
        table.get_mut(32)[0] = 9;
        table.get_mut(90_000)[1] = 9;
        assert_eq!(places.map(|at| copy.get(at)[2]), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((copy.get(32), table.get(32)), (&[0, 0, 4][..], &[9, 0, 4][..]));
        assert!(copy.get(90_000).is_empty() && copy.get(5000).is_empty());
        assert!(table.memory() > 6 * 32 * 3 * 4);
    }
}

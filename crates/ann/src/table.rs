//! A list by number of which copies share what neither has changed.

use std::sync::Arc;

use stead_tensor::{Bits, on_huge_pages};

/// Numbers of a page, which is what a change copies: 1 KiB of links of the usual length.
const PAGE: usize = 8;

/// Pages of a group. A copy of the list counts up one reference for each group, a change in a group that others have one for
/// each of its pages.
const GROUP: usize = 64;

/// Of so many pages one lies beside the list before a new one is made.
const BESIDE: usize = 4;

/// As many pages beside the list are not worth a new one.
const FEW: usize = 64;

type Group<T> = [Option<Arc<[T]>>; GROUP];

/// For each number `width` elements, made with their neighbours when one of them is changed first.
///
/// They lie in one list, on huge pages: who goes from node to node would else wait at each for pointers to it, and for the processor to find
/// its address. While a copy shares the list, pages that change lie beside it; [`Table::settle`] makes a new one of both.
#[derive(Debug)]
pub(crate) struct Table<T> {
    width: usize,
    /// Whole pages.
    list: Arc<Vec<T>>,
    /// The pages that lie beside the list, whether it has them or not.
    beside: Arc<Bits>,
    groups: Vec<Option<Arc<Group<T>>>>,
}

impl<T: Copy + Default> Table<T> {
    pub(crate) fn new(width: usize) -> Table<T> {
        Table { width, list: Arc::default(), beside: Arc::default(), groups: Vec::new() }
    }

    /// The elements of a number; none if no neighbour of it was ever made.
    #[inline(always)]
    pub(crate) fn get(&self, at: u32) -> &[T] {
        let at = at as usize;
        if self.beside.contains(at / PAGE) {
            return self.get_beside(at);
        }
        self.list.get(at * self.width..(at + 1) * self.width).unwrap_or(&[])
    }

    #[inline(never)]
    fn get_beside(&self, at: usize) -> &[T] {
        let row = at % PAGE;
        let page = self.page_beside(at / PAGE);
        page.and_then(|page| page.get(row * self.width..(row + 1) * self.width)).unwrap_or(&[])
    }

    fn page_beside(&self, number: usize) -> Option<&[T]> {
        self.groups.get(number / GROUP)?.as_ref()?[number % GROUP].as_deref()
    }

    /// The elements of a number to change, made if need be.
    pub(crate) fn get_mut(&mut self, at: u32) -> &mut [T] {
        let (number, row) = (at as usize / PAGE, at as usize % PAGE);
        let width = self.width;
        let page = match self.beside.contains(number) || !self.is_listed(number) {
            true => self.page_mut(number),
            // Nobody shares it.
            false => &mut Arc::make_mut(&mut self.list)[number * PAGE * width..],
        };
        &mut page[row * width..(row + 1) * width]
    }

    /// Whether a page can be changed where the list has it, which is made longer for one that is not far behind its end.
    fn is_listed(&mut self, number: usize) -> bool {
        let size = PAGE * self.width;
        let Some(list) = Arc::get_mut(&mut self.list) else { return false };
        let pages = list.len() / size;
        if (pages..2 * pages + FEW).contains(&number) {
            lengthen(list, (number + 1) * size);
        }
        number * size < list.len()
    }

    /// A page beside the list, put there if need be.
    fn page_mut(&mut self, number: usize) -> &mut [T] {
        let size = PAGE * self.width;
        let is_new =
            !self.beside.contains(number) && Arc::make_mut(&mut self.beside).insert(number);
        let at = number / GROUP;
        if at >= self.groups.len() {
            self.groups.resize(at + 1, None);
        }
        let group = self.groups[at].get_or_insert_with(|| Arc::new([const { None }; GROUP]));
        let page = &mut Arc::make_mut(group)[number % GROUP];
        if is_new {
            *page = self.list.get(number * size..(number + 1) * size).map(Arc::from);
        }
        Arc::make_mut(page.get_or_insert_with(|| vec![T::default(); size].into()))
    }

    /// Makes a new list where many pages lie beside it, unless there are wide gaps between them.
    pub(crate) fn settle(&mut self) {
        let size = PAGE * self.width;
        let (beside, pages) = (self.beside.count(), self.list.len() / size);
        if beside <= FEW || beside * BESIDE <= pages {
            return;
        }
        let end = self.beside.iter().last().map_or(pages, |last| pages.max(last + 1));
        if end > 2 * (pages + beside) {
            return;
        }
        let mut list = match Arc::get_mut(&mut self.list) {
            Some(list) => std::mem::take(list),
            None => {
                let mut list = Vec::new();
                lengthen(&mut list, end * size);
                list[..self.list.len()].copy_from_slice(&self.list);
                list
            }
        };
        lengthen(&mut list, end * size);
        for number in self.beside.iter() {
            if let Some(page) = self.page_beside(number) {
                list[number * size..(number + 1) * size].copy_from_slice(page);
            }
        }
        (self.list, self.beside, self.groups) = (Arc::new(list), Arc::default(), Vec::new());
    }

    /// The memory that it takes, in bytes; what copies have too included.
    pub(crate) fn memory(&self) -> usize {
        let groups = self.groups.iter().flatten();
        let pages = groups.map(|group| {
            size_of::<Group<T>>() + group.iter().flatten().map(|p| size_of_val(&**p)).sum::<usize>()
        });
        let list = size_of_val(&self.list[..]) + size_of_val(self.beside.words());
        list + self.groups.len() * size_of::<usize>() + pages.sum::<usize>()
    }
}

/// Makes a list longer, if it is shorter. Room that nothing was written to yet takes no memory.
fn lengthen<T: Copy + Default>(list: &mut Vec<T>, len: usize) {
    if len > list.capacity() {
        let mut longer = Vec::with_capacity(len.max(2 * list.capacity()));
        on_huge_pages(&mut longer);
        longer.extend_from_slice(list);
        *list = longer;
    }
    list.resize(len.max(list.len()), T::default());
}

// Not derived: elements need not be cloned.
impl<T> Clone for Table<T> {
    fn clone(&self) -> Table<T> {
        let (list, beside) = (Arc::clone(&self.list), Arc::clone(&self.beside));
        Table { width: self.width, list, beside, groups: self.groups.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    const PLACES: [u32; 7] = [0, 1, 31, 32, 2047, 2048, 70_000];

    #[test]
    fn copies_do_not_see_what_changes_later() {
        for is_settled in [false, true] {
            let mut table = Table::<u32>::new(3);
            assert!(table.get(0).is_empty() && table.get(u32::MAX).is_empty());
            for (value, at) in PLACES.into_iter().enumerate() {
                table.get_mut(at)[2] = value as u32 + 1;
            }
            let copy = table.clone();
            table.get_mut(32)[0] = 9;
            table.get_mut(90_000)[1] = 9;
            if is_settled {
                (0..5000).for_each(|at| table.get_mut(at)[1] = 7);
                table.settle();
            }
            let fives = if is_settled { 7 } else { 0 };
            assert_eq!(PLACES.map(|at| copy.get(at)[2]), [1, 2, 3, 4, 5, 6, 7], "{is_settled}");
            assert_eq!(PLACES.map(|at| table.get(at)[2]), [1, 2, 3, 4, 5, 6, 7], "{is_settled}");
            assert_eq!((copy.get(32), table.get(32)), (&[0, 0, 4][..], &[9, fives, 4][..]));
            assert_eq!(table.get(90_000), [0, 9, 0], "{is_settled}");
            assert!(copy.get(90_000).is_empty() && copy.get(50_000).is_empty(), "{is_settled}");
        }
    }

    /// What is written while copies come and go is what an ordinary list has.
    #[test]
    fn pages_beside_the_list_come_into_a_new_one() {
        let (mut table, mut list) = (Table::<u32>::new(2), vec![0; 20_000]);
        let mut copies = Vec::new();
        for round in 1..200_u32 {
            for step in 0..200 {
                let at = (round * 7919 + step * 104_729) % 20_000.min(round * 300);
                table.get_mut(at)[1] = round;
                list[at as usize] = round;
            }
            table.settle();
            if round % 3 == 0 {
                copies.truncate(2);
                copies.insert(0, (table.clone(), list.clone()));
            }
            for (table, list) in copies.iter().chain([&(table.clone(), list.clone())]) {
                let found = (0..20_000).map(|at| table.get(at).get(1).copied().unwrap_or(0));
                assert!(found.eq(list.iter().copied()), "round {round}");
            }
        }
        assert!(table.beside.count() * super::BESIDE <= 2500, "most lie in the list");
        // Two numbers each, and at most as much again beside.
        let least = 20_000 * 2 * 4;
        assert!((least..2 * least).contains(&table.memory()), "{}", table.memory());
    }

    #[test]
    fn far_numbers_make_no_long_list() {
        let mut table = Table::<u32>::new(1);
        for at in (0..200).map(|at| at * 20_000_000) {
            table.get_mut(at)[0] = 1;
        }
        let _copy = table.clone();
        (0..200).for_each(|at| table.get_mut(at * 20_000_000)[0] += 1);
        table.settle();
        assert!((0..200).all(|at| table.get(at * 20_000_000) == [2]));
        assert!(table.list.len() < 1000);
    }
}

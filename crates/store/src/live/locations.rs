//! Documents by the user or group in their ids, so that those of one are found without a look at the others.

use super::directory::Directory;
use crate::id::IdParts;

/// The documents of a location are spread over so many entries of the table: a write copies those of one.
const PARTS: u32 = 64;

/// Who documents belong to: the key in their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location<'l> {
    /// `n=7`: numbers may be written in several ways.
    User(i64),
    /// `g=ann`.
    Group(&'l str),
}

impl<'l> Location<'l> {
    /// That of the id of a document; nothing if it has none.
    pub(crate) fn of(id: &'l str) -> Option<Location<'l>> {
        let parts = IdParts::of(id)?;
        match parts.user() {
            Some(number) => number.parse().ok().map(Location::User),
            None => parts.group().map(Location::Group),
        }
    }

    fn hash(self) -> u32 {
        match self {
            Location::User(number) => Directory::hash(&format!("n={number}")),
            Location::Group(name) => Directory::hash(&format!("g={name}")),
        }
    }
}

/// The numbers of documents by their locations. Copies share what has not changed.
#[derive(Debug, Clone)]
pub(super) struct Locations(Directory);

impl Locations {
    pub(super) fn new() -> Locations {
        Locations(Directory::new())
    }

    pub(super) fn insert(&mut self, id: &str, lid: u32) {
        if let Some(location) = Location::of(id) {
            self.0.insert(part(location.hash(), lid), lid);
        }
    }

    pub(super) fn remove(&mut self, id: &str, lid: u32) {
        if let Some(location) = Location::of(id) {
            self.0.remove(part(location.hash(), lid), lid);
        }
    }

    /// The numbers of the documents that may be of a location, in ascending order: those of others whose hash is the same among them.
    pub(super) fn lids(&self, location: Location<'_>) -> Vec<u32> {
        let hash = location.hash();
        let mut found: Vec<u32> =
            (0..PARTS).flat_map(|at| self.0.numbers(part(hash, at))).collect();
        found.sort_unstable();
        found
    }

    /// The memory that it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.0.memory()
    }
}

/// The hash of the part of a location that has a document.
fn part(hash: u32, lid: u32) -> u32 {
    hash.wrapping_add((lid % PARTS).wrapping_mul(0x9e37_79b9))
}

#[cfg(test)]
mod tests {
    use super::{Location, Locations};

    #[test]
    fn documents_are_found_by_their_locations() {
        let mut locations = Locations::new();
        let id = |lid: u32| match lid % 3 {
            0 => format!("id:ns:d:n={}:{lid}", lid % 7),
            1 => format!("id:ns:d:g={}:{lid}", lid % 7),
            _ => format!("id:ns:d::{lid}"),
        };
        (0..3000).for_each(|lid| locations.insert(&id(lid), lid));
        (0..3000).filter(|lid| lid % 5 == 0).for_each(|lid| locations.remove(&id(lid), lid));
        let of = |rest: u32, key: u32| -> Vec<u32> {
            (0..3000).filter(|l| l % 3 == rest && l % 7 == key && l % 5 > 0).collect()
        };
        for key in 0..7 {
            assert_eq!(locations.lids(Location::User(i64::from(key))), of(0, key), "n={key}");
            assert_eq!(locations.lids(Location::Group(&key.to_string())), of(1, key), "g={key}");
        }
        assert!(locations.lids(Location::User(8)).is_empty());
        assert_eq!(Location::of("id:ns:d:n=007:x"), Some(Location::User(7)));
    }
}

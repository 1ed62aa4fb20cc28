//! From ids to numbers of documents: a hash table that grows a piece at a time and whose copies share what has not changed.

use super::chunked::Chunked;

/// Entries that a shard has before the next one is split: a change copies about a kilobyte.
const SHARD: usize = 128;

/// Numbers of documents by hashes of their ids, by linear hashing (W. Litwin, *Linear hashing: a new tool for file and table
/// addressing*, VLDB 1980): of `n` shards with `2^k <= n < 2^(k+1)` those from `n - 2^k` to `2^k - 1` are known by `k` bits of
/// the hash and wait to be split, the others by `k + 1`.
#[derive(Debug, Clone)]
pub(crate) struct Directory {
    /// Pairs of a hash and a number, in their order.
    shards: Chunked<Vec<(u32, u32)>>,
    count: usize,
    /// How often an id was added or taken away.
    changes: u64,
}

impl Directory {
    pub(crate) fn new() -> Directory {
        let mut shards = Chunked::new();
        shards.push(Vec::new());
        Directory { shards, count: 0, changes: 0 }
    }

    /// Where this is the same number, a directory that grew from the same one has the same ids and numbers.
    pub(crate) fn version(&self) -> u64 {
        self.changes
    }

    /// A directory of pairs of a hash and a number.
    pub(crate) fn of(pairs: &[(u32, u32)]) -> Directory {
        let count = pairs.len().div_ceil(SHARD).max(1);
        let mut shards = vec![Vec::new(); count];
        let mut sizes = vec![0_usize; count];
        pairs.iter().for_each(|(hash, _)| sizes[shard(count, *hash)] += 1);
        for (shard, size) in shards.iter_mut().zip(sizes) {
            shard.reserve_exact(size);
        }
        pairs.iter().for_each(|pair| shards[shard(count, pair.0)].push(*pair));
        let mut list = Chunked::new();
        for mut shard in shards {
            shard.sort_unstable();
            list.push(shard);
        }
        Directory { shards: list, count: pairs.len(), changes: 0 }
    }

    /// The hash that an id has here.
    pub(crate) fn hash(id: &str) -> u32 {
        xxhash_rust::xxh3::xxh3_64(id.as_bytes()) as u32
    }

    /// The shard of a hash.
    fn shard(&self, hash: u32) -> usize {
        shard(self.shards.len(), hash)
    }

    /// The number with this hash that is the right one.
    pub(crate) fn find(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        self.numbers(hash).find(|lid| is_it(*lid))
    }

    /// The numbers with this hash, in ascending order.
    pub(crate) fn numbers(&self, hash: u32) -> impl Iterator<Item = u32> {
        let shard = self.shards.get(self.shard(hash)).map_or(&[][..], |shard| shard.as_slice());
        let first = shard.partition_point(|(of, _)| *of < hash);
        let same = shard.iter().skip(first).take_while(move |(of, _)| *of == hash);
        same.map(|(_, lid)| *lid)
    }

    pub(crate) fn insert(&mut self, hash: u32, lid: u32) {
        let at = self.shard(hash);
        let Some(shard) = self.shards.get_mut(at) else { return };
        let place = shard.partition_point(|pair| *pair < (hash, lid));
        shard.insert(place, (hash, lid));
        self.count += 1;
        self.changes += 1;
        if self.count > self.shards.len() * SHARD {
            self.split();
        }
    }

    pub(crate) fn remove(&mut self, hash: u32, lid: u32) {
        let at = self.shard(hash);
        let Some(shard) = self.shards.get_mut(at) else { return };
        if let Ok(place) = shard.binary_search(&(hash, lid)) {
            shard.remove(place);
            self.count -= 1;
            self.changes += 1;
        }
    }

    /// Adds a shard, with what it takes from the one that is split.
    fn split(&mut self) {
        let new = self.shards.len();
        self.shards.push(Vec::new());
        let half = power_below(new);
        let Some(old) = self.shards.get_mut(new - half) else { return };
        let (taken, kept) =
            old.iter().partition(|(hash, _)| *hash as usize & (2 * half - 1) == new);
        *old = kept;
        if let Some(last) = self.shards.get_mut(new) {
            *last = taken;
        }
    }

    /// The memory that it takes, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let shard = |shard: &Vec<(u32, u32)>| shard.capacity() * 8 + size_of::<Vec<u32>>() + 24;
        self.shards.iter().map(|s| shard(s)).sum()
    }
}

/// Of so many shards that of a hash.
fn shard(count: usize, hash: u32) -> usize {
    let (half, hash) = (power_below(count), hash as usize);
    match hash & (2 * half - 1) {
        at if at < count => at,
        _ => hash & (half - 1),
    }
}

/// The greatest power of two that is not above a number, which is not 0.
fn power_below(number: usize) -> usize {
    (number + 1).next_power_of_two() / 2
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Directory;

    #[test]
    fn numbers_are_found_while_the_table_grows_and_shrinks() {
        let mut directory = Directory::new();
        let mut known = BTreeMap::new();
        let (mut state, mut early) = (1_u32, None);
        for round in 0..20_000_u32 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Few enough that some hashes are those of several numbers.
            let hash = (state >> 8) % 6_000 * 0x9e37;
            directory.insert(hash, round);
            known.insert(round, hash);
            if round % 3 == 0 {
                let victim = state % (round + 1);
                if let Some(hash) = known.remove(&victim) {
                    directory.remove(hash, victim);
                }
            }
            if round == 500 {
                early = Some((directory.clone(), known.clone()));
            }
        }
        let pairs: Vec<(u32, u32)> = known.iter().map(|(lid, hash)| (*hash, *lid)).collect();
        let at_once = (Directory::of(&pairs), known.clone());
        for (directory, known) in [(directory, known), early.unwrap(), at_once] {
            assert_eq!(directory.count, known.len());
            for (lid, hash) in &known {
                assert_eq!(directory.find(*hash, |found| found == *lid), Some(*lid));
            }
            let absent = (0..20_000).filter(|lid| !known.contains_key(lid));
            for lid in absent.step_by(7) {
                assert_eq!(directory.find(lid * 0x9e37, |found| found == lid), None);
            }
        }
    }
}

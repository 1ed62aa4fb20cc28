//! What a query knows, by hashes.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::features::{ALWAYS, of_block};

/// What up to 64 queries know of the attributes that predicates speak of, as [programs](super::Evaluator) ask for it. Values and names are known by 64
/// bits of a hash, as in Vespa: two that have the same are taken for each other.
#[derive(Debug, Clone, Default)]
pub struct Hashed {
    /// Values with the queries that have them, in the order of their hashes.
    values: Vec<(u64, u64)>,
    /// A bit for the lowest bits of each hash of a value: most that are asked for are none, which that tells.
    seen: u64,
    /// Numbers with the queries that have them, in the order of the hashes of their names.
    numbers: Vec<(u64, i64, u64)>,
    /// The hashes of all names.
    names: Vec<u64>,
}

impl Hashed {
    /// Values and numbers of attributes, each with the queries that have it.
    pub fn new<'q>(
        values: impl Iterator<Item = (&'q str, &'q str, u64)>,
        numbers: impl Iterator<Item = (&'q str, i64, u64)>,
    ) -> Hashed {
        let mut hashed = Hashed::default();
        for (name, value, queries) in values {
            let hash = hash_of_value(name, value);
            hashed.values.push((hash, queries));
            hashed.seen |= 1 << (hash % 64);
            hashed.names.push(hash_of_name(name));
        }
        for (name, number, queries) in numbers {
            let hash = hash_of_name(name);
            hashed.numbers.push((hash, number, queries));
            hashed.names.push(hash);
        }
        hashed.values.sort_unstable();
        hashed.numbers.sort_unstable();
        hashed
    }

    /// The [features](super::features) that the queries have, of numbers those of some levels, each a bit: every predicate that is true for one is
    /// found by one of these. They ascend.
    #[must_use]
    pub fn features(&self, levels: u64) -> Vec<u32> {
        let mut features = vec![ALWAYS];
        features.extend(self.values.iter().map(|(hash, _)| *hash as u32));
        features.extend(self.names.iter().map(|hash| *hash as u32));
        for level in (0..u64::BITS).filter(|level| levels >> level & 1 == 1) {
            let block =
                |(name, number, _): &(u64, i64, u64)| of_block(*name, number >> level, level);
            features.extend(self.numbers.iter().map(block));
        }
        features.sort_unstable();
        features.dedup();
        features
    }

    /// The queries that have a value.
    pub(super) fn has(&self, value: u64) -> u64 {
        if self.seen >> (value % 64) & 1 == 0 {
            return 0;
        }
        let from = self.values.partition_point(|(hash, _)| *hash < value);
        let same = self.values.iter().skip(from).take_while(|(hash, _)| *hash == value);
        same.fold(0, |all, (_, queries)| all | queries)
    }

    /// The queries that have a number of an attribute from the first to the second, both among them.
    pub(super) fn within(&self, name: u64, from: i64, to: i64) -> u64 {
        let first = self.numbers.partition_point(|(of, number, _)| (*of, *number) < (name, from));
        let within = self.numbers.iter().skip(first);
        let within = within.take_while(|(of, number, _)| *of == name && *number <= to);
        within.fold(0, |all, (.., queries)| all | queries)
    }
}

/// The hash by which a name is known.
pub(super) fn hash_of_name(name: &str) -> u64 {
    xxh3_64(name.as_bytes())
}

/// The hash by which a value of an attribute is known.
pub(super) fn hash_of_value(name: &str, value: &str) -> u64 {
    xxh3_64_with_seed(value.as_bytes(), hash_of_name(name))
}

//! What a query must have for a predicate to be true.
//!
//! A *feature* is something that a query has: a value of an attribute, or a number of it in an aligned block of `2^level` numbers. From each
//! predicate a set of features is taken one of which every query has that the predicate is true for. A query that has none of them need not read it.
//!
//! | part | its set |
//! |---|---|
//! | `a in [x, y]` | a feature for each value |
//! | `a in [1..9]` | the blocks that cover the range, [`BLOCKS`] at most: the smallest that suffice |
//! | `and` | of the sets of its parts the one whose features the fewest predicates speak of |
//! | `or` | the features of both parts |
//! | `not`, `true` | none would do: such a predicate is read for every query |
//! | `false` | none is needed: it is true for no query |
//!
//! A predicate with more than [`MOST`] features is found by the names of its attributes alone. Features are known by 32 bits of a hash. Where
//! two have the same, a predicate is read that need not be; so it is where a block has numbers outside of its range. What is read is
//! evaluated, so that this costs time alone.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::hashed::{hash_of_name, hash_of_value};
use super::parser::{Meaning, Parser};
use super::program::Compiler;

/// The feature that every query has.
pub(super) const ALWAYS: u32 = 0;

/// The most blocks that cover a range: with as few as two they would be twice as large as needed, with more there are more features.
const BLOCKS: u64 = 4;

/// The most features of a predicate. In an index one takes 2 bytes, and 8 more if no other predicate has it, which is about what a
/// value takes in the text; while an index of 16,384 predicates is made, 8 bytes: 128 MiB if all have so many.
const MOST: usize = 1024;

/// The numbers of features that are counted apart.
const COUNTED: usize = 1 << 16;

/// That a query has any value or number of an attribute.
fn of_name(name: &str) -> u32 {
    hash_of_name(name) as u32
}

/// That a query has a value of an attribute.
fn of_value(name: &str, value: &str) -> u32 {
    hash_of_value(name, value) as u32
}

/// That a query has a number in a block of a level, of the attribute whose name has a hash.
pub(super) fn of_block(name: u64, block: i64, level: u32) -> u32 {
    xxh3_64_with_seed(&block.to_le_bytes(), name.wrapping_add(u64::from(level) + 1)) as u32
}

/// The level of the blocks that cover a range, and the first and the last of them.
fn cover(from: i64, to: i64) -> (u32, i64, i64) {
    let width = to.wrapping_sub(from) as u64;
    // Below this one there are too many.
    let mut level = (u64::BITS - width.leading_zeros()).saturating_sub(BLOCKS.ilog2() + 1);
    loop {
        let (first, last) = (from >> level, to >> level);
        // On the last level there are two.
        if (last.wrapping_sub(first) as u64) < BLOCKS || level == u64::BITS - 1 {
            return (level, first, last);
        }
        level += 1;
    }
}

/// Finds the features of many predicates: all are [counted](Features::count) before the first is [asked for](Features::of).
pub(crate) struct Features {
    /// By some bits of a feature, how many predicates speak of it.
    counts: Vec<u32>,
    /// The least and the greatest number that queries have.
    bounds: (i64, i64),
    /// The levels of all blocks, each a bit.
    levels: u64,
    /// The features of parts that were read, one part behind the other.
    found: Vec<u32>,
    /// Whether attributes are told apart, but not their values.
    is_coarse: bool,
    /// Whether there were too many.
    is_over: bool,
}

/// The features of a part of a predicate.
#[derive(Clone, Copy)]
pub(super) enum Needs {
    /// It may be true for each query.
    Nothing,
    /// It is true for none.
    Impossible,
    /// One of those from a place on, with how many predicates speak of them.
    OneFrom(usize, u64),
}

impl Features {
    /// Those of predicates for queries that have numbers within bounds.
    pub(crate) fn new(bounds: (i64, i64)) -> Features {
        let (counts, found) = (vec![0; COUNTED], Vec::new());
        Features { counts, bounds, levels: 0, found, is_coarse: false, is_over: false }
    }

    /// Counts what a predicate speaks of, and writes its [program](super::program), if there is one. A text that is no predicate speaks of
    /// nothing.
    pub(crate) fn count(&mut self, text: &str) -> Option<Vec<u8>> {
        let mut meaning = (Counts(self), Compiler::default());
        Parser::read(text, &mut meaning).ok()?;
        meaning.1.program()
    }

    /// Features one of which each query has that a predicate is true for. A text that is none is true for no query.
    pub(crate) fn of(&mut self, text: &str) -> &[u32] {
        let mut needs = self.read(text, false);
        if self.is_over && matches!(needs, Needs::Nothing) {
            needs = self.read(text, true);
        }
        match needs {
            Needs::Nothing => &[ALWAYS],
            Needs::Impossible => &[],
            Needs::OneFrom(from, _) => self.found.get(from..).unwrap_or_default(),
        }
    }

    /// The levels of the blocks that were found, each a bit.
    pub(crate) fn levels(&self) -> u64 {
        self.levels
    }

    fn read(&mut self, text: &str, is_coarse: bool) -> Needs {
        self.found.clear();
        (self.is_coarse, self.is_over) = (is_coarse, false);
        Parser::read(text, self).unwrap_or(Needs::Impossible)
    }

    fn counted(&self, feature: u32) -> u64 {
        self.counts.get(feature as usize % COUNTED).copied().map_or(0, u64::from)
    }

    fn one(&mut self, feature: u32) -> Needs {
        self.found.push(feature);
        Needs::OneFrom(self.found.len() - 1, self.counted(feature))
    }

    /// The features of a range; nothing if no query has a number in it.
    fn blocks(
        &self,
        name: &str,
        from: i64,
        to: i64,
    ) -> Option<(u32, impl Iterator<Item = u32> + use<>)> {
        let (from, to) = (from.max(self.bounds.0), to.min(self.bounds.1));
        if from > to {
            return None;
        }
        let (name, (level, first, last)) = (hash_of_name(name), cover(from, to));
        Some((level, (first..=last).map(move |block| of_block(name, block, level))))
    }
}

impl Meaning for Features {
    type Part = Needs;

    fn constant(&mut self, is: bool) -> Needs {
        if is { Needs::Nothing } else { Needs::Impossible }
    }

    fn has(&mut self, name: &str, value: &str) -> Needs {
        self.one(if self.is_coarse { of_name(name) } else { of_value(name, value) })
    }

    fn within(&mut self, name: &str, from: i64, to: i64) -> Needs {
        let Some((level, blocks)) = self.blocks(name, from, to) else { return Needs::Impossible };
        if self.is_coarse {
            return self.one(of_name(name));
        }
        let (begin, mut count) = (self.found.len(), 0);
        for block in blocks {
            self.found.push(block);
            count += self.counted(block);
        }
        self.levels |= 1 << level;
        Needs::OneFrom(begin, count)
    }

    fn and(&mut self, first: Needs, second: Needs) -> Needs {
        match (first, second) {
            (Needs::Nothing, other) | (other, Needs::Nothing) => other,
            (Needs::OneFrom(from, few), Needs::OneFrom(middle, more)) => {
                if few <= more {
                    self.found.truncate(middle);
                    return first;
                }
                self.found.drain(from..middle);
                Needs::OneFrom(from, more)
            }
            (Needs::OneFrom(from, _), _) | (_, Needs::OneFrom(from, _)) => {
                self.found.truncate(from);
                Needs::Impossible
            }
            (Needs::Impossible, Needs::Impossible) => Needs::Impossible,
        }
    }

    fn or(&mut self, first: Needs, second: Needs) -> Needs {
        match (first, second) {
            (Needs::Impossible, other) | (other, Needs::Impossible) => other,
            (Needs::OneFrom(from, few), Needs::OneFrom(middle, more)) => {
                let (known, new) = self.found[from..].split_at(middle - from);
                if self.is_coarse && new.iter().all(|feature| known.contains(feature)) {
                    self.found.truncate(middle);
                    return first;
                }
                if self.found.len() - from > MOST {
                    self.found.truncate(from);
                    self.is_over = true;
                    return Needs::Nothing;
                }
                Needs::OneFrom(from, few + more)
            }
            (Needs::OneFrom(from, _), _) | (_, Needs::OneFrom(from, _)) => {
                self.found.truncate(from);
                Needs::Nothing
            }
            (Needs::Nothing, Needs::Nothing) => Needs::Nothing,
        }
    }

    /// What is negated is true of queries that know nothing too.
    fn not(&mut self, part: Needs) -> Needs {
        if let Needs::OneFrom(from, _) = part {
            self.found.truncate(from);
        }
        Needs::Nothing
    }
}

/// Counts what predicates speak of.
struct Counts<'f>(&'f mut Features);

impl Counts<'_> {
    fn add(&mut self, feature: u32) {
        if let Some(count) = self.0.counts.get_mut(feature as usize % COUNTED) {
            *count = count.saturating_add(1);
        }
    }
}

impl Meaning for Counts<'_> {
    type Part = ();

    fn constant(&mut self, _: bool) {}

    fn has(&mut self, name: &str, value: &str) {
        self.add(of_value(name, value));
    }

    fn within(&mut self, name: &str, from: i64, to: i64) {
        let blocks = self.0.blocks(name, from, to).map(|(_, blocks)| blocks);
        blocks.into_iter().flatten().for_each(|block| self.add(block));
    }

    fn and(&mut self, (): (), (): ()) {}

    fn or(&mut self, (): (), (): ()) {}

    fn not(&mut self, (): ()) {}
}

#[cfg(test)]
mod tests {
    use super::{ALWAYS, Features, MOST, cover, of_block, of_name, of_value};
    use crate::predicate::hashed::hash_of_name;

    const AGES: (i64, i64) = (0, 200);

    /// The features of the last of some predicates, sorted.
    fn found(predicates: &[&str], bounds: (i64, i64)) -> Vec<u32> {
        let mut features = Features::new(bounds);
        predicates.iter().for_each(|text| drop(features.count(text)));
        let mut found = features.of(predicates.last().unwrap()).to_vec();
        found.sort_unstable();
        found
    }

    #[test]
    fn predicates_are_found_by_few_features() {
        let (red, blue) = (of_value("a", "red"), of_value("a", "blue"));
        let ages = |level, blocks: &[i64]| -> Vec<u32> {
            blocks.iter().map(|block| of_block(hash_of_name("age"), *block, level)).collect()
        };
        for (predicate, expected) in [
            ("a in [red]", vec![red]),
            ("a in [red, blue, red]", vec![red, red, blue]),
            ("a in [red] or a in [blue]", vec![red, blue]),
            ("age in [25..27]", ages(0, &[25, 26, 27])),
            ("age in [24..31]", ages(1, &[12, 13, 14, 15])),
            ("age in [20..30]", ages(2, &[5, 6, 7])),
            // Queries have no numbers beyond the bounds.
            ("age in [198..]", ages(0, &[198, 199, 200])),
            ("age in [..-1]", vec![]),
            ("age in [201..] or a in [red]", vec![red]),
            ("age in [201..] and a in [red]", vec![]),
            // Of two that are as rare the smaller set, and of the same size the first.
            ("a in [red, blue] and b in [x]", vec![of_value("b", "x")]),
            ("a in [red] and b in [x]", vec![red]),
            ("a in [red] and not b in [x]", vec![red]),
            ("b not in [x] and a in [red] and true", vec![red]),
            ("(a in [red] or false) and (true or b in [x])", vec![red]),
            ("a in [red] or b not in [x]", vec![ALWAYS]),
            ("not (a in [red] and false)", vec![ALWAYS]),
            ("true", vec![ALWAYS]),
            ("a in [red] and false", vec![]),
            ("false or false", vec![]),
            ("", vec![]),
            ("a in [", vec![]),
        ] {
            let mut expected = expected;
            expected.sort_unstable();
            assert_eq!(found(&[predicate], AGES), expected, "{predicate}");
        }
    }

    #[test]
    fn what_few_predicates_speak_of_is_preferred() {
        let others = ["b in [x]", "b in [x] and c in [y, z]", "b in [x]"];
        let of = |predicate| found(&[&others[..], &[predicate]].concat(), AGES);
        let (x, y, z) = (of_value("b", "x"), of_value("c", "y"), of_value("c", "z"));
        let mut both = vec![y, z];
        both.sort_unstable();
        assert_eq!(of("b in [x] and c in [y]"), [y]);
        // Together they are as rare.
        assert_eq!(of("b in [x] and c in [y, z]"), [x]);
        assert_eq!(of("b in [x] and b in [x] and c in [y, z]"), both);
    }

    #[test]
    fn predicates_with_too_many_values_are_found_by_their_attributes() {
        let list = |name: &str, count: usize| {
            let values: Vec<String> = (0..count).map(|n| n.to_string()).collect();
            format!("{name} in [{}]", values.join(","))
        };
        let (few, many) = (list("a", MOST), list("a", MOST + 1));
        let of = |predicate: &str| found(&[predicate], AGES);
        assert_eq!(of(&few).len(), MOST);
        assert_eq!(of(&many), [of_name("a")]);
        assert_eq!(of(&format!("{many} and b in [x]")), [of_value("b", "x")]);
        let mut names = [of_name("a"), of_name("b"), of_name("age")];
        names.sort_unstable();
        assert_eq!(of(&format!("{many} or b in [x, y] or age in [1..2]")), names);
        let ors: Vec<String> = (0..=MOST).map(|n| format!("a{n} in [x]")).collect();
        assert_eq!(of(&ors.join(" or ")), [ALWAYS]);
    }

    #[test]
    fn ranges_are_covered_by_the_smallest_blocks_that_suffice() {
        for (from, to, expected) in [
            (0, 0, (0, 0, 0)),
            (-1, 2, (0, -1, 2)),
            (0, 4, (1, 0, 2)),
            (-5, -1, (1, -3, -1)),
            (i64::MIN, i64::MAX, (62, -2, 1)),
            (0, i64::MAX, (61, 0, 3)),
            (20, i64::MAX, (61, 0, 3)),
            (i64::MAX, i64::MAX, (0, i64::MAX, i64::MAX)),
        ] {
            assert_eq!(cover(from, to), expected, "{from} {to}");
        }
    }
}

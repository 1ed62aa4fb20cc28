//! What is known of a group: values of expressions that are aggregated, and joined with those of other nodes.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::syntax::Aggregate;
use super::value::{Kind, Value};
use crate::result::Item;

/// A value of a group in the making.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum State {
    /// How many documents there are.
    Count(i64),
    /// A sum of whole numbers, or their exclusive or.
    Long(i64),
    /// A sum.
    Double(f64),
    /// A sum and how many numbers it is of.
    Mean(f64, i64),
    /// The least or the greatest value so far, and whether it is the least.
    Extreme(Option<Value>, bool),
    /// How many numbers there are, their mean, and the sum of the squares of the distances from it.
    Deviation(i64, f64, f64),
    /// Numbers.
    All(Vec<f64>),
    /// Values that differ.
    Distinct(Distinct),
}

impl State {
    /// Nothing of an aggregate of values of a type.
    pub(super) fn new(what: &Aggregate, kind: Option<Kind>) -> State {
        match what {
            Aggregate::Count | Aggregate::Summary(_) => State::Count(0),
            Aggregate::Sum => match kind {
                Some(Kind::Long | Kind::Bool) => State::Long(0),
                _ => State::Double(0.0),
            },
            Aggregate::Xor => State::Long(0),
            Aggregate::Avg => State::Mean(0.0, 0),
            Aggregate::Min => State::Extreme(None, true),
            Aggregate::Max => State::Extreme(None, false),
            Aggregate::Stddev => State::Deviation(0, 0.0, 0.0),
            Aggregate::Quantiles(_) => State::All(Vec::new()),
        }
    }

    /// Takes the value of a document, all elements of a list.
    pub(super) fn add(&mut self, what: &Aggregate, value: &Value) {
        if let State::Count(count) = self {
            *count += 1;
            return;
        }
        for value in value.elements() {
            match self {
                State::Count(_) => {}
                State::Long(sum) => {
                    *sum = match what {
                        Aggregate::Xor => *sum ^ value.long(),
                        _ => sum.wrapping_add(value.long()),
                    }
                }
                State::Double(sum) => *sum += value.double(),
                State::Mean(sum, count) => {
                    *sum += value.double();
                    *count += 1;
                }
                State::Extreme(found, is_least) => extreme(found, *is_least, value),
                State::Deviation(count, mean, squares) => {
                    let number = value.double();
                    *count += 1;
                    let before = number - *mean;
                    *mean += before / *count as f64;
                    *squares += before * (number - *mean);
                }
                State::All(list) => list.push(value.double()),
                State::Distinct(distinct) => distinct.add(value),
            }
        }
    }

    /// Takes what another node found.
    pub(super) fn merge(&mut self, what: &Aggregate, other: State) {
        match (self, other) {
            (State::Count(count), State::Count(other)) => *count += other,
            (State::Long(sum), State::Long(other)) => {
                *sum = match what {
                    Aggregate::Xor => *sum ^ other,
                    _ => sum.wrapping_add(other),
                }
            }
            (State::Double(sum), State::Double(other)) => *sum += other,
            // Types of documents may have the same attribute as whole numbers and as others.
            (state @ State::Long(_), State::Double(other)) => {
                let State::Long(sum) = *state else { return };
                *state = State::Double(sum as f64 + other);
            }
            (State::Double(sum), State::Long(other)) => *sum += other as f64,
            (State::Mean(sum, count), State::Mean(other, more)) => {
                *sum += other;
                *count += more;
            }
            (State::Extreme(found, is_least), State::Extreme(Some(other), _)) => {
                extreme(found, *is_least, &other);
            }
            (State::Deviation(count, mean, squares), State::Deviation(more, other, of)) => {
                if more == 0 {
                    return;
                }
                let (all, apart) = ((*count + more) as f64, other - *mean);
                *squares += of + apart * apart * *count as f64 * more as f64 / all;
                *mean += apart * more as f64 / all;
                *count += more;
            }
            (State::All(list), State::All(mut other)) => list.append(&mut other),
            (State::Distinct(distinct), State::Distinct(other)) => distinct.merge(other),
            _ => {}
        }
    }

    /// The value that groups are ordered by.
    pub(super) fn value(&self) -> Value {
        match self {
            State::Count(number) | State::Long(number) => Value::Long(*number),
            State::Double(number) => Value::Double(*number),
            State::Mean(sum, count) => {
                Value::Double(if *count == 0 { 0.0 } else { sum / *count as f64 })
            }
            State::Extreme(found, _) => found.clone().unwrap_or(Value::Null),
            State::Deviation(count, _, squares) => {
                Value::Double(if *count == 0 { 0.0 } else { (squares / *count as f64).sqrt() })
            }
            State::All(list) => Value::Long(list.len() as i64),
            State::Distinct(distinct) => Value::Long(distinct.count() as i64),
        }
    }

    /// The value as results have it.
    pub(super) fn item(&self, what: &Aggregate) -> Item {
        if let (State::All(list), Aggregate::Quantiles(quantiles)) = (self, what) {
            return quantile_items(list, quantiles);
        }
        match self.value() {
            Value::Bool(truth) => Item::Bool(truth),
            Value::Long(number) => Item::Integer(number),
            Value::Double(number) => Item::Number(number),
            Value::Null => Item::Null,
            other => Item::Text(other.image_text()),
        }
    }

    /// About how much memory it takes beside itself, in bytes.
    pub(super) fn memory(&self) -> usize {
        match self {
            State::Extreme(Some(value), _) => value.memory(),
            State::All(list) => list.len() * size_of::<f64>(),
            State::Distinct(distinct) => distinct.memory(),
            _ => 0,
        }
    }
}

fn extreme(found: &mut Option<Value>, is_least: bool, value: &Value) {
    // What is no number is neither.
    if matches!(value, Value::Double(number) if number.is_nan()) {
        return;
    }
    let is_better = match found {
        None => true,
        Some(found) if is_least => value < found,
        Some(found) => value > found,
    };
    if is_better {
        *found = Some(value.clone());
    }
}

/// Quantiles: the least number that as large a part of all numbers is not more than.
fn quantile_items(list: &[f64], quantiles: &[f64]) -> Item {
    let mut sorted: Vec<f64> = list.iter().copied().filter(|number| !number.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    let one = |quantile: &f64| {
        let at = (quantile * sorted.len() as f64).ceil().max(1.0) as usize - 1;
        let value = sorted.get(at.min(sorted.len().saturating_sub(1))).copied();
        let value = value.map_or(Item::Null, Item::Number);
        Item::map([("quantile", Item::Number(*quantile)), ("value", value)])
    };
    Item::List(quantiles.iter().map(one).collect())
}

/// As many hashes are kept as they are; more are counted by registers.
const EXACT: usize = 1 << 10;

/// The bits of a hash that choose the register: an error of 1.04 / sqrt(4096), 1.6 %.
const BITS: u32 = 12;

/// How many values differ: exact up to some, estimated above
/// (Flajolet, Fusy, Gandouet, Meunier, "HyperLogLog", 2007, with hashes of 64 bits).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Distinct {
    hashes: HashSet<u64>,
    registers: Vec<u8>,
}

impl Distinct {
    pub(super) fn new() -> Distinct {
        Distinct { hashes: HashSet::new(), registers: Vec::new() }
    }

    fn add(&mut self, value: &Value) {
        let id = value.id();
        self.insert(xxh3_64(id.as_bytes()));
    }

    fn insert(&mut self, hash: u64) {
        if self.registers.is_empty() {
            self.hashes.insert(hash);
            if self.hashes.len() > EXACT {
                self.registers = vec![0; 1 << BITS];
                for hash in std::mem::take(&mut self.hashes) {
                    self.register(hash);
                }
            }
        } else {
            self.register(hash);
        }
    }

    fn register(&mut self, hash: u64) {
        let at = (hash >> (64 - BITS)) as usize;
        let zeros = ((hash << BITS) | (1 << (BITS - 1))).leading_zeros() as u8 + 1;
        if let Some(register) = self.registers.get_mut(at) {
            *register = (*register).max(zeros);
        }
    }

    fn merge(&mut self, other: Distinct) {
        if !other.registers.is_empty() && self.registers.is_empty() {
            let hashes = std::mem::replace(self, other).hashes;
            hashes.into_iter().for_each(|hash| self.insert(hash));
            return;
        }
        self.registers.iter_mut().zip(other.registers).for_each(|(a, b)| *a = (*a).max(b));
        other.hashes.into_iter().for_each(|hash| self.insert(hash));
    }

    fn count(&self) -> u64 {
        if self.registers.is_empty() {
            return self.hashes.len() as u64;
        }
        let registers = self.registers.len() as f64;
        let sum: f64 = self.registers.iter().map(|zeros| (-f64::from(*zeros)).exp2()).sum();
        let raw = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum;
        let empty = self.registers.iter().filter(|zeros| **zeros == 0).count();
        // Few values are told better by the registers that none of them chose.
        let linear = registers * (registers / empty.max(1) as f64).ln();
        let is_small = raw <= 2.5 * registers && empty > 0;
        (if is_small { linear } else { raw }).round() as u64
    }

    fn memory(&self) -> usize {
        self.hashes.len() * 16 + self.registers.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{Distinct, State};
    use crate::grouping::syntax::Aggregate;
    use crate::grouping::value::{Kind, Value};

    #[test]
    fn parts_joined_are_the_whole() {
        let numbers: Vec<f64> = (0..100).map(|n| f64::from(n * 37 % 101) - 20.0).collect();
        for what in [
            Aggregate::Count,
            Aggregate::Sum,
            Aggregate::Avg,
            Aggregate::Min,
            Aggregate::Max,
            Aggregate::Xor,
            Aggregate::Stddev,
        ] {
            let of = |numbers: &[f64]| {
                let mut state = State::new(&what, Some(Kind::Double));
                numbers.iter().for_each(|number| state.add(&what, &Value::Double(*number)));
                state
            };
            let mut joined = of(&numbers[..30]);
            joined.merge(&what, of(&numbers[30..31]));
            joined.merge(&what, of(&[]));
            joined.merge(&what, of(&numbers[31..]));
            let (joined, whole) = (joined.value().double(), of(&numbers).value().double());
            assert!((joined - whole).abs() < 1e-9, "{what:?}: {joined} {whole}");
        }
        let mut deviation = State::new(&Aggregate::Stddev, Some(Kind::Double));
        for number in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            deviation.add(&Aggregate::Stddev, &Value::Double(number));
        }
        assert_eq!(deviation.value(), Value::Double(2.0));
    }

    #[test]
    fn many_values_are_estimated() {
        for count in [0_u32, 1, 1024, 1025, 5_000, 100_000] {
            let (mut one, mut two) = (Distinct::new(), Distinct::new());
            for number in 0..count {
                one.add(&Value::Long(i64::from(number)));
                if number % 3 == 0 {
                    two.add(&Value::Long(i64::from(number)));
                    two.add(&Value::Long(i64::from(number + count)));
                }
            }
            let expected = f64::from(count + count.div_ceil(3));
            one.merge(two);
            let error = (one.count() as f64 - expected).abs();
            let allowed = if expected <= 1024.0 { 0.0 } else { expected * 0.05 };
            assert!(error <= allowed, "{count}: {} {expected}", one.count());
        }
    }
}

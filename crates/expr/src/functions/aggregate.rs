//! How many numbers become one.

/// A way to gather numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The table below tells what each does.
pub enum Aggregator {
    Avg,
    Count,
    Max,
    Median,
    Min,
    Prod,
    Sum,
}

/// Every aggregator with its name.
pub const AGGREGATORS: [(&str, Aggregator, &str); 7] = [
    ("avg", Aggregator::Avg, "the sum divided by the count"),
    ("count", Aggregator::Count, "how many there are"),
    ("max", Aggregator::Max, "the largest"),
    (
        "median",
        Aggregator::Median,
        "the one in the middle, or the average of the two there; NaN if one is",
    ),
    ("min", Aggregator::Min, "the smallest"),
    ("prod", Aggregator::Prod, "the product"),
    ("sum", Aggregator::Sum, "the sum"),
];

/// Something to do with the step of a fold, compiled apart for each.
pub(crate) trait Gather {
    fn gather(self, start: f64, step: impl Fn(f64, f64) -> f64 + Copy);
}

impl Aggregator {
    /// The aggregator of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Aggregator> {
        AGGREGATORS.iter().find(|(n, ..)| *n == name).map(|(_, a, _)| *a)
    }

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        AGGREGATORS.iter().find(|(_, a, _)| *a == self).map_or("", |(n, ..)| n)
    }

    /// Calls the visitor with where it begins and its step; the average is a sum to be divided afterwards, and
    /// the median has no step: it needs all numbers (see [`median`]).
    pub(crate) fn visit(self, visitor: impl Gather) {
        match self {
            Aggregator::Sum | Aggregator::Avg | Aggregator::Median => {
                visitor.gather(0.0, |sum, x| sum + x);
            }
            Aggregator::Count => visitor.gather(0.0, |count, _| count + 1.0),
            Aggregator::Prod => visitor.gather(1.0, |product, x| product * x),
            Aggregator::Max => {
                visitor.gather(f64::NEG_INFINITY, |most, x| if most < x { x } else { most });
            }
            Aggregator::Min => {
                visitor.gather(f64::INFINITY, |least, x| if x < least { x } else { least });
            }
        }
    }
}

/// The median of numbers, whose order changes; 0 of none, as of every aggregator.
pub(crate) fn median(numbers: &mut [f64]) -> f64 {
    if numbers.is_empty() {
        return 0.0;
    }
    if numbers.iter().any(|n| n.is_nan()) {
        return f64::NAN;
    }
    let middle = numbers.len() / 2;
    let is_even = numbers.len().is_multiple_of(2);
    let (below, upper, _) = numbers.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if !is_even {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (lower + upper) / 2.0
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn medians() {
        for (numbers, expected) in [
            (vec![], 0.0),
            (vec![3.0], 3.0),
            (vec![9.0, 1.0], 5.0),
            (vec![5.0, 1.0, 9.0], 5.0),
            (vec![5.0, 1.0, 9.0, 2.0], 3.5),
        ] {
            assert_eq!(median(&mut numbers.clone()), expected, "{numbers:?}");
        }
        assert!(median(&mut [1.0, f64::NAN]).is_nan());
    }
}

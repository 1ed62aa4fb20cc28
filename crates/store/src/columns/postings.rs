//! The rows of columns by their values: what `fast-search` adds to an attribute, and by what predicates must be true of.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use stead_text::compared;

use super::{Column, Elements, NumberList, Pieces, TextList};
use crate::kind::{DataType, Indexed};
use crate::predicate::Hashed;
use crate::predicate::features::Features;

/// The most rows that are told apart.
const MAX_ROWS: usize = 1 << 16;

/// The values of columns in ascending order, each once, and the rows that have each, in ascending order. Of arrays and weighted
/// sets every element counts, and predicates have features, of which a query needs one.
///
/// It takes the bytes of each different value (of texts 4 more, of features 4), 4 for where its rows begin, and 2 for each row of it; and of
/// each predicate its program.
#[derive(Debug)]
pub struct Postings {
    keys: Keys,
    /// Where the rows of each key begin, and the number of all.
    starts: Vec<u32>,
    rows: Vec<u16>,
}

#[derive(Debug)]
enum Keys {
    /// Without NaN; zero has no sign.
    Numbers(NumberList),
    /// As they are compared.
    Texts(Pieces),
    Predicates(Predicates),
}

/// What predicates are found by, and what is evaluated of those that are found.
#[derive(Debug)]
struct Predicates {
    features: Vec<u32>,
    /// The levels of blocks of numbers among them, each a bit.
    levels: u64,
    /// By row; empty where there is none.
    programs: Pieces,
}

impl Postings {
    /// Whether values of a type have any: truth values and positions have none, since nobody would look there.
    pub(crate) fn has(kind: &DataType) -> bool {
        match kind {
            DataType::Array(of) | DataType::WeightedSet(of) => {
                !matches!(**of, DataType::Array(_) | DataType::WeightedSet(_)) && Postings::has(of)
            }
            DataType::Byte
            | DataType::Int
            | DataType::Long
            | DataType::Float16
            | DataType::Float
            | DataType::Double
            | DataType::Text => true,
            _ => false,
        }
    }

    /// Those of the columns of blocks of `apart` rows that follow each other; nothing if their values have none. Cased texts are
    /// [compared] with their capitals.
    pub(crate) fn of(columns: &[&Column], apart: usize, by: Indexed) -> Option<Postings> {
        let parts = columns.iter().enumerate().map(|(at, column)| part(column, at * apart));
        let parts: Vec<(Values<'_>, Vec<u16>)> = parts.collect::<Option<_>>()?;
        match (&parts.first()?.0, by) {
            (Values::Numbers(first), _) => Postings::of_numbers(first, &parts),
            (_, Indexed::Values { is_cased }) => Postings::of_texts(&parts, is_cased),
            (_, Indexed::Predicates { bounds }) => Some(Postings::of_predicates(&parts, bounds)),
        }
    }

    fn of_numbers(first: &NumberList, parts: &[(Values<'_>, Vec<u16>)]) -> Option<Postings> {
        /// The values of lists of a type with their rows.
        macro_rules! pairs {
            ($kind:ident) => {
                parts.iter().flat_map(|(values, rows)| {
                    let values = match values {
                        Values::Numbers(NumberList::$kind(values)) => &values[..],
                        _ => &[],
                    };
                    values.iter().copied().zip(rows.iter().copied())
                })
            };
        }
        macro_rules! whole {
            ($kind:ident) => {{
                let (keys, starts, rows) = sorted(pairs!($kind).collect(), Ord::cmp);
                (NumberList::$kind(keys), starts, rows)
            }};
        }
        macro_rules! broken {
            ($kind:ident) => {{
                // The sum with zero has no sign where it is zero.
                let pairs = pairs!($kind).map(|(value, row)| (value + 0.0, row));
                let pairs = pairs.filter(|(value, _)| !value.is_nan()).collect();
                let (keys, starts, rows) = sorted(pairs, |a, b| a.total_cmp(b));
                (NumberList::$kind(keys), starts, rows)
            }};
        }
        let (keys, starts, rows) = match first {
            NumberList::Bool(_) => return None,
            NumberList::I8(_) => whole!(I8),
            NumberList::I32(_) => whole!(I32),
            NumberList::I64(_) => whole!(I64),
            NumberList::F32(_) => broken!(F32),
            NumberList::F64(_) => broken!(F64),
        };
        Some(Postings { keys: Keys::Numbers(keys), starts, rows })
    }

    fn of_texts(parts: &[(Values<'_>, Vec<u16>)], is_cased: bool) -> Option<Postings> {
        let mut pairs: Vec<(Cow<'_, str>, u16)> = Vec::new();
        for (values, rows) in parts {
            let Values::Texts(texts) = values else { return None };
            for (at, row) in rows.iter().enumerate() {
                pairs.push((compared(texts.get(at)?, is_cased), *row));
            }
        }
        let (list, starts, rows) = sorted(pairs, Ord::cmp);
        let mut keys = Pieces::default();
        for key in &list {
            // Folded letters may take more bytes.
            if !keys.has_room(key.len()) {
                return None;
            }
            keys.push(key.as_bytes());
        }
        keys.shrink();
        Some(Postings { keys: Keys::Texts(keys), starts, rows })
    }

    fn of_predicates(parts: &[(Values<'_>, Vec<u16>)], bounds: (i64, i64)) -> Postings {
        let predicates = || {
            parts.iter().flat_map(|(values, rows)| {
                let text = |at| match values {
                    Values::Texts(texts) => texts.get(at).unwrap_or_default(),
                    Values::Numbers(_) => "",
                };
                rows.iter().enumerate().map(move |(at, row)| (text(at), *row))
            })
        };
        let (mut features, mut programs) = (Features::new(bounds), Pieces::default());
        for (text, row) in predicates() {
            let program = features.count(text).filter(|program| programs.has_room(program.len()));
            while programs.len() < usize::from(row) {
                programs.push(&[]);
            }
            programs.push(&program.unwrap_or_default());
        }
        programs.shrink();
        let mut pairs = Vec::new();
        for (text, row) in predicates() {
            pairs.extend(features.of(text).iter().map(|feature| (*feature, row)));
        }
        let (keys, starts, rows) = sorted(pairs, Ord::cmp);
        let predicates = Predicates { features: keys, levels: features.levels(), programs };
        Postings { keys: Keys::Predicates(predicates), starts, rows }
    }

    /// The keys from one whole number to another, both within; none of other values.
    #[must_use]
    pub fn whole(&self, low: i64, high: i64) -> Range<usize> {
        fn of<T: Copy + Into<i64>>(keys: &[T], low: i64, high: i64) -> Range<usize> {
            span(keys.partition_point(|key| (*key).into() < low), || {
                keys.partition_point(|key| (*key).into() <= high)
            })
        }
        match &self.keys {
            Keys::Numbers(NumberList::I8(keys)) => of(keys, low, high),
            Keys::Numbers(NumberList::I32(keys)) => of(keys, low, high),
            Keys::Numbers(NumberList::I64(keys)) => of(keys, low, high),
            _ => 0..0,
        }
    }

    /// The keys from one number to another, both within; none of whole numbers and texts.
    #[must_use]
    pub fn broken(&self, low: f64, high: f64) -> Range<usize> {
        fn of<T: Copy + Into<f64>>(keys: &[T], low: f64, high: f64) -> Range<usize> {
            span(keys.partition_point(|key| (*key).into() < low), || {
                keys.partition_point(|key| (*key).into() <= high)
            })
        }
        match &self.keys {
            Keys::Numbers(NumberList::F32(keys)) => of(keys, low, high),
            Keys::Numbers(NumberList::F64(keys)) => of(keys, low, high),
            _ => 0..0,
        }
    }

    /// The key that is a text, as it is compared.
    #[must_use]
    pub fn text(&self, text: &str) -> Range<usize> {
        let at = self.first_not(|key| key < text.as_bytes());
        at..at + usize::from(self.text_key(at) == Some(text.as_bytes()))
    }

    /// The keys that begin with a text, as it is compared.
    #[must_use]
    pub fn prefix(&self, text: &str) -> Range<usize> {
        let text = text.as_bytes();
        span(self.first_not(|key| key < text), || {
            self.first_not(|key| key < text || key.starts_with(text))
        })
    }

    /// The keys of the predicates one of which each has that is true for a query; none of others than predicates.
    #[must_use]
    pub fn predicates(&self, asked: &Hashed) -> Vec<Range<usize>> {
        let Keys::Predicates(of) = &self.keys else { return Vec::new() };
        let key = |feature: u32| of.features.binary_search(&feature).ok();
        let keys = asked.features(of.levels).into_iter().filter_map(key);
        keys.map(|at| at..at + 1).collect()
    }

    /// The program of the predicate of a row; nothing where there is none, so that its text is to be read.
    #[must_use]
    pub fn program(&self, row: usize) -> Option<&[u8]> {
        match &self.keys {
            Keys::Predicates(of) => of.programs.get(row).filter(|program| !program.is_empty()),
            _ => None,
        }
    }

    /// The keys that are numbers, in the type in which the column has them; nothing of others.
    #[must_use]
    pub fn numbers(&self) -> Option<&NumberList> {
        match &self.keys {
            Keys::Numbers(list) => Some(list),
            _ => None,
        }
    }

    /// How many different values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A key that is a whole number.
    #[must_use]
    pub fn whole_at(&self, key: usize) -> Option<i64> {
        match &self.keys {
            Keys::Numbers(list) => list.integer(key),
            _ => None,
        }
    }

    /// A key that is a text, as it is compared.
    #[must_use]
    pub fn text_at(&self, key: usize) -> Option<&str> {
        std::str::from_utf8(self.text_key(key)?).ok()
    }

    /// The rows of some keys: those of each in ascending order, key by key. A row with several of the keys comes several times.
    #[must_use]
    pub fn rows(&self, keys: Range<usize>) -> &[u16] {
        let start = |at: usize| self.starts.get(at).map(|start| *start as usize);
        let range = start(keys.start).zip(start(keys.end)).map(|(from, to)| from..to);
        range.and_then(|range| self.rows.get(range)).unwrap_or_default()
    }

    /// The memory that it takes, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let keys = match &self.keys {
            Keys::Numbers(list) => list.memory(),
            Keys::Texts(texts) => texts.memory(),
            Keys::Predicates(of) => {
                of.features.capacity() * size_of::<u32>() + of.programs.memory()
            }
        };
        keys + self.starts.capacity() * size_of::<u32>() + self.rows.capacity() * size_of::<u16>()
    }

    fn text_key(&self, at: usize) -> Option<&[u8]> {
        match &self.keys {
            Keys::Texts(texts) => texts.get(at),
            _ => None,
        }
    }

    /// The first key of which a test does not hold; it holds of all before and of none behind.
    fn first_not(&self, test: impl Fn(&[u8]) -> bool) -> usize {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from + (to - from) / 2;
            match self.text_key(middle).is_some_and(&test) {
                true => from = middle + 1,
                false => to = middle,
            }
        }
        from
    }
}

/// Numbers or texts.
enum Values<'c> {
    Numbers(&'c NumberList),
    Texts(&'c TextList),
}

/// The values of a column, and the row of each, from `first` on; nothing if rows cannot be told apart.
fn part(column: &Column, first: usize) -> Option<(Values<'_>, Vec<u16>)> {
    let rows = |count: usize| {
        (first + count <= MAX_ROWS).then(|| (first..first + count).map(|row| row as u16))
    };
    Some(match column {
        Column::Numbers(numbers) => {
            (Values::Numbers(numbers.list()), rows(numbers.list().len())?.collect())
        }
        Column::Texts(texts) => (Values::Texts(texts), rows(texts.len())?.collect()),
        Column::Many(many) => {
            let documents = rows(many.offsets().len().checked_sub(1)?)?.enumerate();
            let of = |(at, row)| std::iter::repeat_n(row, many.places(at).len());
            let values = match many.elements() {
                Elements::Numbers(list) => Values::Numbers(list),
                Elements::Texts(texts) => Values::Texts(texts),
            };
            (values, documents.flat_map(of).collect())
        }
        Column::Tensors(_) | Column::Raw(_) => return None,
    })
}

fn span(from: usize, to: impl FnOnce() -> usize) -> Range<usize> {
    from..to().max(from)
}

/// Each value once in ascending order, where its rows begin, and the rows; a row that has a value twice has it once.
fn sorted<T>(
    mut pairs: Vec<(T, u16)>,
    order: impl Fn(&T, &T) -> Ordering,
) -> (Vec<T>, Vec<u32>, Vec<u16>) {
    let both = |a: &(T, u16), b: &(T, u16)| order(&a.0, &b.0).then(a.1.cmp(&b.1));
    pairs.sort_unstable_by(both);
    pairs.dedup_by(|a, b| both(a, b).is_eq());
    let (mut keys, mut starts) = (Vec::new(), Vec::new());
    let mut rows = Vec::with_capacity(pairs.len());
    for (key, row) in pairs {
        if keys.last().is_none_or(|last| order(last, &key).is_ne()) {
            keys.push(key);
            starts.push(rows.len() as u32);
        }
        rows.push(row);
    }
    starts.push(rows.len() as u32);
    keys.shrink_to_fit();
    starts.shrink_to_fit();
    (keys, starts, rows)
}

#[cfg(test)]
mod tests {
    use super::{MAX_ROWS, Postings};
    use crate::columns::Column;
    use crate::kind::{DataType, Indexed};
    use crate::value::FieldValue;

    const UNCASED: Indexed = Indexed::Values { is_cased: false };

    fn postings(kind: &DataType, values: &[Option<FieldValue>], is_cased: bool) -> Postings {
        let mut column = Column::new(kind).unwrap();
        values.iter().enumerate().for_each(|(row, value)| column.set(row, value.as_ref()));
        Postings::of(&[&column], MAX_ROWS, Indexed::Values { is_cased }).unwrap()
    }

    fn numbers(list: &[i64]) -> Vec<Option<FieldValue>> {
        list.iter().map(|n| Some(FieldValue::Integer(*n))).collect()
    }

    #[test]
    fn whole_numbers_are_found_by_their_ranges() {
        for kind in [DataType::Byte, DataType::Int, DataType::Long] {
            let mut values = numbers(&[5, -3, 5, 7]);
            values.push(None);
            let of = postings(&kind, &values, false);
            for (low, high, expected) in [
                (5, 5, &[0_u16, 2][..]),
                (-3, 6, &[1, 0, 2]),
                (6, 6, &[]),
                (8, 1, &[]),
                (-4, i64::MAX, &[1, 0, 2, 3]),
                (i64::MIN, kind.integers().0, &[4]),
            ] {
                assert_eq!(of.rows(of.whole(low, high)), expected, "{kind} {low} {high}");
            }
            assert_eq!((of.len(), of.whole_at(3)), (4, Some(7)));
            assert!(of.broken(-10.0, 10.0).is_empty() && of.text("5").is_empty());
        }
    }

    #[test]
    fn zero_has_no_sign_and_what_is_no_number_is_nowhere() {
        let values = [0.5, -0.0, f64::NAN, 0.0, f64::INFINITY];
        let values = values.map(|n| Some(FieldValue::Number(n)));
        for kind in [DataType::Float, DataType::Double] {
            let of = postings(&kind, &values, false);
            for (low, high, expected) in [
                (0.0, 0.0, &[1_u16, 3][..]),
                (-0.0, 0.5, &[1, 3, 0]),
                (f64::NEG_INFINITY, f64::INFINITY, &[1, 3, 0, 4]),
                (0.6, 0.5, &[]),
            ] {
                assert_eq!(of.rows(of.broken(low, high)), expected, "{kind} {low} {high}");
            }
        }
    }

    #[test]
    fn texts_are_found_with_capitals_or_without() {
        let texts = ["Ab", "ab", "B", "", "\u{c9}t\u{e9}", "abc"];
        let values = texts.map(|text| Some(FieldValue::Text(text.to_owned())));
        for (is_cased, text, exact, prefix) in [
            (false, "ab", &[0_u16, 1][..], &[0_u16, 1, 5][..]),
            (true, "ab", &[1], &[1, 5]),
            (false, "\u{e9}t\u{e9}", &[4], &[4]),
            (true, "\u{e9}t\u{e9}", &[], &[]),
            (false, "", &[3], &[3, 0, 1, 5, 2, 4]),
            (false, "x", &[], &[]),
        ] {
            let of = postings(&DataType::Text, &values, is_cased);
            assert_eq!(of.rows(of.text(text)), exact, "{text}");
            assert_eq!(of.rows(of.prefix(text)), prefix, "{text}");
        }
    }

    #[test]
    fn every_element_counts_once_for_its_row() {
        let array = |list: &[i64]| {
            Some(FieldValue::Array(list.iter().map(|n| FieldValue::Integer(*n)).collect()))
        };
        let kind = DataType::Array(Box::new(DataType::Int));
        let of = postings(&kind, &[array(&[3, 1, 3]), None, array(&[]), array(&[3])], false);
        assert_eq!(
            (of.rows(of.whole(3, 3)), of.rows(of.whole(1, 3))),
            (&[0, 3][..], &[0, 0, 3][..])
        );
        assert!(Postings::has(&kind));
        for kind in [DataType::Bool, DataType::Position, DataType::Raw] {
            assert!(!Postings::has(&kind) && !Postings::has(&DataType::Array(Box::new(kind))));
        }
    }

    #[test]
    fn rows_of_several_columns_count_from_the_first() {
        let column = |kind: &DataType, values: &[FieldValue]| {
            let mut column = Column::new(kind).unwrap();
            values.iter().enumerate().for_each(|(row, value)| column.set(row, Some(value)));
            column
        };
        let number = |n: i64| FieldValue::Integer(n);
        let text = |t: &str| FieldValue::Text(t.to_owned());
        let array = |list: &[&str]| FieldValue::Array(list.iter().map(|t| text(t)).collect());
        let texts = DataType::Array(Box::new(DataType::Text));
        let columns = [
            column(&DataType::Int, &[number(3), number(1)]),
            column(&DataType::Int, &[]),
            column(&DataType::Int, &[number(1)]),
        ];
        let of = Postings::of(&columns.each_ref(), 8, UNCASED).unwrap();
        assert_eq!((of.rows(of.whole(1, 1)), of.rows(of.whole(3, 3))), (&[1, 16][..], &[0][..]));
        let columns = [
            column(&texts, &[array(&["a", "b"]), array(&["b"])]),
            column(&texts, &[array(&[]), array(&["a"])]),
        ];
        let of = Postings::of(&columns.each_ref(), 2, UNCASED).unwrap();
        assert_eq!((of.rows(of.text("a")), of.rows(of.text("b"))), (&[0, 3][..], &[0, 1][..]));
        // As many as can be told apart, and more.
        let last = column(&DataType::Int, &[number(5)]);
        let columns = [&last, &last];
        let of = Postings::of(&columns, MAX_ROWS - 1, UNCASED).unwrap();
        assert_eq!(of.rows(of.whole(5, 5)), [0, (MAX_ROWS - 1) as u16]);
        assert!(Postings::of(&columns, MAX_ROWS, UNCASED).is_none());
    }
}

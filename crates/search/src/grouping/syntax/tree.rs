//! Groupings as trees.

use super::function::Function;

/// `all(...)` or `each(...)`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Operation {
    /// Whether it is `each`: it works on each element of its input, not on all of it.
    pub is_each: bool,
    /// The name that `as` gives it.
    pub label: Option<String>,
    /// What the input is grouped by.
    pub group: Option<Expr>,
    /// Which elements of the input are grouped.
    pub filter: Option<Filter>,
    /// How it is to be done; nothing depends on it.
    pub hints: Vec<String>,
    /// The most groups or hits.
    pub max: Option<Max>,
    /// What groups are ordered by; a negation at the top turns the order.
    pub order: Vec<Expr>,
    /// What is told of the group.
    pub outputs: Vec<Output>,
    /// The groups that each node sends at least.
    pub precision: Option<u32>,
    /// Which documents are grouped.
    pub wheres: Option<Where>,
    /// What works on its result.
    pub children: Vec<Operation>,
    /// What it works on: 0 for a hit, 1 for a group, 2 for a list of groups and so on.
    pub level: u32,
}

/// How many groups or hits there are at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Max {
    /// So many.
    Of(u32),
    /// Any number.
    Unlimited,
}

/// Which documents are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// `true`: all that there are.
    All,
    /// `$query`: the matches of the query.
    Query,
}

/// Something that is told of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// What.
    pub expr: Expr,
    /// The name that `as` gives it.
    pub label: Option<String>,
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A constant.
    Constant(Constant),
    /// The value of an attribute.
    Attribute(String),
    /// `attribute(name)`, which is the same.
    Named(String),
    /// The value of a map by a key: `map{"key"}.member`.
    Map {
        /// The name of the map.
        map: String,
        /// The key.
        key: MapKey,
        /// The member of the struct, empty if values are none.
        member: String,
    },
    /// A value of a group.
    Aggregate(Aggregate, Vec<Expr>),
    /// A function of values.
    Call(Function, Vec<Expr>),
    /// `fixedwidth(value, width)`
    FixedWidth(Box<Expr>, Number),
    /// `predefined(value, buckets)`
    Predefined(Box<Expr>, Vec<Bucket>),
    /// `array.at(attribute, index)`
    ArrayAt(String, Box<Expr>),
    /// `interpolatedlookup(attribute, value)`
    Interpolated(String, Box<Expr>),
    /// `uca(value, "locale", "strength")`
    Uca {
        /// The text.
        value: Box<Expr>,
        /// The locale.
        locale: String,
        /// The strength, if it is said.
        strength: Option<String>,
    },
    /// `debugwait(value, seconds, busy)`: the value, after some time for each document.
    Wait {
        /// The value.
        value: Box<Expr>,
        /// The seconds.
        seconds: Number,
        /// Whether the core does nothing else in the meantime.
        is_busy: bool,
    },
    /// `geo_distance(attribute, latitude, longitude).km`
    Distance {
        /// The name of the attribute, as it is written.
        attribute: Box<Expr>,
        /// The place, in degrees.
        place: (f64, f64),
        /// What the distance is told in.
        unit: DistanceUnit,
    },
}

/// A unit of distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names tell.
pub enum DistanceUnit {
    Kilometres,
    Miles,
}

/// The key of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MapKey {
    /// A text, or a number as a text.
    Text(String),
    /// The value of this attribute.
    Attribute(String),
}

/// A value of a group, or of a list of groups.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // The names are those of the language.
pub enum Aggregate {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    Xor,
    Stddev,
    /// Numbers from 0 to 1, ascending.
    Quantiles(Vec<f64>),
    /// The hits of the group, with a summary of this name.
    Summary(Option<String>),
}

/// A number.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)] // The names tell.
pub enum Number {
    Long(i64),
    Double(f64),
}

/// A constant.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // The names tell.
pub enum Constant {
    Number(Number),
    Text(String),
    /// Of buckets only.
    Raw(Vec<u8>),
    /// Of buckets only: less or greater than everything.
    Infinite {
        is_negative: bool,
    },
}

/// Values from one on, without the one where it ends. Both ends are of one type, or infinite.
#[derive(Debug, Clone, PartialEq)]
pub struct Bucket {
    /// The first value.
    pub from: Constant,
    /// The first value behind it.
    pub to: Constant,
}

/// A test of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// The value as a text matches all of a regular expression.
    Regex(String, Expr),
    /// The value lies between two numbers.
    Range {
        /// The numbers.
        ends: (f64, f64),
        /// Whether each of them is in it.
        within: (bool, bool),
        /// The value.
        value: Expr,
    },
    /// The value is true, or not 0.
    IsTrue(Expr),
    /// It does not pass.
    Not(Box<Filter>),
    /// It passes all.
    And(Vec<Filter>),
    /// It passes one.
    Or(Vec<Filter>),
}

impl Number {
    /// As a double.
    #[must_use]
    pub fn double(self) -> f64 {
        match self {
            Number::Long(number) => number as f64,
            Number::Double(number) => number,
        }
    }
}

impl Expr {
    /// How many expressions it is made of.
    pub(super) fn count(&self) -> usize {
        1 + self.parts().map(Expr::count).sum::<usize>()
    }

    /// What it is computed of.
    pub fn parts(&self) -> impl Iterator<Item = &Expr> {
        let (list, one): (&[Expr], Option<&Expr>) = match self {
            Expr::Aggregate(_, list) | Expr::Call(_, list) => (list, None),
            Expr::FixedWidth(one, _)
            | Expr::Predefined(one, _)
            | Expr::Uca { value: one, .. }
            | Expr::Wait { value: one, .. }
            | Expr::Distance { attribute: one, .. }
            | Expr::ArrayAt(_, one)
            | Expr::Interpolated(_, one) => (&[], Some(one)),
            Expr::Constant(_) | Expr::Attribute(_) | Expr::Named(_) | Expr::Map { .. } => {
                (&[], None)
            }
        };
        list.iter().chain(one)
    }
}

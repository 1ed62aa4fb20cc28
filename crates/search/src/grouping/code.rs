//! Expressions that are checked against the attributes of documents.

use std::time::Duration;

use stead_store::{DataType, DocumentType, Position};

use super::error::GroupingError;
use super::syntax::{
    Aggregate, Bucket, Constant, DistanceUnit, Expr, Function, MapKey, Number, TimePart,
};
use super::value::{Kind, Value};
use crate::collation::Collation;

/// By definition.
const KILOMETRES_OF_A_MILE: f64 = 1.609_344;

/// The maps and arrays that may be grouped by their elements inside of each other.
pub(super) const SCOPES: usize = 2;

/// An expression with the type of its value.
#[derive(Debug, Clone)]
pub(super) struct Typed {
    pub(super) code: Code,
    pub(super) kind: Kind,
    /// Whether it is a list of such values.
    pub(super) is_list: bool,
    /// The bytes of a number where its bytes are asked for.
    pub(super) width: usize,
}

/// An expression.
#[derive(Debug, Clone)]
pub(super) enum Code {
    Constant(Value),
    /// The attribute of a number, or the element of it that the row is about.
    Attribute {
        slot: usize,
        scope: Option<usize>,
    },
    /// The values of a map that stand with a key.
    Map {
        keys: usize,
        values: usize,
        key: KeyCode,
    },
    /// The aggregate of a number, of a group.
    Aggregate(usize),
    Call(Function, Vec<Typed>),
    FixedWidth(Box<Typed>, Number),
    Predefined(Box<Typed>, Vec<Value>),
    ArrayAt(usize, Box<Typed>),
    Interpolated(usize, Box<Typed>),
    /// What a text is in the order of a language.
    Uca(Box<Typed>, Collation),
    /// The same, after some time.
    Wait(Box<Typed>, Wait),
    /// How far the places of the attribute of a number are from another, the nearest of them, in a unit of so many kilometres.
    Distance {
        slot: usize,
        from: Position,
        unit: f64,
    },
}

/// How a document is waited for (`debugwait`): to see what a query does when it is slow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    pub(super) time: Duration,
    /// Whether the core does nothing else.
    pub(super) is_busy: bool,
}

/// The key that is looked for in a map.
#[derive(Debug, Clone)]
pub(super) enum KeyCode {
    Constant(Value),
    /// The value of the attribute of a number.
    Attribute(usize),
}

/// What expressions are checked against.
pub(super) struct Compiler<'c> {
    pub(super) documents: &'c DocumentType,
    pub(super) cluster: &'c str,
    /// Seconds since 1970.
    pub(super) now: i64,
    /// Seconds that the clocks of the time zone are ahead.
    pub(super) zone: i64,
    /// The attributes that were named, by number.
    pub(super) attributes: Vec<String>,
    /// The maps and arrays whose elements groups are of, by number.
    pub(super) scopes: Vec<String>,
    /// The maps and arrays of several values that were named and are no scopes.
    pub(super) lists: Vec<String>,
}

impl Compiler<'_> {
    /// The number and type of an attribute.
    fn attribute(&mut self, name: &str) -> Result<(usize, Kind, bool, usize), GroupingError> {
        let Some(about) = self.documents.attributes().iter().find(|a| a.name == name) else {
            return Err(GroupingError::NoAttribute {
                name: name.to_owned(),
                cluster: self.cluster.to_owned(),
            });
        };
        let of = |kind: &DataType| {
            Some(match kind {
                DataType::Bool => (Kind::Bool, 1),
                DataType::Byte => (Kind::Long, 1),
                DataType::Int => (Kind::Long, 4),
                DataType::Long | DataType::Position => (Kind::Long, 8),
                DataType::Float16 | DataType::Float | DataType::Double => (Kind::Double, 8),
                DataType::Text => (Kind::Text, 0),
                DataType::Raw => (Kind::Raw, 0),
                _ => return None,
            })
        };
        let (found, is_list) = match &about.kind {
            DataType::Array(inner) | DataType::WeightedSet(inner) => (of(inner), true),
            one => (of(one), false),
        };
        let Some((kind, width)) = found else {
            return Err(GroupingError::text(format!(
                "Grouping request references attribute '{name}' with unsupported type '{}'",
                about.kind
            )));
        };
        let known = self.attributes.iter().position(|known| known == name);
        let slot = known.unwrap_or(self.attributes.len());
        if known.is_none() {
            self.attributes.push(name.to_owned());
        }
        Ok((slot, kind, is_list, width))
    }

    /// An expression of documents.
    pub(super) fn typed(&mut self, expr: &Expr) -> Result<Typed, GroupingError> {
        let plain = |code, kind, is_list| Typed { code, kind, is_list, width: 8 };
        Ok(match expr {
            Expr::Constant(constant) => {
                let (value, kind) = match constant {
                    Constant::Number(Number::Long(number)) => (Value::Long(*number), Kind::Long),
                    Constant::Number(Number::Double(number)) => {
                        (Value::Double(*number), Kind::Double)
                    }
                    Constant::Text(text) => (Value::Text(text.clone()), Kind::Text),
                    Constant::Raw(_) | Constant::Infinite { .. } => return Err(unknown(expr)),
                };
                plain(Code::Constant(value), kind, false)
            }
            Expr::Attribute(name) | Expr::Named(name) => {
                let (slot, kind, is_list, width) = self.attribute(name)?;
                let base = scope_of(name);
                let scope = self.scopes.iter().position(|known| known == base);
                let scope = scope.filter(|_| is_list);
                if is_list && scope.is_none() && !self.lists.iter().any(|known| known == base) {
                    self.lists.push(base.to_owned());
                }
                let code = Code::Attribute { slot, scope };
                Typed { code, kind, is_list: is_list && scope.is_none(), width }
            }
            Expr::Map { map, key, member } => self.map(map, key, member)?,
            Expr::Aggregate(..) => return Err(unknown(expr)),
            Expr::Call(function, arguments) => {
                let arguments = arguments.iter().map(|argument| self.typed(argument));
                let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
                self.call(*function, arguments)?
            }
            Expr::FixedWidth(value, width) => {
                let value = self.typed(value)?;
                let number = width.double();
                if number <= 0.0 {
                    return Err(GroupingError::text(format!(
                        "the width of {expr} is not more than 0"
                    )));
                }
                if !matches!(value.kind, Kind::Bool | Kind::Long | Kind::Double) {
                    let name = name(value.kind);
                    return Err(GroupingError::text(format!(
                        "cannot create appropriate bucket for type '{name}'"
                    )));
                }
                let is_list = value.is_list;
                plain(Code::FixedWidth(Box::new(value), *width), Kind::Bucket, is_list)
            }
            Expr::Predefined(value, buckets) => {
                let value = self.typed(value)?;
                let buckets = buckets.iter().filter_map(bucket).collect();
                let is_list = value.is_list;
                plain(Code::Predefined(Box::new(value), buckets), Kind::Bucket, is_list)
            }
            Expr::ArrayAt(attribute, index) => {
                let (slot, kind, _, width) = self.attribute(attribute)?;
                let index = self.one(index)?;
                Typed { code: Code::ArrayAt(slot, index), kind, is_list: false, width }
            }
            Expr::Interpolated(attribute, value) => {
                let (slot, ..) = self.attribute(attribute)?;
                let value = self.one(value)?;
                plain(Code::Interpolated(slot, value), Kind::Double, false)
            }
            Expr::Uca { value, locale, strength } => {
                let value = self.typed(value)?;
                let strength = strength.as_deref().unwrap_or("tertiary");
                let collation = Collation::new(locale, strength)
                    .map_err(|why| GroupingError::text(format!("{expr}: {why}")))?;
                let is_list = value.is_list;
                plain(Code::Uca(Box::new(value), collation), Kind::Raw, is_list)
            }
            Expr::Wait { value, seconds, is_busy } => {
                let value = self.typed(value)?;
                let time = Duration::try_from_secs_f64(seconds.double()).map_err(|_| {
                    GroupingError::text(format!("{expr}: no time is so many seconds"))
                })?;
                let Typed { code: _, kind, is_list, width } = value;
                let code = Code::Wait(Box::new(value), Wait { time, is_busy: *is_busy });
                Typed { code, kind, is_list, width }
            }
            Expr::Distance { attribute, place, unit } => {
                self.distance(expr, attribute, *place, *unit)?
            }
        })
    }

    fn distance(
        &mut self,
        whole: &Expr,
        attribute: &Expr,
        (north, east): (f64, f64),
        unit: DistanceUnit,
    ) -> Result<Typed, GroupingError> {
        let (Expr::Attribute(name) | Expr::Named(name)) = attribute else {
            return Err(unknown(whole));
        };
        let (slot, ..) = self.attribute(name)?;
        let about = self.documents.attributes().iter().find(|a| a.name == *name);
        let kind = match about.map(|about| &about.kind) {
            Some(DataType::Array(of)) => Some(&**of),
            kind => kind,
        };
        if kind != Some(&DataType::Position) {
            return Err(GroupingError::text(format!("{whole}: {name} has no positions")));
        }
        let from = Position::from_degrees(north, east)
            .ok_or_else(|| GroupingError::text(format!("{whole}: there is no such place")))?;
        let unit = match unit {
            DistanceUnit::Kilometres => 1.0,
            DistanceUnit::Miles => KILOMETRES_OF_A_MILE,
        };
        let code = Code::Distance { slot, from, unit };
        Ok(Typed { code, kind: Kind::Double, is_list: false, width: 8 })
    }

    /// An expression that is one value.
    fn one(&mut self, expr: &Expr) -> Result<Box<Typed>, GroupingError> {
        let typed = self.typed(expr)?;
        match typed.is_list {
            true => Err(GroupingError::text(format!("{expr} is a list, not a value"))),
            false => Ok(Box::new(typed)),
        }
    }

    fn map(&mut self, map: &str, key: &MapKey, member: &str) -> Result<Typed, GroupingError> {
        let (keys, of_keys, ..) = self.attribute(&format!("{map}.key"))?;
        let dot = if member.is_empty() { "" } else { "." };
        let (values, kind, _, width) = self.attribute(&format!("{map}.value{dot}{member}"))?;
        let key = match key {
            MapKey::Attribute(name) => {
                let (slot, of, is_list, _) = self.attribute(name)?;
                if is_list || of != of_keys {
                    return Err(GroupingError::text(format!(
                        "Grouping request references key source attribute '{name}' that is not one value of the type of key \
                         attribute '{map}.key'"
                    )));
                }
                KeyCode::Attribute(slot)
            }
            MapKey::Text(text) => {
                let text = Value::Text(text.clone());
                KeyCode::Constant(converted(&text, of_keys))
            }
        };
        Ok(Typed { code: Code::Map { keys, values, key }, kind, is_list: false, width })
    }

    /// A function of values.
    pub(super) fn call(
        &self,
        function: Function,
        mut arguments: Vec<Typed>,
    ) -> Result<Typed, GroupingError> {
        use Function as F;
        let is_list = arguments.iter().any(|argument| argument.is_list);
        let first = arguments.first().map_or(Kind::Long, |argument| argument.kind);
        if arguments.iter().any(|argument| argument.kind == Kind::Bucket) {
            return Err(GroupingError::text(format!("{} takes no buckets", function.name())));
        }
        let (kind, is_list) = match function {
            F::Add | F::Sub | F::Mul | F::Div | F::Mod | F::Min | F::Max | F::Neg => {
                let kinds = || arguments.iter().map(|argument| argument.kind);
                let is_number = |kind| matches!(kind, Kind::Long | Kind::Bool | Kind::Double);
                if !kinds().any(is_number) {
                    return Err(GroupingError::text(format!(
                        "{} takes numbers, found {}",
                        function.name(),
                        name(first)
                    )));
                }
                let is_double = kinds().any(|kind| kind == Kind::Double);
                (if is_double { Kind::Double } else { Kind::Long }, is_list)
            }
            F::And | F::Or | F::Xor | F::Size => (Kind::Long, false),
            F::Cat | F::Md5(_) | F::XorBit(_) => (Kind::Raw, false),
            F::StrCat => (Kind::Text, false),
            F::StrLen | F::ToLong | F::ZCurveX | F::ZCurveY => (Kind::Long, is_list),
            F::Time(TimePart::Date) | F::NormalizeSubject | F::ToString => (Kind::Text, is_list),
            F::Time(_) => (Kind::Long, is_list),
            F::ToDouble | F::Math(_) => (Kind::Double, is_list),
            F::ToRaw => (Kind::Raw, is_list),
            F::Sort | F::Reverse => (first, is_list),
            F::Relevance => (Kind::Double, false),
            F::DocIdSpecific => (Kind::Text, false),
            F::Now => {
                let code = Code::Constant(Value::Long(self.now));
                return Ok(Typed { code, kind: Kind::Long, is_list: false, width: 8 });
            }
        };
        if matches!(function, F::Time(_)) && self.zone != 0 {
            // The clocks of the zone, as in Vespa: one offset for all moments, that of now.
            let zone = Code::Constant(Value::Long(self.zone));
            let zone = Typed { code: zone, kind: Kind::Long, is_list: false, width: 8 };
            arguments.push(zone);
            let code = Code::Call(F::Add, arguments);
            arguments = vec![Typed { code, kind: Kind::Long, is_list, width: 8 }];
        }
        let width = match function {
            F::Neg | F::Sort | F::Reverse => arguments.first().map_or(8, |a| a.width),
            _ => 8,
        };
        Ok(Typed { code: Code::Call(function, arguments), kind, is_list, width })
    }

    /// An expression of groups, with what it aggregates, which is put behind what others do.
    pub(super) fn ordered(
        &mut self,
        expr: &Expr,
        aggregates: &mut Vec<AggregateCode>,
    ) -> Result<Typed, GroupingError> {
        Ok(match expr {
            Expr::Aggregate(what, of) => {
                let aggregate = self.aggregate(expr, what, of.first())?;
                let kind = match (&aggregate.what, &aggregate.of) {
                    (Aggregate::Avg | Aggregate::Stddev, _) => Kind::Double,
                    (Aggregate::Sum, Some(of)) => match of.kind {
                        Kind::Long | Kind::Bool => Kind::Long,
                        _ => Kind::Double,
                    },
                    (Aggregate::Min | Aggregate::Max, Some(of)) => of.kind,
                    (Aggregate::Quantiles(_) | Aggregate::Summary(_), _) => {
                        return Err(GroupingError::text(format!("groups have no order by {expr}")));
                    }
                    _ => Kind::Long,
                };
                aggregates.push(aggregate);
                let code = Code::Aggregate(aggregates.len() - 1);
                Typed { code, kind, is_list: false, width: 8 }
            }
            Expr::Call(function, arguments) => {
                let arguments = arguments.iter().map(|a| self.ordered(a, aggregates));
                let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
                if matches!(function, Function::Relevance | Function::DocIdSpecific) {
                    return Err(GroupingError::text(format!(
                        "order takes values of groups; write max({expr})"
                    )));
                }
                self.call(*function, arguments)?
            }
            Expr::Constant(_) => self.typed(expr)?,
            _ => {
                return Err(GroupingError::text(format!(
                    "order takes values of groups; write max({expr})"
                )));
            }
        })
    }

    /// A value of groups.
    pub(super) fn aggregate(
        &mut self,
        whole: &Expr,
        what: &Aggregate,
        of: Option<&Expr>,
    ) -> Result<AggregateCode, GroupingError> {
        let of = of.map(|of| self.typed(of)).transpose()?;
        if of.as_ref().is_some_and(|of| of.kind == Kind::Bucket) {
            return Err(GroupingError::text(format!("{whole} takes no buckets")));
        }
        Ok(AggregateCode { what: what.clone(), of })
    }
}

/// A value of groups, of an expression of their documents; `count` has none.
#[derive(Debug, Clone)]
pub(super) struct AggregateCode {
    pub(super) what: Aggregate,
    pub(super) of: Option<Typed>,
}

/// The map or array whose elements an attribute has: what stands before the last dot, or all of it
/// (Vespa, `searchlib/src/vespa/searchlib/expression/current_index_setup.cpp`).
fn scope_of(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(base, _)| base)
}

/// A value as one of another type.
pub(super) fn converted(value: &Value, kind: Kind) -> Value {
    match kind {
        Kind::Bool => Value::Bool(value.text() == "true" || value.long() != 0),
        Kind::Long => Value::Long(value.long()),
        Kind::Double => Value::Double(value.double()),
        Kind::Text => Value::Text(value.text().into_owned()),
        Kind::Raw => Value::Raw(value.bytes().into_owned()),
        Kind::Bucket => value.clone(),
    }
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "bool",
        Kind::Long => "long",
        Kind::Double => "double",
        Kind::Text => "string",
        Kind::Raw => "raw",
        Kind::Bucket => "bucket",
    }
}

fn unknown(expr: &Expr) -> GroupingError {
    GroupingError::text(format!("{expr} is no value of a document"))
}

/// A bucket as a value; nothing if it has no end, which none has that was read.
fn bucket(bucket: &Bucket) -> Option<Value> {
    let doubles = |number: &Constant, without: f64| match number {
        Constant::Number(number) => number.double(),
        _ => without,
    };
    let longs = |number: &Constant, without: i64| match number {
        Constant::Number(Number::Long(number)) => *number,
        _ => without,
    };
    let either = |is_it: fn(&Constant) -> bool| is_it(&bucket.from) || is_it(&bucket.to);
    let (from, to) = (&bucket.from, &bucket.to);
    Some(if either(|c| matches!(c, Constant::Number(Number::Double(_)))) {
        Value::DoubleBucket(doubles(from, f64::NEG_INFINITY), doubles(to, f64::INFINITY))
    } else if either(|c| matches!(c, Constant::Number(_))) {
        Value::LongBucket(longs(from, i64::MIN), longs(to, i64::MAX))
    } else if either(|c| matches!(c, Constant::Text(_))) {
        let text = |end: &Constant| match end {
            Constant::Text(text) => Some(text.clone()),
            _ => None,
        };
        Value::TextBucket(text(from).unwrap_or_default(), text(to))
    } else if either(|c| matches!(c, Constant::Raw(_))) {
        let raw = |end: &Constant| match end {
            Constant::Raw(bytes) => Some(bytes.clone()),
            _ => None,
        };
        Value::RawBucket(raw(from).unwrap_or_default(), raw(to))
    } else {
        return None;
    })
}

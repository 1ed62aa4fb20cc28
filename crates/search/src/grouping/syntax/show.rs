//! Groupings as texts: the labels of what has none, and a form that can be read again.

use std::fmt;

use super::aggregate;
use super::function::Function;
use super::tree::{
    Aggregate, Bucket, Constant, DistanceUnit, Expr, Filter, MapKey, Max, Number, Operation, Where,
};

/// A double as Java writes it.
pub(in crate::grouping) fn double(number: f64) -> String {
    let size = number.abs();
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if size == 0.0 || (1e-3..1e7).contains(&size) || number.is_nan() {
        return format!("{number:?}");
    }
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if digits.contains('.') { "" } else { ".0" };
    format!("{digits}{point}E{exponent}")
}

/// A text with quotes around it.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Things with something between them.
fn list<T: fmt::Display>(list: &[T], between: &str) -> String {
    list.iter().map(T::to_string).collect::<Vec<_>>().join(between)
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Long(number) => write!(f, "{number}"),
            Number::Double(number) => f.write_str(&double(*number)),
        }
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constant::Number(number) => write!(f, "{number}"),
            Constant::Text(text) => f.write_str(&quote(text)),
            Constant::Raw(bytes) => write!(f, "{{{}}}", list(bytes, ",")),
            Constant::Infinite { is_negative: true } => f.write_str("-inf"),
            Constant::Infinite { is_negative: false } => f.write_str("inf"),
        }
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bucket[{}, {}>", self.from, self.to)
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Constant(constant) => write!(f, "{constant}"),
            Expr::Attribute(name) => f.write_str(name),
            Expr::Named(name) => write!(f, "attribute({name})"),
            Expr::Map { map, key, member } => {
                match key {
                    MapKey::Text(key) => write!(f, "{map}{{{}}}", quote(key))?,
                    MapKey::Attribute(key) => write!(f, "{map}{{attribute({key})}}")?,
                }
                if member.is_empty() { Ok(()) } else { write!(f, ".{member}") }
            }
            Expr::Aggregate(Aggregate::Summary(name), _) => {
                write!(f, "summary({})", name.as_deref().unwrap_or_default())
            }
            Expr::Aggregate(Aggregate::Quantiles(quantiles), of) => {
                let quantiles: Vec<Number> =
                    quantiles.iter().copied().map(Number::Double).collect();
                write!(f, "quantiles([{}], {})", list(&quantiles, ", "), list(of, ", "))
            }
            Expr::Aggregate(what, of) => {
                write!(f, "{}({})", aggregate::name(what), list(of, ", "))
            }
            Expr::Call(function @ (Function::Md5(bits) | Function::XorBit(bits)), of) => {
                write!(f, "{}({}, {bits})", function.name(), list(of, ", "))
            }
            Expr::Call(function, of) => write!(f, "{}({})", function.name(), list(of, ", ")),
            Expr::FixedWidth(value, width) => write!(f, "fixedwidth({value}, {width})"),
            Expr::Predefined(value, buckets) => {
                write!(f, "predefined({value}, {})", list(buckets, ", "))
            }
            Expr::ArrayAt(name, value) => write!(f, "array.at({name}, {value})"),
            Expr::Interpolated(name, value) => write!(f, "interpolatedlookup({name}, {value})"),
            Expr::Uca { value, locale, strength: None } => {
                write!(f, "uca({value}, {})", quote(locale))
            }
            Expr::Uca { value, locale, strength: Some(strength) } => {
                write!(f, "uca({value}, {}, {})", quote(locale), quote(strength))
            }
            Expr::Wait { value, seconds, is_busy } => {
                write!(f, "debugwait({value}, {seconds}, {is_busy})")
            }
            Expr::Distance { attribute, place: (north, east), unit } => {
                let unit = match unit {
                    DistanceUnit::Kilometres => "km",
                    DistanceUnit::Miles => "miles",
                };
                write!(f, "geo_distance({attribute}, {}, {}).{unit}", double(*north), double(*east))
            }
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Filter::Regex(pattern, value) => write!(f, "regex({}, {value})", quote(pattern)),
            Filter::Range { ends: (low, high), within: (low_in, high_in), value } => {
                let (low, high) = (double(*low), double(*high));
                write!(f, "range({low}, {high}, {value}, {low_in}, {high_in})")
            }
            Filter::IsTrue(value) => write!(f, "istrue({value})"),
            Filter::Not(one) => write!(f, "not ({one})"),
            Filter::And(all) => write!(f, "({})", list(all, " and ")),
            Filter::Or(all) => write!(f, "({})", list(all, " or ")),
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.group.as_ref().map(|group| format!("group({group})")));
        parts.extend(self.hints.iter().map(|hint| format!("hint({hint})")));
        parts.extend(self.filter.as_ref().map(|filter| format!("filter({filter})")));
        parts.extend(self.max.map(|max| match max {
            Max::Of(max) => format!("max({max})"),
            Max::Unlimited => "max(inf)".to_owned(),
        }));
        if !self.order.is_empty() {
            parts.push(format!("order({})", list(&self.order, ", ")));
        }
        if !self.outputs.is_empty() {
            let outputs = self.outputs.iter().map(|output| match &output.label {
                Some(label) => format!("{} as({label})", output.expr),
                None => output.expr.to_string(),
            });
            parts.push(format!("output({})", outputs.collect::<Vec<_>>().join(", ")));
        }
        parts.extend(self.precision.map(|precision| format!("precision({precision})")));
        parts.extend(self.wheres.map(|wheres| match wheres {
            Where::All => "where(true)".to_owned(),
            Where::Query => "where($query)".to_owned(),
        }));
        parts.extend(self.children.iter().map(Operation::to_string));
        let name = if self.is_each { "each" } else { "all" };
        write!(f, "{name}({})", parts.join(" "))?;
        match &self.label {
            Some(label) => write!(f, " as({label})"),
            None => Ok(()),
        }
    }
}

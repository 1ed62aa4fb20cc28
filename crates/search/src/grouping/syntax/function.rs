//! The functions of expressions.

/// A function of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names are those of the language.
pub enum Function {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Neg,
    Min,
    Max,
    And,
    Or,
    Xor,
    Cat,
    StrCat,
    StrLen,
    Size,
    Sort,
    Reverse,
    NormalizeSubject,
    ToDouble,
    ToLong,
    ToString,
    ToRaw,
    Relevance,
    Now,
    DocIdSpecific,
    /// So many bits.
    Md5(u32),
    /// So many bits.
    XorBit(u32),
    ZCurveX,
    ZCurveY,
    Time(TimePart),
    Math(MathFunction),
}

/// A part of a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names are those of the language.
pub enum TimePart {
    Date,
    DayOfMonth,
    DayOfWeek,
    DayOfYear,
    HourOfDay,
    MinuteOfHour,
    MonthOfYear,
    SecondOfMinute,
    Year,
}

/// A function of mathematics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names are those of the language.
pub enum MathFunction {
    Exp,
    Pow,
    Log,
    Log1p,
    Log10,
    Sin,
    Asin,
    Cos,
    Acos,
    Tan,
    Atan,
    Sqrt,
    Sinh,
    Asinh,
    Cosh,
    Acosh,
    Tanh,
    Atanh,
    Cbrt,
    Hypot,
    Floor,
}

use Function as F;
use MathFunction as M;
use TimePart as T;

/// The most arguments of functions that take any number.
const MANY: usize = usize::MAX;

/// Each function by name, with the fewest and the most arguments. `md5` and `xorbit` take a number behind their argument. Those that are
/// values of groups where they have one argument are functions from two on.
const FUNCTIONS: [(&str, Function, usize, usize); 59] = [
    ("add", F::Add, 2, MANY),
    ("sub", F::Sub, 2, MANY),
    ("mul", F::Mul, 2, MANY),
    ("div", F::Div, 2, MANY),
    ("mod", F::Mod, 2, MANY),
    ("neg", F::Neg, 1, 1),
    ("min", F::Min, 2, MANY),
    ("max", F::Max, 2, MANY),
    ("and", F::And, 2, MANY),
    ("or", F::Or, 2, MANY),
    ("xor", F::Xor, 2, MANY),
    ("cat", F::Cat, 2, MANY),
    ("strcat", F::StrCat, 2, MANY),
    ("strlen", F::StrLen, 1, 1),
    ("size", F::Size, 1, 1),
    ("sort", F::Sort, 1, 1),
    ("reverse", F::Reverse, 1, 1),
    ("normalizesubject", F::NormalizeSubject, 1, 1),
    ("todouble", F::ToDouble, 1, 1),
    ("tolong", F::ToLong, 1, 1),
    ("tostring", F::ToString, 1, 1),
    ("toraw", F::ToRaw, 1, 1),
    ("relevance", F::Relevance, 0, 0),
    ("now", F::Now, 0, 0),
    ("docidnsspecific", F::DocIdSpecific, 0, 0),
    ("md5", F::Md5(0), 1, 1),
    ("xorbit", F::XorBit(0), 1, 1),
    ("zcurve.x", F::ZCurveX, 1, 1),
    ("zcurve.y", F::ZCurveY, 1, 1),
    ("time.date", F::Time(T::Date), 1, 1),
    ("time.dayofmonth", F::Time(T::DayOfMonth), 1, 1),
    ("time.dayofweek", F::Time(T::DayOfWeek), 1, 1),
    ("time.dayofyear", F::Time(T::DayOfYear), 1, 1),
    ("time.hourofday", F::Time(T::HourOfDay), 1, 1),
    ("time.minuteofhour", F::Time(T::MinuteOfHour), 1, 1),
    ("time.monthofyear", F::Time(T::MonthOfYear), 1, 1),
    ("time.secondofminute", F::Time(T::SecondOfMinute), 1, 1),
    ("time.year", F::Time(T::Year), 1, 1),
    ("math.exp", F::Math(M::Exp), 1, 1),
    ("math.pow", F::Math(M::Pow), 2, 2),
    ("math.log", F::Math(M::Log), 1, 1),
    ("math.log1p", F::Math(M::Log1p), 1, 1),
    ("math.log10", F::Math(M::Log10), 1, 1),
    ("math.sin", F::Math(M::Sin), 1, 1),
    ("math.asin", F::Math(M::Asin), 1, 1),
    ("math.cos", F::Math(M::Cos), 1, 1),
    ("math.acos", F::Math(M::Acos), 1, 1),
    ("math.tan", F::Math(M::Tan), 1, 1),
    ("math.atan", F::Math(M::Atan), 1, 1),
    ("math.sqrt", F::Math(M::Sqrt), 1, 1),
    ("math.sinh", F::Math(M::Sinh), 1, 1),
    ("math.asinh", F::Math(M::Asinh), 1, 1),
    ("math.cosh", F::Math(M::Cosh), 1, 1),
    ("math.acosh", F::Math(M::Acosh), 1, 1),
    ("math.tanh", F::Math(M::Tanh), 1, 1),
    ("math.atanh", F::Math(M::Atanh), 1, 1),
    ("math.cbrt", F::Math(M::Cbrt), 1, 1),
    ("math.hypot", F::Math(M::Hypot), 2, 2),
    ("math.floor", F::Math(M::Floor), 1, 1),
];

/// The function of a name, with the fewest and the most arguments.
pub(super) fn find(name: &str) -> Option<(Function, usize, usize)> {
    let row = FUNCTIONS.iter().find(|row| row.0 == name)?;
    Some((row.1, row.2, row.3))
}

impl Function {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        let plain = match self {
            F::Md5(_) => F::Md5(0),
            F::XorBit(_) => F::XorBit(0),
            other => other,
        };
        FUNCTIONS.iter().find(|row| row.1 == plain).map_or("", |row| row.0)
    }
}

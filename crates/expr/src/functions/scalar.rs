//! Functions of one and of two numbers.

use crate::value::approx_equal;

/// A function of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The table below tells what each does.
pub enum Fn1 {
    Neg,
    Not,
    Acos,
    Asin,
    Atan,
    Ceil,
    Cos,
    Cosh,
    Elu,
    Erf,
    Exp,
    Fabs,
    Floor,
    IsNan,
    Log,
    Log10,
    Relu,
    Round,
    Sigmoid,
    Sign,
    Sin,
    Sinh,
    Sqrt,
    Square,
    Tan,
    Tanh,
}

/// A function of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The table below tells what each does.
pub enum Fn2 {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Pow,
    Equal,
    NotEqual,
    Approx,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    Atan2,
    Bit,
    Hamming,
    Ldexp,
    Max,
    Min,
}

/// The functions of one number by the names that expressions call them; `-` and `!` are written before the operand.
/// `abs`, `round`, `sign` and `square` are known to Vespa's containers only.
pub const UNARY: [(&str, Fn1, &str); 27] = [
    ("-", Fn1::Neg, "the negative"),
    ("!", Fn1::Not, "1 for 0, else 0"),
    ("abs", Fn1::Fabs, "the absolute value"),
    ("acos", Fn1::Acos, "inverse cosine"),
    ("asin", Fn1::Asin, "inverse sine"),
    ("atan", Fn1::Atan, "inverse tangent"),
    ("ceil", Fn1::Ceil, "the nearest whole number above"),
    ("cos", Fn1::Cos, "cosine"),
    ("cosh", Fn1::Cosh, "hyperbolic cosine"),
    ("elu", Fn1::Elu, "the number, or exp of it less 1 below 0"),
    ("erf", Fn1::Erf, "the error function"),
    ("exp", Fn1::Exp, "e to the power of the number"),
    ("fabs", Fn1::Fabs, "the absolute value"),
    ("floor", Fn1::Floor, "the nearest whole number below"),
    ("isNan", Fn1::IsNan, "1 for NaN, else 0"),
    ("log", Fn1::Log, "natural logarithm"),
    ("log10", Fn1::Log10, "logarithm to the base of 10"),
    ("relu", Fn1::Relu, "the number, or 0 below 0"),
    ("round", Fn1::Round, "the nearest whole number, halves upwards"),
    ("sigmoid", Fn1::Sigmoid, "1 / (1 + exp(-x))"),
    ("sign", Fn1::Sign, "-1, 0 or 1"),
    ("sin", Fn1::Sin, "sine"),
    ("sinh", Fn1::Sinh, "hyperbolic sine"),
    ("sqrt", Fn1::Sqrt, "square root"),
    ("square", Fn1::Square, "the number times itself"),
    ("tan", Fn1::Tan, "tangent"),
    ("tanh", Fn1::Tanh, "hyperbolic tangent"),
];

/// The functions of two numbers by name or operator. True is 1 and false 0, and every number but 0 is true.
pub const BINARY: [(&str, Fn2, &str); 23] = [
    ("+", Fn2::Add, "the sum"),
    ("-", Fn2::Sub, "the difference"),
    ("*", Fn2::Mul, "the product"),
    ("/", Fn2::Div, "the quotient"),
    ("%", Fn2::Mod, "the rest of the quotient, with the sign of the first"),
    ("^", Fn2::Pow, "the first to the power of the second"),
    ("==", Fn2::Equal, "whether they are the same"),
    ("!=", Fn2::NotEqual, "whether they are not the same"),
    ("~=", Fn2::Approx, "whether they are the same but for rounding to a float"),
    ("<", Fn2::Less, "whether the first is less"),
    ("<=", Fn2::LessEqual, "whether the first is not more"),
    (">", Fn2::Greater, "whether the first is more"),
    (">=", Fn2::GreaterEqual, "whether the first is not less"),
    ("&&", Fn2::And, "whether both are true"),
    ("||", Fn2::Or, "whether one is true"),
    ("atan2", Fn2::Atan2, "the angle of the point (second, first)"),
    ("bit", Fn2::Bit, "the bit of the first as an int8 at the place of the second, 0 the lowest"),
    ("fmod", Fn2::Mod, "the rest of the quotient, with the sign of the first"),
    ("hamming", Fn2::Hamming, "the number of bits in which both as int8 differ"),
    ("ldexp", Fn2::Ldexp, "the first times two to the power of the whole part of the second"),
    ("max", Fn2::Max, "the larger"),
    ("min", Fn2::Min, "the smaller"),
    ("pow", Fn2::Pow, "the first to the power of the second"),
];

/// Something to do with a function of one number, compiled apart for each function.
pub(crate) trait Visit1 {
    fn visit(self, function: impl Fn(f64) -> f64 + Copy);
}

/// Something to do with a function of two numbers, compiled apart for each function.
pub(crate) trait Visit2 {
    fn visit(self, function: impl Fn(f64, f64) -> f64 + Copy);
}

impl Fn1 {
    /// The function of a number.
    #[must_use]
    pub fn of(self, x: f64) -> f64 {
        struct Once<'r>(f64, &'r mut f64);
        impl Visit1 for Once<'_> {
            fn visit(self, function: impl Fn(f64) -> f64 + Copy) {
                *self.1 = function(self.0);
            }
        }
        let mut result = 0.0;
        self.visit(Once(x, &mut result));
        result
    }

    /// Calls the visitor with the function.
    pub(crate) fn visit(self, visitor: impl Visit1) {
        match self {
            Fn1::Neg => visitor.visit(|x| -x),
            Fn1::Not => visitor.visit(|x| truth(x == 0.0)),
            Fn1::Acos => visitor.visit(f64::acos),
            Fn1::Asin => visitor.visit(f64::asin),
            Fn1::Atan => visitor.visit(f64::atan),
            Fn1::Ceil => visitor.visit(f64::ceil),
            Fn1::Cos => visitor.visit(f64::cos),
            Fn1::Cosh => visitor.visit(f64::cosh),
            Fn1::Elu => visitor.visit(|x| if x < 0.0 { x.exp() - 1.0 } else { x }),
            Fn1::Erf => visitor.visit(libm::erf),
            Fn1::Exp => visitor.visit(f64::exp),
            Fn1::Fabs => visitor.visit(f64::abs),
            Fn1::Floor => visitor.visit(f64::floor),
            Fn1::IsNan => visitor.visit(|x| truth(x.is_nan())),
            Fn1::Log => visitor.visit(f64::ln),
            Fn1::Log10 => visitor.visit(f64::log10),
            // As std::max(x, 0): NaN stays.
            Fn1::Relu => visitor.visit(|x| if x < 0.0 { 0.0 } else { x }),
            Fn1::Round => visitor.visit(|x| (x + 0.5).floor()),
            Fn1::Sigmoid => visitor.visit(|x| 1.0 / (1.0 + (-x).exp())),
            Fn1::Sign => visitor.visit(|x| if x == 0.0 || x.is_nan() { x } else { x.signum() }),
            Fn1::Sin => visitor.visit(f64::sin),
            Fn1::Sinh => visitor.visit(f64::sinh),
            Fn1::Sqrt => visitor.visit(f64::sqrt),
            Fn1::Square => visitor.visit(|x| x * x),
            Fn1::Tan => visitor.visit(f64::tan),
            Fn1::Tanh => visitor.visit(f64::tanh),
        }
    }

    /// The name in expressions.
    #[must_use]
    pub fn name(self) -> &'static str {
        UNARY.iter().rfind(|(_, f, _)| *f == self).map_or("", |(name, ..)| name)
    }
}

impl Fn2 {
    /// The function of two numbers.
    #[must_use]
    pub fn of(self, x: f64, y: f64) -> f64 {
        struct Once<'r>(f64, f64, &'r mut f64);
        impl Visit2 for Once<'_> {
            fn visit(self, function: impl Fn(f64, f64) -> f64 + Copy) {
                *self.2 = function(self.0, self.1);
            }
        }
        let mut result = 0.0;
        self.visit(Once(x, y, &mut result));
        result
    }

    /// Calls the visitor with the function.
    pub(crate) fn visit(self, visitor: impl Visit2) {
        match self {
            Fn2::Add => visitor.visit(|x, y| x + y),
            Fn2::Sub => visitor.visit(|x, y| x - y),
            Fn2::Mul => visitor.visit(|x, y| x * y),
            Fn2::Div => visitor.visit(|x, y| x / y),
            Fn2::Mod => visitor.visit(|x, y| x % y),
            Fn2::Pow => visitor.visit(f64::powf),
            Fn2::Equal => visitor.visit(|x, y| truth(x == y)),
            Fn2::NotEqual => visitor.visit(|x, y| truth(x != y)),
            Fn2::Approx => visitor.visit(|x, y| truth(approx_equal(x, y))),
            Fn2::Less => visitor.visit(|x, y| truth(x < y)),
            Fn2::LessEqual => visitor.visit(|x, y| truth(x <= y)),
            Fn2::Greater => visitor.visit(|x, y| truth(x > y)),
            Fn2::GreaterEqual => visitor.visit(|x, y| truth(x >= y)),
            Fn2::And => visitor.visit(|x, y| truth(x != 0.0 && y != 0.0)),
            Fn2::Or => visitor.visit(|x, y| truth(x != 0.0 || y != 0.0)),
            Fn2::Atan2 => visitor.visit(f64::atan2),
            Fn2::Bit => visitor.visit(bit),
            Fn2::Hamming => visitor.visit(|x, y| f64::from((byte(x) ^ byte(y)).count_ones())),
            Fn2::Ldexp => visitor.visit(|x, y| libm::ldexp(x, y as i32)),
            // As std::max and std::min: where the comparison is false, NaN among them, the first.
            Fn2::Max => visitor.visit(|x, y| if x < y { y } else { x }),
            Fn2::Min => visitor.visit(|x, y| if y < x { y } else { x }),
        }
    }

    /// The operator or name in expressions.
    #[must_use]
    pub fn name(self) -> &'static str {
        BINARY.iter().find(|(_, f, _)| *f == self).map_or("", |(name, ..)| name)
    }

    /// Whether the order of the operands does not matter, NaN included.
    #[must_use]
    pub fn is_symmetric(self) -> bool {
        use Fn2::{Add, And, Equal, Hamming, Mul, NotEqual, Or};
        matches!(self, Add | Mul | Equal | NotEqual | And | Or | Hamming)
    }
}

fn truth(is_true: bool) -> f64 {
    f64::from(u8::from(is_true))
}

/// The lowest eight bits of the whole part, so that those of a uint8 are its own.
fn byte(number: f64) -> i8 {
    number as i32 as i8
}

fn bit(number: f64, place: f64) -> f64 {
    let (number, place) = (byte(number), place as i32);
    if (0..8).contains(&place) { f64::from(number >> place & 1) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::{BINARY, Fn1, Fn2, UNARY};

    #[test]
    fn names_are_unique_and_lead_back() {
        for (at, (name, function, _)) in UNARY.iter().enumerate() {
            assert!(UNARY[..at].iter().all(|(n, ..)| n != name), "{name}");
            assert!(UNARY.iter().any(|(n, f, _)| *n == function.name() && f == function), "{name}");
        }
        for (at, (name, function, _)) in BINARY.iter().enumerate() {
            assert!(BINARY[..at].iter().all(|(n, ..)| n != name), "{name}");
            assert!(
                BINARY.iter().any(|(n, f, _)| *n == function.name() && f == function),
                "{name}"
            );
        }
        assert_eq!((Fn1::Fabs.name(), Fn2::Pow.name()), ("fabs", "^"));
    }

    #[test]
    fn corners() {
        let nan = f64::NAN;
        for (function, x, y, expected) in [
            (Fn2::Max, nan, 1.0, nan),
            (Fn2::Max, 1.0, nan, 1.0),
            (Fn2::Min, nan, 1.0, nan),
            (Fn2::And, nan, 1.0, 1.0),
            (Fn2::Bit, -128.0, 7.0, 1.0),
            (Fn2::Bit, -128.0, 8.0, 0.0),
            (Fn2::Bit, 1.0, -1.0, 0.0),
            (Fn2::Hamming, -1.0, 0.0, 8.0),
            (Fn2::Hamming, 255.0, 0.0, 8.0),
            (Fn2::Bit, 200.0, 6.0, 1.0),
            (Fn2::Ldexp, 3.0, 2.9, 12.0),
            (Fn2::Mod, -7.0, 3.0, -1.0),
        ] {
            let got = function.of(x, y);
            assert!(
                got == expected || got.is_nan() && expected.is_nan(),
                "{function:?} {x} {y}: {got}"
            );
        }
        assert_eq!(Fn1::Round.of(-2.5), -2.0);
        assert_eq!(Fn1::Sign.of(-0.1), -1.0);
    }
}

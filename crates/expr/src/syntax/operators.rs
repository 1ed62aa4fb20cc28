//! Operators between operands, by priority, without recursion: a chain of a million terms takes no stack.

use crate::functions::Fn2;

/// What may stand between two operands. Longer signs stand before those that they begin with.
pub(super) const OPERATORS: [(&str, Operator); 15] = [
    ("==", Operator::new(Fn2::Equal, 10)),
    ("!=", Operator::new(Fn2::NotEqual, 10)),
    ("~=", Operator::new(Fn2::Approx, 10)),
    ("<=", Operator::new(Fn2::LessEqual, 10)),
    (">=", Operator::new(Fn2::GreaterEqual, 10)),
    ("<", Operator::new(Fn2::Less, 10)),
    (">", Operator::new(Fn2::Greater, 10)),
    ("&&", Operator::new(Fn2::And, 2)),
    ("||", Operator::new(Fn2::Or, 1)),
    ("+", Operator::new(Fn2::Add, 101)),
    ("-", Operator::new(Fn2::Sub, 101)),
    ("*", Operator::new(Fn2::Mul, 102)),
    ("/", Operator::new(Fn2::Div, 102)),
    ("%", Operator::new(Fn2::Mod, 102)),
    ("^", Operator { function: Fn2::Pow, priority: 103, is_right: true }),
];

/// The priority of `in`, which stands between an operand and a list.
pub(super) const IN_PRIORITY: u8 = 10;

/// A function written between its operands. Priorities are those of Vespa's content nodes
/// (`eval/src/vespa/eval/eval/operator_nodes.h`); its documentation lists more levels, which only rounding would show.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operator {
    pub(super) function: Fn2,
    pub(super) priority: u8,
    /// Whether `a^b^c` is `a^(b^c)`.
    pub(super) is_right: bool,
}

impl Operator {
    const fn new(function: Fn2, priority: u8) -> Operator {
        Operator { function, priority, is_right: false }
    }

    /// Whether it takes its operands before one of this priority that stands behind them.
    pub(super) fn goes_before(self, priority: u8) -> bool {
        self.priority > priority || (self.priority == priority && !self.is_right)
    }
}

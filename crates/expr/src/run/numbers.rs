//! Steps whose operands and result are numbers: the most frequent of all, one loop each.

use std::sync::LazyLock;

use stead_kernels::Isa;
use stead_kernels::vector::{Operand, Wide, Zip, zip};

use super::column::{Column, rows_of};
use super::pool::Pool;
use crate::functions::{Fn1, Fn2, Visit1, Visit2};

/// The instruction set of the kernels: that of the variable `STEAD_ISA` if the machine has it, else the best.
pub(super) fn isa() -> Isa {
    static ISA: LazyLock<Isa> = LazyLock::new(|| {
        let forced = std::env::var("STEAD_ISA").ok().and_then(|name| Isa::from_name(&name));
        forced.filter(|isa| isa.is_available()).unwrap_or_else(Isa::detect)
    });
    *ISA
}

/// The kernel of a function, if it has one.
pub(super) fn kernel(function: Fn2) -> Option<Zip> {
    Some(match function {
        Fn2::Add => Zip::Add,
        Fn2::Sub => Zip::Sub,
        Fn2::Mul => Zip::Mul,
        Fn2::Div => Zip::Div,
        Fn2::Max => Zip::Max,
        Fn2::Min => Zip::Min,
        Fn2::Equal => Zip::Equal,
        Fn2::NotEqual => Zip::NotEqual,
        Fn2::Less => Zip::Less,
        Fn2::LessEqual => Zip::LessEqual,
        Fn2::Greater => Zip::Greater,
        Fn2::GreaterEqual => Zip::GreaterEqual,
        _ => return None,
    })
}

/// The function of the number of each row of both.
pub(super) fn join(
    function: Fn2,
    left: &Column<'_>,
    right: &Column<'_>,
    pool: &mut Pool,
) -> Column<'static> {
    let rows = rows_of(&[left, right]);
    let (left, right) = (left.as_numbers(), right.as_numbers());
    let (a, b) = (operand(&left, rows), operand(&right, rows));
    let mut out = pool.doubles();
    match kernel(function) {
        Some(op) => {
            out.resize(rows, 0.0);
            zip(isa(), op, a, b, &mut out);
        }
        None => function.visit(Zipping { a, b, rows, out: &mut out }),
    }
    Column::numbers(out)
}

/// The function of the number of each row.
pub(super) fn map(function: Fn1, of: &Column<'_>, pool: &mut Pool) -> Column<'static> {
    let mut out = pool.doubles();
    function.visit(Mapping { of: &of.as_numbers(), out: &mut out });
    Column::numbers(out)
}

/// One number for all rows, or one for each.
fn operand<W: Wide>(numbers: &[W], rows: usize) -> Operand<'_, W> {
    match numbers {
        [one] if rows != 1 => Operand::One(*one),
        each => Operand::Each(each),
    }
}

struct Mapping<'m> {
    of: &'m [f64],
    out: &'m mut Vec<f64>,
}

impl Visit1 for Mapping<'_> {
    fn visit(self, function: impl Fn(f64) -> f64 + Copy) {
        self.out.extend(self.of.iter().map(|x| function(*x)));
    }
}

struct Zipping<'z> {
    a: Operand<'z, f64>,
    b: Operand<'z, f64>,
    rows: usize,
    out: &'z mut Vec<f64>,
}

impl Visit2 for Zipping<'_> {
    fn visit(self, function: impl Fn(f64, f64) -> f64 + Copy) {
        match (self.a, self.b) {
            (Operand::Each(a), Operand::Each(b)) => {
                self.out.extend(a.iter().zip(b).map(|(x, y)| function(*x, *y)));
            }
            (Operand::Each(a), Operand::One(y)) => {
                self.out.extend(a.iter().map(|x| function(*x, y)));
            }
            (Operand::One(x), Operand::Each(b)) => {
                self.out.extend(b.iter().map(|y| function(x, *y)));
            }
            (Operand::One(x), Operand::One(y)) => self.out.resize(self.rows, function(x, y)),
        }
    }
}

//! Calls of built-in functions.

mod composed;
mod plain;

use super::ast::{Expr, Id, Lambda};
use super::parser::Parser;
use crate::error::{Fault, Reason};
use crate::functions::{AGGREGATORS, Aggregator, BINARY, Fn1, Fn2, UNARY};
use composed::{
    Fill, Norm, arg_extreme, cosine_similarity, euclidean_distance, expand, filled, matmul,
    normalize, softmax, top, xw_plus_b,
};
use plain::{
    aggregate, cell_cast, cell_order, concat, condition, extreme, reduce, rename, switch,
    unpack_bits,
};

/// A function with a form of its own, and that form for whoever got it wrong.
struct Form {
    name: &'static str,
    takes: &'static str,
    read: fn(&mut Parser<'_>, u32) -> Result<Id, Fault>,
}

const fn form(
    name: &'static str,
    takes: &'static str,
    read: fn(&mut Parser<'_>, u32) -> Result<Id, Fault>,
) -> Form {
    Form { name, takes, read }
}

/// The functions of tensors, and what only looks like a function.
const FORMS: [Form; 29] = [
    form("argmax", "(tensor, dimensions...)", |p, at| arg_extreme(p, at, Aggregator::Max)),
    form("argmin", "(tensor, dimensions...)", |p, at| arg_extreme(p, at, Aggregator::Min)),
    form("cell_cast", "(tensor, cell type)", cell_cast),
    form("cell_order", "(tensor, max or min)", cell_order),
    form("concat", "(tensor, tensor, dimension)", concat),
    form("cosine_similarity", "(tensor, tensor, dimension)", cosine_similarity),
    form("diag", "(dimension[size], ...)", |p, at| filled(p, at, Fill::Diagonal)),
    form("euclidean_distance", "(tensor, tensor, dimension)", euclidean_distance),
    form("expand", "(tensor, dimension)", expand),
    form("filter_subspaces", "(tensor, lambda)", |p, at| {
        let (of, lambda) = (p.first()?, p.second_lambda(1)?);
        Ok(p.push(at, Expr::FilterSubspaces(of, lambda)))
    }),
    form("if", "(condition, value, value)", condition),
    form("join", "(tensor, tensor, lambda)", |p, at| {
        let (left, right, lambda) = (p.first()?, p.next()?, p.second_lambda(2)?);
        Ok(p.push(at, Expr::Join(left, right, lambda)))
    }),
    form("l1_normalize", "(tensor, dimension)", |p, at| normalize(p, at, Norm::L1)),
    form("l2_normalize", "(tensor, dimension)", |p, at| normalize(p, at, Norm::L2)),
    form("map", "(tensor, lambda)", |p, at| {
        let (of, lambda) = (p.first()?, p.second_lambda(1)?);
        Ok(p.push(at, Expr::Map(of, lambda)))
    }),
    form("map_subspaces", "(tensor, lambda)", |p, at| {
        let (of, lambda) = (p.first()?, p.second_lambda(1)?);
        Ok(p.push(at, Expr::MapSubspaces(of, lambda)))
    }),
    form("matmul", "(tensor, tensor, dimension)", matmul),
    form("max", "(value, value) or (tensor, dimensions...)", |p, at| {
        extreme(p, at, Fn2::Max, Aggregator::Max)
    }),
    form("merge", "(tensor, tensor, lambda)", |p, at| {
        let (left, right, lambda) = (p.first()?, p.next()?, p.second_lambda(2)?);
        Ok(p.push(at, Expr::Merge(left, right, lambda)))
    }),
    form("min", "(value, value) or (tensor, dimensions...)", |p, at| {
        extreme(p, at, Fn2::Min, Aggregator::Min)
    }),
    form("random", "(dimension[size], ...)", |p, at| filled(p, at, Fill::Random)),
    form("range", "(dimension[size], ...)", |p, at| filled(p, at, Fill::Range)),
    form("reduce", "(tensor, aggregator, dimensions...)", reduce),
    form("rename", "(tensor, dimension, name) or (tensor, (dimensions...), (names...))", rename),
    form("softmax", "(tensor, dimensions...)", softmax),
    form("switch", "(value) { case value: value, ... default: value }", switch),
    form("top", "(count, tensor)", top),
    form("unpack_bits", "(tensor, cell type, big or little)", unpack_bits),
    form("xw_plus_b", "(x, w, b, dimension)", xw_plus_b),
];

impl Parser<'_> {
    /// The call of a built-in function whose name was read, or nothing if it is none.
    pub(super) fn call(&mut self, name: &str, at: u32) -> Result<Option<Id>, Fault> {
        if let Some(form) = FORMS.iter().find(|f| f.name == name) {
            self.reader.expect("(")?;
            let value = (form.read)(self, at)?;
            if name != "switch" {
                self.close(form.name, form.takes)?;
            }
            return Ok(Some(value));
        }
        if let Some((_, function, _)) = UNARY.iter().find(|(n, ..)| *n == name) {
            self.reader.expect("(")?;
            let of = self.expression()?;
            self.close(name, "one value")?;
            return Ok(Some(self.push(at, Expr::Unary(*function, of))));
        }
        if let Some((_, function, _)) = BINARY.iter().find(|(n, ..)| *n == name) {
            self.reader.expect("(")?;
            let (left, right) = (self.expression()?, self.next()?);
            self.close(name, "two values")?;
            return Ok(Some(self.push(at, Expr::Binary(*function, left, right))));
        }
        if let Some((_, aggregator, _)) = AGGREGATORS.iter().find(|(n, ..)| *n == name) {
            self.reader.expect("(")?;
            let value = aggregate(self, at, *aggregator)?;
            self.close(name, "(tensor, dimensions...)")?;
            return Ok(Some(value));
        }
        Ok(None)
    }

    fn close(&mut self, name: &str, takes: &str) -> Result<(), Fault> {
        let mut fault = match self.reader.expect(")") {
            Ok(()) => return Ok(()),
            Err(fault) => fault,
        };
        if let Reason::Unexpected { expected, .. } = &mut fault.reason {
            *expected =
                format!(") of {name}{}{takes}", if takes.starts_with('(') { "" } else { " of " });
        }
        Err(fault)
    }

    fn first(&mut self) -> Result<Id, Fault> {
        self.expression()
    }

    /// A comma and an expression.
    fn next(&mut self) -> Result<Id, Fault> {
        self.reader.expect(",")?;
        self.expression()
    }

    fn second_lambda(&mut self, parameters: usize) -> Result<Lambda, Fault> {
        self.reader.expect(",")?;
        self.lambda(parameters)
    }

    /// A comma and the name of a dimension.
    fn dimension(&mut self) -> Result<String, Fault> {
        self.reader.expect(",")?;
        self.reader.expect_name("the name of a dimension")
    }

    /// Any number of commas with dimensions behind them.
    fn dimensions(&mut self) -> Result<Vec<String>, Fault> {
        let mut list = Vec::new();
        while self.reader.peek() == b',' {
            list.push(self.dimension()?);
        }
        Ok(list)
    }

    /// One name, or several in parentheses.
    fn names(&mut self) -> Result<Vec<String>, Fault> {
        self.reader.expect(",")?;
        if !self.reader.take("(") {
            return Ok(vec![self.reader.expect_name("the name of a dimension")?]);
        }
        let mut list = vec![self.reader.expect_name("the name of a dimension")?];
        while self.reader.take(",") {
            list.push(self.reader.expect_name("the name of a dimension")?);
        }
        self.reader.expect(")")?;
        Ok(list)
    }

    fn reduced(&mut self, at: u32, of: Id, aggregator: Aggregator, dimensions: &[String]) -> Id {
        self.push(at, Expr::Reduce(of, aggregator, dimensions.to_vec()))
    }

    fn unary(&mut self, at: u32, function: Fn1, of: Id) -> Id {
        self.push(at, Expr::Unary(function, of))
    }
}

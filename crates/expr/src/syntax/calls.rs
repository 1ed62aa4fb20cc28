//! Calls of built-in functions; those of the tensor algebra which are written in terms of others become these
//! (definitions: Vespa's documentation, reference/ranking/tensor.html, "non-primitive functions").

use super::ast::{Ast, Expr, Feature, Id, Lambda, Node};
use super::parser::Parser;
use crate::error::{Fault, Reason};
use crate::functions::{AGGREGATORS, Aggregator, BINARY, Fn1, Fn2, UNARY};
use crate::types::CellType;

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

fn aggregate(p: &mut Parser<'_>, at: u32, aggregator: Aggregator) -> Result<Id, Fault> {
    let of = p.first()?;
    let dimensions = p.dimensions()?;
    Ok(p.reduced(at, of, aggregator, &dimensions))
}

/// `max` and `min`: of two values, or of a tensor along dimensions. Between a value and a dimension of the same
/// name the types decide, later.
fn extreme(
    p: &mut Parser<'_>,
    at: u32,
    function: Fn2,
    aggregator: Aggregator,
) -> Result<Id, Fault> {
    let of = p.first()?;
    if p.reader.peek() != b',' {
        return Ok(p.reduced(at, of, aggregator, &[]));
    }
    let right = p.next()?;
    let name = |p: &Parser<'_>| match &p.ast.nodes[right].expr {
        Expr::Feature(f) if f.arguments.is_none() && f.output.is_none() => Some(f.name.clone()),
        _ => None,
    };
    if p.reader.peek() == b','
        && let Some(first) = name(p)
    {
        let mut dimensions = vec![first];
        dimensions.append(&mut p.dimensions()?);
        return Ok(p.reduced(at, of, aggregator, &dimensions));
    }
    Ok(match name(p) {
        Some(_) => p.push(at, Expr::Extreme(function, of, right)),
        None => p.binary(at, function, of, right),
    })
}

fn reduce(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let of = p.first()?;
    p.reader.expect(",")?;
    p.reader.rest();
    let from = p.reader.at as u32;
    let name = p.reader.expect_name("an aggregator")?;
    let aggregator = Aggregator::from_name(&name)
        .ok_or_else(|| Fault { at: from, reason: Reason::Unknown(format!("aggregator {name}")) })?;
    let dimensions = p.dimensions()?;
    Ok(p.reduced(at, of, aggregator, &dimensions))
}

fn rename(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let of = p.first()?;
    let (from, to) = (p.names()?, p.names()?);
    if from.len() != to.len() {
        let found = format!("{} dimensions and {} names", from.len(), to.len());
        let expected = "as many names as dimensions";
        return Err(Fault {
            at,
            reason: Reason::Arguments { function: "rename".to_owned(), expected, found },
        });
    }
    Ok(p.push(at, Expr::Rename(of, from, to)))
}

fn concat(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let (left, right, along) = (p.first()?, p.next()?, p.dimension()?);
    Ok(p.push(at, Expr::Concat(left, right, along)))
}

fn cell_type(p: &mut Parser<'_>) -> Result<CellType, Fault> {
    p.reader.rest();
    let at = p.reader.at as u32;
    let name = p.reader.expect_name("a cell type")?;
    CellType::from_name(&name)
        .ok_or_else(|| Fault { at, reason: Reason::Unknown(format!("cell type {name}")) })
}

fn cell_cast(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let of = p.first()?;
    p.reader.expect(",")?;
    let cell = cell_type(p)?;
    Ok(p.push(at, Expr::CellCast(of, cell)))
}

/// One of two words.
fn one_of(
    p: &mut Parser<'_>,
    words: [&'static str; 2],
    expected: &'static str,
) -> Result<bool, Fault> {
    match words.iter().position(|w| p.reader.take_word(w)) {
        Some(at) => Ok(at == 0),
        None => Err(p.reader.unexpected(expected)),
    }
}

fn cell_order(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let of = p.first()?;
    p.reader.expect(",")?;
    let largest_first = one_of(p, ["max", "min"], "max or min")?;
    Ok(p.push(at, Expr::CellOrder { of, largest_first }))
}

fn unpack_bits(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let of = p.first()?;
    let (mut cell, mut is_big_endian) = (CellType::Float, true);
    if p.reader.take(",") {
        cell = cell_type(p)?;
        if p.reader.take(",") {
            is_big_endian = one_of(p, ["big", "little"], "big or little")?;
        }
    }
    Ok(p.push(at, Expr::UnpackBits { of, cell, is_big_endian }))
}

fn condition(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let (condition, yes, no) = (p.first()?, p.next()?, p.next()?);
    if p.reader.take(",") {
        // The share of documents for which it holds, a hint that nothing needs: both sides are lazy anyway.
        p.reader.take("-");
        if p.reader.number().is_none() {
            return Err(p.reader.unexpected("a number, the probability that the condition holds"));
        }
    }
    Ok(p.push(at, Expr::If(condition, yes, no)))
}

/// `switch(value) { case 1: a, case 2: b, default: c }`, which becomes `if`s from the last case to the first.
fn switch(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let value = p.first()?;
    p.reader.expect(")")?;
    p.reader.expect("{")?;
    let mut cases = Vec::new();
    while p.reader.take_word("case") {
        let case = p.expression()?;
        p.reader.expect(":")?;
        cases.push((case, p.expression()?));
        p.reader.expect(",")?;
    }
    if !p.reader.take_word("default") {
        return Err(p.reader.unexpected("case or default"));
    }
    p.reader.expect(":")?;
    let mut result = p.expression()?;
    p.reader.expect("}")?;
    for (case, then) in cases.into_iter().rev() {
        let is_case = p.binary(at, Fn2::Equal, value, case);
        result = p.push(at, Expr::If(is_case, then, result));
    }
    Ok(result)
}

fn arg_extreme(p: &mut Parser<'_>, at: u32, aggregator: Aggregator) -> Result<Id, Fault> {
    let of = p.first()?;
    let dimensions = p.dimensions()?;
    let extreme = p.reduced(at, of, aggregator, &dimensions);
    Ok(p.binary(at, Fn2::Equal, of, extreme))
}

fn matmul(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let (left, right, along) = (p.first()?, p.next()?, p.dimension()?);
    let product = p.binary(at, Fn2::Mul, left, right);
    Ok(p.reduced(at, product, Aggregator::Sum, &[along]))
}

fn xw_plus_b(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let (x, w, b, along) = (p.first()?, p.next()?, p.next()?, p.dimension()?);
    let product = p.binary(at, Fn2::Mul, x, w);
    let sum = p.reduced(at, product, Aggregator::Sum, &[along]);
    Ok(p.binary(at, Fn2::Add, sum, b))
}

fn cosine_similarity(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let (a, b, along) = (p.first()?, p.next()?, p.dimension()?);
    let along = [along];
    let mut product = |x, y| {
        let product = p.binary(at, Fn2::Mul, x, y);
        p.reduced(at, product, Aggregator::Sum, &along)
    };
    let (both, left, right) = (product(a, b), product(a, a), product(b, b));
    let lengths = p.binary(at, Fn2::Mul, left, right);
    let length = p.unary(at, Fn1::Sqrt, lengths);
    Ok(p.binary(at, Fn2::Div, both, length))
}

fn euclidean_distance(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let (a, b, along) = (p.first()?, p.next()?, p.dimension()?);
    let difference = p.binary(at, Fn2::Sub, a, b);
    let square = p.unary(at, Fn1::Square, difference);
    let sum = p.reduced(at, square, Aggregator::Sum, &[along]);
    Ok(p.unary(at, Fn1::Sqrt, sum))
}

enum Norm {
    L1,
    L2,
}

fn normalize(p: &mut Parser<'_>, at: u32, norm: Norm) -> Result<Id, Fault> {
    let of = p.first()?;
    let dimensions = p.dimensions()?;
    let length = match norm {
        Norm::L1 => p.reduced(at, of, Aggregator::Sum, &dimensions),
        Norm::L2 => {
            let square = p.unary(at, Fn1::Square, of);
            let sum = p.reduced(at, square, Aggregator::Sum, &dimensions);
            p.unary(at, Fn1::Sqrt, sum)
        }
    };
    Ok(p.binary(at, Fn2::Div, of, length))
}

fn softmax(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let of = p.first()?;
    let dimensions = p.dimensions()?;
    let powers = p.unary(at, Fn1::Exp, of);
    let sum = p.reduced(at, powers, Aggregator::Sum, &dimensions);
    Ok(p.binary(at, Fn2::Div, powers, sum))
}

/// The tensor times one of a single cell along a new dimension.
fn expand(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let of = p.first()?;
    let along = p.dimension()?;
    let single = p.one_cell(at, &along)?;
    Ok(p.binary(at, Fn2::Mul, of, single))
}

/// The largest cells of a tensor: `t * filter_subspaces(cell_order(t,max) < n, f(s)(s))`.
fn top(p: &mut Parser<'_>, at: u32) -> Result<Id, Fault> {
    let (count, of) = (p.first()?, p.next()?);
    let order = p.push(at, Expr::CellOrder { of, largest_first: true });
    let is_top = p.binary(at, Fn2::Less, order, count);
    let itself = Lambda { parameters: vec!["s".to_owned()], body: name(at, "s") };
    let kept = p.push(at, Expr::FilterSubspaces(is_top, itself));
    Ok(p.binary(at, Fn2::Mul, of, kept))
}

fn name(at: u32, name: &str) -> Ast {
    let feature = Feature { name: name.to_owned(), arguments: None, output: None };
    Ast { nodes: vec![Node { at, expr: Expr::Feature(feature) }] }
}

enum Fill {
    Diagonal,
    Random,
    Range,
}

/// `diag(x[3],y[3])`, `random(x[3])` and `range(x[3])`: cells from their indices.
fn filled(p: &mut Parser<'_>, at: u32, fill: Fill) -> Result<Id, Fault> {
    let kind = p.dimensions_as_type()?;
    let mut body = Ast::default();
    let mut push = |expr| {
        body.nodes.push(Node { at, expr });
        body.nodes.len() - 1
    };
    let mut index = |name: &str| {
        let feature = Feature { name: name.to_owned(), arguments: None, output: None };
        push(Expr::Feature(feature))
    };
    let indices: Vec<Id> = kind.dimensions().iter().map(|d| index(&d.name)).collect();
    let mut result = *indices.first().unwrap_or(&0);
    match fill {
        Fill::Range => {
            for next in &indices[1..] {
                result = push(Expr::Binary(Fn2::Add, result, *next));
            }
        }
        Fill::Diagonal => {
            let mut is_diagonal = push(Expr::Number(1.0));
            for pair in indices.windows(2) {
                let same = push(Expr::Binary(Fn2::Equal, pair[0], pair[1]));
                is_diagonal = push(Expr::Binary(Fn2::And, is_diagonal, same));
            }
        }
        Fill::Random => {
            // Vespa draws anew each time. A number that looks random but belongs to its place makes the same query
            // give the same ranking: the fraction of the sine of a long way from zero.
            let mut place = push(Expr::Number(1.0));
            for next in &indices {
                let scale = push(Expr::Number(kind.block_size() as f64));
                let scaled = push(Expr::Binary(Fn2::Mul, place, scale));
                place = push(Expr::Binary(Fn2::Add, scaled, *next));
            }
            let angle = push(Expr::Number(12.9898));
            let angle = push(Expr::Binary(Fn2::Mul, place, angle));
            let sine = push(Expr::Unary(Fn1::Sin, angle));
            let far = push(Expr::Number(43_758.545_312_3));
            let far = push(Expr::Binary(Fn2::Mul, sine, far));
            let whole = push(Expr::Unary(Fn1::Floor, far));
            push(Expr::Binary(Fn2::Sub, far, whole));
        }
    }
    Ok(p.push(at, Expr::Generate(kind, body)))
}

//! The tree of an expression as a list in which every node stands behind its operands, so that no pass over it recurses.

use crate::functions::{Aggregator, Fn1, Fn2};
use crate::types::{CellType, TensorType};

/// A place in [`Ast::nodes`].
pub(crate) type Id = usize;

/// An expression. The last node is its root.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ast {
    pub(crate) nodes: Vec<Node>,
}

/// An expression within another.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// The byte of the text where it begins.
    pub(crate) at: u32,
    pub(crate) expr: Expr,
}

/// `f(x,y)(body)`: sees its parameters only.
#[derive(Debug, Clone)]
pub(crate) struct Lambda {
    pub(crate) parameters: Vec<String>,
    pub(crate) body: Ast,
}

#[derive(Debug, Clone)]
pub(crate) enum Expr {
    Number(f64),
    Feature(Feature),
    Unary(Fn1, Id),
    Binary(Fn2, Id, Id),
    /// Whether a number is one of a list.
    In(Id, Vec<f64>),
    If(Id, Id, Id),
    Map(Id, Lambda),
    MapSubspaces(Id, Lambda),
    FilterSubspaces(Id, Lambda),
    Join(Id, Id, Lambda),
    Merge(Id, Id, Lambda),
    Reduce(Id, Aggregator, Vec<String>),
    /// `max(a,b)` or `min(a,b)` where `b` is a name: of a value, or of a dimension of `a`.
    Extreme(Fn2, Id, Id),
    Rename(Id, Vec<String>, Vec<String>),
    Concat(Id, Id, String),
    CellCast(Id, CellType),
    /// The place of each cell when they are sorted, the largest first if told so.
    CellOrder {
        of: Id,
        largest_first: bool,
    },
    /// Eight cells for each int8 cell.
    UnpackBits {
        of: Id,
        cell: CellType,
        is_big_endian: bool,
    },
    /// A cell for each combination of indices, which the body sees by the names of the dimensions beside everything outside.
    Generate(TensorType, Ast),
    /// Cells that are given one by one.
    Create(TensorType, Vec<Cell>),
    /// A part at fixed places along some dimensions.
    Peek(Id, Vec<(Option<String>, Place)>),
}

/// One cell of a literal.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// In the order of the mapped dimensions.
    pub(crate) labels: Vec<String>,
    /// The place in its block.
    pub(crate) offset: usize,
    /// What it is instead of the value, if it is a whole number that no double is.
    pub(crate) whole: Option<i64>,
    pub(crate) value: Id,
}

/// A place along a dimension.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    Label(String),
    Computed(Id),
    /// An expression whose text may be meant as a label of a mapped dimension, if it can be one.
    Either(Option<String>, Id),
}

/// A value from outside: `name`, `name(arguments)` or `name(arguments).output`.
#[derive(Debug, Clone)]
pub(crate) struct Feature {
    pub(crate) name: String,
    /// `None` without parentheses.
    pub(crate) arguments: Option<Vec<Argument>>,
    pub(crate) output: Option<String>,
}

/// What stands between the commas of a feature's parentheses.
#[derive(Debug, Clone)]
pub(crate) struct Argument {
    /// As written, without spaces around it and without quotes that it does not need.
    pub(crate) text: String,
    /// As an expression, if it can be read as one.
    pub(crate) expression: Option<Id>,
}

impl Feature {
    /// The name by which it is known: `name(a,b).output`.
    pub(crate) fn canonical(&self) -> String {
        let mut text = self.name.clone();
        if let Some(arguments) = &self.arguments {
            let list: Vec<&str> = arguments.iter().map(|a| a.text.as_str()).collect();
            text = format!("{text}({})", list.join(","));
        }
        match &self.output {
            Some(output) => format!("{text}.{output}"),
            None => text,
        }
    }
}

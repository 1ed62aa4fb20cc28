//! From a tree to typed steps: names get their meaning, and every function its types.

use std::sync::Arc;

use super::faults::{too_long, unknown, wrong};
use super::lambdas::{must_be_number, simple_binary, simple_unary};
use super::names::{Lowering, Scope};
use super::steps::Steps;
use super::{Binary, Cell, HeldLabel, Op, Program, Unary};
use crate::error::{Fault, Reason};
use crate::functions::{Aggregator, Fn2};
use crate::syntax::{self, Ast, Expr};
use crate::types::{Dimension, TensorType, TypeError};
use crate::value::{MAX_LABEL, Value};

/// The program of a tree, and the names of its inputs.
pub(crate) fn lower(ast: &Ast, scope: &dyn Scope) -> Result<(Program, Vec<String>), Fault> {
    let mut lowering = Lowering::new(scope);
    let result = lowering.tree(ast)?;
    Ok(lowering.finish(result))
}

impl Lowering<'_> {
    pub(super) fn kind(&mut self, step: usize) -> TensorType {
        self.builder().kind(step).clone()
    }

    pub(super) fn step(&mut self, op: Op, operands: Vec<usize>, kind: TensorType) -> usize {
        self.builder().step(op, operands, kind)
    }

    /// The step of the root of a tree in the innermost frame.
    pub(super) fn tree(&mut self, ast: &Ast) -> Result<usize, Fault> {
        let mut steps = Steps::default();
        for at in 0..ast.nodes.len() {
            let step = self.node(ast, at, &steps);
            steps.push(step);
        }
        match ast.nodes.len().checked_sub(1) {
            Some(root) => steps.of(ast, root),
            None => Err(Fault { at: 0, reason: Reason::Unknown("expression".to_owned()) }),
        }
    }

    /// The step of a node. A name that may be a dimension and is no value has none.
    fn node(&mut self, ast: &Ast, at: usize, steps: &Steps) -> Result<Option<usize>, Fault> {
        let node = &ast.nodes[at];
        let fault = |function: &str, error: TypeError| Fault {
            at: node.at,
            reason: Reason::Type { function: function.to_owned(), error },
        };
        let of = |id: usize| steps.of(ast, id);
        let step = match &node.expr {
            Expr::Number(number) => self.builder().constant(Value::double(*number)),
            // Where it must be a value, the node that uses it says that it is unknown.
            Expr::Feature(feature) => return self.feature(feature, node.at, ast, steps),
            Expr::Unary(function, operand) => {
                let operand = of(*operand)?;
                let kind = self.kind(operand).map();
                self.step(Op::Map(Unary::Known(*function)), vec![operand], kind)
            }
            Expr::In(operand, list) => {
                let operand = of(*operand)?;
                let kind = self.kind(operand).map();
                let list = list.iter().map(|n| n.to_bits()).collect();
                self.step(Op::Map(Unary::In(list)), vec![operand], kind)
            }
            Expr::Binary(function, left, right) => {
                let function = *function;
                self.join(function, of(*left)?, of(*right)?)
                    .map_err(|e| fault(function.name(), e))?
            }
            Expr::Extreme(function, left, right) => {
                let left = of(*left)?;
                let kind = self.kind(left);
                match (steps.get(*right), &ast.nodes[*right].expr) {
                    (Some(right), _) => {
                        self.join(*function, left, right).map_err(|e| fault(function.name(), e))?
                    }
                    (None, Expr::Feature(f)) if kind.dimension(&f.name).is_some() => {
                        let kind =
                            kind.reduce(&[&f.name]).map_err(|e| fault(function.name(), e))?;
                        let is_max = *function == Fn2::Max;
                        let aggregator = if is_max { Aggregator::Max } else { Aggregator::Min };
                        self.step(Op::Reduce(aggregator), vec![left], kind)
                    }
                    _ => {
                        return Err(steps
                            .of(ast, *right)
                            .err()
                            .unwrap_or_else(|| unknown(ast, *right)));
                    }
                }
            }
            Expr::If(condition, yes, no) => {
                let operands = vec![of(*condition)?, of(*yes)?, of(*no)?];
                let [condition, yes, no] = [0, 1, 2].map(|i| self.kind(operands[i]));
                if !condition.is_double() {
                    return Err(wrong(
                        node.at,
                        "if",
                        "a number as its condition",
                        condition.to_string(),
                    ));
                }
                let kind = yes.either(&no).map_err(|e| fault("if", e))?;
                match self.builder().value(operands[0]).and_then(Value::as_double) {
                    Some(condition) => operands[if condition == 0.0 { 2 } else { 1 }],
                    None => self.step(Op::If, operands, kind),
                }
            }
            Expr::Map(operand, lambda) => {
                let operand = of(*operand)?;
                let program = self.lambda(lambda, &[TensorType::double()])?;
                must_be_number(&program, node.at, "map")?;
                let kind = self.kind(operand).map();
                self.step(Op::Map(simple_unary(program)), vec![operand], kind)
            }
            Expr::Join(left, right, lambda) => {
                let (left, right) = (of(*left)?, of(*right)?);
                let program = self.lambda(lambda, &[TensorType::double(), TensorType::double()])?;
                must_be_number(&program, node.at, "join")?;
                let kind = self.kind(left).join(&self.kind(right)).map_err(|e| fault("join", e))?;
                self.step(Op::Join(simple_binary(program)), vec![left, right], kind)
            }
            Expr::Merge(left, right, lambda) => {
                let (left, right) = (of(*left)?, of(*right)?);
                let program = self.lambda(lambda, &[TensorType::double(), TensorType::double()])?;
                must_be_number(&program, node.at, "merge")?;
                let kind =
                    self.kind(left).merge(&self.kind(right)).map_err(|e| fault("merge", e))?;
                self.step(Op::Merge(simple_binary(program)), vec![left, right], kind)
            }
            Expr::Reduce(operand, aggregator, dimensions) => {
                let operand = of(*operand)?;
                let kind = self.kind(operand).reduce(dimensions);
                let kind = kind.map_err(|e| fault("reduce", e))?;
                self.step(Op::Reduce(*aggregator), vec![operand], kind)
            }
            Expr::Rename(operand, from, to) => {
                let operand = of(*operand)?;
                let source = self.kind(operand);
                let kind = source.rename(from, to).map_err(|e| fault("rename", e))?;
                let old = |d: &Dimension| {
                    let old = match to.iter().position(|name| **name == *d.name) {
                        Some(at) => from[at].as_str(),
                        None => &d.name,
                    };
                    source.dimensions().iter().position(|s| *s.name == *old).unwrap_or_default()
                };
                let order = kind.dimensions().iter().map(old).collect();
                self.step(Op::Rename(order), vec![operand], kind)
            }
            Expr::Concat(left, right, along) => {
                let (left, right) = (of(*left)?, of(*right)?);
                let kind = self.kind(left).concat(&self.kind(right), along);
                let kind = kind.map_err(|e| fault("concat", e))?;
                self.step(Op::Concat(along.clone()), vec![left, right], kind)
            }
            Expr::CellCast(operand, cell) => {
                let operand = of(*operand)?;
                let source = self.kind(operand);
                let kind = source.with_cell(*cell);
                if kind == source {
                    operand
                } else {
                    self.step(Op::CellCast(kind.cell()), vec![operand], kind)
                }
            }
            Expr::CellOrder { of: operand, largest_first } => {
                let operand = of(*operand)?;
                let kind = self.kind(operand).map();
                self.step(Op::CellOrder { largest_first: *largest_first }, vec![operand], kind)
            }
            Expr::UnpackBits { of: operand, cell, is_big_endian } => {
                let operand = of(*operand)?;
                let source = self.kind(operand);
                let kind = source.unpack_bits(*cell).map_err(|error| match error {
                    TypeError::NotIndexed { of, action } => {
                        let expected = "a tensor with an indexed dimension";
                        wrong(node.at, action, expected, of.to_string())
                    }
                    other => fault("unpack_bits", other),
                })?;
                self.step(Op::UnpackBits { is_big_endian: *is_big_endian }, vec![operand], kind)
            }
            Expr::Generate(kind, body) => self.generate(kind, body, node.at)?,
            Expr::Create(kind, cells) => {
                let mut operands = Vec::with_capacity(cells.len());
                for cell in cells {
                    let value = of(cell.value)?;
                    let found = self.kind(value);
                    if !found.is_double() {
                        return Err(wrong(
                            ast.nodes[cell.value].at,
                            "a cell",
                            "a number",
                            found.to_string(),
                        ));
                    }
                    operands.push(value);
                }
                let held = |label: &String| match label.len() {
                    0..=MAX_LABEL => Ok(HeldLabel::new(label)),
                    length => Err(too_long(node.at, length)),
                };
                let cell = |c: &syntax::Cell| {
                    let labels = c.labels.iter().map(held).collect::<Result<_, Fault>>()?;
                    Ok(Cell { labels, offset: c.offset, whole: c.whole })
                };
                let cells = cells.iter().map(cell).collect::<Result<Arc<[Cell]>, Fault>>()?;
                self.step(Op::Create(cells), operands, kind.clone())
            }
            Expr::Peek(operand, places) => {
                let operand = of(*operand)?;
                self.peek(operand, places, &of, node.at)?
            }
            Expr::MapSubspaces(operand, lambda) => {
                let operand = of(*operand)?;
                let source = self.kind(operand);
                let program = self.lambda(lambda, &[source.block()])?;
                let block = &program.steps[program.result].kind;
                let kind = source.map_subspaces(block).map_err(|e| fault("map_subspaces", e))?;
                self.step(Op::MapSubspaces(Arc::new(program)), vec![operand], kind)
            }
            Expr::FilterSubspaces(operand, lambda) => {
                let operand = of(*operand)?;
                let kind = self.kind(operand);
                if kind.is_dense() {
                    let found = kind.to_string();
                    return Err(wrong(
                        node.at,
                        "filter_subspaces",
                        "a tensor with a mapped dimension",
                        found,
                    ));
                }
                let program = self.lambda(lambda, &[kind.block()])?;
                self.step(Op::FilterSubspaces(Arc::new(program)), vec![operand], kind)
            }
        };
        match self.builder().inexact(step) {
            Some(inexact) => {
                let error = inexact.clone();
                Err(Fault { at: node.at, reason: Reason::Inexact(error) })
            }
            None => Ok(Some(step)),
        }
    }

    fn join(&mut self, function: Fn2, left: usize, right: usize) -> Result<usize, TypeError> {
        let kind = self.kind(left).join(&self.kind(right))?;
        let operands = if function.is_symmetric() && left > right {
            vec![right, left]
        } else {
            vec![left, right]
        };
        Ok(self.step(Op::Join(Binary::Known(function)), operands, kind))
    }
}

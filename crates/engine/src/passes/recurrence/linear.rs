//! Sums of products by constant matrices: what the gates of a cell are functions of.

use crate::ir::{Node, ValueId};
use crate::passes::pattern::Matcher;
use crate::passes::ranks::Ranks;
use crate::passes::rows::ints;
use std::ops::Range;
use stead_tensor::{DType, Tensor};

/// How many sums and parts may lie in one another.
const DEPTH: usize = 16;

/// Some rows and columns of a constant matrix, `[k, n]`, times a number.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Factor {
    pub weight: ValueId,
    /// Whether the constant is `[n, k]`.
    pub transposed: bool,
    pub alpha: f32,
    pub rows: Range<usize>,
    pub cols: Range<usize>,
}

/// A sum of products and of a constant vector, `[batch, n]`.
#[derive(Debug, Clone)]
pub(super) struct Linear {
    /// Left operands of rank 2 with what they are multiplied by.
    pub products: Vec<(ValueId, Factor)>,
    /// The sum of all constants.
    pub bias: Vec<f32>,
}

impl Linear {
    /// The number of columns.
    pub fn width(&self) -> usize {
        self.bias.len()
    }

    /// The sum of two.
    pub fn plus(mut self, other: Linear) -> Option<Linear> {
        if self.width() != other.width() {
            return None;
        }
        self.bias.iter_mut().zip(&other.bias).for_each(|(a, b)| *a += b);
        self.products.extend(other.products);
        Some(self)
    }

    fn part(mut self, range: Range<usize>) -> Option<Linear> {
        self.bias = self.bias.get(range.clone())?.to_vec();
        for (_, factor) in &mut self.products {
            let start = factor.cols.start;
            factor.cols = start + range.start..start + range.end;
        }
        Some(self)
    }
}

/// What linear forms are read from.
#[derive(Clone, Copy)]
pub(super) struct Forms<'a> {
    pub m: &'a Matcher<'a>,
    pub ranks: &'a Ranks,
}

impl Forms<'_> {
    /// A value as a sum of products by constants, if it is one.
    pub fn linear(&self, id: Option<ValueId>) -> Option<Linear> {
        self.form(id?, DEPTH)
    }

    fn form(&self, id: ValueId, depth: usize) -> Option<Linear> {
        let depth = depth.checked_sub(1)?;
        let m = self.m;
        if m.dtype(Some(id)) != Some(DType::F32) {
            return None;
        }
        if let Some(constant) = m.constant(Some(id)) {
            return vector(constant).map(|bias| Linear { products: Vec::new(), bias });
        }
        let node = m.maker(Some(id))?;
        match node.op_type.as_str() {
            _ if !node.domain.is_empty() => None,
            "MatMul" | "Gemm" => self.product(node),
            "Add" => self.form(node.input(0)?, depth)?.plus(self.form(node.input(1)?, depth)?),
            "Split" => {
                let whole = self.form(node.input(0)?, depth)?;
                let range = split(m, node, id, whole.width())?;
                whole.part(range)
            }
            "Slice" => {
                let whole = self.form(node.input(0)?, depth)?;
                let range = slice(m, node, whole.width())?;
                whole.part(range)
            }
            _ => None,
        }
    }

    fn product(&self, node: &Node) -> Option<Linear> {
        let (m, a) = (self.m, &node.attributes);
        let (left, weight) = (node.input(0)?, node.input(1)?);
        let &[first, second] = m.constant(Some(weight))?.shape().dims() else { return None };
        let is_gemm = node.is("Gemm");
        let flag = |name| a.bool_or(name, false).ok();
        let transposed = is_gemm && flag("transB")?;
        let (rows, cols) = if transposed { (second, first) } else { (first, second) };
        let mut bias = vec![0.0; cols];
        let mut alpha = 1.0;
        if is_gemm {
            alpha = a.float_or("alpha", 1.0).ok()?;
            let added = node.input(2).map(|c| vector(m.constant(Some(c))?));
            if flag("transA")? || a.float_or("beta", 1.0).ok()? != 1.0 {
                return None;
            }
            if let Some(added) = added {
                bias = added.filter(|added| added.len() == cols)?;
            }
        } else if self.ranks.of(m.ir, Some(left)) != Some(2) {
            return None;
        }
        let factor = Factor { weight, transposed, alpha, rows: 0..rows, cols: 0..cols };
        Some(Linear { products: vec![(left, factor)], bias })
    }
}

/// A constant that is the same for all rows, `[n]` or `[1, n]`.
fn vector(tensor: &Tensor) -> Option<Vec<f32>> {
    let is_row = matches!(tensor.shape().dims(), [_] | [1, _]);
    tensor.as_slice::<f32>().ok().filter(|_| is_row).map(<[f32]>::to_vec)
}

/// The columns that an output of a Split has.
fn split(m: &Matcher<'_>, node: &Node, id: ValueId, width: usize) -> Option<Range<usize>> {
    if !matches!(node.attributes.int_or("axis", 0).ok()?, -1 | 1) {
        return None;
    }
    let at = node.outputs.iter().position(|output| *output == Some(id))?;
    let given = node.input(1).is_some() || node.attributes.has("split");
    let sizes = if given {
        let sizes = ints(m, node, "split", 1)?;
        sizes.into_iter().map(|n| usize::try_from(n).ok()).collect::<Option<Vec<_>>>()?
    } else {
        // Dead code removal keeps the places of outputs that nobody reads.
        let parts =
            node.attributes.int("num_outputs").ok()?.map_or(node.outputs.len(), |n| n as usize);
        let fits = parts > 0 && width.is_multiple_of(parts);
        vec![fits.then(|| width / parts)?; parts]
    };
    let start: usize = sizes.iter().take(at).sum();
    let end = start + sizes.get(at)?;
    (sizes.iter().sum::<usize>() == width).then_some(start..end)
}

/// The columns that a Slice has.
fn slice(m: &Matcher<'_>, node: &Node, width: usize) -> Option<Range<usize>> {
    let list = |name: &str, index: usize| ints(m, node, name, index);
    let [start] = list("starts", 1)?[..] else { return None };
    let [end] = list("ends", 2)?[..] else { return None };
    let [-1 | 1] = list("axes", 3)?[..] else { return None };
    if node.input(4).is_some() && list("steps", 4)? != [1] {
        return None;
    }
    let width = width as i64;
    let place = |v: i64| if v < 0 { v.saturating_add(width) } else { v }.clamp(0, width) as usize;
    let (start, end) = (place(start), place(end));
    (start < end).then_some(start..end)
}

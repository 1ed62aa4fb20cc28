//! Rewrites of the graph that do not depend on shapes: one file for each, in the order of [`PASSES`] and [`LAST`].
//!
//! A pass leaves a graph that computes the same. The list runs until nothing changes any more, since one pass
//! makes work for another, and at most [`MAX_ROUNDS`] times.

mod attention;
mod between;
pub(crate) mod blocks;
mod common;
mod constants;
mod convolutions;
mod dead;
mod dequantized;
mod embedding;
mod gated;
mod gelu;
mod halves;
mod identity;
mod integers;
mod interleaved;
pub(crate) mod last;
mod layer_norm;
mod layers;
mod pattern;
mod pooling;
mod products;
mod quantized_convolutions;
mod ranks;
mod recurrence;
mod rows;
mod shared;
mod tables;
mod transpositions;
mod weights;

use crate::error::LoadError;
use crate::ir::Ir;
use crate::model::LoadOptions;
use stead_kernels::Isa;

/// What passes may use.
pub(crate) struct PassCx {
    /// The instruction set for evaluating constants.
    pub isa: Isa,
    /// Bytes that constant folding may still add.
    pub fold_bytes: usize,
}

/// A rewrite. It tells how many places it changed.
type PassFn = fn(&mut Ir, &mut PassCx) -> Result<usize, LoadError>;

/// All passes with the names that `stead inspect --passes` shows, and whether they are basic: such a pass leaves out
/// work, and makes no node that the file could not have had.
const PASSES: &[(&str, bool, PassFn)] = &[
    ("half precision", false, halves::run),
    ("quantized operands", false, dequantized::run),
    ("quantized convolutions", false, quantized_convolutions::run),
    ("quantized weights", false, weights::run),
    ("quantized layers", false, layers::run),
    ("tables of bytes", false, tables::run),
    ("operators between bytes", false, between::run),
    ("constant folding", true, constants::run),
    ("identity removal", true, identity::run),
    ("common subexpressions", true, common::run),
    ("transpositions", true, transpositions::run),
    ("interleaved columns", true, interleaved::run),
    ("gelu", false, gelu::run),
    ("gated activations", false, gated::run),
    ("layer normalization", false, layer_norm::run),
    ("embedding normalization", false, embedding::run),
    ("attention", false, attention::run),
    ("attention pooling", false, pooling::run),
    ("unrolled recurrences", false, recurrence::run),
    ("rows", false, rows::run),
    ("quantized products", false, integers::run),
    ("product epilogues", false, products::run),
    ("normalized products", false, products::normalise),
    ("convolution epilogues", false, convolutions::run),
    ("dead code", true, dead::run),
];

/// Passes that run once when the others have settled: what they make no other pass looks for.
const LAST: &[(&str, PassFn)] =
    &[("products of one operand", shared::run), ("products in a row", products::join)];

/// The layout of images, [of floats](blocks) and [of bytes](last), which comes last of all, when a session is made.
const LAYOUT: &str = "blocks of channels";

/// The passes that a model is loaded with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PassChoice {
    /// None: the graph of the file.
    None,
    /// Those that only leave out work, without fused operators.
    Basic,
    /// All of them.
    #[default]
    All,
    /// All but the one of this name, one of [`PassChoice::names`].
    AllBut(&'static str),
}

impl PassChoice {
    /// The passes in the order in which they run.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let last = LAST.iter().map(|&(name, _)| name);
        PASSES.iter().map(|&(name, ..)| name).chain(last).chain([LAYOUT])
    }

    /// Whether a session lays images out, in [blocks] or with channels [last].
    pub(crate) fn lays_out(self) -> bool {
        self.has(LAYOUT, false)
    }

    fn has(self, name: &str, is_basic: bool) -> bool {
        match self {
            PassChoice::None => false,
            PassChoice::Basic => is_basic,
            PassChoice::All => true,
            PassChoice::AllBut(left_out) => name != left_out,
        }
    }
}

/// Real graphs settle after two or three rounds; the limit only guards against two passes that undo each
/// other.
const MAX_ROUNDS: usize = 8;

/// The number of nodes after a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassReport {
    /// The pass, or `file` for the graph as it was read.
    pub pass: &'static str,
    /// The places that it changed.
    pub changes: usize,
    /// Nodes in the graph then, bodies included.
    pub nodes: usize,
}

impl PassReport {
    pub(crate) fn new(pass: &'static str, ir: &Ir) -> PassReport {
        PassReport { pass, changes: 0, nodes: ir.node_count() }
    }
}

/// Folds constants once, for what reads them before the passes run.
pub(crate) fn fold_constants(
    ir: &mut Ir,
    options: &LoadOptions,
    isa: Isa,
) -> Result<(), LoadError> {
    constants::run(ir, &mut PassCx { isa, fold_bytes: options.fold_bytes }).map(|_| ())
}

/// Folds the constants that states may begin with. Weights that were quantised stay bytes: passes that compute with bytes
/// run later, and would not know floats again.
pub(crate) fn fold_first_values(
    ir: &mut Ir,
    options: &LoadOptions,
    isa: Isa,
) -> Result<(), LoadError> {
    let mut cx = PassCx { isa, fold_bytes: options.fold_bytes };
    constants::run_but(ir, &mut cx, &|node| node.is("DequantizeLinear")).map(|_| ())
}

/// Removes what nobody reads.
pub(crate) fn remove_dead(ir: &mut Ir, isa: Isa) -> Result<(), LoadError> {
    dead::run(ir, &mut PassCx { isa, fold_bytes: 0 }).map(|_| ())
}

/// Runs all passes.
pub(crate) fn run(
    ir: &mut Ir,
    options: &LoadOptions,
    isa: Isa,
    reports: &mut Vec<PassReport>,
) -> Result<(), LoadError> {
    let mut cx = PassCx { isa, fold_bytes: options.fold_bytes };
    for _ in 0..MAX_ROUNDS {
        let mut changes = 0;
        for &(pass, is_basic, run) in PASSES {
            if !options.passes.has(pass, is_basic) {
                continue;
            }
            let changed = run(ir, &mut cx)?;
            changes += changed;
            reports.push(PassReport { changes: changed, ..PassReport::new(pass, ir) });
        }
        if changes == 0 {
            break;
        }
    }
    for &(pass, run) in LAST.iter().filter(|(pass, _)| options.passes.has(pass, false)) {
        let changes = run(ir, &mut cx)?;
        reports.push(PassReport { changes, ..PassReport::new(pass, ir) });
    }
    Ok(())
}

#[cfg(test)]
mod testing {
    use super::{LoadOptions, PassCx, PassFn, dead};
    use crate::ir::{Ir, lower};
    use stead_kernels::Isa;
    use stead_onnx::{Limits, ModelBuilder};

    /// The graph of a model before any pass.
    pub(super) fn lowered(builder: ModelBuilder) -> Ir {
        let model = builder.build().unwrap().inline_functions(&Limits::default()).unwrap();
        lower(model).unwrap()
    }

    /// The operators of the main graph in order, fused ones with their domain.
    pub(super) fn ops(ir: &Ir) -> Vec<String> {
        let name = |domain: &str, op: &str| match domain {
            "" => op.to_owned(),
            domain => format!("{domain}.{op}"),
        };
        ir.body.nodes.iter().map(|n| name(&n.domain, &n.op_type)).collect()
    }

    /// Checks what one pass, and dead code removal after it, make of a model.
    pub(super) fn check(label: &str, pass: PassFn, builder: ModelBuilder, expected: &[&str]) {
        let mut ir = lowered(builder);
        let fold_bytes = LoadOptions::default().fold_bytes;
        let mut cx = PassCx { isa: Isa::detect(), fold_bytes };
        pass(&mut ir, &mut cx).unwrap();
        dead::run(&mut ir, &mut cx).unwrap();
        assert_eq!(ops(&ir), expected, "{label}");
    }
}

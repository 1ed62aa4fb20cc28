//! Lays images out in [blocks of channels](stead_kernels::blocked), region by region.
//!
//! A region begins at a convolution and takes up what follows as long as that can be computed in blocks: pools,
//! normalisation, element-wise functions, sums, and Concat of whole blocks. Its values have five dimensions; where
//! something else reads one, it is brought back to planes. A region stays in planes where it has more borders than
//! its convolutions gain.
//!
//! It happens once, when a session is made: everything before (untying of rows among it) knows nodes of ONNX only.

mod choose;
mod fuse;
mod gates;
mod regions;
mod rewrite;

pub(super) use choose::is_over_pixels;

use super::{PassCx, dead};
use crate::error::LoadError;
use crate::ir::Ir;
use stead_kernels::Isa;

/// Lays out the regions of a model, and tells how many nodes are computed in blocks.
pub(crate) fn run(ir: &mut Ir, isa: Isa) -> Result<usize, LoadError> {
    let mut body = std::mem::take(&mut ir.body);
    let mut nodes = 0;
    let done: Result<(), LoadError> = body.each_body_mut(&mut |body| {
        let mut choices = choose::choices(ir, body);
        regions::drop_poor(body, &mut choices);
        nodes += choices.nodes.iter().flatten().count();
        rewrite::apply(ir, body, &choices);
        Ok(())
    });
    ir.body = body;
    done?;
    if nodes > 0 {
        let mut cx = PassCx { isa, fold_bytes: 0 };
        dead::run(ir, &mut cx)?;
        while fuse::run(ir) > 0 {
            dead::run(ir, &mut cx)?;
        }
        gates::pool(ir);
        if gates::multiply(ir) > 0 {
            dead::run(ir, &mut cx)?;
        }
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests;

//! StringConcat.

use super::{fits, pairs};
use crate::error::BuildError;
use crate::ops::broadcasting::{broadcast_inputs, operands};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};

const STRINGS: Param = Param::required(1, types::STRING);

/// StringConcat.
pub const OPS: &[OpDef] =
    &[OpDef::new("StringConcat", &[STRINGS, STRINGS], &[Out::Like(0)], string_concat).since(20)];

fn string_concat(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let shape = broadcast_inputs(cx)?;
        let (plan, reads) = operands(cx, [0, 1], &shape)?;
        let slot = cx.output(0, shape)?;
        cx.step("string_concat", &reads, &[slot], move |a| {
            let (x, y) = (a.strings(0)?, a.strings(1)?);
            let bytes = pairs(&plan, x, y).map(|(x, y)| x.len() + y.len());
            fits(plan.elements(), bytes.fold(0, usize::saturating_add))?;
            a.write_strings(0, pairs(&plan, x, y).map(|(x, y)| [x, y].concat()).collect())
        });
        Ok(())
    })
}

//! Picks strings by their numbers: what is left of operators that [move](super::moved) strings.

use super::fits;
use crate::error::{BuildError, RunError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};

/// Inputs: numbers, and the strings of one or more tensors, which are counted through from the first of the first to the last
/// of the last. Output: the strings of these numbers, in the shape of the numbers.
pub const OPS: &[OpDef] = &[OpDef::new(
    "Pick",
    &[Param::required(0, types::I64_ONLY), Param::variadic(1, types::STRING)],
    &[Out::Like(1)],
    pick,
)
.domain("stead")];

fn pick(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let shape = cx.shape(0)?;
        let reads = (0..cx.input_count()).map(|at| cx.input(at)).collect::<Result<Vec<_>, _>>()?;
        let sources = reads.len() - 1;
        let slot = cx.output(0, shape)?;
        cx.step("pick strings", &reads, &[slot], move |a| {
            let all =
                (0..sources).map(|source| a.strings(source + 1)).collect::<Result<Vec<_>, _>>()?;
            let numbers = a.read::<i64>(0)?;
            let find = |number: &i64| {
                let mut at = usize::try_from(*number).ok();
                let string = all.iter().find_map(|strings| {
                    let found = strings.get(at?);
                    at = at.and_then(|at| at.checked_sub(strings.len()));
                    found
                });
                string.ok_or_else(|| RunError::value(format!("there is no string {number}")))
            };
            let found = numbers.iter().map(find).collect::<Result<Vec<_>, _>>()?;
            fits(found.len(), found.iter().map(|text| text.len()).fold(0, usize::saturating_add))?;
            a.write_strings(0, found.into_iter().cloned().collect())
        });
        Ok(())
    })
}

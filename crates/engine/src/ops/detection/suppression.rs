//! NonMaxSuppression.
//!
//! How many boxes are chosen is known only when they are. An operator of the engine's own writes a table that is as long as
//! it can become, and its number of rows; what the model reads is a slice of it.

use crate::error::{BuildError, LoadError, PlanError, RunError};
use crate::ir::FunctionBody;
use crate::ops::{Args, NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, types};
use stead_kernels::detect::{Boxes, suppress};
use stead_tensor::{DType, Shape};

/// Boxes, scores, how many boxes of a class, how much they may overlap, and the score that they must be above.
const INPUTS: &[Param] = &[
    Param::required(0, types::F32_ONLY),
    Param::required(0, types::F32_ONLY),
    Param::optional(0, types::I64_ONLY),
    Param::optional(0, types::F32_ONLY),
    Param::optional(0, types::F32_ONLY),
];
const TABLE: Out = Out::Fixed(DType::I64);

/// NonMaxSuppression.
pub const OPS: &[OpDef] = &[
    OpDef::function("NonMaxSuppression", INPUTS, &[TABLE], write).since(10),
    OpDef::new("NonMaxSuppression", INPUTS, &[TABLE, TABLE], build).domain("stead"),
];

const MOST: usize = 2;
const OVERLAP: usize = 3;
const SCORE: usize = 4;

fn write(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let results = f.own("NonMaxSuppression", &[true, true])?;
    let [Some(table), Some(rows)] = results[..] else {
        return Err(f.refuse("no table of boxes"));
    };
    let start = f.ints(&[0])?;
    let chosen = f.call("Slice", &[table, start, rows], &[])?;
    f.give(0, chosen);
    Ok(())
}

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let form = match spec.attributes().int_or("center_point_box", 0)? {
        0 => Boxes::Corners,
        1 => Boxes::Centers,
        other => {
            return Err(BuildError::unsupported(format!(
                "center_point_box is {other}; supported: 0, 1"
            )));
        }
    };
    plan_fn(move |cx| plan(cx, form))
}

fn plan(cx: &mut PlanCx<'_>, form: Boxes) -> Result<(), PlanError> {
    let (boxes, scores) = (cx.shape(0)?, cx.shape(1)?);
    let fail = || PlanError::shape(format!("scores of {scores} for boxes of {boxes}"));
    let (&[batches, count, 4], &[entries, classes, each]) = (boxes.dims(), scores.dims()) else {
        return Err(fail());
    };
    if [entries, each] != [batches, count] {
        return Err(fail());
    }
    // Without a number none is asked for, and a negative one is none.
    let most = if cx.has_input(MOST) { cx.int(MOST)? } else { 0 };
    let most = usize::try_from(most).unwrap_or(0).min(count);
    let rows = batches.checked_mul(classes).and_then(|n| n.checked_mul(most));
    let rows = rows.ok_or_else(fail)?;
    let mut reads = vec![cx.input(0)?, cx.input(1)?];
    let mut optional = |cx: &mut PlanCx<'_>, index: usize| {
        if !cx.has_input(index) {
            return Ok::<_, PlanError>(None);
        }
        if cx.shape(index)?.elements() != 1 {
            let shape = cx.shape(index)?;
            return Err(PlanError::shape(format!("input {index} is {shape}, not one number")));
        }
        reads.push(cx.input(index)?);
        Ok(Some(reads.len() - 1))
    };
    let (overlap, least) = (optional(cx, OVERLAP)?, optional(cx, SCORE)?);
    let slots = [
        cx.output(0, Shape::new(&[rows, 3])?)?,
        cx.output(1, Shape::new(&[1])?)?,
        cx.temp_of::<i64>(count),
    ];
    let job = Job { form, sizes: [batches, classes, count], most, overlap, least };
    cx.step("non-max suppression", &reads, &slots, move |a| job.run(a));
    Ok(())
}

struct Job {
    form: Boxes,
    /// Batch entries, classes, boxes.
    sizes: [usize; 3],
    most: usize,
    /// Where the numbers stand among the operands.
    overlap: Option<usize>,
    least: Option<usize>,
}

impl Job {
    fn run(&self, a: &mut Args<'_>) -> Result<(), RunError> {
        let [batches, classes, count] = self.sizes;
        let (boxes, scores) = (a.read::<f32>(0)?, a.read::<f32>(1)?);
        let number = |at: Option<usize>| match at {
            Some(at) => Ok(a.read::<f32>(at)?.first().copied()),
            None => Ok::<_, RunError>(None),
        };
        let overlap = number(self.overlap)?.unwrap_or(0.0);
        if !(0.0..=1.0).contains(&overlap) {
            return Err(RunError::value(format!("iou_threshold is {overlap}, not from 0 to 1")));
        }
        let least = number(self.least)?;
        let (table, rows, order) = (a.write::<i64>()?, a.write::<i64>()?, a.write::<i64>()?);
        let order = order.get_mut(..count).unwrap_or_default();
        table.fill(0);
        let mut lines = table.chunks_exact_mut(3);
        let mut found = 0;
        for unit in 0..batches * classes {
            let batch = unit / classes;
            let boxes = boxes.get(4 * batch * count..4 * (batch + 1) * count).unwrap_or_default();
            let scores = scores.get(unit * count..(unit + 1) * count).unwrap_or_default();
            let chosen = suppress(self.form, boxes, scores, overlap, least, self.most, order);
            for (&at, line) in order.iter().take(chosen).zip(&mut lines) {
                line.copy_from_slice(&[batch as i64, (unit % classes) as i64, at]);
            }
            found += chosen;
        }
        rows.fill(found as i64);
        Ok(())
    }
}

//! TreeEnsembleRegressor, TreeEnsembleClassifier and TreeEnsemble.

mod ensemble;
mod flat;
mod listed;
mod two_classes;

use super::{ML, single, table};
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, Slot, TypeSet, plan_fn};
use ensemble::{Numbers, Trees};
use std::sync::Arc;
use stead_kernels::ml::ensemble::{Combine, votes};
use stead_kernels::ml::post::{Post, apply};
use stead_tensor::{DType, Shape};

use super::labels;
use super::post::{OWN, first_greatest, of as post_of, only_of_many};
use two_classes::TwoClasses;

const F32: Out = Out::Fixed(DType::F32);
const X: &[Param] = &[Param::required(0, super::FEATURES)];

/// TreeEnsembleRegressor and TreeEnsembleClassifier up to version 5, and TreeEnsemble, which stands for both since then.
pub const OPS: &[OpDef] = &[
    OpDef::new("TreeEnsembleRegressor", X, &[F32], regressor).domain(ML),
    OpDef::function("TreeEnsembleClassifier", X, &[Out::Of(labels::label_type), F32], |f| {
        labels::classify(f, "TreeEnsembleClassifier")
    })
    .domain(ML),
    OpDef::new("TreeEnsembleClassifier", X, &[Out::Fixed(DType::I64), F32], classifier).domain(OWN),
    OpDef::new(
        "TreeEnsemble",
        &[Param::required(1, TypeSet::of(&[DType::F32, DType::F64]))],
        &[Out::Like(0)],
        ensemble,
    )
    .domain(ML)
    .since(5),
];

/// Emits the step that combines the votes for each row in room of its own, NaN where there are none. Gives that room and the
/// number of rows.
fn emit_votes(cx: &mut PlanCx<'_>, trees: &Arc<Trees>) -> Result<(Slot, usize), PlanError> {
    let (rows, features) = table(cx, 0)?;
    if features < trees.features {
        return Err(PlanError::shape(format!(
            "{features} features; the trees ask for {}",
            trees.features
        )));
    }
    let outputs = trees.outputs;
    let count = rows.saturating_mul(outputs);
    let shared = trees.clone();
    match &trees.numbers {
        Numbers::Narrow(_) => {
            let (x, slot) = (single(cx, 0)?, cx.temp_of::<f32>(count));
            cx.step("trees", &[x], &[slot], move |a| {
                let Numbers::Narrow(typed) = &shared.numbers else { return Ok(()) };
                let (x, out) = (a.read::<f32>(0)?, &mut a.write::<f32>()?[..count]);
                votes(a.parallel, &typed.view(), shared.combine, (features, outputs), x, out);
                Ok(())
            });
            Ok((slot, rows))
        }
        Numbers::Wide(_) => {
            let (x, slot) = (cx.input(0)?, cx.temp_of::<f64>(count));
            cx.step("trees", &[x], &[slot], move |a| {
                let Numbers::Wide(typed) = &shared.numbers else { return Ok(()) };
                let (x, out) = (a.read::<f64>(0)?, &mut a.write::<f64>()?[..count]);
                votes(a.parallel, &typed.view(), shared.combine, (features, outputs), x, out);
                Ok(())
            });
            Ok((slot, rows))
        }
    }
}

/// What becomes of the votes of a regressor.
#[derive(Clone)]
struct Finish {
    /// Votes are divided by the number of trees.
    divisor: Option<f64>,
    base: Vec<f64>,
    post: Post,
}

impl Finish {
    /// The score of an output.
    fn score(&self, votes: f64, output: usize) -> f64 {
        let votes = if votes.is_nan() { 0.0 } else { votes };
        let base = self.base.get(output).copied().unwrap_or(0.0);
        self.divisor.map_or(votes, |trees| votes / trees) + base
    }
}

/// Attributes of version 1 and 3, aggregated as the words of `aggregate_function` say.
fn regressor(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let a = spec.attributes();
    let post = post_of(a)?;
    let targets = a.int_or("n_targets", 1)?;
    let targets = usize::try_from(targets)
        .ok()
        .filter(|&n| n > 0)
        .ok_or_else(|| BuildError::unsupported(format!("n_targets is {targets}")))?;
    only_of_many(post, targets)?;
    let (combine, average) = match a.string_or("aggregate_function", "SUM")? {
        "SUM" => (Combine::Sum, false),
        "AVERAGE" => (Combine::Sum, true),
        "MIN" => (Combine::Min, false),
        "MAX" => (Combine::Max, false),
        other => {
            return Err(BuildError::unsupported(format!(
                "aggregate_function is \"{other}\"; supported: SUM AVERAGE MIN MAX"
            )));
        }
    };
    let trees = listed::read(a, "target", targets, spec.dtype()?, combine)?;
    let base = listed::numbers(a, "base_values", spec.dtype()?)?;
    if !base.is_empty() && base.len() != targets {
        let text = format!("{} base values for {targets} targets", base.len());
        return Err(BuildError::unsupported(text));
    }
    let divisor = average.then_some(trees.count() as f64);
    scores(trees, Finish { divisor, base, post })
}

/// Attributes of version 5, whose words are numbers.
fn ensemble(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let a = spec.attributes();
    let post = match a.int_or("post_transform", 0)? {
        0 => Post::None,
        1 => Post::Softmax,
        2 => Post::Logistic,
        3 => Post::SoftmaxZero,
        4 => Post::Probit,
        other => {
            return Err(BuildError::unsupported(format!(
                "post_transform is {other}; supported: 0 to 4"
            )));
        }
    };
    let (combine, average) = match a.int_or("aggregate_function", 1)? {
        0 => (Combine::Sum, true),
        1 => (Combine::Sum, false),
        2 => (Combine::Min, false),
        3 => (Combine::Max, false),
        other => {
            let text = format!("aggregate_function is {other}; supported: 0 to 3");
            return Err(BuildError::unsupported(text));
        }
    };
    let trees = flat::read(a, spec.dtype()?, combine)?;
    only_of_many(post, trees.outputs)?;
    let divisor = average.then_some(trees.count() as f64);
    scores(trees, Finish { divisor, base: Vec::new(), post })
}

/// The plan of what gives scores alone: `[rows, targets]`.
fn scores(trees: Trees, finish: Finish) -> Result<OpPlan, BuildError> {
    let trees = Arc::new(trees);
    plan_fn(move |cx| {
        let (votes, rows) = emit_votes(cx, &trees)?;
        let outputs = trees.outputs;
        let votes = cx.read_back(votes);
        let y = cx.output(0, Shape::new(&[rows, outputs])?)?;
        let wide = matches!(trees.numbers, Numbers::Wide(_));
        let is_double = cx.wants(0) && cx.output_type(0)? == DType::F64;
        let finish = finish.clone();
        let count = rows.saturating_mul(outputs);
        cx.step("scores", &[votes], &[y], move |a| {
            let votes = Votes::of(a.read_bytes(0)?, wide, count);
            if is_double {
                for (at, y) in a.write::<f64>()?.iter_mut().enumerate() {
                    *y = finish.score(votes.at(at), at % outputs);
                }
            } else {
                for (row, y) in a.write::<f32>()?.chunks_exact_mut(outputs).enumerate() {
                    for (output, y) in y.iter_mut().enumerate() {
                        *y = finish.score(votes.at(row * outputs + output), output) as f32;
                    }
                    apply(finish.post, y);
                }
            }
            Ok(())
        });
        Ok(())
    })
}

/// Combined votes in the type in which they were computed.
enum Votes<'a> {
    Narrow(&'a [f32]),
    Wide(&'a [f64]),
}

impl<'a> Votes<'a> {
    fn of(bytes: &'a [u8], wide: bool, count: usize) -> Votes<'a> {
        // Room is aligned and may be longer than what was asked for.
        if wide {
            Votes::Wide(bytemuck::cast_slice(&bytes[..count * size_of::<f64>()]))
        } else {
            Votes::Narrow(bytemuck::cast_slice(&bytes[..count * size_of::<f32>()]))
        }
    }

    fn at(&self, at: usize) -> f64 {
        match self {
            Votes::Narrow(votes) => f64::from(votes[at]),
            Votes::Wide(votes) => votes[at],
        }
    }
}

/// A label and a score of each class: `[rows]`, `[rows, classes]`.
fn classifier(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let a = spec.attributes();
    let post = post_of(a)?;
    let labels = labels::of(a, "classlabels_int64s")?;
    let classes = labels.len();
    if classes < 2 {
        return Err(BuildError::unsupported("a classifier of one class is not supported"));
    }
    let trees = listed::read(a, "class", classes, spec.dtype()?, Combine::Sum)?;
    let base = listed::numbers(a, "base_values", spec.dtype()?)?;
    let two = match classes {
        2 => Some(TwoClasses::of(&trees, &base, post)?),
        _ if base.is_empty() || base.len() == classes => None,
        _ => {
            let text = format!("{} base values for {classes} classes", base.len());
            return Err(BuildError::unsupported(text));
        }
    };
    let trees = Arc::new(trees);
    plan_fn(move |cx| {
        let (votes, rows) = emit_votes(cx, &trees)?;
        let votes = cx.read_back(votes);
        let y = cx.output(0, Shape::new(&[rows])?)?;
        let z = cx.output(1, Shape::new(&[rows, classes])?)?;
        let wide = matches!(trees.numbers, Numbers::Wide(_));
        let (labels, base) = (labels.clone(), base.clone());
        let count = rows.saturating_mul(classes);
        cx.step("classes", &[votes], &[y, z], move |a| {
            let votes = Votes::of(a.read_bytes(0)?, wide, count);
            let (y, z) = (a.write::<i64>()?, a.write::<f32>()?);
            for (row, (y, z)) in y.iter_mut().zip(z.chunks_exact_mut(classes)).enumerate() {
                let of = |class: usize| votes.at(row * classes + class);
                let top = match &two {
                    Some(two) => two.decide(of, z),
                    None => decide(of, &base, post, z),
                };
                *y = labels[top];
            }
            Ok(())
        });
        Ok(())
    })
}

/// The scores of more than two classes, and the class with the greatest. One that got no vote and has no base value is not
/// chosen.
fn decide(votes: impl Fn(usize) -> f64, base: &[f64], post: Post, z: &mut [f32]) -> usize {
    for (class, z) in z.iter_mut().enumerate() {
        let base = base.get(class).copied();
        *z = match (votes(class), base) {
            (votes, None) if votes.is_nan() => f32::NEG_INFINITY,
            (votes, Some(base)) if votes.is_nan() => base as f32,
            (votes, base) => (votes + base.unwrap_or(0.0)) as f32,
        };
    }
    let top = first_greatest(z);
    z.iter_mut().filter(|z| **z == f32::NEG_INFINITY).for_each(|z| *z = 0.0);
    apply(post, z);
    top
}

//! The attribute `post_transform`, and scores that become labels.

use super::ML;
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use stead_kernels::ml::post::{Post, apply, logistic};
use stead_onnx::Attributes;
use stead_tensor::{DType, Shape};

/// Operators of the engine's own behind the products of linear models.
///
/// PostTransform: the attribute's transformation of each row of scores. TopClass: labels and scores of
/// `[rows, classes]`, or of the second of two classes alone.
pub const OPS: &[OpDef] = &[
    OpDef::new(
        "PostTransform",
        &[Param::required(0, types::F32_ONLY)],
        &[Out::Like(0)],
        post_transform,
    )
    .domain(OWN),
    OpDef::new(
        "TopClass",
        &[Param::required(0, types::F32_ONLY)],
        &[Out::Fixed(DType::I64), Out::Like(0)],
        top_class,
    )
    .domain(OWN),
];

/// The domain of the engine's own operators.
pub(super) const OWN: &str = "stead";

/// The attribute of that name.
pub(super) fn of(attributes: &Attributes) -> Result<Post, BuildError> {
    match attributes.string_or("post_transform", "NONE")? {
        "NONE" => Ok(Post::None),
        "LOGISTIC" => Ok(Post::Logistic),
        "SOFTMAX" => Ok(Post::Softmax),
        "SOFTMAX_ZERO" => Ok(Post::SoftmaxZero),
        "PROBIT" => Ok(Post::Probit),
        other => Err(BuildError::unsupported(format!(
            "post_transform is \"{other}\" in domain {ML}; supported: NONE LOGISTIC SOFTMAX SOFTMAX_ZERO PROBIT"
        ))),
    }
}

/// Refuses a transformation of one score: ONNX Runtime leaves it out, the standard does not.
pub(super) fn only_of_many(post: Post, scores: usize) -> Result<(), BuildError> {
    match post {
        Post::None => Ok(()),
        _ if scores > 1 => Ok(()),
        _ => Err(BuildError::unsupported("post_transform of one target; supported: NONE")),
    }
}

fn post_transform(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let post = of(spec.attributes())?;
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let cols = shape.last().copied().unwrap_or(1).max(1);
        let (x, slot) = (cx.input(0)?, cx.output(0, shape)?);
        cx.step("post transform", &[x], &[slot], move |a| {
            let (x, y) = (a.read::<f32>(0)?, a.write::<f32>()?);
            y.copy_from_slice(x);
            y.chunks_exact_mut(cols).for_each(|row| apply(post, row));
            Ok(())
        });
        Ok(())
    })
}

/// The scores of both classes from that of the second.
pub(super) fn both(post: Post, score: f32) -> [f32; 2] {
    match post {
        Post::Logistic => [logistic(-score), logistic(score)],
        _ => [1.0 - score, score],
    }
}

fn top_class(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let post = of(spec.attributes())?;
    let labels = super::labels::of(spec.attributes(), "labels")?;
    if post == Post::Probit && labels.len() <= 2 {
        return Err(BuildError::unsupported("post_transform PROBIT of two classes"));
    }
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let &[rows, cols] = shape.dims() else {
            return Err(PlanError::shape(format!("scores of shape {shape}")));
        };
        let classes = labels.len();
        if cols != classes && !(cols == 1 && classes == 2) {
            return Err(PlanError::shape(format!("{cols} scores of {classes} classes")));
        }
        let x = cx.input(0)?;
        let slots =
            [cx.output(0, Shape::new(&[rows])?)?, cx.output(1, Shape::new(&[rows, classes])?)?];
        let labels = labels.clone();
        cx.step("top class", &[x], &slots, move |a| {
            let x = a.read::<f32>(0)?;
            let (y, z) = (a.write::<i64>()?, a.write::<f32>()?);
            let rows = x.chunks_exact(cols).zip(y).zip(z.chunks_exact_mut(classes));
            for ((x, y), z) in rows {
                let top = match *x {
                    [score] => {
                        z.copy_from_slice(&both(post, score));
                        usize::from(score > 0.0)
                    }
                    _ => {
                        z.copy_from_slice(x);
                        apply(post, z);
                        first_greatest(x)
                    }
                };
                *y = labels.get(top).copied().unwrap_or_default();
            }
            Ok(())
        });
        Ok(())
    })
}

/// The position of the greatest number, the first of equals.
pub(super) fn first_greatest(numbers: &[f32]) -> usize {
    let mut best = (0, f32::NEG_INFINITY);
    for (at, &x) in numbers.iter().enumerate() {
        if at == 0 || x > best.1 {
            best = (at, x);
        }
    }
    best.0
}

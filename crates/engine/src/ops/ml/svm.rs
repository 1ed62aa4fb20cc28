//! SVMClassifier and SVMRegressor.

use super::post::{OWN, first_greatest, of as post_of};
use super::{FEATURES, ML, labels, single, table};
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn};
use std::sync::Arc;
use stead_kernels::ml::post::{Post, apply, logistic};
use stead_kernels::ml::svm::{Kernel, kernel_values, pair_probabilities, pair_room};
use stead_onnx::Attributes;
use stead_tensor::{DType, Shape};

const X: &[Param] = &[Param::required(0, FEATURES)];
const F32: Out = Out::Fixed(DType::F32);

/// SVMClassifier, SVMRegressor.
pub const OPS: &[OpDef] = &[
    OpDef::function("SVMClassifier", X, &[Out::Of(labels::label_type), F32], |f| {
        labels::classify(f, "SVMClassifier")
    })
    .domain(ML),
    OpDef::new("SVMClassifier", X, &[Out::Fixed(DType::I64), F32], classifier).domain(OWN),
    OpDef::new("SVMRegressor", X, &[F32], regressor).domain(ML),
];

/// Support vectors and what they are multiplied by.
struct Machine {
    kernel: Kernel,
    vectors: Vec<f32>,
    features: usize,
    coefficients: Vec<f32>,
    rho: Vec<f32>,
}

impl Machine {
    /// `count` support vectors; `count` is 1 and the vectors are the coefficients where there are none.
    fn read(attributes: &Attributes, vectors: &[f32], count: usize) -> Result<Machine, BuildError> {
        let list =
            |name| Ok::<_, BuildError>(attributes.floats(name)?.unwrap_or_default().to_vec());
        let parameters = list("kernel_params")?;
        let number = |at: usize| parameters.get(at).copied().unwrap_or(0.0);
        let (gamma, coef0, degree) = (number(0), number(1), number(2));
        let kernel = match attributes.string_or("kernel_type", "LINEAR")? {
            "LINEAR" => Kernel::Linear,
            "POLY" => Kernel::Poly { gamma, coef0, degree },
            "RBF" => Kernel::Rbf { gamma },
            "SIGMOID" => Kernel::Sigmoid { gamma, coef0 },
            other => {
                return Err(BuildError::unsupported(format!(
                    "kernel_type is \"{other}\"; supported: LINEAR POLY RBF SIGMOID"
                )));
            }
        };
        if count == 0 || vectors.is_empty() || !vectors.len().is_multiple_of(count) {
            return Err(BuildError::unsupported(format!(
                "{} numbers of {count} support vectors",
                vectors.len()
            )));
        }
        Ok(Machine {
            kernel,
            vectors: vectors.to_vec(),
            features: vectors.len() / count,
            coefficients: list("coefficients")?,
            rho: list("rho")?,
        })
    }

    fn count(&self) -> usize {
        self.vectors.len() / self.features
    }

    fn check(&self, features: usize) -> Result<(), PlanError> {
        if features != self.features {
            return Err(PlanError::shape(format!(
                "{features} features; {} expected",
                self.features
            )));
        }
        Ok(())
    }
}

/// An attribute that counts.
fn count(name: &str, value: i64) -> Result<usize, BuildError> {
    usize::try_from(value).map_err(|_| BuildError::unsupported(format!("{name} has {value}")))
}

fn few(name: &str, expected: usize, actual: usize) -> Result<(), BuildError> {
    if actual < expected {
        return Err(BuildError::unsupported(format!(
            "{name} has {actual} numbers; {expected} expected"
        )));
    }
    Ok(())
}

/// `sum coefficient * kernel + rho`, or its sign for a machine of one class.
fn regressor(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let a = spec.attributes();
    super::post::only_of_many(post_of(a)?, 1)?;
    let one_class = a.bool_or("one_class", false)?;
    let supports = count("n_supports", a.int_or("n_supports", 0)?)?;
    let coefficients = a.floats("coefficients")?.unwrap_or_default();
    let machine = if supports > 0 {
        Machine::read(a, a.floats("support_vectors")?.unwrap_or_default(), supports)?
    } else {
        // A linear machine: its coefficients are those of features.
        let machine = Machine::read(a, coefficients, 1)?;
        Machine { kernel: Kernel::Linear, coefficients: vec![1.0], ..machine }
    };
    few("coefficients", machine.count(), machine.coefficients.len())?;
    few("rho", 1, machine.rho.len())?;
    let machine = Arc::new(machine);
    plan_fn(move |cx| {
        let (rows, features) = table(cx, 0)?;
        machine.check(features)?;
        let vectors = machine.count();
        let x = single(cx, 0)?;
        let y = cx.output(0, Shape::new(&[rows, 1])?)?;
        let room = cx.temp_of::<f32>(rows.saturating_mul(vectors));
        let machine = machine.clone();
        cx.step("svm", &[x], &[y, room], move |a| {
            let (x, y) = (a.read::<f32>(0)?, a.write::<f32>()?);
            let values = &mut a.write::<f32>()?[..rows * vectors];
            kernel_values(
                a.parallel,
                machine.kernel,
                machine.features,
                x,
                &machine.vectors,
                values,
            );
            for (y, values) in y.iter_mut().zip(values.chunks_exact(vectors)) {
                let score = weighted(values, &machine.coefficients) + f64::from(machine.rho[0]);
                *y = match one_class {
                    true if score > 0.0 => 1.0,
                    true => -1.0,
                    false => score as f32,
                };
            }
            Ok(())
        });
        Ok(())
    })
}

fn weighted(values: &[f32], coefficients: &[f32]) -> f64 {
    values.iter().zip(coefficients).map(|(v, c)| f64::from(*v) * f64::from(*c)).sum()
}

/// A machine between each two classes, whose votes decide.
struct Pairs {
    machine: Machine,
    labels: Vec<i64>,
    /// Support vectors of each class: the first and how many.
    classes: Vec<(usize, usize)>,
    /// The coefficients that make a probability of a score.
    probabilities: Option<(Vec<f32>, Vec<f32>)>,
    post: Post,
}

impl Pairs {
    fn read(a: &Attributes) -> Result<Pairs, BuildError> {
        let labels = labels::of(a, "classlabels_ints")?;
        let mut classes = Vec::new();
        let mut vectors = 0usize;
        for &each in a.ints("vectors_per_class")?.unwrap_or_default() {
            let each = count("vectors_per_class", each)?;
            classes.push((vectors, each));
            vectors = vectors.saturating_add(each);
        }
        if vectors == 0 {
            return Err(BuildError::unsupported(
                "vectors_per_class: a machine without support vectors is not supported",
            ));
        }
        let n = labels.len();
        if classes.len() != n || n < 2 {
            return Err(BuildError::unsupported(format!(
                "{n} labels and {} classes",
                classes.len()
            )));
        }
        let machine = Machine::read(a, a.floats("support_vectors")?.unwrap_or_default(), vectors)?;
        let pairs = n * (n - 1) / 2;
        few("coefficients", (n - 1).saturating_mul(vectors), machine.coefficients.len())?;
        few("rho", pairs, machine.rho.len())?;
        let list = |name| Ok::<_, BuildError>(a.floats(name)?.unwrap_or_default().to_vec());
        let (first, second) = (list("prob_a")?, list("prob_b")?);
        let probabilities = if first.is_empty() && second.is_empty() {
            None
        } else {
            few("prob_a", pairs, first.len())?;
            few("prob_b", pairs, second.len())?;
            Some((first, second))
        };
        let post = post_of(a)?;
        if post == Post::Probit && n == 2 && probabilities.is_none() {
            return Err(BuildError::unsupported("post_transform PROBIT of two classes"));
        }
        Ok(Pairs { machine, labels, classes, probabilities, post })
    }

    fn pairs(&self) -> usize {
        self.labels.len() * (self.labels.len() - 1) / 2
    }

    /// How many scores a row has.
    fn scores(&self) -> usize {
        match self.labels.len() {
            n if n == 2 || self.probabilities.is_some() => n,
            _ => self.pairs(),
        }
    }

    /// The score of each pair of classes, and the class with the most votes; the first of equals.
    fn decide(&self, values: &[f32], scores: &mut [f32], votes: &mut [f32]) -> usize {
        let vectors = self.machine.count();
        votes.fill(0.0);
        let mut at = 0;
        for (i, &(first_i, count_i)) in self.classes.iter().enumerate() {
            for (j, &(first_j, count_j)) in self.classes.iter().enumerate().skip(i + 1) {
                let part = |row: usize, first: usize, count: usize| {
                    let coefficients = &self.machine.coefficients[row * vectors + first..][..count];
                    weighted(&values[first..][..count], coefficients)
                };
                let sum = part(j - 1, first_i, count_i) + part(i, first_j, count_j);
                let score = sum + f64::from(self.machine.rho[at]);
                scores[at] = score as f32;
                votes[if score > 0.0 { i } else { j }] += 1.0;
                at += 1;
            }
        }
        first_greatest(votes)
    }

    /// The scores of a row from those of its pairs; the class of the greatest probability, if these are wanted.
    fn finish(&self, pairs: &[f32], room: &mut [f32], z: &mut [f32]) {
        if let Some((first, second)) = &self.probabilities {
            let classes = self.labels.len();
            let of = |at: usize| {
                let p = 1.0 - logistic(pairs[at] * first[at] + second[at]);
                p.clamp(1e-7, 1.0 - 1e-7)
            };
            pair_probabilities(classes, of, room, z);
            apply(self.post, z);
            return;
        }
        match (self.labels.len(), pairs) {
            (2, [score, ..]) => {
                let score = *score;
                z.copy_from_slice(&match self.post {
                    Post::None => [-score, score],
                    Post::Logistic => [1.0 - logistic(score), logistic(score)],
                    _ => [1.0 - score, score],
                });
            }
            _ => {
                z.copy_from_slice(pairs);
                apply(self.post, z);
            }
        }
    }
}

fn classifier(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let pairs = Arc::new(Pairs::read(spec.attributes())?);
    plan_fn(move |cx| {
        let (rows, features) = table(cx, 0)?;
        pairs.machine.check(features)?;
        let (vectors, classes) = (pairs.machine.count(), pairs.labels.len());
        let (each, scores) = (pairs.pairs(), pairs.scores());
        let x = single(cx, 0)?;
        let y = cx.output(0, Shape::new(&[rows])?)?;
        let z = cx.output(1, Shape::new(&[rows, scores])?)?;
        let values = cx.temp_of::<f32>(rows.saturating_mul(vectors));
        let room = cx.temp_of::<f32>(each + classes + pair_room(classes));
        let pairs = pairs.clone();
        cx.step("svm", &[x], &[y, z, values, room], move |a| {
            let x = a.read::<f32>(0)?;
            let (y, z) = (a.write::<i64>()?, a.write::<f32>()?);
            let values = &mut a.write::<f32>()?[..rows * vectors];
            let (of_pairs, room) = a.write::<f32>()?.split_at_mut(each);
            let (votes, room) = room.split_at_mut(classes);
            let machine = &pairs.machine;
            kernel_values(
                a.parallel,
                machine.kernel,
                machine.features,
                x,
                &machine.vectors,
                values,
            );
            let rows = values.chunks_exact(vectors).zip(y).zip(z.chunks_exact_mut(scores));
            for ((values, y), z) in rows {
                let top = pairs.decide(values, of_pairs, votes);
                *y = pairs.labels[top];
                pairs.finish(of_pairs, room, z);
            }
            Ok(())
        });
        Ok(())
    })
}

//! XGBoost's objectives: the transformation of a prediction and what `base_score` means.

use crate::error::{Place, TreeError};
use crate::link::Link;

/// How `base_score` becomes what sums begin with (`ProbToMargin` of the objective).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Base {
    /// As it is.
    Plain,
    /// `-ln(1 / x - 1)`
    Logit,
    /// `ln x`
    Log,
}

impl Base {
    /// In f32, as XGBoost has it.
    pub(crate) fn margin(self, score: f64) -> f64 {
        let x = score as f32;
        f64::from(match self {
            Base::Plain => x,
            Base::Logit => -(1.0 / x - 1.0).ln(),
            Base::Log => x.ln(),
        })
    }
}

/// What an objective does (src/objective of XGBoost 3.2: `PredTransform`, `ProbToMargin`).
///
/// # Errors
/// An objective that is not known, by name.
pub(crate) fn objective(name: &str) -> Result<(Link, Base), TreeError> {
    Ok(match name {
        "reg:squarederror"
        | "reg:linear"
        | "reg:squaredlogerror"
        | "reg:pseudohubererror"
        | "reg:absoluteerror"
        | "reg:quantileerror"
        | "rank:pairwise"
        | "rank:ndcg"
        | "rank:map"
        | "binary:logitraw" => (Link::Identity, Base::Plain),
        "reg:logistic" | "binary:logistic" => (Link::Sigmoid(1.0), Base::Logit),
        "binary:hinge" => (Link::Step, Base::Plain),
        "count:poisson" | "reg:gamma" | "reg:tweedie" | "survival:cox" | "survival:aft" => {
            (Link::Exp, Base::Log)
        }
        "multi:softmax" => (Link::ArgMax, Base::Plain),
        "multi:softprob" => (Link::Softmax, Base::Plain),
        _ => {
            return Err(TreeError::unsupported(
                Place::Model,
                format!("objective `{name}` of XGBoost"),
            ));
        }
    })
}

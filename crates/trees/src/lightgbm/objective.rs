//! LightGBM's objectives: what `predict` does to the sums (`ConvertOutput` of src/objective).

use crate::error::{Place, TreeError};
use crate::link::Link;

/// The link of an objective as files write it: its name, then `parameter:value` or flags.
///
/// # Errors
/// An objective that is not known, by name; a parameter that is no number.
pub(crate) fn objective(text: &str) -> Result<Link, TreeError> {
    let mut words = text.split_ascii_whitespace();
    let name = words.next().unwrap_or("");
    let words: Vec<&str> = words.collect();
    let sigmoid = || {
        let value = words.iter().find_map(|word| word.strip_prefix("sigmoid:")).unwrap_or("1");
        let k: Result<f64, _> = value.parse();
        k.map(Link::Sigmoid)
            .map_err(|_| TreeError::field(Place::Model, "objective", "followed by sigmoid:NUMBER"))
    };
    Ok(match name {
        "regression" if words.contains(&"sqrt") => Link::SignedSquare,
        "regression" | "regression_l1" | "quantile" | "huber" | "fair" | "mape" | "lambdarank"
        | "rank_xendcg" | "custom" | "none" | "" => Link::Identity,
        "poisson" | "gamma" | "tweedie" => Link::Exp,
        "binary" | "multiclassova" => sigmoid()?,
        "cross_entropy" => Link::Sigmoid(1.0),
        "cross_entropy_lambda" => Link::LogOnePlusExp,
        "multiclass" => Link::Softmax,
        _ => {
            return Err(TreeError::unsupported(
                Place::Model,
                format!("objective `{name}` of LightGBM"),
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_parameters() {
        let cases = [
            ("regression", Link::Identity),
            ("regression sqrt", Link::SignedSquare),
            ("quantile alpha:0.3", Link::Identity),
            ("binary sigmoid:2.5", Link::Sigmoid(2.5)),
            ("multiclass num_class:3", Link::Softmax),
            ("multiclassova num_class:3 sigmoid:1", Link::Sigmoid(1.0)),
            ("cross_entropy_lambda", Link::LogOnePlusExp),
            ("tweedie tweedie_variance_power:1.5", Link::Exp),
        ];
        for (text, link) in cases {
            assert_eq!(objective(text).unwrap(), link, "{text}");
        }
        let error = objective("magic k:1").unwrap_err().to_string();
        assert_eq!(error, "the model: objective `magic` of LightGBM is not supported");
    }
}

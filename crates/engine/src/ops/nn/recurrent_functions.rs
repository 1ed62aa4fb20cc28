//! The attributes `activations`, `activation_alpha` and `activation_beta` of recurrent operators.

use crate::error::BuildError;
use stead_kernels::gemm::Activation;
use stead_kernels::rnn::{Function, Kind};
use stead_onnx::Attributes;

/// The functions f, g, h for each direction; cells with fewer have the identity for the rest.
pub(super) fn functions(
    attributes: &Attributes,
    kind: Kind,
    directions: usize,
) -> Result<Vec<[Function; 3]>, BuildError> {
    let defaults: &[&str] = match kind {
        Kind::Rnn => &["Tanh"],
        Kind::Gru { .. } => &["Sigmoid", "Tanh"],
        Kind::Lstm { .. } => &["Sigmoid", "Tanh", "Tanh"],
    };
    let names = attributes.strings("activations")?.unwrap_or_else(|| defaults.to_vec());
    let each = defaults.len();
    if names.len() != each * directions && names.len() != each {
        return Err(BuildError::unsupported(format!(
            "{} activations; {} expected",
            names.len(),
            each * directions
        )));
    }
    let mut alphas = attributes.floats("activation_alpha")?.unwrap_or_default().iter().copied();
    let mut betas = attributes.floats("activation_beta")?.unwrap_or_default().iter().copied();
    let mut all = Vec::new();
    for name in &names {
        all.push(function(name, &mut alphas, &mut betas)?);
    }
    let identity = Function::Of(Activation::None);
    let of_direction = |d: usize| {
        let start = if all.len() == each { 0 } else { d * each };
        [0, 1, 2].map(|i| if i < each { all[start + i] } else { identity })
    };
    Ok((0..directions).map(of_direction).collect())
}

/// The function of this name, whose parameters are the next of the lists, or ONNX's defaults.
fn function(
    name: &str,
    alphas: &mut impl Iterator<Item = f32>,
    betas: &mut impl Iterator<Item = f32>,
) -> Result<Function, BuildError> {
    let mut alpha = |default: f32| alphas.next().unwrap_or(default);
    let mut beta = |default: f32| betas.next().unwrap_or(default);
    Ok(match name.to_ascii_lowercase().as_str() {
        "relu" => Function::Of(Activation::Relu),
        "tanh" => Function::TANH,
        "sigmoid" => Function::SIGMOID,
        "affine" => Function::Affine { alpha: alpha(1.0), beta: beta(0.0) },
        "leakyrelu" => Function::Of(Activation::LeakyRelu { alpha: alpha(0.01) }),
        "thresholdedrelu" => Function::ThresholdedRelu { alpha: alpha(1.0) },
        "scaledtanh" => Function::ScaledTanh { alpha: alpha(1.0), beta: beta(1.0) },
        "hardsigmoid" => {
            Function::Of(Activation::HardSigmoid { alpha: alpha(0.2), beta: beta(0.5) })
        }
        "elu" => Function::Of(Activation::Elu { alpha: alpha(1.0) }),
        "softsign" => Function::Softsign,
        "softplus" => Function::Of(Activation::Softplus),
        _ => return Err(BuildError::unsupported(format!("activation \"{name}\""))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_onnx::AttributeValue;

    #[test]
    fn parameters_are_consumed_in_order() {
        let mut attributes = Attributes::of("LSTM node \"l\"".to_owned());
        let names = ["HardSigmoid", "Tanh", "affine"].map(|s| s.as_bytes().to_vec());
        attributes.set("activations", AttributeValue::Strings(names.to_vec()));
        attributes.set("activation_alpha", AttributeValue::Floats(vec![0.3, 2.0]));
        let kind = Kind::Lstm { input_forget: false };
        let want = [
            Function::Of(Activation::HardSigmoid { alpha: 0.3, beta: 0.5 }),
            Function::TANH,
            Function::Affine { alpha: 2.0, beta: 0.0 },
        ];
        assert_eq!(functions(&attributes, kind, 2), Ok(vec![want, want]));
        assert!(functions(&attributes, Kind::Rnn, 1).is_err());
    }
}

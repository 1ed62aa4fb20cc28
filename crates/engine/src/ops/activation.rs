//! Activation functions as attributes of fused operators.

use crate::error::BuildError;
use stead_kernels::gemm::Activation;
use stead_onnx::{AttributeValue, Attributes};

/// Activations by the name that the attribute `activation` has; parameters stand in `activation_alpha` and
/// `activation_beta`.
pub(super) fn from_attributes(attributes: &Attributes) -> Result<Activation, BuildError> {
    from_attributes_of("", attributes)
}

/// As [`from_attributes`], of attributes with `before` before their names.
pub(super) fn from_attributes_of(
    before: &str,
    attributes: &Attributes,
) -> Result<Activation, BuildError> {
    let alpha = attributes.float_or(&format!("{before}activation_alpha"), 0.0)?;
    let beta = attributes.float_or(&format!("{before}activation_beta"), 0.0)?;
    Ok(match attributes.string_or(&format!("{before}activation"), "")? {
        "" => Activation::None,
        "Relu" => Activation::Relu,
        "Clip" => Activation::Clip { lo: alpha, hi: beta },
        "LeakyRelu" => Activation::LeakyRelu { alpha },
        "Elu" => Activation::Elu { alpha },
        "Sigmoid" => Activation::Sigmoid,
        "Tanh" => Activation::Tanh,
        "GeluErf" => Activation::GeluErf,
        "GeluTanh" => Activation::GeluTanh,
        "Silu" => Activation::Silu,
        "HardSwish" => Activation::HardSwish,
        "HardSigmoid" => Activation::HardSigmoid { alpha, beta },
        "Softplus" => Activation::Softplus,
        "Mish" => Activation::Mish,
        other => return Err(BuildError::unsupported(format!("activation \"{other}\""))),
    })
}

/// Writes an activation into the attributes of a fused operator; the inverse of [`from_attributes`].
pub(crate) fn to_attributes(name: &str, alpha: f32, beta: f32, attributes: &mut Attributes) {
    attributes.set("activation", AttributeValue::String(name.as_bytes().to_vec()));
    attributes.set("activation_alpha", AttributeValue::Float(alpha));
    attributes.set("activation_beta", AttributeValue::Float(beta));
}

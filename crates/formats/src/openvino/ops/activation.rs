//! Activations.

use crate::openvino::cx::{Cx, Lowered, refuse};

pub(in crate::openvino) fn softmax(cx: &mut Cx<'_, '_>) -> Lowered {
    let axis = cx.int_or("axis", 1)?;
    cx.same("Softmax", &[("axis", axis.into())])
}

pub(in crate::openvino) fn log_softmax(cx: &mut Cx<'_, '_>) -> Lowered {
    let axis = cx.int_or("axis", 1)?;
    cx.same("LogSoftmax", &[("axis", axis.into())])
}

pub(in crate::openvino) fn elu(cx: &mut Cx<'_, '_>) -> Lowered {
    let alpha = cx.float_or("alpha", 1.0)? as f32;
    cx.same("Elu", &[("alpha", alpha.into())])
}

pub(in crate::openvino) fn gelu(cx: &mut Cx<'_, '_>) -> Lowered {
    let approximate = match cx.one_of("approximation_mode", &["ERF", "TANH"])? {
        "TANH" => "tanh",
        _ => "none",
    };
    cx.same("Gelu", &[("approximate", approximate.into())])
}

/// Bounds of integers are rounded towards the values between them.
pub(in crate::openvino) fn clamp(cx: &mut Cx<'_, '_>) -> Lowered {
    let (value, dtype) = (cx.input(0)?, cx.dtype(0)?);
    let (min, max) = (cx.float_or("min", f64::NEG_INFINITY)?, cx.float_or("max", f64::INFINITY)?);
    let (min, max) = if dtype.is_int() { (min.ceil(), max.floor()) } else { (min, max) };
    let (min, max) = (cx.number(0, min)?, cx.number(0, max)?);
    Ok(vec![cx.make.node("Clip", &[&value, &min, &max])])
}

/// `min(max(x + 3, 0), 6) / 6`.
pub(in crate::openvino) fn h_sigmoid(cx: &mut Cx<'_, '_>) -> Lowered {
    cx.same("HardSigmoid", &[("alpha", (1.0f32 / 6.0).into()), ("beta", 0.5f32.into())])
}

/// `max(0, min(1, alpha x + beta))`; the two are inputs.
pub(in crate::openvino) fn hard_sigmoid(cx: &mut Cx<'_, '_>) -> Lowered {
    let (x, alpha, beta) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let (zero, one) = (cx.number(0, 0.0)?, cx.number(0, 1.0)?);
    let scaled = cx.make.node("Mul", &[&x, &alpha]);
    let shifted = cx.make.node("Add", &[&scaled, &beta]);
    Ok(vec![cx.make.node("Clip", &[&shifted, &zero, &one])])
}

/// `x sigmoid(beta x)`; beta is an input and 1 where it is absent.
pub(in crate::openvino) fn swish(cx: &mut Cx<'_, '_>) -> Lowered {
    let x = cx.input(0)?;
    let scaled = match cx.optional(1) {
        Some(beta) => cx.make.node("Mul", &[&x, &beta]),
        None => x.clone(),
    };
    let gate = cx.make.node("Sigmoid", &[&scaled]);
    Ok(vec![cx.make.node("Mul", &[&x, &gate])])
}

/// `lambda (max(x, 0) + alpha (exp(min(x, 0)) - 1))`; the two are inputs.
pub(in crate::openvino) fn selu(cx: &mut Cx<'_, '_>) -> Lowered {
    let (x, alpha, lambda) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let (zero, one) = (cx.number(0, 0.0)?, cx.number(0, 1.0)?);
    let above = cx.make.node("Relu", &[&x]);
    let below = cx.make.node("Min", &[&x, &zero]);
    let below = cx.make.node("Exp", &[&below]);
    let below = cx.make.node("Sub", &[&below, &one]);
    let below = cx.make.node("Mul", &[&below, &alpha]);
    let sum = cx.make.node("Add", &[&above, &below]);
    Ok(vec![cx.make.node("Mul", &[&sum, &lambda])])
}

/// A slope of one dimension is one for each channel, the second dimension of the data.
pub(in crate::openvino) fn p_relu(cx: &mut Cx<'_, '_>) -> Lowered {
    let (x, mut slope) = (cx.input(0)?, cx.input(1)?);
    let rank = cx.rank(0)?;
    if let &[count] = cx.dims(1)?
        && count != Some(1)
        && rank > 2
    {
        let after: Vec<i64> = (1..rank as i64 - 1).collect();
        slope = cx.unsqueeze(&slope, &after)?;
    }
    Ok(vec![cx.make.node("PRelu", &[&x, &slope])])
}

pub(in crate::openvino) fn round(cx: &mut Cx<'_, '_>) -> Lowered {
    if cx.dtype(0)?.is_int() {
        return cx.same("Identity", &[]);
    }
    if cx.one_of("mode", &["half_to_even", "half_away_from_zero"])? == "half_to_even" {
        return cx.same("Round", &[]);
    }
    if !cx.dtype(0)?.is_float() {
        return refuse("input 0 is no number");
    }
    let x = cx.input(0)?;
    let (half, sign) = (cx.number(0, 0.5)?, cx.make.node("Sign", &[&x]));
    let size = cx.make.node("Abs", &[&x]);
    let up = cx.make.node("Add", &[&size, &half]);
    let whole = cx.make.node("Floor", &[&up]);
    Ok(vec![cx.make.node("Mul", &[&sign, &whole])])
}

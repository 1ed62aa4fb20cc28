//! MelWeightMatrix: which share each frequency has in each band of the mel scale.

use crate::error::{BuildError, LoadError, PlanError};
use crate::ir::FunctionBody;
use crate::ops::cast::dtype_of;
use crate::ops::movement::{Number, number};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, TypeSet, plan_fn, types};
use stead_onnx::{AttributeValue, Attributes};
use stead_tensor::DType::F32;
use stead_tensor::{DType, Tensor};

const SIZE: Param = Param::required(0, types::INDEX);
const EDGE: Param = Param::required(0, types::FLOAT);
const INPUTS: &[Param] = &[SIZE, SIZE, SIZE, EDGE, EDGE];

/// MelWeightMatrix. The engine's own operator makes the matrix in f32 when the sizes are known.
pub const OPS: &[OpDef] = &[
    OpDef::function("MelWeightMatrix", INPUTS, &[Out::Of(result_type)], write).since(17),
    OpDef::new("MelWeightMatrix", INPUTS, &[Out::Fixed(F32)], build).domain("stead"),
];

/// Types that the standard has for the matrix.
const RESULTS: TypeSet = types::NUMERIC;

fn result_type(attributes: &Attributes, _: &[Option<DType>]) -> Result<DType, BuildError> {
    let dtype = dtype_of(attributes.int_or("output_datatype", 1)?, "output_datatype")?;
    match RESULTS.contains(dtype) {
        true => Ok(dtype),
        false => Err(BuildError::unsupported(format!("a matrix of {dtype}; supported: {RESULTS}"))),
    }
}

fn write(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let dtype = result_type(f.attributes(), &[]).map_err(|reason| f.refuse(reason.to_string()))?;
    let results = f.own("MelWeightMatrix", &[true])?;
    let [Some(matrix)] = results[..] else { return Err(f.refuse("no matrix")) };
    let to = AttributeValue::Int(dtype.onnx_number().into());
    let matrix = if dtype == F32 { matrix } else { f.call("Cast", &[matrix], &[("to", to)])? };
    f.give(0, matrix);
    Ok(())
}

fn build(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let size = |cx: &PlanCx<'_>, index: usize| {
            let value = cx.int(index)?;
            let size = usize::try_from(value).ok().filter(|&n| n > 0 && n <= MOST);
            size.ok_or_else(|| {
                PlanError::shape(format!("input {index} is {value}, not 1 to {MOST}"))
            })
        };
        let edge = |cx: &PlanCx<'_>, index: usize| match number(&cx.value(index)?)? {
            Number::Float(hertz) if hertz >= 0.0 && hertz.is_finite() => Ok(hertz),
            _ => Err(PlanError::shape(format!("input {index} is no frequency"))),
        };
        let (bands, length, rate) = (size(cx, 0)?, size(cx, 1)?, size(cx, 2)?);
        let weights = weights(bands, length, rate, [edge(cx, 3)?, edge(cx, 4)?])?;
        cx.set_value(0, Tensor::from_slice(&weights, &[length / 2 + 1, bands])?);
        Ok(())
    })
}

/// The largest of the sizes, above any transform that is taken of audio.
const MOST: usize = 1 << 24;
/// Numbers of a matrix at most, which a plan holds: 64 MB, a hundred times those of speech recognisers.
const MOST_WEIGHTS: usize = 1 << 24;

/// Triangles between neighbouring places of the mel scale, `2595 log10(1 + f / 700)`, with a peak of 1. Places are rounded
/// down to frequencies of the transform, and the scale is cut into two parts more than there are bands, as the
/// standard's own definition does.
fn weights(
    bands: usize,
    length: usize,
    rate: usize,
    edges: [f64; 2],
) -> Result<Vec<f32>, PlanError> {
    let rows = length / 2 + 1;
    if rows.checked_mul(bands).is_none_or(|n| n > MOST_WEIGHTS) {
        return Err(PlanError::shape(format!("{rows} frequencies of {bands} bands are too many")));
    }
    let mel = |hertz: f64| 2595.0 * (hertz / 700.0).ln_1p() / std::f64::consts::LN_10;
    let hertz = |mel: f64| 700.0 * (mel / 2595.0 * std::f64::consts::LN_10).exp_m1();
    let [low, high] = edges.map(mel);
    let step = (high - low) / (bands + 2) as f64;
    let place = |i: usize| {
        let frequency = hertz(i as f64 * step + low);
        let place = ((length + 1) as f64 * frequency / rate as f64).floor();
        match place >= 0.0 && place < rows as f64 {
            true => Ok(place as usize),
            false => Err(PlanError::shape(format!(
                "{frequency} Hz is not among {rows} frequencies of a signal of {rate} Hz"
            ))),
        }
    };
    let places = (0..bands + 2).map(place).collect::<Result<Vec<_>, _>>()?;
    let mut weights = vec![0.0; rows * bands];
    for (band, corners) in places.windows(3).enumerate() {
        let [left, middle, right] = [corners[0], corners[1], corners[2]];
        let share = |from: usize, to: usize| from.abs_diff(to) as f32;
        let mut set = |row: usize, weight: f32| {
            if let Some(slot) = weights.get_mut(row * bands + band) {
                *slot = weight;
            }
        };
        for row in left..=middle {
            set(row, if left == middle { 1.0 } else { share(row, left) / share(middle, left) });
        }
        for row in middle..right {
            set(row, share(right, row) / share(right, middle));
        }
    }
    Ok(weights)
}

#[cfg(test)]
mod tests {
    use super::weights;

    #[test]
    fn frequencies_that_are_not_there() {
        let error = weights(4, 16, 8000, [0.0, 8000.0]).map_err(|e| e.to_string());
        assert!(error.is_err_and(|e| e.contains("is not among 9 frequencies")));
        assert!(weights(1 << 20, 1 << 20, 8000, [0.0, 1.0]).is_err(), "too many");
        let matrix = weights(2, 16, 8000, [0.0, 4000.0]).unwrap();
        assert_eq!(matrix.len(), 9 * 2);
        assert!(matrix.contains(&1.0));
    }
}

//! Weights as signed bytes.

use stead_tensor::{Tensor, TensorError};

/// Weights as bytes: `w = scale * values`, the zero points are 0.
pub(crate) struct Bytes {
    pub values: Tensor,
    pub scale: Tensor,
    pub zero: Tensor,
}

/// Steps between the largest and the smallest value: -127 to 127.
const STEPS: f64 = 254.0;

/// The scale for values of at most this magnitude.
pub(crate) fn symmetric_scale(magnitude: f32) -> f32 {
    let scale = 2.0 * f64::from(magnitude) / STEPS;
    if scale < f64::from(f32::MIN_POSITIVE) { 1.0 } else { scale as f32 }
}

fn magnitude<'a>(values: impl Iterator<Item = &'a f32>) -> f32 {
    values.fold(0.0, |most: f32, v| most.max(v.abs()))
}

fn to_byte(value: f32, scale: f32) -> i8 {
    (value / scale).round_ties_even().clamp(-128.0, 127.0) as i8
}

/// One scale for all.
pub(crate) fn per_tensor(weights: &Tensor) -> Result<Bytes, TensorError> {
    let values = weights.as_slice::<f32>()?;
    let scale = symmetric_scale(magnitude(values.iter()));
    let bytes: Vec<i8> = values.iter().map(|&v| to_byte(v, scale)).collect();
    Ok(Bytes {
        values: Tensor::from_slice(&bytes, &weights.shape())?,
        scale: Tensor::scalar(scale)?,
        zero: Tensor::scalar(0i8)?,
    })
}

/// One scale for each place along `axis`.
pub(crate) fn per_channel(weights: &Tensor, axis: usize) -> Result<Bytes, TensorError> {
    let (values, shape) = (weights.as_slice::<f32>()?, weights.shape());
    let channels = shape.get(axis).copied().unwrap_or(1);
    let inner: usize = shape.iter().skip(axis + 1).product();
    let channel_of = |at: usize| at / inner.max(1) % channels.max(1);
    let mut most = vec![0.0f32; channels];
    for (at, v) in values.iter().enumerate() {
        if let Some(most) = most.get_mut(channel_of(at)) {
            *most = most.max(v.abs());
        }
    }
    let scales: Vec<f32> = most.into_iter().map(symmetric_scale).collect();
    let scale_at = |at| scales.get(channel_of(at)).copied().unwrap_or(1.0);
    let bytes: Vec<i8> =
        values.iter().enumerate().map(|(at, &v)| to_byte(v, scale_at(at))).collect();
    Ok(Bytes {
        values: Tensor::from_slice(&bytes, &shape)?,
        zero: Tensor::from_slice(&vec![0i8; channels], &[channels])?,
        scale: Tensor::from_slice(&scales, &[channels])?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_weights() {
        let w = Tensor::from_slice(&[1.27f32, -0.635, 0.005, 0.0, 12.7, -12.7], &[2, 3]).unwrap();
        let all = per_tensor(&w).unwrap();
        assert_eq!(all.values.as_slice::<i8>().unwrap(), [13, -6, 0, 0, 127, -127]);
        assert_eq!(all.scale.as_slice::<f32>().unwrap(), [0.1]);
        let rows = per_channel(&w, 0).unwrap();
        assert_eq!(rows.values.as_slice::<i8>().unwrap(), [127, -64, 0, 0, 127, -127]);
        let columns = per_channel(&w, 1).unwrap();
        assert_eq!(columns.values.as_slice::<i8>().unwrap(), [127, -6, 0, 0, 127, -127]);
        assert_eq!(&*columns.scale.shape(), [3]);
        let nothing = per_tensor(&Tensor::from_slice(&[0.0f32; 2], &[2, 1]).unwrap()).unwrap();
        assert_eq!(nothing.scale.as_slice::<f32>().unwrap(), [1.0]);
    }

    /// Whatever the weights are, none is off by more than half a step.
    #[test]
    fn half_a_step_is_the_most_that_is_lost() {
        use proptest::prelude::*;
        let weights = proptest::collection::vec(-1e3f32..1e3, 1..60);
        proptest!(ProptestConfig::with_cases(200), |(values in weights)| {
            let w = Tensor::from_slice(&values, &[values.len(), 1]).unwrap();
            for bytes in [per_tensor(&w).unwrap(), per_channel(&w, 0).unwrap()] {
                let scales = bytes.scale.as_slice::<f32>().unwrap();
                for (at, (q, v)) in bytes.values.as_slice::<i8>().unwrap().iter().zip(&values).enumerate() {
                    let scale = scales[at.min(scales.len() - 1)];
                    prop_assert!((f32::from(*q) * scale - v).abs() <= 0.501 * scale, "{v} {q} {scale}");
                }
            }
        });
    }
}

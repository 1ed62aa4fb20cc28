//! What the sequences send, and what they should get.

use std::collections::BTreeMap;

use bytes::Bytes;
use stead_engine::IoSpec;
use stead_tensor::{DType, Tensor, TensorView};

use crate::failure::Failure;
use crate::inputs::{self, Spec};

/// Different frames of random values. A prime, so that signals that begin at different frames stay different.
const FRAMES: usize = 61;

/// Different signals; neighbours among the sequences never send the same one, so that mixed states show.
pub const SIGNALS: usize = 8;

/// The distance of the first frames of two signals.
const STRIDE: usize = 7;

/// Absolute up to 1, relative above: what orders of summation differ by.
const TOLERANCE: f64 = 1e-5;

/// An input of a server's model.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// Name, type and shape.
    pub spec: IoSpec,
    /// The type's name on the wire.
    pub datatype: String,
}

/// One tensor as it goes over the wire.
#[derive(Debug, Clone, PartialEq)]
pub struct RawTensor {
    /// The input or output.
    pub name: String,
    /// The type's name on the wire.
    pub datatype: String,
    /// The shape.
    pub shape: Vec<i64>,
    /// Its values; little-endian, strings behind their lengths.
    pub bytes: Bytes,
}

/// The inputs of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// For the model in this process.
    pub tensors: Vec<(String, Tensor)>,
    /// For the wire.
    pub raw: Vec<RawTensor>,
}

/// A value that an output should have.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    name: String,
    tensor: Tensor,
}

/// The inputs of all steps of all signals, and the outputs that are expected for them.
#[derive(Debug)]
pub struct Signals {
    frames: Vec<Frame>,
    /// By signal and step; empty when answers are not compared.
    wanted: Vec<Vec<Vec<Wanted>>>,
}

impl Signals {
    /// Seeded random frames, of which each input that `specs` give is as they say; the inputs named by `carried` have
    /// the value of the first step: zeros unless `specs` give it.
    ///
    /// # Errors
    /// Specs that do not fit the inputs.
    pub fn new(
        declared: &[Declared],
        specs: &[Spec],
        carried: &[&str],
        dims: &BTreeMap<String, usize>,
        seed: u64,
    ) -> Result<Signals, Failure> {
        let inputs: Vec<IoSpec> = declared.iter().map(|d| d.spec.clone()).collect();
        let frame = |n: usize| -> Result<Frame, Failure> {
            let seed = seed.wrapping_add(n as u64);
            let tensors = inputs::gather(&inputs, specs, carried, dims, seed)?;
            let raw: Result<Vec<RawTensor>, Failure> =
                tensors.iter().map(|(name, tensor)| raw(declared, name, tensor)).collect();
            Ok(Frame { raw: raw?, tensors })
        };
        let frames: Result<Vec<Frame>, Failure> = (0..FRAMES).map(frame).collect();
        Ok(Signals { frames: frames?, wanted: Vec::new() })
    }

    /// The number of the frame that a sequence sends with a step.
    pub fn frame_number(sequence: usize, step: usize) -> usize {
        (sequence % SIGNALS * STRIDE + step) % FRAMES
    }

    /// A frame by its number.
    pub fn frame(&self, number: usize) -> Option<&Frame> {
        self.frames.get(number)
    }

    /// Keeps the outputs that `model` gives for the first `steps` of all signals.
    ///
    /// # Errors
    /// Those of `model`.
    pub fn expect(
        &mut self,
        steps: usize,
        mut model: impl FnMut(usize, usize, &Frame) -> Result<Vec<(String, Tensor)>, Failure>,
    ) -> Result<(), Failure> {
        for signal in 0..SIGNALS {
            let mut all = Vec::with_capacity(steps);
            for step in 0..steps {
                let outputs = model(signal, step, &self.frames[Self::frame_number(signal, step)])?;
                all.push(
                    outputs.into_iter().map(|(name, tensor)| Wanted { name, tensor }).collect(),
                );
            }
            self.wanted.push(all);
        }
        Ok(())
    }

    /// Whether answers are compared.
    pub fn is_checked(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// How the outputs of a step differ from those expected; `None` when they do not.
    pub fn difference(&self, sequence: usize, step: usize, got: &[RawTensor]) -> Option<String> {
        let wanted = self.wanted.get(sequence % SIGNALS)?.get(step)?;
        let differs = |wanted: &Wanted| match got.iter().find(|got| got.name == wanted.name) {
            None => Some(format!("output `{}` is missing", wanted.name)),
            Some(got) => differs(&wanted.tensor, &got.bytes)
                .map(|text| format!("output `{}`: {text}", wanted.name)),
        };
        let text = wanted.iter().find_map(differs)?;
        Some(format!("step {} of sequence number {}: {text}", step + 1, sequence + 1))
    }
}

/// An input for the wire.
fn raw(declared: &[Declared], name: &str, tensor: &Tensor) -> Result<RawTensor, Failure> {
    let Some(input) = declared.iter().find(|d| d.spec.name == name) else {
        return Err(Failure::usage(format!("the model has no input `{name}`")));
    };
    if input.spec.dtype != tensor.dtype() {
        return Err(Failure::usage(format!(
            "input `{name}` is of type {}, not {}",
            input.spec.dtype,
            tensor.dtype()
        )));
    }
    let shape = tensor.shape().dims().iter().map(|&n| n as i64).collect();
    let datatype = input.datatype.clone();
    Ok(RawTensor { name: name.to_owned(), datatype, shape, bytes: raw_bytes(&tensor.view()) })
}

/// Values as KServe has them in its binary forms.
fn raw_bytes(view: &TensorView<'_>) -> Bytes {
    if view.dtype() != DType::String {
        return Bytes::copy_from_slice(view.bytes());
    }
    let mut bytes = Vec::new();
    for string in view.strings() {
        bytes.extend((string.len() as u32).to_le_bytes());
        bytes.extend(string);
    }
    bytes.into()
}

/// How these bytes differ from a tensor.
fn differs(wanted: &Tensor, got: &[u8]) -> Option<String> {
    let raw = raw_bytes(&wanted.view());
    if raw.len() != got.len() {
        return Some(format!("{} bytes, expected {}", got.len(), raw.len()));
    }
    if raw == got {
        return None;
    }
    match wanted.dtype() {
        DType::F32 => far::<4>(&raw, got, |b| f64::from(f32::from_le_bytes(b))),
        DType::F64 => far::<8>(&raw, got, f64::from_le_bytes),
        DType::F16 => far::<2>(&raw, got, |b| half::f16::from_le_bytes(b).to_f64()),
        DType::BF16 => far::<2>(&raw, got, |b| half::bf16::from_le_bytes(b).to_f64()),
        other => Some(format!("other values of type {other}")),
    }
}

/// The first value that is too far from the one expected.
fn far<const N: usize>(
    wanted: &[u8],
    got: &[u8],
    value: impl Fn([u8; N]) -> f64,
) -> Option<String> {
    let pairs = wanted.as_chunks::<N>().0.iter().zip(got.as_chunks::<N>().0);
    let mut pairs = pairs.map(|(w, g)| (value(*w), value(*g))).enumerate();
    let is_near = |w: f64, g: f64| {
        let same = w == g || (w.is_nan() && g.is_nan());
        same || (w - g).abs() <= TOLERANCE * w.abs().max(1.0)
    };
    let (place, (wanted, got)) = pairs.find(|(_, (w, g))| !is_near(*w, *g))?;
    Some(format!("value {place} is {got}, expected {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_engine::Dim;

    fn signals() -> Signals {
        let spec = IoSpec {
            name: "x".into(),
            dtype: DType::F32,
            dims: Some(vec![Dim::Known(2)]),
            optional: false,
        };
        let declared = [Declared { spec, datatype: "FP32".into() }];
        Signals::new(&declared, &[], &[], &BTreeMap::new(), 0).unwrap()
    }

    #[test]
    fn signals_differ_at_every_step() {
        let signals = signals();
        for step in 0..200 {
            let mut frames: Vec<_> = (0..SIGNALS).map(|s| Signals::frame_number(s, step)).collect();
            frames.sort_unstable();
            frames.dedup();
            assert_eq!(frames.len(), SIGNALS, "{step}");
        }
        let raw = |n: usize| signals.frame(n).unwrap().raw.clone();
        assert_eq!((raw(0)[0].shape.clone(), raw(0)[0].bytes.len()), (vec![2], 8));
        assert_ne!(raw(0), raw(1));
    }

    #[test]
    fn wrong_answers_are_told() {
        let mut signals = signals();
        let made =
            |signal: usize, step: usize| Tensor::from_slice(&[signal as f32, step as f32], &[2]);
        signals.expect(3, |s, k, _| Ok(vec![("y".into(), made(s, k).unwrap())])).unwrap();
        let told = |values: &[f32], sequence| {
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            let (name, datatype, shape) = ("y".into(), "FP32".into(), vec![values.len() as i64]);
            let got = RawTensor { name, datatype, shape, bytes: bytes.into() };
            signals.difference(sequence, 2, &[got])
        };
        assert_eq!(told(&[1.0, 2.0], 1), None);
        assert_eq!(told(&[1.0, 2.0], 1 + SIGNALS), None);
        assert_eq!(told(&[1.000_009, 2.000_01], 1), None);
        let expected = "step 3 of sequence number 2: output `y`: value 1 is 2.5, expected 2";
        assert_eq!(told(&[1.0, 2.5], 1), Some(expected.to_owned()));
        assert!(told(&[f32::NAN, 2.0], 1).is_some());
        assert!(told(&[1.0], 1).unwrap().contains("4 bytes, expected 8"));
        assert!(signals.difference(1, 2, &[]).unwrap().contains("`y` is missing"));
    }
}

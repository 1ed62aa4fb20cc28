//! Tensors that are changed: their elements, shape and type.

use crate::chance::Chance;
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// The most elements of a tensor that was changed: kernels meet their blocks and tails, and no run takes long.
const MAX_ELEMENTS: usize = 2048;

/// Sizes around those at which kernels change their way.
const SIZES: [usize; 12] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33];

/// Integers at the ends of types, around sizes, and small ones.
const INTEGERS: [i64; 26] = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    -3,
    4,
    5,
    7,
    -8,
    16,
    127,
    -128,
    255,
    65_536,
    i32::MAX as i64,
    i32::MIN as i64,
    1 << 32,
    1 << 40,
    -(1 << 40),
    1 << 62,
    i64::MAX,
    i64::MIN,
    i64::MIN + 1,
    i64::MAX - 1,
];

/// Floats at the ends of types and such as many operators treat apart.
const FLOATS: [f64; 18] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    -3.5,
    1e-3,
    1e4,
    1e-42,
    3e38,
    -3e38,
    1e300,
    9.3e18,
    -9.3e18,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

/// An integer at an end of some type, or near `old`.
pub fn integer(chance: &mut Chance, old: i64) -> i64 {
    match chance.below(4) {
        0 => old.wrapping_add(1),
        1 => old.wrapping_sub(1),
        _ => chance.one_of(&INTEGERS),
    }
}

/// A float such as many operators treat apart.
pub fn float(chance: &mut Chance) -> f64 {
    chance.one_of(&FLOATS)
}

/// The tensor with its elements, its shape or its type changed.
pub fn changed(tensor: &Tensor, chance: &mut Chance) -> Tensor {
    match chance.below(6) {
        0 | 1 => shaped(tensor, chance),
        2 => typed(tensor, chance.one_of(DType::ALL), chance),
        _ => filled(tensor, chance),
    }
}

/// The same elements, over and over, in another shape.
pub fn shaped(tensor: &Tensor, chance: &mut Chance) -> Tensor {
    let mut dims = tensor.shape().dims().to_vec();
    for _ in 0..1 + chance.below(2) {
        let at = chance.below(dims.len());
        match chance.below(7) {
            0 => dims.insert(chance.below(dims.len() + 1), chance.one_of(&[0, 1, 1, 2])),
            1 if !dims.is_empty() => drop(dims.remove(at)),
            2 => dims = vec![dims.iter().product()],
            3 if dims.len() > 1 => {
                let other = chance.below(dims.len());
                dims.swap(at, other);
            }
            _ if !dims.is_empty() => dims[at] = chance.one_of(&SIZES),
            _ => {}
        }
    }
    let Ok(shape) = Shape::new(&dims) else { return tensor.clone() };
    if shape.elements() > MAX_ELEMENTS {
        return tensor.clone();
    }
    if tensor.dtype() == DType::String {
        let view = tensor.view();
        let strings = view.strings();
        let of = |at: usize| strings.get(at % strings.len().max(1)).cloned().unwrap_or_default();
        return Tensor::from_strings((0..shape.elements()).map(of).collect(), &dims).unwrap();
    }
    of_bytes(tensor.dtype(), shape, tensor.bytes())
}

/// The same shape of another type, with any bits.
fn typed(tensor: &Tensor, dtype: DType, chance: &mut Chance) -> Tensor {
    let shape = tensor.shape();
    if shape.elements() > MAX_ELEMENTS {
        return tensor.clone();
    }
    if dtype == DType::String {
        let texts = (0..shape.elements()).map(|_| text(chance)).collect();
        return Tensor::from_strings(texts, shape.dims()).unwrap();
    }
    filled(&of_bytes(dtype, shape, tensor.bytes()), chance)
}

/// Some or all elements replaced.
fn filled(tensor: &Tensor, chance: &mut Chance) -> Tensor {
    let (dtype, shape) = (tensor.dtype(), tensor.shape());
    let count = shape.elements();
    let all = chance.one_in(4);
    let chosen: Vec<usize> = match all {
        true => (0..count).collect(),
        false => (0..(1 + chance.below(3)).min(count)).map(|_| chance.below(count)).collect(),
    };
    if dtype == DType::String {
        let mut strings = tensor.view().strings().to_vec();
        chosen.iter().for_each(|&at| strings[at] = text(chance));
        return Tensor::from_strings(strings, shape.dims()).unwrap();
    }
    let mut bytes = tensor.bytes().to_vec();
    // Of one kind, so that all elements of an index or a shape can be large, or none is a number.
    let (whole, real, any) = (integer(chance, 0), float(chance), chance.one_in(3));
    for at in chosen {
        let (whole, real) = match any {
            true => (integer(chance, 1), float(chance)),
            false => (whole, real),
        };
        let size = dtype.size();
        match (dtype, bytes.get_mut(at * size..(at + 1) * size)) {
            (DType::F32, Some(to)) => to.copy_from_slice(&(real as f32).to_le_bytes()),
            (DType::F64, Some(to)) => to.copy_from_slice(&real.to_le_bytes()),
            (DType::Bool, Some(to)) => to.copy_from_slice(&[chance.below(2) as u8]),
            _ if size == 0 => bytes.iter_mut().for_each(|byte| *byte = chance.bits() as u8),
            (_, Some(to)) if dtype.is_float() || size > 8 => {
                to.iter_mut().for_each(|byte| *byte = chance.bits() as u8);
            }
            (_, Some(to)) => to.copy_from_slice(&whole.to_le_bytes()[..size]),
            (_, None) => {}
        }
    }
    of_bytes(dtype, shape, &bytes)
}

/// A tensor of these bytes, over and over; a bool takes the lowest bit.
fn of_bytes(dtype: DType, shape: Shape, bytes: &[u8]) -> Tensor {
    let len = shape.byte_len(dtype);
    let mask = if dtype == DType::Bool { 1 } else { 0xff };
    let source = if bytes.is_empty() { &[0] } else { bytes };
    let bytes: Vec<u8> = source.iter().cycle().take(len).map(|byte| byte & mask).collect();
    Tensor::from_buffer(dtype, shape, AlignedBuf::copy_of(&bytes).unwrap()).unwrap()
}

/// A string: a word, letters of several bytes, or no UTF-8.
pub fn text(chance: &mut Chance) -> Vec<u8> {
    let texts: [&[u8]; 8] =
        [b"", b"a", b"-1.5e3", b"nan", "\u{e4}\u{6f22}".as_bytes(), b"\xff\x80", b"%", b"a b  c"];
    chance.one_of(&texts).to_vec()
}

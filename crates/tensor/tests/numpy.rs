//! Files that NumPy wrote, made by `fixtures/make.py`.

#![allow(clippy::unwrap_used)] // a panic is the report

use std::collections::HashMap;
use std::io::Cursor;
use stead_tensor::npy::{self, NpyError};
use stead_tensor::{DType, Tensor, npz};

const LIMIT: u64 = 1 << 20;

fn archive() -> HashMap<String, Tensor> {
    let bytes = include_bytes!("fixtures/arrays.npz");
    npz::read(Cursor::new(bytes), LIMIT).unwrap().into_iter().collect()
}

/// The elements as `f64`, for types that have them in native form.
fn numbers(tensor: &Tensor) -> Vec<f64> {
    let bytes = tensor.bytes();
    macro_rules! read {
        ($ty:ty) => {
            bytes
                .chunks_exact(size_of::<$ty>())
                .map(|c| <$ty>::from_le_bytes(c.try_into().unwrap()) as f64)
                .collect()
        };
    }
    match tensor.dtype() {
        DType::F32 | DType::C64 => read!(f32),
        DType::F64 | DType::C128 => read!(f64),
        DType::F16 => tensor.as_slice::<half::f16>().unwrap().iter().map(|v| v.to_f64()).collect(),
        DType::U8 | DType::Bool => read!(u8),
        DType::I8 => read!(i8),
        DType::U16 => read!(u16),
        DType::I16 => read!(i16),
        DType::U32 => read!(u32),
        DType::I32 => read!(i32),
        DType::U64 => read!(u64),
        DType::I64 => read!(i64),
        other => panic!("{other}"),
    }
}

#[test]
fn every_type() {
    use DType::*;
    let arrays = archive();
    let ramp = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    for (name, dtype) in [
        ("f4", F32),
        ("f8", F64),
        ("f2", F16),
        ("u1", U8),
        ("i1", I8),
        ("u2", U16),
        ("i2", I16),
        ("u4", U32),
        ("i4", I32),
        ("u8", U64),
        ("i8", I64),
    ] {
        let tensor = &arrays[name];
        assert_eq!((tensor.dtype(), tensor.shape().dims()), (dtype, &[2, 3][..]), "{name}");
        assert_eq!(numbers(tensor), ramp, "{name}");
    }
    let complex = [0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 4.0, 0.0, 5.0, 0.0];
    for name in ["c8", "c16"] {
        assert_eq!(numbers(&arrays[name]), complex, "{name}");
    }
    assert_eq!(numbers(&arrays["b1"]), [1.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
}

#[test]
fn strings_scalars_and_empty_arrays() {
    let arrays = archive();
    let strings = |name: &str| arrays[name].view().strings().to_vec();
    assert_eq!(strings("U"), ["a".as_bytes(), "caf\u{e9}".as_bytes(), b""]);
    assert_eq!(strings("S"), [b"a".as_slice(), b"bc", b""]);
    assert_eq!(arrays["scalar"], Tensor::scalar(2.5f32).unwrap());
    assert_eq!(arrays["empty"].shape().dims(), [0, 4]);
}

#[test]
fn big_endian() {
    let bytes = include_bytes!("fixtures/big_endian.npz");
    let arrays: HashMap<_, _> = npz::read(Cursor::new(bytes), LIMIT).unwrap().into_iter().collect();
    for name in ["f4", "i8"] {
        assert_eq!(numbers(&arrays[name]), [0.0, 1.0, 2.0], "{name}");
    }
    assert_eq!(numbers(&arrays["c8"]), [0.0, 0.0, 1.0, 0.0, 2.0, 0.0]);
    assert_eq!(arrays["U"].view().strings(), [b"a".as_slice(), b"bc"]);
}

#[test]
fn compressed_archives() {
    let bytes = include_bytes!("fixtures/compressed.npz");
    let arrays = npz::read(Cursor::new(bytes), LIMIT).unwrap();
    assert_eq!(arrays[0].0, "x");
    assert_eq!(arrays[0].1.shape().dims(), [100, 10]);
}

#[test]
fn orders_and_versions() {
    let read = |bytes: &[u8]| npy::read(&mut &*bytes, LIMIT);
    let ramp: Vec<i32> = (0..24).collect();
    let fortran = read(include_bytes!("fixtures/fortran.npy")).unwrap();
    assert_eq!(fortran, Tensor::from_slice(&ramp, &[2, 3, 4]).unwrap());
    for bytes in [
        include_bytes!("fixtures/version2.npy").as_slice(),
        include_bytes!("fixtures/version3.npy"),
    ] {
        assert_eq!(read(bytes).unwrap(), Tensor::from_slice(&[0.0f32, 1.0, 2.0], &[3]).unwrap());
    }
    let unsupported = |descr: &str| Err(NpyError::UnsupportedType(descr.to_owned()));
    assert_eq!(read(include_bytes!("fixtures/object.npy")), unsupported("|O"));
}

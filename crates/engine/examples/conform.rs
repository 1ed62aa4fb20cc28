//! Runs folders of ONNX test cases against the engine: `conform DIR [SUBSTRING...]`; names are matched whole
//! with `=name`. For those who work on operators; users have `stead conformance`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use stead_engine::{LoadOptions, Model, Session, SessionOptions};
use stead_onnx::{ValueType, pb};
use stead_tensor::{DType, Tensor, TensorView};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut names: Vec<_> = std::fs::read_dir(&args[0])
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|n| {
            args.len() == 1
                || args[1..].iter().any(|a| match a.strip_prefix('=') {
                    Some(whole) => n == whole,
                    None => n.contains(a.as_str()),
                })
        })
        .collect();
    names.sort();
    let (mut passed, mut failed) = (0, 0);
    for name in names {
        let dir = std::path::Path::new(&args[0]).join(&name);
        let result = std::panic::catch_unwind(|| case(&dir)).unwrap_or(Err("panic".into()));
        match result {
            Ok(()) => passed += 1,
            Err(e) => {
                failed += 1;
                println!("FAIL {name}: {e}");
            }
        }
    }
    println!("{passed} passed, {failed} failed");
}

fn case(dir: &std::path::Path) -> Result<(), String> {
    let model = Model::load(&dir.join("model.onnx"), &LoadOptions::default())
        .map_err(|e| format!("load: {e}"))?;
    let (ins, outs) = (model.inputs().to_vec(), model.outputs().to_vec());
    let session =
        Session::new(model, &SessionOptions::default()).map_err(|e| format!("build: {e}"))?;
    let read = |kind: &str, i: usize, dtype: DType| -> Option<Tensor> {
        let bytes = std::fs::read(dir.join(format!("test_data_set_0/{kind}_{i}.pb"))).ok()?;
        match pb::decode_value(&bytes, &ValueType::tensor(dtype, None)).ok()?.1 {
            pb::Value::Tensor(t) => Some(t),
            _ => None,
        }
    };
    let inputs: Vec<_> = ins.iter().enumerate().map(|(i, s)| read("input", i, s.dtype)).collect();
    let named: Vec<(&str, TensorView<'_>)> = ins
        .iter()
        .zip(&inputs)
        .filter_map(|(s, t)| Some((s.name.as_str(), t.as_ref()?.view())))
        .collect();
    let got = session.run(&named, &[]).map_err(|e| format!("run: {e}"))?;
    for (i, (got, spec)) in got.iter().zip(&outs).enumerate() {
        let want = read("output", i, spec.dtype).ok_or("no expected output")?;
        if got.dtype() != want.dtype() || got.shape() != want.shape() {
            return Err(format!(
                "{}: {}{} expected, got {}{}",
                spec.name,
                want.dtype(),
                want.shape(),
                got.dtype(),
                got.shape()
            ));
        }
        let (a, b) = (floats(got), floats(&want));
        let rtol = if want.dtype() == DType::BF16 { 0.015625 } else { 1e-3 };
        for (k, (x, y)) in a.iter().zip(&b).enumerate() {
            let same = x == y || (x.is_nan() && y.is_nan());
            if !same && !((x - y).abs() <= 1e-7 + rtol * y.abs()) {
                return Err(format!("{}[{k}]: {y} expected, got {x}", spec.name));
            }
        }
    }
    Ok(())
}

fn floats(t: &Tensor) -> Vec<f64> {
    macro_rules! cast {
        ($t:ty, $f:expr) => {
            t.as_slice::<$t>().unwrap().iter().map($f).collect()
        };
    }
    match t.dtype() {
        DType::F32 => cast!(f32, |&v| v.into()),
        DType::F64 => cast!(f64, |&v| v),
        DType::I64 => cast!(i64, |&v| v as f64),
        DType::I32 => cast!(i32, |&v| v.into()),
        DType::U64 => cast!(u64, |&v| v as f64),
        DType::U32 => cast!(u32, |&v| v.into()),
        DType::F16 => cast!(half::f16, |v| v.to_f64()),
        DType::BF16 => cast!(half::bf16, |v| v.to_f64()),
        DType::I16 => cast!(i16, |&v| v.into()),
        DType::U16 => cast!(u16, |&v| v.into()),
        _ => t.bytes().iter().map(|&v| v.into()).collect(),
    }
}

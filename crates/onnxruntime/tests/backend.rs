//! Models that ONNX Runtime runs, beside the same ones in stead.
//!
//! `cargo xtask test` installs the library and sets `STEAD_TEST_DATA`; without it the tests say so.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // a panic in a test is its report

use half::{bf16, f16};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use stead_engine::{
    Backend, BackendError, BackendModel, BackendOptions, Dim, LoadOptions, Model, ModelSource,
    Provider, Session, SessionOptions,
};
use stead_onnx::ModelBuilder;
use stead_onnxruntime::{LibraryError, OnnxRuntime, Options};
use stead_tensor::{Bool, DType, Element, Tensor};

const ONE: BackendOptions<'_> = BackendOptions { runs: 1, optimize: true, providers: &[] };

/// The library of the wheel that `cargo xtask test data` installs.
fn library() -> Option<PathBuf> {
    let Some(data) = std::env::var_os("STEAD_TEST_DATA") else {
        eprintln!("skipped: STEAD_TEST_DATA is not set (cargo xtask test sets it)");
        return None;
    };
    let versions = PathBuf::from(data).join("py/onnx/lib");
    let pythons = std::fs::read_dir(versions).ok()?.filter_map(Result::ok);
    let folders = pythons.map(|p| p.path().join("site-packages/onnxruntime/capi"));
    let files = folders.filter_map(|f| std::fs::read_dir(f).ok()).flatten().filter_map(Result::ok);
    let is_library = |p: &PathBuf| {
        p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("libonnxruntime.so"))
    };
    let found = files.map(|f| f.path()).find(is_library);
    if found.is_none() {
        eprintln!("skipped: no onnxruntime wheel in target/py/onnx");
    }
    found
}

fn runtime() -> Option<OnnxRuntime> {
    Some(OnnxRuntime::open(&Options { library: library()?, threads: None }).unwrap())
}

fn run(model: &dyn BackendModel, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
    let views: Vec<_> = inputs.iter().map(|t| Some(t.view())).collect();
    let wanted: Vec<usize> = (0..model.outputs().len()).collect();
    let mut outputs = Vec::new();
    model.run(&views, &wanted, &|| false, &mut |place, view| {
        assert_eq!(place, outputs.len());
        outputs.push(view.to_tensor().unwrap());
    })?;
    Ok(outputs)
}

/// A model that passes its input on.
fn identity(dtype: DType) -> Vec<u8> {
    let model = ModelBuilder::new(19).input("x", dtype, &["n", "2"]);
    model.node("Identity", &["x"], &["y"]).output("y", dtype).bytes()
}

#[test]
fn every_element_type_goes_there_and_back() {
    let Some(runtime) = runtime() else { return };
    fn of<T: Element>(values: [T; 4]) -> Tensor {
        Tensor::from_slice(&values, &[2, 2]).unwrap()
    }
    let tensors = [
        of([1.5f32, f32::NAN, f32::INFINITY, -0.0]),
        of([1.5f64, f64::MIN_POSITIVE, -1.0, 0.0]),
        of([1.5, -0.5, 0.0, 65504.0].map(f16::from_f32)),
        of([1.5, -0.5, 0.0, 3e38].map(bf16::from_f32)),
        of([i8::MIN, -1, 0, i8::MAX]),
        of([i16::MIN, -1, 0, i16::MAX]),
        of([i32::MIN, -1, 0, i32::MAX]),
        of([i64::MIN, -1, 0, i64::MAX]),
        of([0, 1, 2, u8::MAX]),
        of([0, 1, 2, u16::MAX]),
        of([0, 1, 2, u32::MAX]),
        of([0, 1, 2, u64::MAX]),
        of([true, false, false, true].map(Bool::from)),
        Tensor::from_strings(["", "a", "\u{e4}b", "c\n"].map(Into::into).to_vec(), &[2, 2])
            .unwrap(),
    ];
    for tensor in tensors {
        let dtype = tensor.dtype();
        let bytes = identity(dtype);
        let model = runtime.load(ModelSource::Bytes(&bytes), ONE).unwrap();
        let (input, output) = (&model.inputs()[0], &model.outputs()[0]);
        assert_eq!((input.name.as_str(), input.dtype, output.dtype), ("x", dtype, dtype));
        assert_eq!(input.dims, Some(vec![Dim::Symbol("n".into()), Dim::Known(2)]), "{dtype}");
        let back = run(&*model, std::slice::from_ref(&tensor)).unwrap();
        assert_eq!(back[0].shape(), tensor.shape(), "{dtype}");
        assert_eq!(back[0].bytes(), tensor.bytes(), "{dtype}");
        assert_eq!(back[0].view().strings(), tensor.view().strings(), "{dtype}");
        // No rows: no address that could be read.
        if dtype != DType::String {
            let none = Tensor::zeros(dtype, stead_tensor::Shape::new(&[0, 2]).unwrap()).unwrap();
            assert_eq!(run(&*model, &[none]).unwrap()[0].shape().dims(), [0, 2], "{dtype}");
        }
    }
}

#[test]
fn a_model_gives_what_it_gives_in_stead() {
    let Some(runtime) = runtime() else { return };
    let weights: Vec<f32> = (0..64).map(|i| (i as f32 * 0.37).sin()).collect();
    let model = ModelBuilder::new(17)
        .input("x", DType::F32, &["rows", "8"])
        .init("w", Tensor::from_slice(&weights, &[8, 8]).unwrap())
        .node("MatMul", &["x", "w"], &["p"])
        .node("Tanh", &["p"], &["h"])
        .node("Softmax", &["h"], &["y"])
        .output("h", DType::F32)
        .output("y", DType::F32)
        .bytes();
    let input = Tensor::from_slice(&weights[..24], &[3, 8]).unwrap();
    let other = runtime.load(ModelSource::Bytes(&model), ONE).unwrap();
    let theirs = run(&*other, std::slice::from_ref(&input)).unwrap();
    let own = Model::from_bytes(&model, None, &LoadOptions::default()).unwrap();
    let own = Session::new(own, &SessionOptions::default()).unwrap();
    let own = own.run(&[("x", input.view())], &[]).unwrap();
    for (own, theirs) in own.iter().zip(&theirs) {
        assert_eq!(own.shape(), theirs.shape());
        let (a, b) = (own.as_slice::<f32>().unwrap(), theirs.as_slice::<f32>().unwrap());
        let most = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(most < 1e-5 && b.iter().any(|v| *v != 0.0), "{most}");
    }
    // Only what is wanted is shown.
    let mut shown = Vec::new();
    let views = [Some(input.view())];
    other
        .run(&views, &[1], &|| false, &mut |place, view| shown.push((place, view.shape())))
        .unwrap();
    assert_eq!(shown, [(0, theirs[1].shape())]);
}

#[test]
fn mistakes_are_typed_and_leave_the_model_usable() {
    let Some(runtime) = runtime() else { return };
    let bytes = identity(DType::F32);
    let model = runtime.load(ModelSource::Bytes(&bytes), ONE).unwrap();
    let good = Tensor::from_slice(&[1f32, 2.0], &[1, 2]).unwrap();
    let cases = [
        ("rank", Tensor::from_slice(&[1f32], &[1]).unwrap()),
        ("size", Tensor::from_slice(&[1f32, 2.0, 3.0], &[1, 3]).unwrap()),
        ("type", Tensor::from_slice(&[1i64, 2], &[1, 2]).unwrap()),
    ];
    for (label, wrong) in cases {
        let error = run(&*model, &[wrong]).unwrap_err();
        assert!(matches!(error, BackendError::Input(_)), "{label}: {error:?}");
        assert!(run(&*model, std::slice::from_ref(&good)).is_ok(), "{label}");
    }
    let stopped = model.run(&[Some(good.view())], &[0], &|| true, &mut |_, _| {});
    assert_eq!(stopped, Err(BackendError::Cancelled));
    let refused =
        |bytes: &[u8]| runtime.load(ModelSource::Bytes(bytes), ONE).map(|_| ()).unwrap_err();
    assert!(matches!(refused(b"no model"), BackendError::Model(_)));
    let strings = runtime.load(ModelSource::Bytes(&identity(DType::String)), ONE).unwrap();
    let latin = Tensor::from_strings(vec![vec![0xe4], vec![]], &[1, 2]).unwrap();
    assert!(matches!(run(&*strings, &[latin]), Err(BackendError::Input(_))));
}

#[test]
fn sessions_are_shared_by_any_number_of_threads() {
    let Some(runtime) = runtime() else { return };
    let bytes = identity(DType::I64);
    let options = BackendOptions { runs: 2, ..ONE };
    let model = runtime.load(ModelSource::Bytes(&bytes), options).unwrap();
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8i64 {
            let (model, done) = (&model, &done);
            scope.spawn(move || {
                for turn in 0..50 {
                    let tensor = Tensor::from_slice(&[thread, turn], &[1, 2]).unwrap();
                    let back = run(&**model, std::slice::from_ref(&tensor)).unwrap();
                    assert_eq!(back[0].as_slice::<i64>().unwrap(), [thread, turn]);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(done.into_inner(), 400);
}

/// Products one after the other that take some tenths of a second.
fn slow() -> Vec<u8> {
    let weights: Vec<f32> = (0..512 * 512).map(|i| (i as f32 * 0.37).sin() / 16.0).collect();
    let mut model = ModelBuilder::new(17)
        .input("x", DType::F32, &["n", "512"])
        .init("w", Tensor::from_slice(&weights, &[512, 512]).unwrap());
    let names: Vec<String> = (0..=100).map(|at| format!("h{at}")).collect();
    model = model.node("Tanh", &["x"], &[&names[0]]);
    for pair in names.windows(2) {
        model = model.node("MatMul", &[&pair[0], "w"], &[&pair[1]]);
    }
    model.node("Tanh", &["h100"], &["y"]).output("y", DType::F32).bytes()
}

#[test]
fn a_run_ends_when_nobody_wants_it_any_more() {
    let Some(runtime) = runtime() else { return };
    let model = runtime.load(ModelSource::Bytes(&slow()), ONE).unwrap();
    let input = Tensor::from_slice(&[0.5f32; 2048 * 512], &[2048, 512]).unwrap();
    let asked = AtomicUsize::new(0);
    let after = |count: usize| {
        asked.store(0, Ordering::Relaxed);
        let cancelled = || asked.fetch_add(1, Ordering::Relaxed) > count;
        model.run(&[Some(input.view())], &[0], &cancelled, &mut |_, _| {})
    };
    // The first question is asked before it begins, the others while it goes on.
    for count in [1, 3] {
        assert_eq!(after(count), Err(BackendError::Cancelled), "{count}");
        assert_eq!(asked.load(Ordering::Relaxed), count + 3, "asked once more why the run failed");
    }
    let small = Tensor::from_slice(&[0.5f32; 512], &[1, 512]).unwrap();
    for _ in 0..3 {
        assert!(run(&*model, std::slice::from_ref(&small)).is_ok(), "the session is usable");
    }
    assert_eq!(after(2), Err(BackendError::Cancelled), "after quick ones too");
}

#[test]
fn providers_are_chosen_by_name_in_order() {
    let Some(runtime) = runtime() else { return };
    let bytes = identity(DType::F32);
    let named = |name| Provider { name, options: &[] };
    let load = |providers: &[Provider<'_>]| {
        let loaded = runtime.load(ModelSource::Bytes(&bytes), BackendOptions { providers, ..ONE });
        loaded.map(|_| ()).map_err(|error| error.to_string())
    };
    let cpu = named("CPUExecutionProvider");
    assert_eq!(load(&[cpu]), Ok(()));
    let told = [("a".to_owned(), "b".to_owned())];
    // The wheel for CPUs has none of these.
    let has = "the library has ";
    for (providers, name, why) in [
        (&[named("OpenVINOExecutionProvider"), cpu][..], "OpenVINOExecutionProvider", has),
        (&[named("CUDAExecutionProvider")], "CUDAExecutionProvider", has),
        (&[named("NoSuchExecutionProvider")], "NoSuchExecutionProvider", has),
        (&[cpu, named("AzureExecutionProvider")], cpu.name, "it is the last one"),
        (&[Provider { options: &told, ..cpu }], cpu.name, "takes no options"),
    ] {
        let error = load(providers).unwrap_err();
        let expected = format!("onnxruntime: execution provider {name}: ");
        assert!(error.starts_with(&expected) && error.contains(why), "{error}");
        assert!(why != has || error.ends_with("CPUExecutionProvider"), "{error}");
    }
}

#[test]
fn a_library_that_is_not_there_is_named() {
    let options = Options { library: "/nowhere/libonnxruntime.so".into(), threads: None };
    match OnnxRuntime::open(&options) {
        Err(LibraryError::Missing(path)) => assert!(path.ends_with("nowhere/libonnxruntime.so")),
        Err(LibraryError::Other(_)) => {} // another test of this process was first
        other => panic!("{other:?}"),
    }
}

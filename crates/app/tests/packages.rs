//! Whole packages with models.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use stead_app::application::Application;
use stead_app::application::rank::PackageModels;
use stead_app::package::{PackageFiles, Report};
use stead_app::services::ServicesOptions;
use stead_onnx::{ModelBuilder, ValueType, dims_of};
use stead_tensor::DType;

/// A model of inputs with dimensions and one output, which is never run.
fn model(inputs: &[(&str, [&str; 2])], output: (&str, [&str; 2])) -> Vec<u8> {
    let mut builder = ModelBuilder::new(17);
    for (name, dims) in inputs {
        builder = builder.input(name, DType::F32, dims);
    }
    let nodes =
        builder.node("Sum", &inputs.iter().map(|(n, _)| *n).collect::<Vec<_>>(), &[output.0]);
    let kind = ValueType::tensor(DType::F32, Some(dims_of(&output.1)));
    nodes.output_of(output.0, kind).bytes()
}

/// A copy of a package with models in its files.
fn package(name: &str, models: &[(&str, Vec<u8>)]) -> tempfile::TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/packages").join(name);
    let to = tempfile::tempdir().unwrap();
    let files = PackageFiles::open(&from).unwrap();
    for path in files.paths() {
        let file = to.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, files.text(path).unwrap()).unwrap();
    }
    for (path, bytes) in models {
        let file = to.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }
    to
}

/// What is wrong, and the types of functions, match features and phases by profile.
fn check(folder: &Path) -> (Vec<String>, Vec<String>) {
    let files = PackageFiles::open(folder).unwrap();
    let (application, mut report): (Application, Report) =
        Application::read(&files, ServicesOptions::default());
    let compiled = application.compile(&PackageModels::new(&files), &mut report);
    let mut types = Vec::new();
    for profile in
        compiled.values().flatten().filter(|p| p.name != "default" && p.name != "unranked")
    {
        for function in profile.functions.iter().chain(&profile.match_features) {
            types.push(format!("{} {}", function.name, function.compiled.kind()));
        }
        for phase in [&profile.first_phase, &profile.second_phase].into_iter().flatten() {
            types.push(format!("{} of {}", phase.kind(), phase.names().join(" ")));
        }
    }
    (report.diagnostics().iter().map(ToString::to_string).collect(), types)
}

#[test]
fn models_of_packages_have_types() {
    let ids = [("input_0", ["batch", "length"]), ("input_1", ["batch", "length"])];
    let two = [("input_0", ["1", "16"]), ("input_1", ["batch", "16"])];
    for (name, models, expected) in [
        (
            "reranker",
            vec![("files/my_model.onnx", model(&ids, ("output_0", ["batch", "1"])))],
            vec![
                "input_ids tensor<float>(d0[1],d1[128])",
                "attention_mask tensor<float>(d0[1],d1[128])",
                "double of closeness(field,text_embedding)",
                "double of onnx(my_model).score",
            ],
        ),
        (
            "bound",
            vec![("files/my_model.onnx", model(&two, ("output_0", ["batch", "16"])))],
            vec!["double of onnx(my_model)"],
        ),
        (
            "chain",
            vec![
                ("files/tower.onnx", model(&[("features", ["n", "16"])], ("hidden", ["n", "16"]))),
                (
                    "files/head.onnx",
                    model(
                        &[("user.vector", ["n", "8"]), ("hidden", ["n", "16"])],
                        ("score:0", ["n", "1"]),
                    ),
                ),
            ],
            vec![
                "document_part tensor<float>(d0[1],d1[16])",
                "document_part tensor<float>(d0[1],d1[16])",
                "double of onnx(tower).hidden",
                "double of onnx(head).score",
            ],
        ),
    ] {
        let folder = package(name, &models);
        let (diagnostics, types) = check(folder.path());
        assert_eq!(diagnostics, [""; 0], "{name}");
        assert_eq!(types, expected, "{name}");
    }
}

#[test]
fn what_does_not_fit_a_model_is_an_error() {
    for (label, models, expected) in [
        ("no model", vec![], "schemas/my_doc.sd:6:11: the package has no file files/my_model.onnx"),
        (
            "other size",
            vec![(
                "files/my_model.onnx",
                model(&[("input_0", ["1", "8"]), ("input_1", ["1", "8"])], ("o", ["1", "8"])),
            )],
            "schemas/my_doc.sd:14:24: input input_0 of onnx-model my_model expects size 8 of dimension d1, found a tensor<float>(d0[1],d1[16])",
        ),
        (
            "other input",
            vec![("files/my_model.onnx", model(&[("x", ["1", "8"])], ("o", ["1", "8"])))],
            "schemas/my_doc.sd:14:24: onnx-model my_model has no input input_0; it has x",
        ),
        (
            "open size",
            vec![(
                "files/my_model.onnx",
                model(&[("input_0", ["1", "16"]), ("input_1", ["1", "16"])], ("o", ["1", "hits"])),
            )],
            "schemas/my_doc.sd:14:24: warning: this expression has not been checked: dimension hits of output o of onnx-model my_model is not known before the model runs",
        ),
        (
            "no bytes of a model",
            vec![("files/my_model.onnx", b"text".to_vec())],
            "schemas/my_doc.sd:14:24: files/my_model.onnx: ",
        ),
    ] {
        let folder = package("bound", &models);
        let (diagnostics, _) = check(folder.path());
        assert!(diagnostics.iter().any(|d| d.starts_with(expected)), "{label}: {diagnostics:#?}");
    }
}

/// A field of a protobuf message: number, and bytes with their length.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
}

#[test]
fn weights_of_models_may_lie_in_files_beside_them() {
    let entry = |key: &[u8], value: &[u8]| field(13, &[field(1, key), field(2, value)].concat());
    // Two floats `w` in another file; a message that is written twice is one.
    let tensor = [
        vec![1 << 3, 2, 2 << 3, 1, 14 << 3, 1],
        field(8, b"w"),
        entry(b"location", b"weights/w.bin"),
    ];
    let weights = field(7, &field(5, &tensor.concat()));
    let bound = [("input_0", ["1", "16"]), ("input_1", ["1", "16"])];
    let model = [model(&bound, ("o", ["1", "16"])), weights].concat();
    let path = "files/my_model.onnx";
    let both = [(path, model.clone()), ("files/weights/w.bin", vec![0; 8])];
    let (diagnostics, types) = check(package("bound", &both).path());
    assert_eq!(diagnostics, [""; 0]);
    assert!(types.iter().any(|t| t.contains("onnx(my_model)")), "{types:?}");

    let expected = "sd:14:24: files/my_model.onnx: tensor \"w\": external data in \"weights/w.bin\" cannot be read: files/weights/w.bin: no such file";
    let (diagnostics, _) = check(package("bound", &[(path, model)]).path());
    assert!(diagnostics.iter().any(|d| d.ends_with(expected)), "{diagnostics:#?}");
}

use super::*;
use std::fs;
use std::path::Path;

/// A model whose tensor `w`, two floats, has its data at these entries.
fn model_with(entries: &[(&str, &str)]) -> Vec<u8> {
    let entries = entries.iter().map(|(key, value)| proto::StringStringEntryProto {
        key: Some((*key).to_owned()),
        value: Some((*value).to_owned()),
    });
    let tensor = proto::TensorProto {
        dims: vec![2],
        data_type: Some(1),
        data_location: Some(1),
        external_data: entries.collect(),
        ..Default::default()
    };
    model_of(graph_of(tensor)).encode_to_vec()
}

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("model");
    fs::create_dir_all(inner.join("sub")).unwrap();
    let floats: Vec<u8> = [9.0f32, 1.0, 2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    fs::write(inner.join("w.bin"), &floats).unwrap();
    fs::write(inner.join("sub/w.bin"), &floats).unwrap();
    fs::write(dir.path().join("secret.bin"), &floats).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink("w.bin", inner.join("inside.bin")).unwrap();
        symlink("../secret.bin", inner.join("outside.bin")).unwrap();
        symlink("..", inner.join("up")).unwrap();
    }
    dir
}

fn read_in(dir: &Path, entries: &[(&str, &str)]) -> Result<Vec<f32>, OnnxError> {
    let path = dir.join("model/model.onnx");
    fs::write(&path, model_with(entries)).unwrap();
    let model = Model::read(&path, &Limits::default())?;
    Ok(model.graph.initializers[0].1.as_slice::<f32>().unwrap().to_vec())
}

#[test]
fn data_beside_the_model() {
    let dir = folder();
    let cases: [(&[(&str, &str)], [f32; 2]); 5] = [
        (&[("location", "w.bin")], [9.0, 1.0]),
        (&[("location", "w.bin"), ("offset", "4")], [1.0, 2.0]),
        (&[("location", "w.bin"), ("offset", "4"), ("length", "8")], [1.0, 2.0]),
        (&[("location", "./sub/w.bin"), ("checksum", "?"), ("basepath", "/")], [9.0, 1.0]),
        (&[("location", "inside.bin")], [9.0, 1.0]),
    ];
    for (entries, expected) in cases {
        assert_eq!(read_in(dir.path(), entries).unwrap(), expected, "{entries:?}");
    }
}

#[test]
fn data_elsewhere_is_refused_without_a_path_of_the_server() {
    let dir = folder();
    let absolute = dir.path().join("secret.bin");
    let absolute = absolute.to_str().unwrap();
    let cases: [&[(&str, &str)]; 15] = [
        &[],
        &[("location", "")],
        &[("location", "missing.bin")],
        &[("location", "../secret.bin")],
        &[("location", "sub/../../secret.bin")],
        &[("location", "..\\secret.bin")],
        &[("location", absolute)],
        &[("location", "outside.bin")],
        &[("location", "up/secret.bin")],
        &[("location", "sub")],
        &[("location", "w.bin"), ("offset", "8")],
        &[("location", "w.bin"), ("offset", "-4")],
        &[("location", "w.bin"), ("offset", "18446744073709551615")],
        &[("location", "w.bin"), ("length", "12")],
        &[("location", "nul\0.bin")],
    ];
    for entries in cases {
        let err = read_in(dir.path(), entries).unwrap_err();
        assert!(matches!(err, OnnxError::ExternalData { .. }), "{entries:?}: {err}");
        let place = dir.path().to_str().unwrap();
        let told = entries.iter().any(|(_, value)| value.contains(place));
        assert!(told || !err.to_string().contains(place), "{err}");
    }
}

#[test]
fn without_a_folder_there_is_no_external_data() {
    let err = Model::from_bytes(&model_with(&[("location", "w.bin")]), None).unwrap_err();
    assert_eq!(
        err.to_string(),
        "tensor \"w\": external data is not allowed, for the model has no folder"
    );
}

#[test]
fn data_that_is_found_elsewhere() {
    let find = |location: &str| match location {
        "w.bin" | "sub/w.bin" => {
            Ok([9.0f32, 1.0, 2.0].iter().flat_map(|v| v.to_le_bytes()).collect())
        }
        _ => Err("no such file".to_owned()),
    };
    let read = |entries: &[(&str, &str)]| {
        let model = Model::from_files(&model_with(entries), &find, &Limits::default())?;
        Ok::<_, OnnxError>(model.graph.initializers[0].1.as_slice::<f32>().unwrap().to_vec())
    };
    assert_eq!(read(&[("location", "w.bin"), ("offset", "4")]).unwrap(), [1.0, 2.0]);
    assert_eq!(read(&[("location", "sub/w.bin")]).unwrap(), [9.0, 1.0]);
    for (location, offset, reason) in [
        ("x.bin", "0", "in \"x.bin\" cannot be read: no such file"),
        ("../w.bin", "0", "\"../w.bin\" leaves the model's folder"),
        ("/w.bin", "0", "\"/w.bin\" leaves the model's folder"),
        ("w.bin", "8", "ends beyond \"w.bin\": 8 bytes at offset 8 of 12"),
    ] {
        let error = read(&[("location", location), ("offset", offset)]).unwrap_err().to_string();
        assert_eq!(error, format!("tensor \"w\": external data {reason}"));
    }
}

#[test]
fn files_that_a_model_needs() {
    let of = |entries: &[(&str, &str)]| {
        let found = crate::external_files(&model_with(entries), &Limits::default());
        found.map_err(|error| error.to_string())
    };
    assert_eq!(of(&[("location", "sub/w.bin"), ("offset", "4")]), Ok(vec!["sub/w.bin".to_owned()]));
    for (entries, reason) in [
        (&[("location", "../w.bin")][..], "\"../w.bin\" leaves the model's folder"),
        (&[("location", "/w.bin")], "\"/w.bin\" leaves the model's folder"),
        (&[], "has no location"),
    ] {
        assert_eq!(of(entries), Err(format!("tensor \"w\": external data {reason}")));
    }
    let whole = proto::TensorProto { data_location: None, ..Default::default() };
    let whole = model_of(graph_of(whole)).encode_to_vec();
    assert_eq!(crate::external_files(&whole, &Limits::default()).unwrap(), [""; 0]);
    assert!(crate::external_files(b"no model", &Limits::default()).is_err());
}

#[test]
fn the_same_range_read_again_and_again_is_bounded() {
    let dir = folder();
    let model = model_with(&[("location", "w.bin")]);
    let path = dir.path().join("model/model.onnx");
    fs::write(&path, &model).unwrap();
    let limits = Limits { total_bytes: model.len() as u64 + 7, ..Limits::default() };
    assert!(matches!(Model::read(&path, &limits), Err(OnnxError::Limit { .. })));
}

#[test]
fn files_that_are_none() {
    let dir = folder();
    for name in ["missing.onnx", "sub"] {
        let err = Model::read(&dir.path().join("model").join(name), &Limits::default());
        assert!(matches!(err, Err(OnnxError::Io { .. })), "{name}");
    }
}

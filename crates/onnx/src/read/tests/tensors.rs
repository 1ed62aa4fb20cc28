use super::*;
use stead_tensor::{DType, Tensor};

fn proto_of(dtype: DType, dims: &[i64]) -> proto::TensorProto {
    proto::TensorProto {
        dims: dims.to_vec(),
        data_type: Some(dtype.onnx_number()),
        ..Default::default()
    }
}

fn read_tensor(tensor: proto::TensorProto) -> Result<Tensor, OnnxError> {
    let model = read(&model_of(graph_of(tensor)))?;
    Ok(model.graph.initializers.into_iter().next().unwrap().1)
}

#[test]
fn typed_fields_hold_the_same_as_raw_data() {
    use DType::*;
    let int32 = |dtype, values: &[i32], count: i64| proto::TensorProto {
        int32_data: values.to_vec(),
        ..proto_of(dtype, &[count])
    };
    let uint64 = |dtype, values: &[u64]| proto::TensorProto {
        uint64_data: values.to_vec(),
        ..proto_of(dtype, &[values.len() as i64])
    };
    let float = |dtype, values: &[f32], count| proto::TensorProto {
        float_data: values.to_vec(),
        ..proto_of(dtype, &[count])
    };
    let double = |dtype, values: &[f64], count| proto::TensorProto {
        double_data: values.to_vec(),
        ..proto_of(dtype, &[count])
    };
    let int64 = proto::TensorProto { int64_data: vec![-2, 1 << 40], ..proto_of(I64, &[2]) };
    let floats: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let doubles: Vec<u8> = [1.5f64, -2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let longs: Vec<u8> = [-2i64, 1 << 40].iter().flat_map(|v| v.to_le_bytes()).collect();
    let cases: [(proto::TensorProto, &[u8]); 22] = [
        (float(F32, &[1.5, -2.0], 2), &floats),
        (float(C64, &[1.5, -2.0], 1), &floats),
        (double(F64, &[1.5, -2.0], 2), &doubles),
        (double(C128, &[1.5, -2.0], 1), &doubles),
        (int64, &longs),
        (uint64(U64, &[u64::MAX]), &[255; 8]),
        (uint64(U32, &[7, 1 << 31]), &[7, 0, 0, 0, 0, 0, 0, 128]),
        (int32(I32, &[-1], 1), &[255; 4]),
        (int32(I16, &[-2, 256], 2), &[254, 255, 0, 1]),
        (int32(U16, &[65535], 1), &[255, 255]),
        (int32(F16, &[0x3c00], 1), &[0, 0x3c]),
        (int32(BF16, &[0x3f80], 1), &[0x80, 0x3f]),
        (int32(I8, &[-128, 127], 2), &[128, 127]),
        (int32(U8, &[0, 255], 2), &[0, 255]),
        (int32(Bool, &[0, 1, 7], 3), &[0, 1, 1]),
        (int32(F8E4M3FN, &[0x38], 1), &[0x38]),
        (int32(F8E8M0, &[127], 1), &[127]),
        (int32(U4, &[0x21, 0x03], 3), &[0x21, 0x03]),
        (int32(I4, &[-1], 2), &[255]),
        (int32(F4E2M1, &[0x76], 2), &[0x76]),
        (int32(I2, &[0xe4, 0x01], 5), &[0xe4, 0x01]),
        (int32(F32, &[], 0), &[]),
    ];
    for (typed, bytes) in cases {
        let label = format!("{:?} {:?}", typed.data_type, typed.dims);
        let raw = proto::TensorProto {
            raw_data: Some(bytes.to_vec().into()),
            ..proto_of(DType::from_onnx_number(typed.data_type()).unwrap(), &typed.dims)
        };
        let typed = read_tensor(typed).expect(&label);
        assert_eq!(typed.bytes(), bytes, "{label}");
        assert_eq!(typed, read_tensor(raw).expect(&label), "{label}");
    }
}

#[test]
fn strings() {
    let tensor = proto::TensorProto {
        string_data: vec![b"a".to_vec(), vec![0xff], vec![]],
        ..proto_of(DType::String, &[3])
    };
    let tensor = read_tensor(tensor).unwrap();
    assert_eq!(tensor.view().strings(), [b"a".to_vec(), vec![0xff], vec![]]);
}

#[test]
fn contradictions_name_the_tensor() {
    use DType::*;
    let raw = |dtype, dims: &[i64], len: usize| proto::TensorProto {
        raw_data: Some(vec![0; len].into()),
        ..proto_of(dtype, dims)
    };
    let ints = |dtype, dims: &[i64], values: &[i32]| proto::TensorProto {
        int32_data: values.to_vec(),
        ..proto_of(dtype, dims)
    };
    let segment = proto::TensorProto { segment: Some(Default::default()), ..raw(F32, &[1], 4) };
    let unknown = proto::TensorProto { data_type: Some(99), ..raw(F32, &[1], 4) };
    let cases = [
        (raw(F32, &[3], 8), "tensor \"w\": 12 bytes expected, got 8"),
        (raw(I4, &[3], 1), "tensor \"w\": 2 bytes expected, got 1"),
        (raw(F32, &[2], 0), "tensor \"w\": 2 elements expected, got 0"),
        (raw(F32, &[-1], 4), "tensor \"w\": -1 is no dimension"),
        (
            raw(F32, &[16, (1 << 60) + 2], 4),
            "tensor \"w\": shape [16, 1152921504606846978] has too many elements",
        ),
        (raw(F32, &[1; 9], 4), "tensor \"w\": rank 9 is above the limit of 8"),
        (raw(String, &[1], 4), "tensor \"w\": strings cannot be raw data"),
        (ints(I8, &[1], &[128]), "tensor \"w\": 128 is out of range"),
        (ints(U8, &[1], &[-1]), "tensor \"w\": -1 is out of range"),
        (ints(I32, &[2], &[1]), "tensor \"w\": 2 elements expected, got 1"),
        (ints(F32, &[1], &[1]), "tensor \"w\": 1 elements expected, got 0"),
        (proto_of(String, &[2]), "tensor \"w\": 2 elements expected, got 0"),
        (segment, "tensor \"w\": segments are not supported"),
        (unknown, "tensor \"w\": unknown element type 99"),
        (proto::TensorProto::default(), "tensor \"w\": unknown element type 0"),
    ];
    for (tensor, expected) in cases {
        assert_eq!(read_tensor(tensor).unwrap_err().to_string(), expected);
    }
}

#[test]
fn weights_share_the_files_buffer_and_are_aligned() {
    let mut graph = proto::GraphProto::default();
    // Names of all lengths shift the data to all alignments.
    for i in 0..40usize {
        let values: Vec<f64> = (0..=i).map(|v| v as f64).collect();
        let view = Tensor::from_slice(&values, &[i + 1]).unwrap();
        graph.initializer.push(crate::encode::tensor(&"n".repeat(i + 1), &view.view()));
    }
    let model = read(&model_of(graph)).unwrap();
    for (i, (name, tensor)) in model.graph.initializers.iter().enumerate() {
        assert!(tensor.is_shared(), "{name}");
        let expected: Vec<f64> = (0..=i).map(|v| v as f64).collect();
        assert_eq!(tensor.as_slice::<f64>().unwrap(), expected, "{name}");
    }
}

#[test]
fn sparse_tensors_become_dense() {
    let values = |count: i64| proto::TensorProto {
        name: Some("s".to_owned()),
        float_data: (1..=count).map(|v| v as f32).collect(),
        ..proto_of(DType::F32, &[count])
    };
    let indices = |dims: &[i64], data: &[i64]| proto::TensorProto {
        int64_data: data.to_vec(),
        ..proto_of(DType::I64, dims)
    };
    let read_sparse = |count, dims: &[i64], data: &[i64], shape: &[i64]| {
        let sparse = proto::SparseTensorProto {
            values: Some(values(count)),
            indices: Some(indices(dims, data)),
            dims: shape.to_vec(),
        };
        let graph = proto::GraphProto { sparse_initializer: vec![sparse], ..Default::default() };
        let model = read(&model_of(graph))?;
        let (name, tensor) = model.graph.initializers.into_iter().next().unwrap();
        assert_eq!(name, "s");
        Ok::<_, OnnxError>(tensor.as_slice::<f32>().unwrap().to_vec())
    };
    let dense = Ok(vec![0.0, 1.0, 0.0, 0.0, 0.0, 2.0]);
    assert_eq!(read_sparse(2, &[2], &[1, 5], &[2, 3]), dense, "linear");
    assert_eq!(read_sparse(2, &[2, 2], &[0, 1, 1, 2], &[2, 3]), dense, "coordinates");
    assert_eq!(read_sparse(0, &[0], &[], &[2]), Ok(vec![0.0, 0.0]), "empty");
    let cases: [(&str, i64, &[i64], &[i64], &[i64]); 7] = [
        ("beyond", 1, &[1], &[6], &[2, 3]),
        ("negative", 1, &[1], &[-1], &[2, 3]),
        ("column beyond", 1, &[1, 2], &[0, 3], &[2, 3]),
        ("twice", 2, &[2], &[1, 1], &[2, 3]),
        ("too few indices", 2, &[1], &[1], &[2, 3]),
        ("wrong rank", 1, &[1, 3], &[0, 0, 0], &[2, 3]),
        ("above the limit when dense", 1, &[1], &[0], &[1 << 40]),
    ];
    for (label, count, dims, data, shape) in cases {
        assert!(read_sparse(count, dims, data, shape).is_err(), "{label}");
    }
}

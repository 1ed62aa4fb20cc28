//! Models to files.

use crate::error::{OnnxError, io};
use crate::{Model, encode, proto};
use prost::Message;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use stead_tensor::{DType, Tensor};

/// Where the weights of a file lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weights {
    /// In the file, which cannot be larger than 2 GB.
    Inside,
    /// In a second file beside it, whose name is that of the first with `.data` behind it. Small ones stay inside.
    Beside,
}

/// The most bytes of weights inside of a file: messages of protobuf end at 2 GiB, and the graph has to fit too.
const MOST_INSIDE: u64 = 1_900_000_000;

/// Weights below this size are inside in any case.
const SMALL: usize = 1024;

/// Where weights begin in the second file: pages, so that it can be mapped.
const ALIGNMENT: u64 = 4096;

impl Weights {
    /// Where those of a model fit.
    pub fn of(model: &Model) -> Weights {
        let bytes = |(_, tensor): &(String, Tensor)| tensor.bytes().len() as u64;
        let total: u64 = model.graph.initializers.iter().map(bytes).sum();
        if total > MOST_INSIDE { Weights::Beside } else { Weights::Inside }
    }
}

impl Model {
    /// Writes the model to a file, and gives the bytes that it takes on disk, those of the second file among them.
    ///
    /// # Errors
    /// [`OnnxError::Io`]; [`OnnxError::Limit`] for weights that do not fit inside.
    pub fn write(&self, path: &Path, weights: Weights) -> Result<u64, OnnxError> {
        let failed = io("the model file");
        let (bytes, beside) = match weights {
            Weights::Inside => {
                let length: u64 =
                    self.graph.initializers.iter().map(|(_, t)| t.bytes().len() as u64).sum();
                crate::error::check_limit("weights inside of a file", length, MOST_INSIDE)?;
                (self.to_bytes(), 0)
            }
            Weights::Beside => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let location = format!("{name}.data");
                let (initializers, length) =
                    self.write_weights(&path.with_file_name(&location), &location)?;
                (encode::model(self, initializers).encode_to_vec(), length)
            }
        };
        let mut file = File::create(path).map_err(&failed)?;
        file.write_all(&bytes).map_err(&failed)?;
        Ok(bytes.len() as u64 + beside)
    }

    /// Writes the large weights to a file and gives all of them as the model file tells of them.
    fn write_weights(
        &self,
        path: &Path,
        location: &str,
    ) -> Result<(Vec<proto::TensorProto>, u64), OnnxError> {
        let failed = io("the file of weights");
        let mut file = BufWriter::new(File::create(path).map_err(&failed)?);
        let (mut initializers, mut at) = (Vec::new(), 0u64);
        for (name, tensor) in &self.graph.initializers {
            let bytes = tensor.bytes();
            if bytes.len() < SMALL || tensor.dtype() == DType::String {
                initializers.push(encode::tensor(name, &tensor.view()));
                continue;
            }
            let start = at.next_multiple_of(ALIGNMENT);
            let gap = [0u8; ALIGNMENT as usize];
            let gap = gap.get(..(start - at) as usize).unwrap_or_default();
            file.write_all(gap).and_then(|()| file.write_all(bytes)).map_err(&failed)?;
            initializers.push(beside(name, tensor, location, start));
            at = start + bytes.len() as u64;
        }
        file.flush().map_err(&failed)?;
        Ok((initializers, at))
    }
}

fn beside(name: &str, tensor: &Tensor, location: &str, offset: u64) -> proto::TensorProto {
    let length = tensor.bytes().len().to_string();
    let entries = [("location", location), ("offset", &offset.to_string()), ("length", &length)];
    let entry = |(key, value): (&str, &str)| proto::StringStringEntryProto {
        key: Some(key.to_owned()),
        value: Some(value.to_owned()),
    };
    proto::TensorProto {
        name: Some(name.to_owned()),
        data_type: Some(tensor.dtype().onnx_number()),
        dims: tensor.shape().iter().map(|&d| d as i64).collect(),
        data_location: Some(proto::tensor_proto::DataLocation::External as i32),
        external_data: entries.map(entry).into(),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, ModelBuilder};

    #[test]
    fn what_is_written_is_read_again() {
        let numbers = |n: usize| (0..n).map(|i| i as f32).collect::<Vec<f32>>();
        let model = ModelBuilder::new(17)
            .input("x", DType::F32, &["n", "300"])
            .init("small", Tensor::from_slice(&numbers(300), &[300]).unwrap())
            .init("w", Tensor::from_slice(&numbers(300 * 5), &[300, 5]).unwrap())
            .init("v", Tensor::from_slice(&numbers(5 * 301), &[5, 301]).unwrap())
            .node("Add", &["x", "small"], &["s"])
            .node("MatMul", &["s", "w"], &["p"])
            .node("MatMul", &["p", "v"], &["y"])
            .output("y", DType::F32)
            .build()
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        for (name, weights) in [("inside.onnx", Weights::Inside), ("beside.onnx", Weights::Beside)]
        {
            let path = folder.path().join(name);
            let length = model.write(&path, weights).unwrap();
            let size = |path: &Path| std::fs::metadata(path).map_or(0, |m| m.len());
            let data = folder.path().join(format!("{name}.data"));
            assert_eq!(length, size(&path) + size(&data), "{name}");
            assert_eq!(data.exists(), weights == Weights::Beside);
            assert_eq!(Model::read(&path, &Limits::default()).unwrap(), model, "{name}");
        }
        assert_eq!(Weights::of(&model), Weights::Inside);
        let nowhere = folder.path().join("no/such/folder.onnx");
        assert!(matches!(model.write(&nowhere, Weights::Inside), Err(OnnxError::Io { .. })));
    }
}

//! Tables: large weights of which a run reads the rows that it is asked for.
//!
//! They [wait on a disk](AlignedBuf::aside) where there is one. As much memory as their rows in use take is what they cost then, and to
//! copy them there takes half of the time that it takes to read them.

use crate::proto;
use prost::Message;
use std::collections::HashSet;
use std::io;
use std::ops::Range;
use stead_tensor::{AlignedBuf, Aside};

/// Bytes from which a table is put aside: what is smaller is no gain beside the memory of a process, and faster on huge pages.
pub(super) const LARGE: usize = 16 << 20;

/// Operators that read rows, and the inputs that they read them from.
const READERS: [(&str, Range<usize>); 4] = [
    ("Gather", 0..1),
    ("GatherND", 0..1),
    ("GatherBlockQuantized", 0..1),
    ("EmbedLayerNormalization", 2..5),
];

/// The names of values that rows are read from.
#[derive(Default)]
pub(crate) struct Tables(HashSet<String>);

impl Tables {
    /// Of these nodes and their subgraphs, whose depth is that of the decoder.
    pub(super) fn of(nodes: &[proto::NodeProto]) -> Tables {
        let mut tables = Tables::default();
        nodes.iter().for_each(|node| tables.add(node));
        tables
    }

    fn add(&mut self, node: &proto::NodeProto) {
        if let Some((_, at)) = READERS.iter().find(|(op_type, _)| *op_type == node.op_type()) {
            self.0.extend(node.input.iter().take(at.end).skip(at.start).cloned());
        }
        for attribute in &node.attribute {
            let graphs = attribute.g.iter().map(AsRef::as_ref).chain(&attribute.graphs);
            graphs.flat_map(|graph| &graph.node).for_each(|node| self.add(node));
        }
    }

    /// Of the nodes in these bytes; those that are none are for the decoder to judge.
    pub(super) fn in_bytes<'a>(nodes: impl IntoIterator<Item = &'a [u8]>) -> Tables {
        let mut tables = Tables::default();
        let nodes = nodes.into_iter().filter_map(|bytes| proto::NodeProto::decode(bytes).ok());
        nodes.for_each(|node| tables.add(&node));
        tables
    }

    /// The buffer of `len` bytes that `fill` writes, if a value of this name is a large table and there is a disk for it.
    pub(super) fn aside(
        &self,
        name: &str,
        len: usize,
        fill: impl FnOnce(&mut Aside) -> io::Result<()>,
    ) -> Option<io::Result<AlignedBuf>> {
        let is_table = len >= LARGE && self.0.contains(name);
        is_table.then(|| AlignedBuf::aside(len, fill)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Model, ModelBuilder, OnnxError, Weights};
    use stead_tensor::{DType, Tensor};

    /// A model that picks rows of a table of 16 MiB and a row, and adds another matrix of its size.
    fn model() -> ModelBuilder {
        let matrix = |first: i64| {
            let values: Vec<i64> = (first..first + (LARGE as i64 / 8) + 64).collect();
            Tensor::from_slice(&values, &[values.len() / 64, 64]).unwrap()
        };
        ModelBuilder::new(17)
            .input("ids", DType::I64, &["n"])
            .init("matrix", matrix(1))
            .init("table", matrix(7))
            .node("Gather", &["table", "ids"], &["rows"])
            .node("Add", &["rows", "matrix"], &["y"])
            .output("y", DType::I64)
    }

    /// Whether the elements of a tensor lie in a file without a name.
    #[cfg(target_os = "linux")]
    fn mapped(tensor: &Tensor) -> bool {
        let at = tensor.bytes().as_ptr() as usize;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().filter(|line| line.ends_with("(deleted)")).any(|line| {
            let number = |text: &str| usize::from_str_radix(text, 16).unwrap();
            let (from, to) =
                line.split(' ').next().and_then(|range| range.split_once('-')).unwrap();
            (number(from)..number(to)).contains(&at)
        })
    }

    #[cfg(target_os = "linux")]
    fn check(label: &str, read: Result<Model, OnnxError>) {
        let (read, expected) = (read.unwrap(), Model::from_bytes(&model().bytes(), None).unwrap());
        assert!(read == expected, "{label}: another model");
        // Somebody who tests may have no disk for such files.
        let has_disk = AlignedBuf::aside(LARGE, |_| Ok(())).is_some();
        for (name, tensor) in &read.graph.initializers {
            assert_eq!(mapped(tensor), has_disk && name == "table", "{label}: {name}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn tables_lie_on_a_disk_and_other_weights_in_memory() {
        let (bytes, limits) = (model().bytes(), Limits::default());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        check("a file", Model::read(file.path(), &limits));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.onnx");
        Model::from_bytes(&bytes, None).unwrap().write(&path, Weights::Beside).unwrap();
        check("a file beside", Model::read(&path, &limits));
        check("bytes", Model::from_reader(&*bytes, bytes.len() as u64, None, &limits));
    }
}

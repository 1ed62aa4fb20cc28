//! Reads a file once from front to back into [`Buffers`].

use super::{MODEL_FILE, buffers::Buffers, scan, tables, tables::Tables};
use crate::{Limits, OnnxError, error, proto};
use prost::Message;
use prost::encoding::encoded_len_varint;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use stead_tensor::AlignedBuf;

/// The least bytes of a weight that get a buffer of their own: far more than what the buffer costs, and few
/// weights of real models below it.
const LARGE: usize = 32 << 10;

/// Reads `len` bytes.
///
/// # Errors
/// [`OnnxError::Io`], [`OnnxError::Memory`], and [`OnnxError::Limit`] for what the model costs to decode.
pub(super) fn read(reader: impl Read, len: u64, limits: &Limits) -> Result<Buffers, OnnxError> {
    read_parts(reader, None, len, LARGE, limits)
}

/// As [`read`] from a file; the system writes large weights where they stay.
pub(super) fn read_file(file: &File, len: u64, limits: &Limits) -> Result<Buffers, OnnxError> {
    read_parts(file, Some(file), len, LARGE, limits)
}

/// As [`read`], where weights of `large` bytes or more get buffers of their own. `file` is what the reader reads, if it is a file.
fn read_parts(
    reader: impl Read,
    file: Option<&File>,
    len: u64,
    large: usize,
    limits: &Limits,
) -> Result<Buffers, OnnxError> {
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let mut stream = Stream {
        reader: BufReader::with_capacity(1 << 16, reader),
        file,
        main: Vec::new(),
        weights: Vec::new(),
        large,
        len,
        position: 0,
        nodes: Vec::new(),
        tensor: 0,
        tables: None,
        failure: None,
    };
    scan::check(&mut stream, len, limits.decoded_bytes)?;
    // What the walk did not understand is for the decoder to judge.
    stream.skip_all(len.saturating_sub(stream.position));
    if let Some(failure) = stream.failure {
        return Err(failure);
    }
    let main = AlignedBuf::copy_of(&stream.main).map_err(error::memory(MODEL_FILE))?;
    Ok(Buffers::new(main, stream.weights))
}

struct Stream<'a, R> {
    reader: BufReader<R>,
    file: Option<&'a File>,
    main: Vec<u8>,
    weights: Vec<(usize, AlignedBuf)>,
    large: usize,
    /// The length that the file is said to have; the walk may look for more.
    len: usize,
    position: usize,
    /// The graph's nodes in the main buffer, which come before its weights in what protobuf writes.
    nodes: Vec<Range<usize>>,
    /// Where the last of the graph's tensors begins there.
    tensor: usize,
    /// Which of the graph's tensors are tables, once a large one has come.
    tables: Option<Tables>,
    /// The first error, after which the stream has ended.
    failure: Option<OnnxError>,
}

impl<R: Read> Stream<'_, R> {
    fn fail<T>(&mut self, failure: OnnxError) -> Option<T> {
        self.failure.get_or_insert(failure);
        None
    }

    fn io<T>(&mut self, result: std::io::Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(e) => self.fail(error::io(MODEL_FILE)(e)),
        }
    }

    /// Moves `len` bytes to the main buffer.
    fn skip_all(&mut self, len: usize) -> bool {
        if self.failure.is_some() {
            return false;
        }
        // What the file is said to have is reserved in steps, for it may have shrunk since.
        let read = (&mut self.reader).take(len as u64).read_to_end(&mut self.main);
        let Some(read) = self.io(read) else { return false };
        self.position += read;
        if read < len {
            self.fail::<()>(error::io(MODEL_FILE)(std::io::ErrorKind::UnexpectedEof.into()));
        }
        read == len
    }

    /// Reads `len` bytes into a buffer of their own.
    fn weight(&mut self, len: usize) -> Option<()> {
        // Where it lies within a node, the node is not whole.
        self.nodes.pop_if(|node| node.end > self.main.len());
        let aside = self.aside(len);
        let (reader, file) = (&mut self.reader, self.file);
        let read = match aside {
            Some(read) => Ok(read),
            None => AlignedBuf::filled(len, |room| match file {
                Some(file) => {
                    // The file stands behind what was read ahead.
                    room.read(reader.buffer().len(), &mut *reader)?;
                    room.read_file(file)
                }
                None => room.read(len, reader),
            }),
        };
        let buffer = match read.map_err(error::memory(MODEL_FILE)) {
            Ok(read) => self.io(read)?,
            Err(failure) => return self.fail(failure),
        };
        self.position += len;
        self.weights.push((self.main.len(), buffer));
        Some(())
    }

    /// The next `len` bytes if they are a table that can lie on a disk.
    fn aside(&mut self, len: usize) -> Option<std::io::Result<AlignedBuf>> {
        if len < tables::LARGE {
            return None;
        }
        // Before the tag of the data, a byte, and its length stand the tensor's type, shape and name.
        let end = self.main.len().checked_sub(1 + encoded_len_varint(len as u64))?;
        let tensor = proto::TensorProto::decode(self.main.get(self.tensor..end)?).ok()?;
        let (main, nodes) = (&self.main, &self.nodes);
        let in_bytes = || Tables::in_bytes(nodes.iter().filter_map(|node| main.get(node.clone())));
        let tables = self.tables.get_or_insert_with(in_bytes);
        let (reader, file) = (&mut self.reader, self.file);
        tables.aside(tensor.name(), len, |room| match file {
            Some(file) => {
                room.read(reader.buffer().len(), &mut *reader)?;
                room.read(len, file)
            }
            None => room.read(len, reader),
        })
    }
}

impl<R: Read> scan::Input for Stream<'_, R> {
    fn byte(&mut self) -> Option<u8> {
        if self.failure.is_some() || self.position >= self.len {
            return None;
        }
        let byte = self.reader.fill_buf().map(|bytes| bytes.first().copied());
        let Some(byte) = self.io(byte)? else {
            return self.fail(error::io(MODEL_FILE)(std::io::ErrorKind::UnexpectedEof.into()));
        };
        self.reader.consume(1);
        self.main.push(byte);
        self.position += 1;
        Some(byte)
    }

    fn skip(&mut self, len: usize) -> bool {
        len <= self.len.saturating_sub(self.position) && self.skip_all(len)
    }

    fn weights(&mut self, len: usize) -> bool {
        if len < self.large { self.skip(len) } else { self.weight(len).is_some() }
    }

    fn message(&mut self, kind: scan::Kind, depth: usize, len: usize) {
        // The model has the graph, and that its nodes and tensors.
        match (kind, depth) {
            (scan::Kind::Node, 2) => {
                self.nodes.push(self.main.len()..self.main.len().saturating_add(len));
            }
            (scan::Kind::Tensor, 2) => self.tensor = self.main.len(),
            _ => {}
        }
    }

    fn position(&self) -> usize {
        self.position
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Model, ModelBuilder};
    use prost::bytes::Buf;
    use stead_tensor::{DType, Tensor};

    /// A model with weights of 4, 40 000 and 80 000 bytes.
    fn file() -> Vec<u8> {
        let mut model = ModelBuilder::new(17).input("x", DType::F32, &["n"]);
        for (name, len) in [("a", 1), ("b", 10_000), ("c", 20_000)] {
            let values: Vec<f32> = (0..len).map(|v| v as f32).collect();
            model = model.init(name, Tensor::from_slice(&values, &[len]).unwrap());
        }
        model.node("Sum", &["x", "a", "b", "c"], &["y"]).output("y", DType::F32).bytes()
    }

    #[test]
    fn large_weights_get_buffers_of_their_own() {
        let bytes = file();
        let buffers = read(&*bytes, bytes.len() as u64, &Limits::default()).unwrap();
        assert_eq!(buffers.len(), bytes.len() as u64);
        assert!(buffers.main_bytes().len() < 500, "{} bytes", buffers.main_bytes().len());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        let model = Model::read(file.path(), &Limits::default()).unwrap();
        assert_eq!(model, Model::from_bytes(&bytes, None).unwrap());
        for (name, tensor) in &model.graph.initializers {
            assert!(tensor.is_shared(), "{name} is not copied");
        }
    }

    #[test]
    fn whatever_the_file_its_parts_hold_the_same_model() {
        let bytes = crate::read::tests::sample();
        for at in 0..bytes.len() {
            for byte in [0, 0x0a, 0x4a, 0x7f, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = byte;
                let len = changed.len() as u64;
                let parts = read_parts(&*changed, None, len, 1, &Limits::default()).unwrap();
                let mut rope = parts.rope();
                assert_eq!(rope.copy_to_bytes(rope.remaining()), changed);
                let model = crate::read::decode(parts, None, &Limits::default());
                assert_eq!(model, Model::from_bytes(&changed, None), "{byte} at {at}");
            }
        }
    }

    #[test]
    fn a_file_that_shrinks_while_it_is_read() {
        let bytes = file();
        for cut in [0, 1, 100, 30_000, bytes.len() - 1] {
            let err = read(&bytes[..cut], bytes.len() as u64, &Limits::default()).err();
            let kind = std::io::ErrorKind::UnexpectedEof;
            assert_eq!(err, Some(OnnxError::Io { what: MODEL_FILE.to_owned(), kind }), "{cut}");
        }
    }

    #[test]
    fn malformed_files_are_read_to_the_end_and_left_to_the_decoder() {
        let bytes = [&[0xff; 10][..], &[0; 1000]].concat();
        let buffers = read(&*bytes, bytes.len() as u64, &Limits::default()).unwrap();
        assert_eq!(buffers.main_bytes(), bytes);
    }
}

//! The inputs of a network: how a value becomes a tensor of its element type and rank.

use stead_app::application::rank::SourceType;
use stead_app::schema::FieldType;
use stead_engine::IoSpec;
use stead_expr::{Label, Numbers, TensorType, Value};
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

use super::convert::{Unfit, write};

/// An input of a network.
#[derive(Debug, Clone)]
pub(super) struct Port {
    /// Its name in the file.
    pub(super) name: String,
    pub(super) dtype: DType,
    /// The dimensions, if the file tells how many.
    rank: Option<usize>,
    pub(super) kind: SourceType,
}

/// The size of the value of one document, where it is always the same.
pub(super) fn dense_shape(kind: &TensorType) -> Option<Vec<usize>> {
    (kind.is_dense() && kind.is_bound()).then(|| kind.indexed().map(|(_, size)| size).collect())
}

impl Port {
    pub(super) fn new(spec: &IoSpec, kind: SourceType) -> Port {
        let rank = spec.dims.as_ref().map(Vec::len);
        Port { name: spec.name.clone(), dtype: spec.dtype, rank, kind }
    }

    /// The shape of a value, if it is always the same.
    pub(super) fn shape(&self) -> Option<Vec<usize>> {
        match &self.kind {
            SourceType::Tensor(kind) => dense_shape(kind),
            SourceType::Field(FieldType::Array(_)) => None,
            SourceType::Field(_) | SourceType::Text => Some(vec![1; self.rank.unwrap_or(0)]),
        }
    }

    /// The shape of a list of so many elements: they stand along the last axis.
    pub(super) fn list_shape(&self, count: usize) -> Vec<usize> {
        let mut shape = vec![1; self.rank.unwrap_or(1).max(1)];
        if let Some(last) = shape.last_mut() {
            *last = count;
        }
        shape
    }

    /// The tensor of a value.
    pub(super) fn tensor(&self, value: &Value, is_rounded: bool) -> Result<Tensor, Unfit> {
        let cells = Numbers::of_cells(value.cells());
        self.tensor_of(value.kind(), value.labels(), cells, is_rounded)
    }

    /// The tensor of blocks with labels. A mapped dimension becomes an axis with the blocks in the order of their labels,
    /// numbers first.
    pub(super) fn tensor_of(
        &self,
        kind: &TensorType,
        labels: &[Label],
        cells: Numbers<'_>,
        is_rounded: bool,
    ) -> Result<Tensor, Unfit> {
        let element = self.dtype.bits() / 8;
        let mut buf = buffer(cells.len() * element)?;
        let Some(mapped) = kind.dimensions().iter().position(|d| d.is_mapped()) else {
            write(cells, self.dtype, is_rounded, &mut buf)?;
            let shape: Vec<usize> = kind.indexed().map(|(_, size)| size).collect();
            return made(self.dtype, &shape, buf);
        };
        let sizes = |range: std::ops::Range<usize>| -> usize {
            kind.dimensions()[range].iter().filter_map(stead_expr::Dimension::size).product()
        };
        let (outer, inner) = (sizes(0..mapped), sizes(mapped..kind.dimensions().len()));
        let order = order(labels);
        for (to, from) in order.iter().enumerate() {
            for row in 0..outer {
                let first = (from * outer + row) * inner;
                let part = cells.part(first..first + inner).ok_or_else(short)?;
                let at = (row * order.len() + to) * inner * element;
                let room = buf.get_mut(at..at + inner * element).ok_or_else(short)?;
                write(part, self.dtype, is_rounded, room)?;
            }
        }
        let size = |d: &stead_expr::Dimension| d.size().unwrap_or(order.len());
        let shape: Vec<usize> = kind.dimensions().iter().map(size).collect();
        made(self.dtype, &shape, buf)
    }

    /// The tensor of texts: one, or a list.
    pub(super) fn texts(&self, texts: Vec<Vec<u8>>) -> Result<Tensor, Unfit> {
        let shape = match &self.kind {
            SourceType::Field(FieldType::Array(_)) => self.list_shape(texts.len()),
            _ => vec![1; self.rank.unwrap_or(0)],
        };
        Tensor::from_strings(texts, &shape).map_err(|e| Unfit { number: e.to_string() })
    }

    /// The tensor of a list of numbers.
    pub(super) fn list(&self, numbers: Numbers<'_>, is_rounded: bool) -> Result<Tensor, Unfit> {
        let mut buf = buffer(numbers.len() * self.dtype.bits() / 8)?;
        write(numbers, self.dtype, is_rounded, &mut buf)?;
        made(self.dtype, &self.list_shape(numbers.len()), buf)
    }
}

fn short() -> Unfit {
    Unfit { number: "a tensor without some of its cells".to_owned() }
}

pub(super) fn buffer(len: usize) -> Result<AlignedBuf, Unfit> {
    AlignedBuf::zeroed(len).map_err(|e| Unfit { number: e.to_string() })
}

fn made(dtype: DType, shape: &[usize], buf: AlignedBuf) -> Result<Tensor, Unfit> {
    Shape::new(shape)
        .and_then(|shape| Tensor::from_buffer(dtype, shape, buf))
        .map_err(|e| Unfit { number: e.to_string() })
}

/// The order of labels of one dimension: numbers ascending, then texts.
fn order(labels: &[Label]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_cached_key(|at| match labels[*at].as_number() {
        Some(number) => (number, String::new()),
        None => (u32::MAX, labels[*at].text()),
    });
    order
}

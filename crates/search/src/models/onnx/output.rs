//! The outputs of a network as columns.

use stead_expr::{Cells, Labels, Stored, TensorType, Value, map_cells};
use stead_tensor::TensorView;

use super::convert::{Unfit, no_cells, read};

/// A column that grows with the outputs of runs.
pub(super) enum Collected {
    /// Tensors of one size.
    Dense(TensorType, Cells<'static>),
    /// Tensors of sizes that differ.
    Mixed(Stored),
}

/// Why an output does not fit in its column.
pub(super) enum Misfit {
    /// An element has no cell.
    Number(String),
    /// The shape is not that of the type.
    Shape,
}

impl From<Unfit> for Misfit {
    fn from(unfit: Unfit) -> Misfit {
        Misfit::Number(unfit.number)
    }
}

impl Collected {
    pub(super) fn new(kind: &TensorType) -> Collected {
        if kind.is_dense() {
            Collected::Dense(kind.clone(), no_cells(kind.cell()))
        } else {
            Collected::Mixed(Stored::new(kind.clone()))
        }
    }

    /// Takes the output of a run for `rows` documents.
    pub(super) fn add(
        &mut self,
        view: &TensorView<'_>,
        rows: usize,
        is_rounded: bool,
    ) -> Result<(), Misfit> {
        let shape = view.shape();
        match self {
            Collected::Dense(kind, cells) => {
                // One document, or rows of size 1 behind each other.
                let sizes: Vec<usize> = kind.indexed().map(|(_, size)| size).collect();
                let inner = |dims: &[usize]| dims.get(1..).map(<[usize]>::to_vec);
                let fits = match rows {
                    1 => shape.dims() == sizes,
                    rows => {
                        shape.dims().first() == Some(&rows)
                            && sizes.first() == Some(&1)
                            && inner(shape.dims()) == inner(&sizes)
                    }
                };
                if !fits {
                    return Err(Misfit::Shape);
                }
                Ok(read(view, is_rounded, cells)?)
            }
            Collected::Mixed(stored) => {
                let value = mixed(stored.kind(), view, is_rounded)?;
                if stored.push(&value) { Ok(()) } else { Err(Misfit::Shape) }
            }
        }
    }

    /// Puts the outputs of other runs behind these. False if they are of another kind.
    pub(super) fn append(&mut self, other: Collected) -> bool {
        match (self, other) {
            (Collected::Dense(_, cells), Collected::Dense(_, more)) => cells.extend(&more),
            (Collected::Mixed(stored), Collected::Mixed(more)) => {
                more.values().iter().all(|value| stored.push(value))
            }
            _ => false,
        }
    }

    pub(super) fn finish(self) -> Option<Stored> {
        match self {
            Collected::Dense(kind, cells) => Stored::dense(kind, cells),
            Collected::Mixed(stored) => Some(stored),
        }
    }
}

/// An output with axes that are mapped dimensions, whose labels are the numbers from 0.
fn mixed(kind: &TensorType, view: &TensorView<'_>, is_rounded: bool) -> Result<Value, Misfit> {
    let shape = view.shape();
    let dims = shape.dims();
    let fits = dims.len() == kind.dimensions().len()
        && kind.dimensions().iter().zip(dims).all(|(d, n)| d.size().is_none_or(|size| size == *n));
    if !fits {
        return Err(Misfit::Shape);
    }
    let mut elements = no_cells(kind.cell());
    read(view, is_rounded, &mut elements)?;
    let mapped: Vec<usize> =
        (0..dims.len()).filter(|at| kind.dimensions()[*at].is_mapped()).collect();
    let dense: Vec<usize> =
        (0..dims.len()).filter(|at| !kind.dimensions()[*at].is_mapped()).collect();
    let strides: Vec<usize> = (0..dims.len()).map(|at| dims[at + 1..].iter().product()).collect();
    let places = |axes: &[usize]| -> Vec<usize> {
        axes.iter().fold(vec![0], |places, axis| {
            let (size, stride) = (dims[*axis], strides[*axis]);
            let next = |place: usize| (0..size).map(move |i| place + i * stride);
            places.into_iter().flat_map(next).collect()
        })
    };
    let blocks = places(&mapped);
    let inner = places(&dense);
    let mut labels = Labels::with_capacity(blocks.len() * mapped.len());
    for place in &blocks {
        mapped
            .iter()
            .for_each(|axis| labels.push(&(place / strides[*axis] % dims[*axis]).to_string()));
    }
    let order = blocks.iter().flat_map(|block| inner.iter().map(move |place| block + place));
    let cells = gathered(&elements, order);
    Value::new(kind.clone(), labels, cells).map_err(|_| Misfit::Shape)
}

fn gathered(cells: &Cells<'_>, order: impl Iterator<Item = usize>) -> Cells<'static> {
    map_cells!(cells, list => order.map(|at| list[at]).collect::<Vec<_>>())
}

//! Sizes of first values, and pieces of tensors along an axis.

use crate::scheduler::{concat, cut};
use std::collections::BTreeMap;
use stead_engine::{Dim, IoSpec};
use stead_tensor::{Shape, Tensor, TensorError};

/// The sizes that the symbols of a model have in one request.
#[derive(Debug, Default)]
pub(super) struct Sizes<'a>(BTreeMap<&'a str, usize>);

impl<'a> Sizes<'a> {
    /// The sizes of the symbols of the inputs that are given.
    pub(super) fn of(inputs: &[Option<Tensor>], specs: &'a [IoSpec]) -> Sizes<'a> {
        let mut sizes = BTreeMap::new();
        for (input, spec) in inputs.iter().zip(specs) {
            let (Some(input), Some(dims)) = (input, &spec.dims) else { continue };
            for (dim, size) in dims.iter().zip(input.shape().dims()) {
                if let Dim::Symbol(name) = dim {
                    sizes.insert(&**name, *size);
                }
            }
        }
        Sizes(sizes)
    }

    /// The shape of a state before the first step: nothing along the axis that grows, the rows of the request
    /// along that of the batch, and the request's sizes for symbols.
    ///
    /// # Errors
    /// In words, when nothing tells the size of an axis.
    pub(super) fn shape(
        &self,
        spec: &IoSpec,
        batch_axis: Option<usize>,
        growing: Option<usize>,
        rows: usize,
    ) -> Result<Shape, String> {
        let unknown = |axis: usize| {
            format!(
                "state {:?} has shape {}: nothing tells the size of axis {axis}; give its init in the option states",
                spec.name,
                spec.dims_text()
            )
        };
        let dims = spec.dims.as_ref().ok_or_else(|| unknown(0))?;
        let size = |(axis, dim): (usize, &Dim)| match dim {
            Dim::Known(n) => Ok(*n),
            _ if growing == Some(axis) => Ok(0),
            dim => {
                let named = match dim {
                    Dim::Symbol(name) => self.0.get(&**name).copied(),
                    _ => None,
                };
                let rows = (batch_axis == Some(axis)).then_some(rows);
                named.or(rows).ok_or_else(|| unknown(axis))
            }
        };
        let dims = dims.iter().enumerate().map(size).collect::<Result<Vec<_>, _>>()?;
        Shape::new(&dims).map_err(|e| e.to_string())
    }
}

/// `before` and `new` one after the other along an axis, and the last `length` elements of both along it; `None` when
/// they differ elsewhere.
pub(super) fn slide(
    before: &Tensor,
    new: &Tensor,
    axis: usize,
    length: usize,
) -> Option<Result<(Tensor, Tensor), TensorError>> {
    let (a, b) = (before.shape(), new.shape());
    let mut pairs = a.dims().iter().zip(b.dims()).enumerate();
    let fits = before.dtype() == new.dtype()
        && a.rank() == b.rank()
        && pairs.all(|(at, (a, b))| at == axis || a == b);
    fits.then(|| {
        let whole = concat(&[before, new], axis)?;
        let size = whole.shape().get(axis).copied().unwrap_or(0);
        let last = cut(whole.view(), axis, size.saturating_sub(length)..size)?;
        Ok((whole, last))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_tensor::DType;

    #[test]
    fn shapes_of_first_values() {
        let symbol = |s: &str| Dim::Symbol(s.to_owned());
        let spec = |dims: Vec<Dim>| IoSpec {
            name: "s".to_owned(),
            dtype: DType::F32,
            dims: Some(dims),
            optional: false,
        };
        let data = [spec(vec![symbol("b"), symbol("t")])];
        let inputs = [Some(Tensor::zeros(DType::F32, Shape::new(&[3, 5]).unwrap()).unwrap())];
        let sizes = Sizes::of(&inputs, &data);
        let cases = [
            ("by symbol", vec![Dim::Known(2), symbol("b")], None, None, Some(vec![2, 3])),
            ("by batch axis", vec![Dim::Known(2), Dim::Unknown], Some(1), None, Some(vec![2, 7])),
            ("by symbol before batch axis", vec![symbol("b")], Some(0), None, Some(vec![3])),
            ("growing", vec![symbol("b"), symbol("p")], None, Some(1), Some(vec![3, 0])),
            ("unknown symbol", vec![symbol("x")], None, None, None),
            ("no symbol", vec![Dim::Unknown], None, None, None),
        ];
        for (label, dims, batch, growing, expected) in cases {
            let got = sizes.shape(&spec(dims), batch, growing, 7).map(|s| s.to_vec());
            assert_eq!(got.ok(), expected, "{label}");
        }
    }

    #[test]
    fn windows_slide() {
        let row = |v: &[f32]| Tensor::from_slice(v, &[1, v.len()]).unwrap();
        let (whole, last) = slide(&row(&[1.0, 2.0]), &row(&[3.0]), 1, 2).unwrap().unwrap();
        assert_eq!((whole, last), (row(&[1.0, 2.0, 3.0]), row(&[2.0, 3.0])));
        let rows = |v: &[f32]| Tensor::from_slice(v, &[2, v.len() / 2]).unwrap();
        let (whole, last) = slide(&rows(&[1.0, 2.0]), &rows(&[3.0, 4.0]), 1, 1).unwrap().unwrap();
        assert_eq!((whole, last), (rows(&[1.0, 3.0, 2.0, 4.0]), rows(&[3.0, 4.0])));
        assert!(slide(&row(&[1.0]), &rows(&[0.0, 0.0]), 1, 1).is_none());
    }
}

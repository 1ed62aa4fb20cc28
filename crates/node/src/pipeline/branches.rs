//! Splitting values along their first dimension, and putting the parts together again.

use crate::scheduler::{concat, cut};
use crate::{Code, Error, ErrorKind};
use stead_app::Demultiply;
use stead_tensor::{DType, Shape, Tensor, TensorError};

/// The most parts of one value, the limit of OpenVINO Model Server.
const MAX_PARTS: usize = 10_000;

/// The values of one branch; none where the request brought none.
pub(super) type Row = Vec<Option<Tensor>>;

fn memory(error: TensorError) -> Error {
    Error::new(Code::ResourceExhausted, error.to_string())
}

/// The parts of the values of one branch. Their shapes lack the first dimension, which is their number.
///
/// # Errors
/// [`ErrorKind::WrongCount`], and `RESOURCE_EXHAUSTED` for more parts than are possible.
pub(super) fn split(row: &[Option<Tensor>], count: Demultiply) -> Result<Vec<Row>, Error> {
    let mut expected = match count {
        Demultiply::Fixed(count) => Some(count),
        Demultiply::Dynamic => None,
    };
    for tensor in row.iter().flatten() {
        let actual = tensor.shape().first().copied();
        let count = *expected.get_or_insert(actual.unwrap_or(1));
        if actual != Some(count) || tensor.dtype().size() == 0 {
            let expected = count.to_string();
            let actual = actual.map_or_else(|| "none".to_owned(), |n| n.to_string());
            return Err(ErrorKind::WrongCount { expected, actual }.into());
        }
    }
    let count = expected.unwrap_or(0);
    if count > MAX_PARTS {
        let text = format!("a demultiplexer splits into at most {MAX_PARTS} parts, not {count}");
        return Err(Error::new(Code::ResourceExhausted, text));
    }
    let part = |tensor: &Tensor, i: usize| -> Result<Tensor, TensorError> {
        let dims = tensor.shape().to_vec();
        let part = cut(tensor.view(), 0, i..i + 1)?;
        part.reshaped(Shape::new(dims.get(1..).unwrap_or_default())?)
    };
    let row_of = |i| -> Result<Row, TensorError> {
        row.iter().map(|t| t.as_ref().map(|t| part(t, i)).transpose()).collect()
    };
    (0..count).map(row_of).collect::<Result<_, _>>().map_err(memory)
}

/// One value of those of several branches, with `counts` in front of their shape; the last branches of the
/// innermost demultiplexer stand side by side.
///
/// # Errors
/// [`ErrorKind::WrongShards`] when their shapes or types differ.
pub(super) fn stack(parts: &[&Tensor], counts: &[usize]) -> Result<Tensor, Error> {
    let (Some(first), false) = (parts.first(), counts.is_empty()) else {
        let one = parts.first().map(|t| (*t).clone());
        return one
            .map_or_else(|| Tensor::zeros(DType::F32, Shape::new(&[0])?), Ok)
            .map_err(memory);
    };
    if let Some(other) =
        parts.iter().find(|t| t.shape() != first.shape() || t.dtype() != first.dtype())
    {
        let show = |t: &Tensor| format!("{}{:?}", t.dtype(), t.shape().dims());
        let text = format!("{} and {}", show(first), show(other));
        return Err(ErrorKind::WrongShards { text }.into());
    }
    let behind = first.shape().to_vec();
    let dims = |front: &[usize]| Shape::new(&[front, behind.as_slice()].concat());
    let one = |t: &&Tensor| t.reshaped(dims(&[1])?);
    let whole = || -> Result<Tensor, TensorError> {
        let rows = parts.iter().map(one).collect::<Result<Vec<_>, _>>()?;
        concat(&rows.iter().collect::<Vec<_>>(), 0)?.reshaped(dims(counts)?)
    };
    whole().map_err(memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(dims: &[usize]) -> Tensor {
        let values: Vec<i64> = (0..dims.iter().product::<usize>() as i64).collect();
        Tensor::from_slice(&values, dims).unwrap()
    }

    #[test]
    fn splitting_and_stacking_are_inverse() {
        for dims in [&[3usize, 1, 2][..], &[3], &[1, 4], &[3, 0]] {
            let row = [Some(tensor(dims)), None];
            let rows = split(&row, Demultiply::Dynamic).unwrap();
            assert_eq!(rows.len(), dims[0]);
            assert!(rows.iter().all(|r| r[1].is_none()));
            let parts: Vec<&Tensor> = rows.iter().filter_map(|r| r[0].as_ref()).collect();
            assert_eq!(parts[0].shape().dims(), &dims[1..]);
            assert_eq!(stack(&parts, &[dims[0]]).unwrap(), tensor(dims), "{dims:?}");
        }
        let six: Vec<Tensor> = (0..6).map(|_| tensor(&[2])).collect();
        let whole = stack(&six.iter().collect::<Vec<_>>(), &[2, 3]).unwrap();
        assert_eq!(whole.shape().dims(), [2, 3, 2]);
    }

    #[test]
    fn what_cannot_be_split_or_stacked() {
        let text = |r: Result<Vec<Row>, Error>| r.unwrap_err().to_string();
        let error = text(split(&[Some(tensor(&[3]))], Demultiply::Fixed(2)));
        assert!(error.ends_with("expected: 2; actual: 3"), "{error}");
        let two = [Some(tensor(&[3])), Some(tensor(&[2]))];
        assert!(text(split(&two, Demultiply::Dynamic)).ends_with("expected: 3; actual: 2"));
        assert!(text(split(&[Some(tensor(&[]))], Demultiply::Dynamic)).ends_with("actual: none"));
        let many = text(split(&[Some(tensor(&[10_001]))], Demultiply::Dynamic));
        assert!(many.contains("at most 10000 parts"), "{many}");
        assert_eq!(split(&[Some(tensor(&[0, 2]))], Demultiply::Dynamic), Ok(vec![]));
        let error = stack(&[&tensor(&[2]), &tensor(&[3])], &[2]).unwrap_err().to_string();
        assert!(error.ends_with("i64[2] and i64[3]"), "{error}");
    }
}

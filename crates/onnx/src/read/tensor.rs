//! Tensors: initializers, attributes, test data.

use super::{Source, external, typed};
use crate::{OnnxError, error, error::quote, proto};
use proto::tensor_proto::DataLocation;
use stead_tensor::{AlignedBuf, DType, Shape, Tensor, TensorError, TensorView};

/// A tensor and its name. `place` names it in messages when it has no name.
pub(crate) fn read_tensor(
    proto: proto::TensorProto,
    place: &str,
    source: &mut Source<'_>,
) -> Result<(String, Tensor), OnnxError> {
    let name = proto.name.clone().unwrap_or_default();
    super::check_name("tensor", &name, source.limits)?;
    let place = if name.is_empty() { place.to_owned() } else { quote(&name) };
    let tensor = read(proto, &place, source)?;
    Ok((name, tensor))
}

fn read(
    mut proto: proto::TensorProto,
    place: &str,
    source: &mut Source<'_>,
) -> Result<Tensor, OnnxError> {
    let wrong = |reason: TensorError| OnnxError::Tensor { tensor: place.to_owned(), reason };
    let bad = |reason: &str| OnnxError::TensorData {
        tensor: place.to_owned(),
        reason: reason.to_owned(),
    };
    let number = proto.data_type.unwrap_or_default();
    let dtype = DType::from_onnx_number(number).ok_or_else(|| OnnxError::UnknownNumber {
        place: format!("tensor {place}"),
        what: "element type",
        number: number.into(),
    })?;
    let shape = read_shape(&proto.dims, place)?;
    if proto.segment.is_some() {
        return Err(bad("segments are not supported"));
    }
    // Tells a contradiction before any memory is asked for.
    let expected = dtype.byte_len(shape.elements()).unwrap_or(usize::MAX);

    match proto.data_location.map(DataLocation::try_from) {
        Some(Ok(DataLocation::External)) => {
            if dtype == DType::String {
                return Err(bad("strings cannot be external"));
            }
            let bytes = external::read(&proto, place, expected, source)?;
            return Tensor::from_buffer(dtype, shape, bytes).map_err(wrong);
        }
        None | Some(Ok(DataLocation::Default)) => {}
        Some(Err(_)) => return Err(bad("unknown data location")),
    }
    let raw = proto.raw_data.take().filter(|raw| !raw.is_empty());
    match raw {
        Some(_) if dtype == DType::String => Err(bad("strings cannot be raw data")),
        Some(raw) => match source.share(&raw) {
            Some(bytes) => Tensor::from_shared(dtype, shape, bytes).map_err(wrong),
            None => TensorView::from_bytes(dtype, shape, &raw)
                .and_then(|view| view.to_tensor())
                .map_err(wrong),
        },
        None if dtype == DType::String => {
            Tensor::from_strings(proto.string_data, &shape).map_err(wrong)
        }
        None => {
            let bytes =
                typed::pack(&proto, dtype, shape.elements(), expected).map_err(|e| match e {
                    typed::Fault::Count(reason) => wrong(reason),
                    typed::Fault::Range(reason) => bad(&reason),
                })?;
            Tensor::from_buffer(dtype, shape, bytes).map_err(wrong)
        }
    }
}

/// The shape of these dimensions; `place` is the tensor's name.
pub(super) fn read_shape(dims: &[i64], place: &str) -> Result<Shape, OnnxError> {
    let wrong = |reason| OnnxError::Tensor { tensor: place.to_owned(), reason };
    if dims.len() > stead_tensor::MAX_RANK {
        return Err(wrong(TensorError::RankTooHigh(dims.len())));
    }
    let sizes = dims.iter().map(|&dim| {
        usize::try_from(dim)
            .map_err(|_| OnnxError::BadDim { place: format!("tensor {place}"), dim })
    });
    Shape::new(&sizes.collect::<Result<Vec<_>, _>>()?).map_err(wrong)
}

/// Memory for `bytes` of the tensor `place`.
pub(super) fn allocate(place: &str, bytes: usize) -> Result<AlignedBuf, OnnxError> {
    AlignedBuf::passing(bytes).map_err(error::memory(&format!("tensor {place}")))
}

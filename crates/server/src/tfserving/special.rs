//! The special inputs of stateful models: what names a sequence, and not the model's data.

use super::proto_tensor::{tensor_from_proto, tensor_to_proto};
use crate::fault::Fault;
use crate::proto::tensorflow::{DataType, TensorProto, tensor_shape_proto::Dim};
use stead_node::{Embedded, VersionRef};
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// Names of the special inputs, and of the outputs that answer them.
const NAMES: [&str; 3] = ["sequence_id", "sequence_control_input", "sequence_step"];

/// Whether this is the name of a special input. A stateless model may use it for an input of its own.
pub fn is_special(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Reads an input of a request.
///
/// OpenVINO Model Server reads special inputs in a way of its own: the shape and the one value in its list count,
/// the declared type does not. What cannot be read as every other tensor is read in that way.
///
/// # Errors
/// As [`tensor_from_proto`]. What is wrong with a special input is left to the node to tell, since the order of
/// its checks can be seen by clients.
pub fn read_input(
    node: &Embedded,
    model: &str,
    version: &VersionRef,
    name: &str,
    proto: TensorProto,
    limit: usize,
) -> Result<Tensor, Fault> {
    let named = |e: Fault| e.at(&format!("input name: {name}"));
    if !is_special(name) {
        return tensor_from_proto(proto, limit).map_err(named);
    }
    // A special input is small unless it is wrong, and then `tensor_content` is shared.
    let error = match tensor_from_proto(proto.clone(), limit) {
        Ok(tensor) => return Ok(tensor),
        Err(error) => error,
    };
    let mut holders = node.metadata_of_holders(model, version)?.into_iter();
    match holders.any(|metadata| metadata.special_inputs.iter().any(|i| i.name == name)) {
        true => special(&proto),
        false => Err(named(error)),
    }
}

/// A special input as OpenVINO Model Server reads it; in place of what is wrong, the smallest tensor with the same
/// fault.
fn special(proto: &TensorProto) -> Result<Tensor, Fault> {
    let dims: &[Dim] = match &proto.tensor_shape {
        Some(shape) if !shape.unknown_rank => &shape.dim,
        _ => &[],
    };
    match dims {
        [Dim { size: 1, .. }] => {}
        [] => return Ok(Tensor::from_slice(&[0u64], &[])?),
        [_] => return Ok(Tensor::from_slice::<u64>(&[], &[0])?),
        _ => return Ok(Tensor::from_slice(&[0u64], &[1, 1])?),
    }
    Ok(match one_value(proto) {
        Some(value) => value?,
        None => Tensor::from_slice(&[0f32], &[1])?,
    })
}

/// The one integer in the lists of a message.
fn one_value(p: &TensorProto) -> Option<Result<Tensor, stead_tensor::TensorError>> {
    let others = p.float_val.len()
        + p.double_val.len()
        + p.string_val.len()
        + p.bool_val.len()
        + p.half_val.len()
        + p.scomplex_val.len()
        + p.dcomplex_val.len()
        + p.tensor_content.len();
    match (&*p.uint64_val, &*p.uint32_val, &*p.int64_val, &*p.int_val) {
        _ if others > 0 => None,
        ([v], [], [], []) => Some(Tensor::from_slice(&[*v], &[1])),
        ([], [v], [], []) => Some(Tensor::from_slice(&[*v], &[1])),
        ([], [], [v], []) => Some(Tensor::from_slice(&[*v], &[1])),
        ([], [], [], [v]) => Some(Tensor::from_slice(&[*v], &[1])),
        _ => None,
    }
}

/// The one value of a special input that stands in every row of a request. Another shape than that of scalars is left
/// to the node to refuse.
///
/// # Errors
/// Rows with different values.
pub fn one_for_all(name: &str, tensor: &Tensor) -> Result<Tensor, Fault> {
    let (dtype, width) = (tensor.dtype(), tensor.dtype().size());
    let &[rows] = tensor.shape().dims() else { return Ok(tensor.clone()) };
    let bytes = tensor.bytes();
    let Some(first) = bytes.get(..width).filter(|_| bytes.len() == rows * width) else {
        return Ok(tensor.clone());
    };
    if bytes.chunks_exact(width).any(|value| value != first) {
        return Err(Fault::invalid(format!(
            "Invalid JSON structure. {name} is different in the rows of one request"
        )));
    }
    Ok(Tensor::from_buffer(dtype, Shape::new(&[1])?, AlignedBuf::copy_of(first)?)?)
}

/// Writes an output. Numbers that name a sequence stand in `uint64_val`, where clients of OpenVINO Model Server look
/// for them; everything else in `tensor_content`.
pub fn write_output(name: &str, tensor: &Tensor) -> TensorProto {
    let mut proto = tensor_to_proto(tensor);
    if is_special(name)
        && tensor.dtype() == DType::U64
        && tensor.shape().dims() == [1]
        && let Ok(values) = tensor.as_slice::<u64>()
    {
        proto.dtype = DataType::DtUint64.into();
        proto.tensor_content.clear();
        proto.uint64_val = values.to_vec();
    }
    proto
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tfserving::proto_tensor::shape_to_proto;

    fn proto(dims: &[i64], change: fn(&mut TensorProto)) -> TensorProto {
        let shape = Some(shape_to_proto(dims.iter().copied()));
        let mut proto = TensorProto { tensor_shape: shape, ..TensorProto::default() };
        change(&mut proto);
        proto
    }

    #[test]
    fn the_declared_type_does_not_count() {
        let five = Tensor::from_slice(&[5u64], &[1]).unwrap();
        let u32_one = Tensor::from_slice(&[1u32], &[1]).unwrap();
        let bad_type = Tensor::from_slice(&[0f32], &[1]).unwrap();
        let cases = [
            ("OK", proto(&[1], |p| p.uint64_val = vec![5]), &five),
            (
                "float",
                proto(&[1], |p| (p.dtype, p.uint64_val) = (DataType::DtFloat.into(), vec![5])),
                &five,
            ),
            ("uint32", proto(&[1], |p| p.uint32_val = vec![1]), &u32_one),
            ("two values", proto(&[1], |p| p.uint64_val = vec![5, 6]), &bad_type),
            ("wrong list", proto(&[1], |p| p.float_val = vec![5.0]), &bad_type),
            (
                "two lists",
                proto(&[1], |p| (p.uint64_val, p.uint32_val) = (vec![5], vec![1])),
                &bad_type,
            ),
            ("no value", proto(&[1], |_| ()), &bad_type),
        ];
        for (label, proto, expected) in cases {
            assert_eq!(&special(&proto).unwrap(), expected, "{label}");
        }
        let shapes: [(&[i64], &[usize]); 6] = [
            (&[], &[]),
            (&[2], &[0]),
            (&[-1], &[0]),
            (&[1 << 62], &[0]),
            (&[1, 1], &[1, 1]),
            (&[1; 99], &[1, 1]),
        ];
        for (dims, expected) in shapes {
            let tensor = special(&proto(dims, |p| p.uint64_val = vec![5])).unwrap();
            assert_eq!(tensor.shape().dims(), expected, "{dims:?}");
        }
        assert_eq!(special(&TensorProto::default()).unwrap().shape().dims(), [0; 0]);
    }

    #[test]
    fn ids_are_answered_where_clients_look() {
        let id = Tensor::from_slice(&[7u64], &[1]).unwrap();
        let written = write_output("sequence_id", &id);
        assert_eq!((written.uint64_val.as_slice(), written.tensor_content.len()), (&[7][..], 0));
        assert_eq!(tensor_from_proto(written, 100).unwrap(), id);
        assert!(!write_output("y", &id).tensor_content.is_empty());
        let text = Tensor::from_strings(vec![b"a".to_vec()], &[1]).unwrap();
        assert_eq!(write_output("sequence_id", &text).string_val.len(), 1);
    }
}
